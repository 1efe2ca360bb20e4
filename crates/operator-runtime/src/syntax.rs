//! The syntax of names in Kubernetes: what the API server, or a registry, accepts.

/// Returns whether a text can be the name of a Service: a DNS label that begins with a letter (RFC 1035).
#[must_use]
pub fn is_service_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= 63
        && text.bytes().all(inner)
        && text.bytes().next().is_some_and(|first| first.is_ascii_lowercase())
        && !text.ends_with('-')
}

/// Returns whether a text is an image reference by the grammar of distribution/reference: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`.
#[must_use]
pub fn is_image_reference(text: &str) -> bool {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let digest_is_valid = digest.is_none_or(|digest| {
        digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    });
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    let tag_is_valid = tag.is_none_or(|tag| {
        (1..=128).contains(&tag.len())
            && !tag.starts_with(['.', '-'])
            && tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    });
    let mut parts = name.split('/').peekable();
    let first = parts.peek().copied().unwrap_or_default();
    let has_host = name.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    if has_host {
        parts.next();
    }
    let host_is_valid = !has_host || is_host(first);
    let path_is_valid = parts.all(is_path_component);
    digest_is_valid && tag_is_valid && host_is_valid && path_is_valid && name.len() <= 255
}

fn is_host(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().is_ok()),
        None => (text, true),
    };
    port && host.split('.').all(|label| {
        !label.is_empty()
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

fn is_path_component(text: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    !text.is_empty()
        && text.bytes().all(|b| alphanumeric(b) || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().next().is_some_and(alphanumeric)
        && text.bytes().next_back().is_some_and(alphanumeric)
        && !text.contains("..")
        && !text.contains("___")
}

/// Returns whether a text is a label key: `[PREFIX/]NAME`.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let prefix_is_valid = prefix.is_none_or(|prefix| {
        prefix.len() <= 253
            && !prefix.contains(':')
            && is_host(prefix)
            && prefix == prefix.to_ascii_lowercase()
    });
    prefix_is_valid && !name.is_empty() && is_label_value(name)
}

/// Returns whether a text is a label value: at most 63 letters, digits, `-`, `_` and `.`, with letters or digits at both ends.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && text.bytes().next().is_none_or(|b| b.is_ascii_alphanumeric())
        && text.bytes().next_back().is_none_or(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_references_follow_the_grammar_of_registries() {
        let digest = format!("m@sha256:{}", "a".repeat(64));
        for good in ["memcached", "memcached:1.6", "localhost:5000/a/b:x", "r.io/a__b/c-d:V1", &digest] {
            assert!(is_image_reference(good), "{good}");
        }
        for bad in ["", "UPPER", "a:", "a@sha256:12", "a//b", "/a", "a/", "http://x/y", "a b", "a:b:c", "-a"]
        {
            assert!(!is_image_reference(bad), "{bad}");
        }
    }

    #[test]
    fn service_names_begin_with_a_letter() {
        assert!(is_service_name("a") && is_service_name("a-1"));
        for bad in ["", "9x", "-a", "a-", "A", "a.b", &"x".repeat(64)] {
            assert!(!is_service_name(bad), "{bad}");
        }
    }

    #[test]
    fn label_keys_and_values_have_the_limits_of_the_api() {
        assert!(is_label_key("a") && is_label_key("example.com/a.b_c") && is_label_value(""));
        for bad in ["", "a b", "example.com/", "Example.com/a", &"x".repeat(64)] {
            assert!(!is_label_key(bad), "{bad}");
        }
        for bad in ["-a", "a-", "a b", &"x".repeat(64)] {
            assert!(!is_label_value(bad), "{bad}");
        }
    }
}
