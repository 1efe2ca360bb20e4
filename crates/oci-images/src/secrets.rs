//! Masks secrets in messages, and addresses that may contain some.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use crate::message::{escape, percent_encoded, shorten};

/// Stands in messages where a secret was.
const MASK: &str = "***";
/// Minimum number of bytes of what is masked. Something shorter is part of many words, and masking it would make messages unreadable.
const MIN_SECRET: usize = 4;

/// The secrets of a session. A server may echo them in anything it sends, and a library may quote them, so [`Secrets::clean`] and
/// [`Secrets::mask`] remove them from whatever becomes part of a message. Clones share the same secrets.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<BTreeSet<String>>>);

impl Secrets {
    /// Adds a secret, with the forms in which it travels: base64, percent-encoded and inside JSON.
    pub fn add(&self, secret: &str) {
        let trimmed = secret.trim();
        if trimmed.is_empty() {
            return;
        }
        let mut forms = vec![secret.to_owned(), trimmed.to_owned(), percent_encoded(trimmed)];
        forms.push(serde_json::Value::from(secret).to_string().trim_matches('"').to_owned());
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(secret));
        }
        forms.retain(|form| form.len() >= MIN_SECRET);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(forms);
    }

    /// Adds what may be secret of an address: the user with the password, the password, the query and its values.
    pub fn add_address(&self, address: &Address) {
        let rest = address.0.split_once("://").map_or(address.0.as_str(), |(_, rest)| rest);
        let query = rest.split_once('?').map_or("", |(_, query)| query);
        let user = user_end(rest).map_or("", |at| &rest[..at]);
        let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
        let password = user.split_once(':').map(|(_, password)| password);
        [user, query].into_iter().chain(password).chain(values).for_each(|secret| self.add(secret));
    }

    /// Returns `text` on one line, with secrets masked, control characters escaped and the excess cut off.
    #[must_use]
    pub fn clean(&self, text: &str) -> String {
        shorten(&escape(&self.mask(text)))
    }

    /// Returns `text` with secrets masked.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        let secrets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The longest first: a secret may contain another one.
        let mut longest_first: Vec<&String> = secrets.iter().collect();
        longest_first.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        longest_first.into_iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), MASK) } else { text }
        })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secrets(***)")
    }
}

/// An address or a name from a user or a server. It is shown without what may be a secret: user, password, query and fragment.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Returns the address of a URL, of a host with or without a port, or of an image.
    #[must_use]
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    /// Returns the address without user, password, query and fragment.
    #[must_use]
    pub fn without_secrets(&self) -> String {
        let (scheme, _, rest) = self.parts();
        format!("{scheme}{rest}")
    }

    /// Returns the scheme with its separator, whether there is a user, and the rest without the secrets.
    fn parts(&self) -> (&str, bool, &str) {
        let (scheme, rest) = match self.0.find("://") {
            Some(at) => self.0.split_at(at + "://".len()),
            None => ("", self.0.as_str()),
        };
        let end = user_end(rest);
        let rest = end.map_or(rest, |at| &rest[at + 1..]);
        (scheme, end.is_some(), rest.split(['?', '#']).next().unwrap_or_default())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, has_user, rest) = self.parts();
        let user = if has_user { format!("{MASK}@") } else { String::new() };
        formatter.write_str(&escape(&format!("{scheme}{user}{rest}")))
    }
}

impl std::fmt::Debug for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, formatter)
    }
}

/// Returns a text without the users and passwords of the addresses in it, such as `alice:hunter2@quay.io/a`.
#[must_use]
pub fn without_users(text: &str) -> String {
    let is_end = |c: char| {
        c.is_whitespace() || c.is_control() || matches!(c, '`' | '\'' | '"' | '<' | '>' | '(' | ')')
    };
    let mut shown = String::with_capacity(text.len());
    for piece in text.split_inclusive(is_end) {
        let word = piece.strip_suffix(is_end).unwrap_or(piece);
        let has_user = word.split_once('@').is_some_and(|(user, host)| {
            let user = user.split_once("://").map_or(user, |(_, user)| user);
            let is_digest = ["sha256:", "sha512:"].iter().any(|algorithm| host.starts_with(algorithm));
            user.split_once(':').is_some_and(|(name, password)| !name.is_empty() && !password.is_empty())
                && !host.is_empty()
                && !is_digest
        });
        if has_user {
            // An option and its value are one word: `--plain-http=alice:hunter2@host`.
            let (option, address) = match word.split_once('=') {
                Some((option, address)) if option.starts_with("--") => (&word[..=option.len()], address),
                _ => ("", word),
            };
            shown.push_str(option);
            shown.push_str(&Address::new(address).to_string());
        } else {
            shown.push_str(word);
        }
        shown.push_str(&piece[word.len()..]);
    }
    shown
}

