//! Tests that need something that is not there.

/// Reports that a test is skipped because of what is missing.
///
/// # Panics
/// In CI, where every test has to run: if the environment variable `CI` is set.
pub fn skipped(missing: &str) {
    assert!(std::env::var_os("CI").is_none(), "a test cannot run in CI: {missing}");
    eprintln!("skipped: {missing}");
}
