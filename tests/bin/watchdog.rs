//! The product's binary, built in this package so that the tests find it.

fn main() -> std::process::ExitCode {
    watchdog::run()
}
