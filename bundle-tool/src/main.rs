//! The `bundle-tool` binary: parses its arguments and hands over to [`bundle_tool::cli`].

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    bundle_tool::cli::main()
}
