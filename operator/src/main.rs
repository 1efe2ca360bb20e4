//! The `memcached-operator` binary; all of it is in the library.

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    operator_runtime::main(&memcached_operator::IDENTITY, memcached_operator::operator)
}
