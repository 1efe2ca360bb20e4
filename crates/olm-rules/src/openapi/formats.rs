//! The formats of strings that Kubernetes validates.
//!
//! Source: `pkg/validation/strfmt` and `internal/third_party/govalidator` of `k8s.io/kube-openapi`,
//! `pkg/apiserver/validation/formats.go` of `k8s.io/apiextensions-apiserver`.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::email;
use crate::kubernetes::urls;

type Check = fn(&str) -> bool;

/// The checks by name, without dashes, which are ignored.
const FORMATS: [(&str, Check); 26] = [
    ("bsonobjectid", |text| text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())),
    ("byte", |text| PATTERNS.byte.is_match(text)),
    ("cidr", cidr),
    ("creditcard", credit_card),
    ("date", date),
    ("datetime", date_time),
    ("duration", duration),
    ("email", email::is_address),
    ("hexcolor", |text| PATTERNS.hex_color.is_match(text)),
    ("hostname", hostname),
    ("ipv4", |text| text.contains('.') && address(text).is_some()),
    ("ipv6", |text| text.parse::<Ipv6Addr>().is_ok()),
    ("isbn", |text| isbn10(text) || isbn13(text)),
    ("isbn10", isbn10),
    ("isbn13", isbn13),
    ("k8slongname", |text| text.len() <= 253 && text.split('.').all(short_name)),
    ("k8sshortname", |text| text.len() <= 63 && short_name(text)),
    ("mac", mac),
    ("password", |_| true),
    ("rgbcolor", |text| PATTERNS.rgb_color.is_match(text)),
    ("ssn", |text| text.len() == 11 && PATTERNS.ssn.is_match(text)),
    ("uri", |text| urls::parse_request_uri(text).is_ok()),
    ("uuid", |text| uuid(text, None, false)),
    ("uuid3", |text| uuid(text, Some('3'), false)),
    ("uuid4", |text| uuid(text, Some('4'), true)),
    ("uuid5", |text| uuid(text, Some('5'), true)),
];

fn find(format: &str) -> Option<Check> {
    let plain = format.replace('-', "");
    FORMATS.iter().find(|(name, _)| *name == plain).map(|(_, check)| *check)
}

/// Returns the names of all formats, without dashes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|(name, _)| *name)
}

/// Returns whether Kubernetes validates a format.
pub(crate) fn is_checked(format: &str) -> bool {
    find(format).is_some()
}

/// Returns the minor version of Kubernetes that introduced a format, if 1.30 does not have it; earlier versions ignore the format.
///
/// Source: `supportedVersionedFormats` in `pkg/apiserver/validation/formats.go` of `k8s.io/apiextensions-apiserver`.
pub(crate) fn introduced(format: &str) -> Option<u16> {
    matches!(format.replace('-', "").as_str(), "k8slongname" | "k8sshortname").then_some(34)
}

/// Returns whether a string has a format; unknown formats match everything.
pub(crate) fn fits(format: &str, text: &str) -> bool {
    find(format).is_none_or(|check| check(text))
}

struct Patterns {
    byte: Regex,
    hex_color: Regex,
    rgb_color: Regex,
    ssn: Regex,
    credit_card: Regex,
    hostname: Regex,
    time: Regex,
    duration: Regex,
    go_duration: Regex,
}

