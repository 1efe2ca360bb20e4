//! The `memcached-operator` binary; all of it is in the library.

fn main() -> std::process::ExitCode {
    memcached_operator::cli::parse_and_run()
}
