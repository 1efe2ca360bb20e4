//! Paths within volumes.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validatePathNoBacksteps`,
//! `validateLocalDescendingPath`, `ValidateLocalNonReservedPath`).

/// A path without `..` as one of its parts.
pub(in crate::rules) fn without_backsteps(path: &str) -> Result<(), String> {
    if path.split('/').any(|part| part == "..") {
        return Err(format!("'{path}' steps back with '..'"));
    }
    Ok(())
}

/// A relative path that does not step back.
pub(in crate::rules) fn descending(path: &str) -> Result<(), String> {
    if path.starts_with('/') {
        return Err(format!("'{path}' is an absolute path; it must be relative"));
    }
    without_backsteps(path)
}

/// A relative path that neither steps back nor begins with `..`, which volumes use for themselves.
pub(in crate::rules) fn descending_and_free(path: &str) -> Result<(), String> {
    descending(path)?;
    if path.starts_with("..") {
        return Err(format!("'{path}' begins with '..', which volumes use for themselves"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_their_volume() {
        for path in ["a", "a/b", "", "a..b", "./a"] {
            assert_eq!(descending_and_free(path), Ok(()), "{path}");
        }
        for path in ["/a", "..", "../a", "a/../b", "..a", "a/.."] {
            assert!(descending_and_free(path).is_err(), "{path}");
        }
        assert!(without_backsteps("/a/b").is_ok());
        assert!(descending("..a").is_ok());
    }
}
