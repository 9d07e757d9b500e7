//! The `jj` command with `jj tether` in it.

fn main() -> std::process::ExitCode {
    tether::jj::main()
}
