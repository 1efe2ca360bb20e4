//! What repositories with the same [`Options`](super::Options) share: HTTP clients with their connections, so that the system's
//! certificates are read and a registry is connected to once and not for each image; the challenges of registries that require a login;
//! and which blobs are sent at the moment.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reqwest::{Client, Url};
use tokio::sync::Mutex as AsyncMutex;

use super::challenge::LoginChallenge;
use crate::keyed_locks::{KeyedLock, KeyedLocks};

/// The connections to registries, with what was found out about them. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SharedConnections(Arc<Shared>);

#[derive(Default)]
struct Shared {
    clients: Mutex<HashMap<Key, Client>>,
    /// By the address of a registry.
    logins: Mutex<HashMap<String, Arc<LoginLookup>>>,
    uploads: KeyedLocks,
}

/// Whether a registry requires a login; determined once.
#[derive(Default)]
struct LoginLookup {
    /// The challenge, or `None` if no login is required.
    answer: OnceLock<Option<LoginChallenge>>,
    /// Whether the first try has failed. Locked while the first one asks, so that the others wait for the answer.
    has_failed: AsyncMutex<bool>,
}

/// Everything that a client is built from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) trust: Trust,
    pub(crate) is_loopback: bool,
    pub(crate) user_agent: String,
}

/// Which certificates a client trusts, and which it presents.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Trust {
    /// Plain HTTP only.
    Plain,
    /// The system's authorities and others, as DER.
    Authorities(Vec<Vec<u8>>),
    /// The registry itself.
    Registry {
        /// The other authorities, as DER.
        authorities: Vec<Vec<u8>>,
        /// The client's certificate and its key, as PEM.
        identity: Option<Vec<u8>>,
        /// Whether certificates are not verified.
        skip_verification: bool,
    },
}

impl fmt::Debug for SharedConnections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the keys, because they contain secrets.
        formatter.debug_struct("SharedConnections").finish_non_exhaustive()
    }
}

impl SharedConnections {
    /// Returns the client for `key`, which is built if there is none.
    pub(crate) fn get<E>(&self, key: Key, build: impl FnOnce() -> Result<Client, E>) -> Result<Client, E> {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        let client = build()?;
        clients.insert(key, client.clone());
        Ok(client)
    }

    /// Returns the challenge of the registry at `base`; `None` if it requires no login. The first caller asks the registry, and those
    /// that come meanwhile wait. If the first one fails, each of the others asks by itself, and none waits for another failure.
    pub(crate) async fn login<E>(
        &self,
        base: &Url,
        ask: impl AsyncFnOnce() -> Result<Option<LoginChallenge>, E>,
    ) -> Result<Option<LoginChallenge>, E> {
        let lookup = {
            let mut logins = self.0.logins.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(logins.entry(base.to_string()).or_default())
        };
        if let Some(answer) = lookup.answer.get() {
            return Ok(answer.clone());
        }
        let mut has_failed = lookup.has_failed.lock().await;
        if let Some(answer) = lookup.answer.get() {
            return Ok(answer.clone());
        }
        if *has_failed {
            drop(has_failed);
            let answer = ask().await?;
            return Ok(lookup.answer.get_or_init(|| answer).clone());
        }
        match ask().await {
            Ok(answer) => Ok(lookup.answer.get_or_init(|| answer).clone()),
            Err(error) => {
                *has_failed = true;
                Err(error)
            }
        }
    }

    /// Waits until no other task sends the blob to the repository.
    pub(crate) async fn upload_lock(&self, base: &Url, repository: &str, digest: &str) -> KeyedLock {
        self.0.uploads.lock(format!("{base}{repository}@{digest}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn registry_is_asked_once_for_a_login_and_again_after_a_failure() {
        let base = Url::parse("https://r.example.com/v2/").unwrap();
        let challenge = LoginChallenge { headers: vec!["Basic".to_owned()], from: base.clone() };
        for (failing, expected) in [(0, 1), (1, 6)] {
            let (connections, asked) = (SharedConnections::default(), AtomicUsize::new(0));
            let ask = async || {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                if number < failing { Err(number) } else { Ok(Some(challenge.clone())) }
            };
            let logins = join_all((0..6).map(|_| connections.login(&base, ask))).await;
            assert_eq!(logins.iter().filter(|login| login.is_err()).count(), failing);
            assert_eq!(asked.load(Ordering::Relaxed), expected);
            assert!(connections.login(&base, ask).await.unwrap().is_some());
            assert_eq!(asked.load(Ordering::Relaxed), expected);
        }
    }
}
