//! URLs as Go's `net/url` parses them.
//!
//! Source: `net/url/url.go` of Go 1.26.

use std::net::Ipv6Addr;

/// The parts of a URL that are validated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Url<'t> {
    /// The scheme in any case; empty if there is none.
    pub scheme: &'t str,
    /// Whether the URL has a user before `@`.
    pub user: bool,
    /// The host with its port; empty if there is none.
    pub host: &'t str,
    /// The query after `?`.
    pub query: &'t str,
    /// The fragment after `#`.
    pub fragment: &'t str,
}

/// Parses a URL (`url.Parse`).
///
/// # Errors
/// The reason why the URL is invalid.
pub(crate) fn parse(text: &str) -> Result<Url<'_>, &'static str> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let url = read(before, false)?;
    escapes(fragment)?;
    Ok(Url { fragment, ..url })
}

/// Parses a URL without fragment, or an absolute path (`url.ParseRequestURI`).
///
/// # Errors
/// The reason why the URL is invalid.
pub(crate) fn parse_request_uri(text: &str) -> Result<Url<'_>, &'static str> {
    read(text, true)
}

fn read(text: &str, request: bool) -> Result<Url<'_>, &'static str> {
    let nothing = Url { scheme: "", user: false, host: "", query: "", fragment: "" };
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("contains a control character");
    }
    if text.is_empty() && request {
        return Err("must not be empty");
    }
    if text == "*" {
        return Ok(nothing);
    }
    let (scheme, rest) = scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let url = Url { scheme, query, ..nothing };
    if !rest.starts_with('/') {
        if !scheme.is_empty() {
            return Ok(url);
        }
        if request {
            return Err("must have a scheme or be an absolute path");
        }
        if rest.split('/').next().is_some_and(|part| part.contains(':')) {
            return Err("the first path segment contains a colon");
        }
    }
    let authority =
        rest.strip_prefix("//").filter(|_| !scheme.is_empty() || !request && !rest.starts_with("///"));
    let Some(authority) = authority else {
        escapes(rest)?;
        return Ok(url);
    };
    let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    check_host(scheme, host)?;
    if let Some(user) = user {
        check_user(user)?;
    }
    escapes(path)?;
    Ok(Url { user: user.is_some(), host, ..url })
}

fn scheme(text: &str) -> Result<(&str, &str), &'static str> {
    for (at, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if at > 0 => {}
            ':' if at == 0 => return Err("missing scheme before the colon"),
            ':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Returns the two hexadecimal digits after each `%`.
fn escaped(text: &str) -> impl Iterator<Item = Option<u8>> {
    text.match_indices('%').map(|(at, _)| {
        let digits = text.as_bytes().get(at + 1..at + 3)?;
        digits.iter().try_fold(0u8, |code, digit| {
            Some(code * 16 + u8::try_from(char::from(*digit).to_digit(16)?).ok()?)
        })
    })
}

fn escapes(text: &str) -> Result<(), &'static str> {
    if escaped(text).all(|code| code.is_some()) {
        Ok(())
    } else {
        Err("`%` must be followed by two hexadecimal digits")
    }
}

fn check_user(user: &str) -> Result<(), &'static str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if user.chars().all(allowed) { escapes(user) } else { Err("invalid character in the user name") }
}

fn check_host(scheme: &str, host: &str) -> Result<(), &'static str> {
    if host.rfind('[').is_some_and(|at| at > 0) {
        return Err("unexpected `[` in the host");
    }
    if let Some(inner) = host.strip_prefix('[') {
        let Some((address, port)) = inner.rsplit_once(']') else {
            return Err("missing `]` in the host");
        };
        check_port(port)?;
        let (address, zone) =
            address.split_once("%25").map_or((address, None), |(address, zone)| (address, Some(zone)));
        let valid = address.parse::<Ipv6Addr>().is_ok() && zone != Some("");
        return if valid {
            zone.map_or(Ok(()), escapes)
        } else {
            Err("the host in brackets must be an IPv6 address")
        };
    }
    let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let colon = if web { host.find(':') } else { host.rfind(':') };
    if let Some(at) = colon {
        check_port(&host[at..])?;
    }
    // ASCII characters must not be escaped.
    if !escaped(host).all(|code| code.is_some_and(|code| code >= 0x80 || code == b'%')) {
        return Err("invalid escape in the host");
    }
    let allowed =
        |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    if host.chars().all(allowed) { Ok(()) } else { Err("invalid character in the host") }
}

fn check_port(port: &str) -> Result<(), &'static str> {
    let valid = port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
    if valid { Ok(()) } else { Err("the port must be a number") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_as_in_go() {
        for good in [
            "https://a.b",
            "https://a.b:443/c/d?",
            "https://[::1]:80/",
            "https://a/%20#",
            "",
            "a/b",
            "mailto:x",
            "//a",
            "https://<a>\"",
            "https://é",
            "https://%C3%A9",
            "http://[fe80::1%25en0]",
            "x://a:b:1",
            "https://u:p@a",
            "*",
        ] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for bad in [
            "://a",
            "https://a b",
            "https://a/%zz",
            "a:b/",
            "https://[::1",
            "https://a:b",
            "https://%41",
            "https://a:1:2",
            "https://[1.2.3.4]",
            "https://a[b]",
            "https://u<@a",
            "1a:b",
            "a\n",
            "https://a\\b",
        ] {
            assert!(parse(bad).is_err() || bad == "a:b/", "{bad}");
        }
        assert_eq!(parse("a:b/").map(|url| url.scheme), Ok("a"));
        let url = parse("HTTPS://u@h:1/p?q#f").unwrap();
        assert_eq!(
            (url.scheme, url.user, url.host, url.query, url.fragment),
            ("HTTPS", true, "h:1", "q", "f")
        );
        for (good, host) in [("/a", ""), ("///a//b", ""), ("http://a", "a"), ("*", "")] {
            assert_eq!(parse_request_uri(good).map(|url| url.host), Ok(host), "{good}");
        }
        for bad in ["", "a", "http://a#b", "?a"] {
            assert!(parse_request_uri(bad).is_err(), "{bad}");
        }
    }
}
