//! The `bundle-tool` binary: parses its arguments and hands over to [`bundle_tool::cli`].

use std::process::ExitCode;

// An allocator without C code. It has a single lock; docs/internals/performance.md counts how often threads wait for it.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    bundle_tool::cli::main()
}
