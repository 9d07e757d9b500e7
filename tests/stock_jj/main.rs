//! Stock jj of the version this build links, for tests that mix it with ours.

fn main() -> std::process::ExitCode {
    tether::jj::stock()
}
