//! The challenges of a `WWW-Authenticate` header (RFC 9110, section 11.6.1).

use reqwest::Url;

/// Maximum number of challenges and parameters that are read; further ones are ignored.
const MAX_PARTS: usize = 64;

/// The response of a registry that requires a login.
#[derive(Debug, Clone)]
pub(crate) struct LoginChallenge {
    /// Its `WWW-Authenticate` headers.
    pub(crate) headers: Vec<String>,
    /// The address that it comes from.
    pub(crate) from: Url,
}

/// One challenge: a scheme and its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// The scheme in lower case: `bearer`, `basic`.
    pub(crate) scheme: String,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Returns the value of a parameter; the first one if it is repeated.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Parses the value of one header. What is not valid is skipped, in one pass.
pub(crate) fn parse(header: &str) -> Vec<Challenge> {
    let mut challenges: Vec<Challenge> = Vec::new();
    let mut rest = header;
    for _ in 0..MAX_PARTS {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        if rest.is_empty() {
            break;
        }
        let end = rest.find(|c: char| !is_token(c)).unwrap_or(rest.len());
        if end == 0 {
            // Not a token: skip to the next comma.
            rest = rest.find(',').map_or("", |comma| &rest[comma..]);
            continue;
        }
        let (word, after) = rest.split_at(end);
        let value = after.trim_start_matches([' ', '\t']).strip_prefix('=');
        match (value, challenges.last_mut()) {
            (Some(value), Some(challenge)) => {
                let (value, after) = parse_value(value.trim_start_matches([' ', '\t']));
                challenge.parameters.push((word.to_ascii_lowercase(), value));
                rest = after;
            }
            // A parameter without a scheme.
            (Some(value), None) => rest = parse_value(value).1,
            (None, _) => {
                challenges.push(Challenge { scheme: word.to_ascii_lowercase(), ..Challenge::default() });
                rest = after;
            }
        }
    }
    challenges
}

/// Splits a token or a quoted string off the start of `text`.
fn parse_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    // The closing quote is missing.
    (value, "")
}

/// True for the characters of a token (RFC 9110, section 5.6.2).
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(header: &str) -> Vec<String> {
        let text = |challenge: Challenge| {
            let parameters: Vec<String> =
                challenge.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            format!("{} {}", challenge.scheme, parameters.join(" "))
        };
        parse(header).into_iter().map(text).collect()
    }

    #[test]
    fn challenges_are_parsed() {
        assert_eq!(
            texts(
                r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="a:b:pull,push""#
            ),
            ["bearer realm=https://auth.docker.io/token service=registry.docker.io scope=a:b:pull,push"]
        );
        assert_eq!(
            texts(r#"Negotiate, Basic Realm="a \"b\"", charset=UTF-8"#),
            ["negotiate ", r#"basic realm=a "b" charset=UTF-8"#]
        );
        assert_eq!(texts("Bearer realm = \"x\" , service=y"), ["bearer realm=x service=y"]);
    }

    #[test]
    fn invalid_headers_give_what_can_be_read() {
        assert!(texts("").is_empty());
        assert!(texts(&",".repeat(1000)).is_empty());
        assert_eq!(texts("Bearer"), ["bearer "]);
        assert_eq!(texts("Bearer realm"), ["bearer ", "realm "]);
        assert_eq!(texts("Bearer realm="), ["bearer realm="]);
        assert_eq!(texts("Bearer realm=\"a"), ["bearer realm=a"]);
        assert_eq!(texts("realm=\"a\""), [""; 0]);
        assert_eq!(texts("ÿ, Basic"), ["basic "]);
        assert_eq!(parse(&format!("Bearer {}", "a=b,".repeat(100_000)))[0].parameters.len(), MAX_PARTS - 1);
    }
}
