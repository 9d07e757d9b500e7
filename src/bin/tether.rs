//! The `tether` command.

fn main() -> std::process::ExitCode {
    tether::main()
}
