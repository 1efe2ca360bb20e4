//! Paths within volumes.
//!
//! Source: `k8s.io/kubernetes/pkg/apis/core/validation/validation.go` (`validatePathNoBacksteps`,
//! `validateLocalDescendingPath`, `ValidateLocalNonReservedPath`).

/// Validates a path that has no `..` segment.
pub(crate) fn without_backsteps(path: &str) -> Result<(), String> {
    if path.split('/').any(|part| part == "..") {
        return Err(format!("invalid path `{path}`: must not contain `..`"));
    }
    Ok(())
}

/// Validates a relative path that has no `..` segment.
pub(crate) fn descending(path: &str) -> Result<(), String> {
    if path.starts_with('/') {
        return Err(format!("invalid path `{path}`: must be relative"));
    }
    without_backsteps(path)
}

/// Validates a relative path that has no `..` segment and does not start with `..`, which is reserved.
pub(crate) fn descending_and_free(path: &str) -> Result<(), String> {
    descending(path)?;
    if path.starts_with("..") {
        return Err(format!("invalid path `{path}`: must not start with `..`"));
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
