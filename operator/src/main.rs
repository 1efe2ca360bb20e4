//! The `memcached-operator` binary; all of it is in the library.

use memcached_operator::{IDENTITY, operator};

// An allocator without C code. It has a single lock; docs/internals/performance.md counts how often threads wait for it.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> std::process::ExitCode {
    operator_runtime::main(&IDENTITY, operator)
}
