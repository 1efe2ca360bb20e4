//! The client configuration of webhooks: URLs and services.
//!
//! Source: `pkg/util/webhook/validation.go` of `k8s.io/apiserver`.

use super::{names, urls};
use kube_yaml::Value;

/// Returns whether a string is a URL with a scheme and a host.
pub(crate) fn is_absolute_url(text: &str) -> bool {
    urls::parse_request_uri(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

/// Validates the URL of a webhook: `https://host[/path]`.
pub(crate) fn url(text: &str) -> Result<(), String> {
    let url = urls::parse(text).map_err(|problem| names::invalid("URL", text, problem))?;
    let problem = if !url.scheme.eq_ignore_ascii_case("https") {
        "must start with `https://`"
    } else if url.host.is_empty() {
        "missing host"
    } else if url.user {
        "must not have a user"
    } else if !url.fragment.is_empty() {
        "must not have a fragment"
    } else if !url.query.is_empty() {
        "must not have a query"
    } else {
        return Ok(());
    };
    Err(names::invalid("URL", text, problem))
}

/// Returns what is wrong with the service of a webhook, by field.
pub(crate) fn service(service: Value<'_>) -> Vec<(&'static str, String)> {
    let text = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut problems = Vec::new();
    for field in ["name", "namespace"] {
        if text(field).is_empty() {
            problems.push((field, format!("missing required field `{field}`")));
        }
    }
    // Defaults to 443.
    if let Some(port) = service.get("port").and_then(Value::as_i64)
        && !(1..=65535).contains(&port)
    {
        problems.push(("port", format!("invalid port {port}: must be between 1 and 65535")));
    }
    if let Err(problem) = path(text("path")) {
        problems.push(("path", problem));
    }
    problems
}

/// Validates the path of a webhook: segments that are DNS names.
pub(crate) fn path(path: &str) -> Result<(), String> {
    if path.is_empty() || path == "/" {
        return Ok(());
    }
    let Some(segments) = path.strip_prefix('/') else {
        return Err(format!("invalid path `{path}`: must start with `/`"));
    };
    for segment in segments.strip_suffix('/').unwrap_or(segments).split('/') {
        if segment.is_empty() {
            return Err(format!("invalid path `{path}`: must not have empty segments"));
        }
        names::dns_subdomain(segment).map_err(|problem| format!("invalid path `{path}`: {problem}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_validated_as_in_go() {
        for good in ["https://a.b", "https://a.b:443/c/d?", "https://[::1]:80/", "https://a/%20#"] {
            assert_eq!(url(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "http://a",
            "https:///x",
            "https://u@a",
            "https://a#x",
            "https://a?b",
            "https://a:b",
            "://a",
            "https://a b",
            "https://a/%zz",
            "a:b",
            "https://[::1",
            "HTTPS//a",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_are_segments_of_dns_names() {
        for good in ["", "/", "/a", "/a/b.c/"] {
            assert_eq!(path(good), Ok(()), "{good}");
        }
        for bad in ["a", "//", "/a//b", "/A", "/a_b", "/a?b"] {
            assert!(path(bad).is_err(), "{bad}");
        }
    }
}
