//! The form of `auth.json` and Docker's `config.json`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::super::file;
use super::{Error, Secret};

/// Maximum size of a file with credentials, in bytes.
const MAX_FILE_SIZE: u64 = 1 << 20;

/// The names of Docker Hub, old ones included.
const HUB: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// The parts of a file with credentials that are used here.
#[derive(Default, Deserialize)]
pub(super) struct AuthFile {
    #[serde(default)]
    auths: BTreeMap<String, Login>,
    #[serde(default, rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(default, rename = "credsStore")]
    pub(super) store: Option<String>,
}

/// One login.
#[derive(Deserialize)]
pub(super) struct Login {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default, rename = "identitytoken")]
    identity_token: String,
}

impl AuthFile {
    /// Reads `path`; returns `None` if it does not exist and need not.
    pub(super) fn read(path: &Path, required: bool) -> Result<Option<Self>, Error> {
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
        serde_json::from_slice(&text).map(Some).map_err(|error| Error::Malformed {
            path: path.to_owned(),
            // Never the parser's own words: it quotes what it stumbles over.
            reason: format!("invalid JSON at line {}, column {}", error.line(), error.column()),
        })
    }

    /// Returns the helper for `registry`, with the name that the file has for the registry.
    pub(super) fn helper(&self, registry: &str) -> Option<(&str, &str)> {
        self.helpers
            .iter()
            .find(|(key, _)| same_registry(&plain(key), registry))
            .map(|(key, name)| (key.as_str(), name.as_str()))
    }

    /// Returns the login whose key is the longest prefix of `registry/repository`, in whole components.
    pub(super) fn login(&self, registry: &str, repository: &str) -> Option<(&str, &Login)> {
        self.auths
            .iter()
            .filter(|(_, login)| !login.is_empty())
            .filter_map(|(key, login)| {
                let plain = plain(key);
                let (host, namespace) = plain.split_once('/').unwrap_or((&plain, ""));
                let fits = same_registry(host, registry)
                    && repository
                        .strip_prefix(namespace)
                        .is_some_and(|rest| namespace.is_empty() || rest.is_empty() || rest.starts_with('/'));
                fits.then_some((namespace.len(), key.as_str(), login))
            })
            .max_by_key(|(length, _, _)| *length)
            .map(|(_, key, login)| (key, login))
    }
}

impl Login {
    fn is_empty(&self) -> bool {
        self.auth.is_empty() && self.username.is_empty() && self.identity_token.is_empty()
    }

    /// Returns the identity token, or user and password. The error says what is wrong without quoting it.
    pub(super) fn decode(&self) -> Result<Secret, String> {
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

/// Returns the key of a registry in a credential store: Docker Hub's is its oldest address.
pub(super) fn store_key(registry: &str) -> &str {
    if HUB.contains(&registry) { "https://index.docker.io/v1/" } else { registry }
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
