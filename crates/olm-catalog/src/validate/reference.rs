//! Image references as opm reads them.
//!
//! Source: `docker/reference` of go.podman.io/image v5 (`ParseNormalizedNamed`).

/// The maximum length of a repository's name with its registry, in bytes.
const MAX_NAME: usize = 255;

const DEFAULT_DOMAIN: &str = "docker.io";

/// Checks that `reference` is a pull specification: `quay.io/example/operator:v1` or `…@sha256:…`.
///
/// # Errors
/// What is wrong with it.
pub fn check(reference: &str) -> Result<(), String> {
    if reference.len() == 64 && reference.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Err("a repository name must not be 64 hexadecimal digits".to_owned());
    }
    let (domain, remainder) = match reference.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest.to_owned()),
        _ => (DEFAULT_DOMAIN, reference.to_owned()),
    };
    let domain = if domain == "index.docker.io" { DEFAULT_DOMAIN } else { domain };
    let remainder = if domain == DEFAULT_DOMAIN && !remainder.contains('/') {
        format!("library/{remainder}")
    } else {
        remainder
    };
    let name = remainder.split(':').next().unwrap_or_default();
    if name.to_lowercase() != name {
        return Err("the repository name must be lowercase".to_owned());
    }
    let (tagged, digest) = match remainder.split_once('@') {
        Some((tagged, digest)) => (tagged, Some(digest)),
        None => (remainder.as_str(), None),
    };
    let path_end = tagged.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match tagged[path_end..].find(':') {
        Some(colon) => (&tagged[..path_end + colon], Some(&tagged[path_end + colon + 1..])),
        None => (tagged, None),
    };
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!("invalid tag `{tag}`"));
    }
    if let Some(digest) = digest {
        check_digest(digest)?;
    }
    if let Some(part) = path.split('/').find(|part| !is_component(part)) {
        return Err(if part.is_empty() {
            "the repository name has an empty path component".to_owned()
        } else {
            format!("invalid path component `{part}` of the repository name")
        });
    }
    if !is_domain(domain) && !is_component(domain) {
        return Err(format!("invalid registry `{domain}`"));
    }
    if domain.len() + 1 + path.len() > MAX_NAME {
        return Err(format!("the repository name exceeds the limit of {MAX_NAME} bytes"));
    }
    Ok(())
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = tag.bytes();
    bytes.next().is_some_and(is_word)
        && tag.len() <= 128
        && bytes.all(|byte| is_word(byte) || byte == b'.' || byte == b'-')
}

/// Lowercase letters and digits, separated by one period, one or two underscores, or dashes.
fn is_component(part: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = part.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    ends.is_some_and(|(first, last)| is_alphanumeric(first) && is_alphanumeric(last))
        && bytes.split(is_alphanumeric).all(|separator| {
            matches!(separator, b"" | b"." | b"_" | b"__") || separator.iter().all(|&byte| byte == b'-')
        })
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (domain, None),
    };
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().zip(bytes.last()).is_some_and(|(first, last)| {
            first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        })
    };
    host.split('.').all(is_label)
        && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn check_digest(digest: &str) -> Result<(), String> {
    let length = match digest.split_once(':') {
        Some(("sha256", hex)) => (hex, 64),
        Some(("sha384", hex)) => (hex, 96),
        Some(("sha512", hex)) => (hex, 128),
        _ => return Err(format!("invalid digest `{digest}`: expected `sha256:` and 64 hexadecimal digits")),
    };
    match length {
        (hex, length) if hex.len() != length => Err(format!(
            "invalid digest `{digest}`: expected {length} hexadecimal digits, found {}",
            hex.len()
        )),
        (hex, _) if !hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) => {
            Err(format!("invalid digest `{digest}`: expected lowercase hexadecimal digits"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_accepted_as_by_opm() {
        let digest = "a".repeat(64);
        for valid in [
            "a",
            "a/b",
            "quay.io/a/b",
            "quay.io/a/b:v1",
            "localhost/a",
            "localhost:5000/a:b_1.2-x",
            "q.io/a__b/c-d.e--f",
            "Quay.IO/a",
            "docker.io/a",
            "q.io:5/a/b:T",
            &format!("q.io/a@sha256:{digest}"),
            &format!("q.io/a:t@sha256:{digest}"),
            "a.b/c",
        ] {
            assert_eq!(check(valid), Ok(()), "{valid}");
        }
        for invalid in [
            "",
            ":",
            "/",
            "q.io/",
            "q.io//a",
            "A",
            "q.io/A",
            "q.io/a:",
            "q.io/a b",
            "q.io/a:b:c",
            "q.io/a___b",
            "q.io/a..b",
            "q.io/-a",
            "q.io/a-",
            "q.io:x/a",
            "q.io:/a",
            "-q.io/a",
            "https://q.io/a",
            "q.io/a@sha256:12",
            &format!("q.io/a@md5:{digest}"),
            &format!("q.io/a@sha256:{}", "A".repeat(64)),
            &digest,
            &format!("q.io/a:{}", "t".repeat(129)),
            &format!("q.io/{}", "a".repeat(251)),
            "q.io/a@sha256:",
            "é",
        ] {
            assert!(check(invalid).is_err(), "{invalid}");
        }
        assert_eq!(check(&format!("q.io/{}", "a".repeat(250))), Ok(()));
    }
}
