//! Arguments of the form `NAME=VALUE`.

/// Parses `NAME=VALUE`; the value may be empty.
pub(crate) fn parse(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}
