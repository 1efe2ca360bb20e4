//! Basic authentication (RFC 7617) with the users of an htpasswd file. Passwords are hashed with bcrypt, as
//! `htpasswd -B` does and as other registries require.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use oci_spec::image::Digest;
use tokio::sync::Semaphore;

use super::error::Error;
use super::response::{Code, Failure};
use crate::layout::sha256;
use crate::plain::io_error;
use crate::registry::file;

/// The maximum size of an htpasswd file in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The maximum number of users.
const MAX_USERS: usize = 10_000;
/// The maximum cost of a hash: each more doubles the time, and 14 takes about a second.
const MAX_COST: u32 = 14;
/// The maximum length of an `Authorization` header in bytes.
const MAX_HEADER: usize = 8 << 10;
/// The number of accepted headers that are remembered, so that a hash is not computed for every request.
const REMEMBERED: usize = 100;

/// The users.
#[derive(Debug)]
pub(crate) struct Users {
    hashes: BTreeMap<String, String>,
    /// The digests of headers that were accepted.
    accepted: Mutex<VecDeque<Digest>>,
    /// Hashes are computed one at a time: wrong passwords must not occupy every processor.
    hashing: Semaphore,
}

impl Users {
    /// Reads an htpasswd file.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let fail = |reason: String| Error::File { path: path.to_owned(), reason };
        let bytes = file::read(path, MAX_FILE).map_err(|error| fail(io_error(&error)))?;
        let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8".into()))?;
        let mut hashes = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // Never the line itself, which may have a password.
            let at = |reason: &str| fail(format!("line {}: {reason}", number + 1));
            let (user, hash) = line.split_once(':').ok_or_else(|| at("expected USER:HASH"))?;
            if !is_supported(hash) {
                return Err(at(
                    "expected a bcrypt hash with a cost of at most 14, as written by `htpasswd -B`",
                ));
            }
            hashes.insert(user.to_owned(), hash.to_owned());
            if hashes.len() > MAX_USERS {
                return Err(fail(format!("the number of users exceeds the limit of {MAX_USERS}")));
            }
        }
        if hashes.is_empty() {
            return Err(fail("it contains no users".into()));
        }
        Ok(Self { hashes, accepted: Mutex::default(), hashing: Semaphore::new(1) })
    }

    /// Accepts a request with a user and its password.
    pub(crate) async fn check(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let header = headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
        if header.is_empty() {
            return Err(unauthorized("a user and a password are required"));
        }
        if header.len() > MAX_HEADER {
            return Err(unauthorized(REJECTED));
        }
        let digest = sha256(header);
        if self.accepted().contains(&digest) {
            return Ok(());
        }
        let (user, password) = parse(header).ok_or_else(|| unauthorized(REJECTED))?;
        // An unknown user takes as long as a wrong password.
        let (hash, is_known) = match (self.hashes.get(&user), self.hashes.values().next()) {
            (Some(hash), _) => (hash.clone(), true),
            (None, Some(other)) => (other.clone(), false),
            (None, None) => return Err(unauthorized(REJECTED)),
        };
        let permit = self.hashing.acquire().await.map_err(|_| unauthorized(REJECTED))?;
        let verified =
            tokio::task::spawn_blocking(move || bcrypt::verify(password, &hash).unwrap_or(false)).await;
        drop(permit);
        if !(verified.unwrap_or(false) && is_known) {
            return Err(unauthorized(REJECTED));
        }
        let mut accepted = self.accepted();
        accepted.push_back(digest);
        if accepted.len() > REMEMBERED {
            accepted.pop_front();
        }
        Ok(())
    }

    fn accepted(&self) -> std::sync::MutexGuard<'_, VecDeque<Digest>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a client is told whose user is unknown or whose password is wrong, without saying which.
const REJECTED: &str = "the user name or the password is wrong";

/// Returns whether a hash is bcrypt's, with a cost that a request can wait for.
fn is_supported(hash: &str) -> bool {
    let cost = ["$2a$", "$2b$", "$2x$", "$2y$"].iter().find_map(|prefix| hash.strip_prefix(prefix));
    let cost = cost.and_then(|rest| rest.split_once('$')).and_then(|(cost, _)| cost.parse::<u32>().ok());
    hash.len() == 60 && cost.is_some_and(|cost| (4..=MAX_COST).contains(&cost))
}

fn parse(header: &[u8]) -> Option<(String, String)> {
    let (scheme, encoded) = str::from_utf8(header).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

fn unauthorized(message: &str) -> Failure {
    Failure::new(StatusCode::UNAUTHORIZED, Code::Unauthorized, message)
        .with_header(WWW_AUTHENTICATE, "Basic realm=\"registry\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn users(text: &str) -> Result<Users, Error> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("htpasswd");
        std::fs::write(&path, text).unwrap();
        Users::read(&path)
    }

    fn headers(user: &str, password: &str) -> HeaderMap {
        let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
        HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())])
    }

    #[tokio::test]
    async fn users_need_their_passwords() {
        let hash = bcrypt::hash("secret", 4).unwrap();
        let users = users(&format!("# comment\n\nalice:{hash}\n")).unwrap();
        for _ in 0..2 {
            assert!(users.check(&headers("alice", "secret")).await.is_ok());
        }
        for (user, password) in [("alice", "wrong"), ("bob", "secret"), ("", ""), ("alice", "")] {
            assert!(users.check(&headers(user, password)).await.is_err(), "{user}:{password}");
        }
        assert!(users.check(&HeaderMap::new()).await.is_err());
        for value in ["Basic", "Basic %", "Bearer x", &format!("Basic {}", "a".repeat(MAX_HEADER))] {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
            assert!(users.check(&headers).await.is_err(), "{value}");
        }
    }

    #[test]
    fn files_with_other_hashes_are_rejected_without_quoting_them() {
        let slow = format!("a:$2y$31${}", "x".repeat(53));
        for text in ["", "alice", "alice:hunter2", "alice:{SHA}hunter2=", "alice:$apr1$hunter2", &slow] {
            let error = users(text).unwrap_err().to_string();
            assert!(error.contains("htpasswd") && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
