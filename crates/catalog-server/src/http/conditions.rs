//! Conditional requests and ranges, as Go's `http.ServeContent` evaluates them where there is no entity tag.
//!
//! Source: `net/http/fs.go` of Go, and `internal/catalogd/server/http_preconditions_check.go` of operator-controller.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, StatusCode, header};

/// The maximum number of ranges that are considered.
const MAX_RANGES: usize = 100;

fn value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).as_ref().map_or(0, Duration::as_secs)
}

fn date(text: &str) -> Option<u64> {
    httpdate::parse_http_date(text).ok().map(seconds)
}

/// Returns the status with which a request for something of this age ends early, if its conditions ask for that.
pub(crate) fn precondition(headers: &HeaderMap, modified: SystemTime) -> Option<StatusCode> {
    let modified = seconds(modified);
    let matches = value(headers, &header::IF_MATCH);
    let is_met = if matches.is_empty() {
        date(value(headers, &header::IF_UNMODIFIED_SINCE)).is_none_or(|since| modified <= since)
    } else {
        // Without an entity tag, only `*` matches.
        has_star(matches)
    };
    if !is_met {
        return Some(StatusCode::PRECONDITION_FAILED);
    }
    let none = value(headers, &header::IF_NONE_MATCH);
    let is_unmodified = if none.is_empty() {
        date(value(headers, &header::IF_MODIFIED_SINCE)).is_some_and(|since| modified <= since)
    } else {
        has_star(none)
    };
    is_unmodified.then_some(StatusCode::NOT_MODIFIED)
}

/// Returns whether a list of entity tags contains `*` before anything that is not one.
fn has_star(mut list: &str) -> bool {
    loop {
        list = list.trim_start_matches([' ', '\t', ',']);
        if list.starts_with('*') {
            return true;
        }
        let tag = list.strip_prefix("W/").unwrap_or(list);
        let Some(rest) = tag.strip_prefix('"') else { return false };
        let Some((tag, rest)) = rest.split_once('"') else { return false };
        if !tag.bytes().all(|byte| byte == b'!' || byte >= b'#' && byte != 0x7f) {
            return false;
        }
        list = rest;
    }
}

/// Which part of a content is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// Start and length.
    Range(u64, u64),
    /// The range cannot be sent; whether its syntax is valid.
    Unsatisfiable {
        is_valid: bool,
    },
}

/// Returns the part of a content of this size that a request asks for. Requests for several ranges get all of it, which
/// HTTP allows and no client of catalogs uses.
pub(crate) fn part(headers: &HeaderMap, modified: SystemTime, size: u64) -> Part {
    let range = value(headers, &header::RANGE);
    let condition = value(headers, &header::IF_RANGE);
    if range.is_empty() || !condition.is_empty() && date(condition) != Some(seconds(modified)) {
        return Part::All;
    }
    match ranges(range, size) {
        None => Part::Unsatisfiable { is_valid: false },
        Some((found, _)) if found.len() == 1 => Part::Range(found[0].0, found[0].1),
        Some((found, true)) if found.is_empty() && size > 0 => Part::Unsatisfiable { is_valid: true },
        Some(_) => Part::All,
    }
}

/// Returns the ranges, and whether some lie behind the end; nothing if the syntax is invalid.
fn ranges(text: &str, size: u64) -> Option<(Vec<(u64, u64)>, bool)> {
    let number = |text: &str| -> Option<u64> {
        text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
    };
    let mut found = Vec::new();
    let mut behind = false;
    for (index, range) in text.strip_prefix("bytes=")?.split(',').enumerate() {
        let range = range.trim();
        if range.is_empty() {
            continue;
        }
        if index >= MAX_RANGES {
            return None;
        }
        let (start, end) = range.split_once('-')?;
        let (start, end) = (start.trim(), end.trim());
        if start.is_empty() {
            let length = number(end)?.min(size);
            found.push((size - length, length));
            continue;
        }
        let start = number(start)?;
        let last = if end.is_empty() { None } else { Some(number(end)?) };
        if start >= size {
            behind = true;
            continue;
        }
        if last.is_some_and(|last| start > last) {
            return None;
        }
        let last = last.unwrap_or(u64::MAX).min(size - 1);
        found.push((start, last - start + 1));
    }
    Some((found, behind))
}