/// Returns where the user in an address without a scheme ends. A password may contain anything, so it ends at the last `@` that does
/// not begin a digest.
fn user_end(rest: &str) -> Option<usize> {
    let is_digest = |text: &str| {
        text.split_once(':').is_some_and(|(algorithm, hex)| {
            !hex.is_empty()
                && algorithm.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
                && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    rest.rmatch_indices('@').map(|(at, _)| at).find(|at| !is_digest(&rest[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MAX_TEXT;

    #[test]
    fn address_is_shown_without_secrets() {
        let digest = format!("quay.io/a@sha256:{}", "0".repeat(64));
        for (address, shown) in [
            ("quay.io/a:v1", "quay.io/a:v1"),
            (&digest, &digest),
            ("alice:hunter2@quay.io/a", "***@quay.io/a"),
            ("alice:hun/ter2@x@quay.io/a", "***@quay.io/a"),
            ("https://alice:hunter2@quay.io/a?token=hunter2#hunter2", "https://***@quay.io/a"),
            ("https://quay.io/a?token=hunter2@x", "https://***@x"),
            ("https://a@b@host:6443/a?b", "https://***@host:6443/a"),
            ("http://[::1]:80/?x#y", "http://[::1]:80/"),
            (&format!("alice:hunter2@{digest}"), &format!("***@{digest}")),
        ] {
            assert_eq!(Address::new(address).to_string(), shown);
        }
    }

    #[test]
    fn users_in_a_text_are_masked() {
        let digest = format!("busybox:1@sha256:{}", "0".repeat(64));
        for (text, shown) in [
            ("invalid value 'a:hunter2@quay.io/b' for '<REF>'", "invalid value '***@quay.io/b' for '<REF>'"),
            (
                "failed to read https://a:hunter2@quay.io/b:v1: x",
                "failed to read https://***@quay.io/b:v1: x",
            ),
            ("--plain-http=a:hunter2@h", "--plain-http=***@h"),
            (&digest, &digest),
            ("mail a@b.c: no", "mail a@b.c: no"),
            ("a.yaml:1:2: x@y", "a.yaml:1:2: x@y"),
            ("busybox:1@sha256:zz", "busybox:1@sha256:zz"),
        ] {
            assert_eq!(without_users(text), shown);
        }
    }

    #[test]
    fn secret_is_masked_in_every_form() {
        let secrets = Secrets::default();
        secrets.add("hunter2+\"x");
        secrets.add("user:hunter2+\"x");
        secrets.add("");
        secrets.add("a");
        for echoed in [
            "hunter2+\"x",
            "hunter2%2B%22x",
            r#"hunter2+\"x"#,
            &STANDARD.encode("user:hunter2+\"x"),
            &URL_SAFE_NO_PAD.encode("hunter2+\"x"),
        ] {
            let text = secrets.clean(&format!("you sent {echoed}, really"));
            assert_eq!(text, "you sent ***, really", "{echoed}");
        }
        // Masked before it is shortened: no part of a secret is left at the end.
        let long = format!("{}hunter2+\"x", "a".repeat(MAX_TEXT - 4));
        assert!(!secrets.clean(&long).contains("hunt"));
    }

    #[test]
    fn secrets_of_an_address_are_masked() {
        let secrets = Secrets::default();
        let address = Address::new("https://ada:hunter2@host:6443/api?token=swordfish&a=b");
        secrets.add_address(&address);
        assert_eq!(address.without_secrets(), "https://host:6443/api");
        assert_eq!(format!("{address:?}"), "https://***@host:6443/api");
        let masked = secrets.mask("b ada hunter2 ada:hunter2 swordfish aHVudGVyMg==");
        assert_eq!(masked, "b ada *** *** *** ***");
    }
}
