//! Addresses as Go's `net/mail` parses them: `a@b`, `Name <a@b>`, `"quoted"@b`.

/// Returns whether a string is one address.
pub(crate) fn is_address(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let text = without_comment(text);
    match text.strip_suffix('>') {
        Some(rest) => {
            let Some((name, address)) = rest.rsplit_once('<') else { return false };
            is_phrase(name.trim_matches([' ', '\t'])) && is_plain(address.trim_matches([' ', '\t']))
        }
        None => is_plain(text),
    }
}

/// Returns the string without a trailing comment in parentheses.
fn without_comment(text: &str) -> &str {
    let comment = text.strip_suffix(')').and_then(|rest| rest.rfind('('));
    comment.map_or(text, |at| text[..at].trim_end_matches([' ', '\t']))
}

fn is_plain(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let quoted = local.len() >= 2 && local.starts_with('"') && is_quoted(local);
    (quoted || is_dotted(local)) && (is_dotted(domain) || is_literal(domain))
}

/// Returns whether a domain is an address in brackets.
fn is_literal(domain: &str) -> bool {
    let inner = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    inner
        .is_some_and(|inner| inner.strip_prefix("IPv6:").unwrap_or(inner).parse::<std::net::IpAddr>().is_ok())
}

fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut escaped = false;
    for c in inner.chars() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == '"' || c.is_control() && c != '\t' {
            return false;
        }
    }
    !escaped
}

fn is_phrase(text: &str) -> bool {
    text.is_empty()
        || is_quoted(text)
        || text.split([' ', '\t']).all(|word| word.chars().all(|c| is_atom(c) || c == '.'))
}

fn is_dotted(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && part.chars().all(is_atom))
}

fn is_atom(c: char) -> bool {
    !c.is_ascii() || c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_other_texts() {
        for good in [
            "a@b",
            "a.b+c@d.e",
            "Joe Q. Public <a@b>",
            "\"a b\"@c",
            "<a@b>",
            "a@[1.2.3.4]",
            "a@b (home)",
            "ä@ö",
        ] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["", "a", "a@", "@b", "a..b@c", "a b@c", "a@b@c", "a@b>", "a@b, c@d", ".a@b"] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