#[expect(clippy::unwrap_used, reason = "constants; a test uses each")]
static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let compile = |pattern: &str| Regex::new(pattern).unwrap();
    Patterns {
        byte: compile("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
        hex_color: compile("^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
        rgb_color: compile(
            r"^rgb\((?-u:\s)*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(?-u:\s)*,(?-u:\s)*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(?-u:\s)*,(?-u:\s)*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])(?-u:\s)*\)$",
        ),
        ssn: compile("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"),
        credit_card: compile(
            "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
        ),
        hostname: compile(
            r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
        ),
        time: compile(r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$"),
        duration: compile("([0-9]+)(?-u:[\\t\\n\\x0c\\r ])*([A-Za-zµ]+)"),
        go_duration: compile(r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$"),
    }
});

/// Parses an IP address as older versions of Go do: numbers may have leading zeros.
fn address(text: &str) -> Option<IpAddr> {
    if text.find('.') < text.find(':') && text.contains('.') || !text.contains(':') {
        let parts: Vec<_> = text.split('.').collect();
        let numbers: Option<Vec<u8>> = parts
            .iter()
            .map(|part| {
                let valid = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                let digits = part.trim_start_matches('0');
                if valid { if digits.is_empty() { Some(0) } else { digits.parse().ok() } } else { None }
            })
            .collect();
        return <[u8; 4]>::try_from(numbers?).ok().map(IpAddr::from);
    }
    let (before, last) = text.rsplit_once(':')?;
    if last.contains('.') {
        let IpAddr::V4(embedded) = address(last)? else { return None };
        return format!("{before}:{embedded}").parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    text.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
}

fn cidr(text: &str) -> bool {
    let Some((ip, mask)) = text.split_once('/') else { return false };
    let Some(ip) = address(ip) else { return false };
    let maximum = if ip.is_ipv4() { 32 } else { 128 };
    !mask.is_empty()
        && mask.len() < 8
        && mask.bytes().all(|byte| byte.is_ascii_digit())
        && mask.parse::<u32>().is_ok_and(|mask| mask <= maximum)
}

fn mac(text: &str) -> bool {
    let groups = |separator: char, width: usize, octets: [usize; 3]| {
        let parts: Vec<_> = text.split(separator).collect();
        octets.contains(&(parts.len() * width / 2))
            && parts
                .iter()
                .all(|part| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    match text.as_bytes() {
        [_, _, b':' | b'-', ..] => groups(if text.as_bytes()[2] == b':' { ':' } else { '-' }, 2, [6, 8, 20]),
        [_, _, _, _, b'.', ..] => groups('.', 4, [6, 8, 20]),
        bytes => [12, 16, 40].contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_hexdigit),
    }
}

fn uuid(text: &str, version: Option<char>, variant: bool) -> bool {
    // A dash is optional at each of four positions.
    let mut digits = String::with_capacity(32);
    let mut rest = text;
    for (index, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some(group) = rest.get(..width) else { return false };
        digits.push_str(group);
        rest = &rest[width..];
    }
    rest.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && version.is_none_or(|version| digits.chars().nth(12) == Some(version))
        && (!variant || matches!(digits.as_bytes()[16], b'8' | b'9' | b'a' | b'b' | b'A' | b'B'))
}

fn without_blanks_and_dashes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ' | '-')).collect()
}

fn isbn10(text: &str) -> bool {
    let text = without_blanks_and_dashes(text);
    let values: Option<Vec<u32>> = text
        .char_indices()
        .map(|(at, c)| if at == 9 && c == 'X' { Some(10) } else { c.to_digit(10) })
        .collect();
    values.is_some_and(|values| {
        values.len() == 10
            && (1..).zip(&values).map(|(factor, value): (u32, _)| factor * value).sum::<u32>() % 11 == 0
    })
}

fn isbn13(text: &str) -> bool {
    let text = without_blanks_and_dashes(text);
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(10)).collect();
    digits.is_some_and(|digits| {
        digits.len() == 13 && {
            let sum: u32 =
                digits[..12].iter().zip([1, 3].into_iter().cycle()).map(|(digit, by)| digit * by).sum();
            digits[12] == (10 - sum % 10) % 10
        }
    })
}

fn credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(index, byte)| {
            let digit = u32::from(byte - b'0') * if index % 2 == 1 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    PATTERNS.credit_card.is_match(&digits) && sum.is_multiple_of(10)
}

fn date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
        && text.parse::<jiff::civil::Date>().is_ok()
}

fn date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(day), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = PATTERNS.time.captures(time) else { return false };
    date(day) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

fn duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    // Go's durations, which also allow another micro sign.
    if matches!(text, "0" | "+0" | "-0") || text.contains('μ') && PATTERNS.go_duration.is_match(text) {
        return true;
    }
    let mut found = false;
    for part in PATTERNS.duration.captures_iter(text) {
        if part[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = part[2].to_lowercase();
        found |= UNITS.iter().any(|names| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|name| unit.starts_with(name))
        });
    }
    found
}

fn hostname(text: &str) -> bool {
    text.len() <= 255 && text.split('.').all(|part| part.len() <= 63) && PATTERNS.hostname.is_match(text)
}

fn short_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let edge =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_takes_what_go_takes() {
        let cases: [(&str, &[&str], &[&str]); 24] = [
            (
                "bsonobjectid",
                &["507f1f77bcf86cd799439011"],
                &["507f1f77bcf86cd79943901", "x07f1f77bcf86cd799439011"],
            ),
            ("byte", &["aGVsbG8=", "aGVs"], &["", "aGVsbG8", "a-b_"]),
            (
                "cidr",
                &["10.0.0.0/8", "010.0.0.1/08", "::1/128", "::ffff:1.2.3.4/96"],
                &["10.0.0.0", "10.0.0.0/33", "x/8"],
            ),
            ("creditcard", &["4111-1111-1111-1111"], &["4111111111111112", ""]),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-29", "", "20240229"]),
            (
                "date-time",
                &["2024-01-01T23:59:59Z", "2024-01-01t00:00:00.1+01:00"],
                &["2024-01-01", "2024-01-01T24:00:00Z"],
            ),
            ("duration", &["1h", "0", "1.5h", "2 weeks", "5secs"], &["", "1", "h", "3 parsecs"]),
            ("email", &["a@b", "A <a@b.c>"], &["a", "@b", "a@"]),
            ("hexcolor", &["#fff", "A0B1C2"], &["#ff", "#ggg"]),
            ("hostname", &["a", "example.com", "1a.example"], &["-a", "a_b", ""]),
            ("ipv4", &["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], &["1.2.3", "1.2.3.256", "::1"]),
            ("ipv6", &["::1", "::ffff:1.2.3.4"], &["1.2.3.4", "::1%eth0", ":::"]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044", "1"]),
            ("isbn10", &["0-321-75104-3"], &["978-0321751041"]),
            ("k8s-short-name", &["a-b", "1"], &["a.b", "A", ""]),
            ("k8s-long-name", &["a-b.c"], &["a..b", "a_b"]),
            (
                "mac",
                &["01:23:45:67:89:ab", "0123.4567.89ab", "0123456789ab"],
                &["01:23", "01-23:45-67-89-ab"],
            ),
            ("password", &["", "x"], &[]),
            ("rgbcolor", &["rgb(0, 10,255)"], &["rgb(0,0,256)", "rgb(0,0)"]),
            ("ssn", &["111-22-3333"], &["111223333", "111 22 333"]),
            ("uri", &["http://a/b", "/a", "mailto:x"], &["a", "", "http://[::1"]),
            ("uuid", &["123E4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"], &["123"]),
            ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]),
            ("nothing-that-is-known", &["x"], &[]),
        ];
        for (format, good, bad) in cases {
            for text in good {
                assert!(fits(format, text), "{format}: {text}");
            }
            for text in bad {
                assert!(!fits(format, text), "{format}: {text}");
            }
        }
    }
}
