//! URIs of files on Windows: `file:///C:/a/b` for `C:\a\b`, and `file://server/share/a` for `\\server\share\a`.

use percent_encoding::utf8_percent_encode;

use super::ESCAPED;

/// Returns the path that is meant by the decoded path of a URI, or `None` if it does not begin with a drive.
pub(super) fn path(decoded: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(decoded).ok()?.strip_prefix('/')?;
    let mut chars = path.chars();
    let drive = chars.next().filter(char::is_ascii_alphabetic)?.to_ascii_uppercase();
    let rest = chars.as_str().strip_prefix(':')?;
    // A colon names a stream of a file.
    if !rest.starts_with(['/', '\\']) || rest.contains(':') {
        return None;
    }
    Some(format!("{drive}:{}", rest.replace('/', "\\")))
}

/// Returns the URI of a path.
pub(super) fn uri(path: &str) -> String {
    let path = match path.strip_prefix(r"\\?\UNC\") {
        Some(rest) => format!(r"\\{rest}"),
        None => path.strip_prefix(r"\\?\").unwrap_or(path).to_owned(),
    };
    let path = path.replace('\\', "/");
    let path = utf8_percent_encode(&path, ESCAPED);
    match path.to_string() {
        share if share.starts_with("//") => format!("file:{share}"),
        path => format!("file:///{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_uris_have_drives() {
        assert_eq!(path(b"/c:/a b/c.yaml").unwrap(), r"C:\a b\c.yaml");
        assert_eq!(path(b"/C:/").unwrap(), r"C:\");
        for text in ["/a/b", "/", "c:/a", "/c:a", "//server/share", "//./pipe/x", "/c:/a:stream", "/cc:/a"] {
            assert_eq!(path(text.as_bytes()), None, "{text}");
        }
        assert_eq!(uri(r"C:\a b\ä.yaml"), "file:///C%3A/a%20b/%C3%A4.yaml");
        assert_eq!(uri(r"\\?\C:\a"), "file:///C%3A/a");
        assert_eq!(uri(r"\\server\share\a"), "file://server/share/a");
        assert_eq!(uri(r"\\?\UNC\server\share\a"), "file://server/share/a");
    }
}
