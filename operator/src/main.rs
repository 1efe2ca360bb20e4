//! The `memcached-operator` binary; all of it is in the library.

use memcached_operator::{IDENTITY, operator};

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, operator)
}
