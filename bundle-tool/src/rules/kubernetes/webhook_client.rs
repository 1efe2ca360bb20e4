//! Where a webhook is called: URLs and services.
//!
//! Source: `pkg/util/webhook/validation.go` of `k8s.io/apiserver`; URLs as Go's `net/url` reads them.

use super::names;
use crate::model::yaml::Value;

/// The parts of a URL that are judged.
struct Url<'t> {
    scheme: &'t str,
    user: bool,
    host: &'t str,
    query: bool,
    fragment: bool,
}

/// Whether a text is a URL with a scheme and a host.
pub(in crate::rules) fn is_absolute_url(text: &str) -> bool {
    parse(text).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

/// The URL of a webhook: `https://host[/path]`.
pub(in crate::rules) fn url(text: &str) -> Result<(), String> {
    let url = parse(text).map_err(|problem| format!("'{text}' is no URL: {problem}"))?;
    let problem = if url.scheme != "https" {
        "does not begin with https://"
    } else if url.host.is_empty() {
        "has no host"
    } else if url.user {
        "names a user"
    } else if url.fragment {
        "has a fragment after '#'"
    } else if url.query {
        "has a query after '?'"
    } else {
        return Ok(());
    };
    Err(format!("'{text}' {problem}"))
}

/// Whether a text is what Go's `url.ParseRequestURI` takes: a path from the root, or a URL with a scheme.
pub(in crate::rules) fn is_request_uri(text: &str) -> bool {
    let rooted = text.starts_with('/');
    match scheme(text) {
        _ if text == "*" => true,
        Ok((scheme, _)) if scheme.is_empty() && !rooted => false,
        // What follows a scheme without a slash is not looked at, but for control characters.
        Ok((scheme, rest)) if !scheme.is_empty() && !rest.starts_with('/') => {
            !text.bytes().any(|byte| byte < b' ' || byte == 0x7f)
        }
        // A path, for itself, may begin with two slashes.
        Ok(("", rest)) => {
            parse(rest.trim_start_matches('/')).is_ok()
                || parse(&format!("/{}", rest.trim_start_matches('/'))).is_ok()
        }
        Ok(_) => parse(&text.replace('#', "")).is_ok(),
        Err(_) => false,
    }
}

fn parse(text: &str) -> Result<Url<'_>, &'static str> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("it holds a control character");
    }
    let (before, fragment) = text.split_once('#').map_or((text, ""), |(before, fragment)| (before, fragment));
    escapes(fragment)?;
    let (scheme, rest) = scheme(before)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    if scheme.is_empty()
        && authority.is_empty()
        && path.split('/').next().is_some_and(|part| part.contains(':'))
    {
        return Err("its first part holds a colon");
    }
    escapes(path)?;
    let (user, host) = authority.rsplit_once('@').map_or((false, authority), |(_, host)| (true, host));
    check_host(host)?;
    Ok(Url { scheme, user, host, query: !query.is_empty(), fragment: !fragment.is_empty() })
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("it has no scheme before the colon"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn escapes(text: &str) -> Result<(), &'static str> {
    let sound = text.match_indices('%').all(|(at, _)| {
        text.as_bytes().get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    if sound { Ok(()) } else { Err("a '%' is not followed by two hexadecimal digits") }
}

fn check_host(host: &str) -> Result<(), &'static str> {
    let (name, port) = if host.starts_with('[') {
        host.split_at(host.find(']').ok_or("a ']' is missing in the host")? + 1)
    } else {
        host.split_at(host.rfind(':').unwrap_or(host.len()))
    };
    if !port.is_empty()
        && !port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
    {
        return Err("its port is no number");
    }
    escapes(name)?;
    if name.contains([' ', '"', '<', '>', '\\', '^', '`', '{', '|', '}']) && !name.starts_with('[') {
        return Err("a character in the host is not allowed there");
    }
    Ok(())
}

/// What is wrong with the service of a webhook, with the field that it is about.
pub(in crate::rules) fn service(service: Value<'_>) -> Vec<(&'static str, String)> {
    let text = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut problems = Vec::new();
    for field in ["name", "namespace"] {
        if text(field).is_empty() {
            problems.push((field, format!("the service has no {field}")));
        }
    }
    // Where it is missing, it is 443.
    if let Some(port) = service.get("port").and_then(Value::as_i64)
        && !(1..=65535).contains(&port)
    {
        problems.push(("port", format!("{port} is no port")));
    }
    if let Err(problem) = path(text("path")) {
        problems.push(("path", problem));
    }
    problems
}

/// The path of a webhook: segments that are DNS names.
pub(in crate::rules) fn path(path: &str) -> Result<(), String> {
    if path.is_empty() || path == "/" {
        return Ok(());
    }
    let Some(segments) = path.strip_prefix('/') else {
        return Err(format!("'{path}' does not begin with '/'"));
    };
    for segment in segments.strip_suffix('/').unwrap_or(segments).split('/') {
        if segment.is_empty() {
            return Err(format!("'{path}' has an empty segment"));
        }
        names::dns_subdomain(segment).map_err(|problem| format!("a segment of '{path}': {problem}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_judged_as_go_reads_them() {
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
