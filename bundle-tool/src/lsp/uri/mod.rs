//! URIs of files.

use std::path::{Component, Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str};

#[cfg(any(windows, test))]
mod windows;

/// What is escaped in the path of a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the absolute path of a file, or `None` if the URI is not of a file of this machine.
pub(crate) fn path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once("://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !scheme.eq_ignore_ascii_case("file") || !path.starts_with('/') || path.contains(['?', '#']) {
        return None;
    }
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    let path = to_path(&bytes)?;
    let is_plain = !bytes.contains(&0) && path.components().all(|part| part != Component::ParentDir);
    is_plain.then_some(path)
}

/// Returns the URI of a file.
pub(crate) fn from_path(path: &Path) -> String {
    to_uri(path)
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "not every path of a URI is one on Windows")]
fn to_path(decoded: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(decoded)))
}

#[cfg(unix)]
fn to_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    format!("file://{}", percent_encoding::percent_encode(path.as_os_str().as_bytes(), ESCAPED))
}

#[cfg(windows)]
fn to_path(decoded: &[u8]) -> Option<PathBuf> {
    windows::path(decoded).map(PathBuf::from)
}

#[cfg(windows)]
fn to_uri(path: &Path) -> String {
    windows::uri(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_uri_and_a_uri_one_path() {
        for text in ["/a/b.yaml", "/a b/ä#?%:@.yaml", "/"] {
            assert_eq!(path(&from_path(Path::new(text))).unwrap(), Path::new(text));
        }
        assert_eq!(from_path(Path::new("/a b/c:d")), "file:///a%20b/c%3Ad");
        assert_eq!(path("file://localhost/a%2Fb").unwrap(), Path::new("/a/b"));
        for text in [
            "untitled:Untitled-1",
            "file:///a/../b",
            "file:///a/%2e%2e/b",
            "file://host/a",
            "http://a/b",
            "file:///a%00",
            "",
        ] {
            assert_eq!(path(text), None, "{text}");
        }
    }
}
