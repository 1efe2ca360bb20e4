//! The form of `auth.json` and Docker's `config.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};

use super::credentials::Secret;
use super::error::Error;
use crate::registry::file;

/// Maximum size of a file with credentials, in bytes.
pub(crate) const MAX_FILE_SIZE: u64 = 1 << 20;

/// The names of Docker Hub, old ones included.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The parts of a file with credentials that are used here.
///
/// As for podman and docker, which are written in Go, `null` stands for nothing everywhere.
#[derive(Default, Deserialize)]
pub(crate) struct AuthFile {
    #[serde(default, deserialize_with = "or_default")]
    auths: BTreeMap<String, Option<Login>>,
    #[serde(default, rename = "credHelpers", deserialize_with = "or_default")]
    helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    store: Option<String>,
}

/// One login.
#[derive(Deserialize)]
pub(crate) struct Login {
    #[serde(default, deserialize_with = "or_default")]
    auth: String,
    #[serde(default, deserialize_with = "or_default")]
    username: String,
    #[serde(default, deserialize_with = "or_default")]
    password: String,
    #[serde(default, rename = "identitytoken", deserialize_with = "or_default")]
    identity_token: String,
}

/// Returns the default for `null`.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl AuthFile {
    /// Reads `path`; returns `None` if it does not exist and need not.
    pub(crate) fn read(path: &Path, required: bool) -> Result<Option<Self>, Error> {
        let text = match file::read(path, MAX_FILE_SIZE) {
            Ok(text) => text,
            Err(error)
                if !required
                    && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                return Ok(None);
            }
            Err(reason) => return Err(Error::Read { path: path.to_owned(), reason }),
        };
        // /dev/null, and a file that is created before a login is written to it.
        if text.trim_ascii().is_empty() {
            return Ok(Some(Self::default()));
        }
        let malformed = |reason| Error::Malformed { path: path.to_owned(), reason };
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Err(malformed("expected a JSON object, found a list".to_owned()));
        }
        serde_json::from_slice(&text).map(Some).map_err(|error| {
            // Never the parser's own words: it quotes what it stumbles over.
            let what = if error.is_data() { "unexpected type of a value" } else { "invalid JSON" };
            malformed(format!("{what} at line {}, column {}", error.line(), error.column()))
        })
    }

    /// Returns the helper for `registry`, with the name that the file has for the registry.
    pub(crate) fn helper(&self, registry: &str) -> Option<(&str, &str)> {
        self.helpers
            .iter()
            .find(|(key, name)| same_registry(&plain(key), registry) && !name.is_empty())
            .map(|(key, name)| (key.as_str(), name.as_str()))
    }

    /// Returns the helper for all registries.
    pub(crate) fn store(&self) -> Option<&str> {
        self.store.as_deref().filter(|name| !name.is_empty())
    }

    /// Returns the login whose key is the longest prefix of `registry/repository`, in whole components.
    pub(crate) fn login(&self, registry: &str, repository: &str) -> Option<(&str, &Login)> {
        self.auths
            .iter()
            .filter_map(|(key, login)| Some((key, login.as_ref()?)))
            .filter(|(_, login)| !login.is_empty())
            .filter_map(|(key, login)| Some((covers(key, registry, repository)?, key.as_str(), login)))
            .max_by_key(|(length, _, _)| *length)
            .map(|(_, key, login)| (key, login))
    }
}

impl AuthFile {
    /// Returns whether the file has an entry for exactly `scope`.
    pub(crate) fn has_key(&self, scope: &str) -> bool {
        self.auths.keys().any(|key| is_same_scope(key, scope))
    }
}

impl Login {
    fn is_empty(&self) -> bool {
        self.auth.is_empty() && self.username.is_empty() && self.identity_token.is_empty()
    }

    /// Returns the identity token, or user and password. The error says what is wrong without quoting it.
    pub(crate) fn decode(&self) -> Result<Secret, String> {
        if !self.identity_token.is_empty() {
            return Ok(Secret::IdentityToken(self.identity_token.clone()));
        }
        if self.auth.is_empty() {
            return Ok(Secret::Basic { user: self.username.clone(), password: self.password.clone() });
        }
        let bytes = STANDARD.decode(self.auth.trim()).map_err(|_| "`auth` is not valid base64")?;
        let text = String::from_utf8(bytes).map_err(|_| "`auth` is not valid UTF-8")?;
        let (user, password) = text.split_once(':').ok_or("`auth` contains no user and password")?;
        // Docker once padded passwords with zero bytes.
        Ok(Secret::Basic { user: user.to_owned(), password: password.trim_end_matches('\0').to_owned() })
    }
}

/// Returns how much of the name of `repository` the scope `key` has, if it covers the repository: a registry covers all of its
/// repositories, with parts of names those whose names begin with them.
pub(crate) fn covers(key: &str, registry: &str, repository: &str) -> Option<usize> {
    let plain = plain(key);
    let (host, namespace) = plain.split_once('/').unwrap_or((&plain, ""));
    let fits = same_registry(host, registry)
        && repository
            .strip_prefix(namespace)
            .is_some_and(|rest| namespace.is_empty() || rest.is_empty() || rest.starts_with('/'));
    fits.then_some(namespace.len())
}

/// Returns the key of a registry in a credential store: Docker Hub's is its oldest address.
pub(crate) fn store_key(registry: &str) -> &str {
    if HUB.contains(&registry) { "https://index.docker.io/v1/" } else { registry }
}

/// Returns whether `key`, in whatever form, is the entry of `scope`: a registry with or without parts of repositories.
pub(crate) fn is_same_scope(key: &str, scope: &str) -> bool {
    let (key, scope) = (plain(key), plain(scope));
    let split = |text: &str| {
        let (host, rest) = text.split_once('/').unwrap_or((text, ""));
        (host.to_owned(), rest.to_owned())
    };
    let ((a, a_rest), (b, b_rest)) = (split(&key), split(&scope));
    same_registry(&a, &b) && a_rest == b_rest
}

fn same_registry(a: &str, b: &str) -> bool {
    a == b || (HUB.contains(&a) && HUB.contains(&b))
}

/// Returns a key without scheme and version: Docker writes some registries as addresses.
fn plain(key: &str) -> String {
    let address = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
    match address {
        // An address names a registry as a whole.
        Some(address) => address.split('/').next().unwrap_or(address).to_owned(),
        None => key.trim_end_matches('/').to_owned(),
    }
}
