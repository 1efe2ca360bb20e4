//! The `memcached-operator` binary; all of it is in the library.

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    memcached_operator::cli::parse_and_run()
}