/// Returns whether a client accepts gzip.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    value(headers, &header::ACCEPT_ENCODING)
        .split(',')
        .map(|coding| {
            let mut parts = coding.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
            (name, weight.map_or(1.0, |weight| weight.parse::<f64>().unwrap_or(0.0)))
        })
        .find(|(name, _)| name.eq_ignore_ascii_case("gzip"))
        .is_some_and(|(_, weight)| weight > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";

    fn headers(list: &[(HeaderName, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    fn modified() -> SystemTime {
        httpdate::parse_http_date(MODIFIED).unwrap() + Duration::from_millis(900)
    }

    #[test]
    fn conditions_are_evaluated_as_in_go() {
        let not_modified = Some(StatusCode::NOT_MODIFIED);
        let failed = Some(StatusCode::PRECONDITION_FAILED);
        for (list, expected) in [
            (&[][..], None),
            (&[(header::IF_MODIFIED_SINCE, MODIFIED)], not_modified),
            (&[(header::IF_MODIFIED_SINCE, "Sunday, 06-Nov-94 08:49:37 GMT")], not_modified),
            (&[(header::IF_MODIFIED_SINCE, EARLIER)], None),
            (&[(header::IF_MODIFIED_SINCE, "yesterday")], None),
            (&[(header::IF_UNMODIFIED_SINCE, MODIFIED)], None),
            (&[(header::IF_UNMODIFIED_SINCE, EARLIER)], failed),
            (&[(header::IF_MATCH, "\"a\"")], failed),
            (&[(header::IF_MATCH, "\"a\", *")], None),
            (&[(header::IF_MATCH, "a, *")], failed),
            (&[(header::IF_NONE_MATCH, "*")], not_modified),
            (&[(header::IF_NONE_MATCH, "W/\"a\"")], None),
            (&[(header::IF_NONE_MATCH, "\"a\""), (header::IF_MODIFIED_SINCE, MODIFIED)], None),
            (&[(header::IF_MATCH, "*"), (header::IF_UNMODIFIED_SINCE, EARLIER)], None),
        ] {
            assert_eq!(precondition(&headers(list), modified()), expected, "{list:?}");
        }
    }

    #[test]
    fn ranges_are_read_as_in_go() {
        let unsatisfiable = |is_valid| Part::Unsatisfiable { is_valid };
        for (range, expected) in [
            ("bytes=0-", Part::Range(0, 10)),
            ("bytes=2-4", Part::Range(2, 3)),
            ("bytes= 2 - 40 ", Part::Range(2, 8)),
            ("bytes=-3", Part::Range(7, 3)),
            ("bytes=-30", Part::Range(0, 10)),
            ("bytes=1-2,20-30", Part::Range(1, 2)),
            ("bytes=1-2,4-5", Part::All),
            ("bytes=10-", unsatisfiable(true)),
            ("bytes=4-2", unsatisfiable(false)),
            ("bytes=--1", unsatisfiable(false)),
            ("bytes=a-b", unsatisfiable(false)),
            ("lines=1-2", unsatisfiable(false)),
            ("bytes=,", Part::All),
        ] {
            assert_eq!(part(&headers(&[(header::RANGE, range)]), modified(), 10), expected, "{range}");
        }
        let range = (header::RANGE, "bytes=1-1");
        let with =
            |condition| part(&headers(&[range.clone(), (header::IF_RANGE, condition)]), modified(), 10);
        assert_eq!(with(MODIFIED), Part::Range(1, 1));
        assert_eq!(with(EARLIER), Part::All);
        assert_eq!(with("\"tag\""), Part::All);
    }

    #[test]
    fn gzip_is_accepted_where_it_is_named_with_a_weight() {
        for (value, expected) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip;q=x", false),
            ("*", false),
            ("br", false),
        ] {
            assert_eq!(accepts_gzip(&headers(&[(header::ACCEPT_ENCODING, value)])), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
