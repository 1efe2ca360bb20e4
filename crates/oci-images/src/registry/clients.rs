//! What repositories with the same [`Options`](super::Options) share: HTTP clients with their connections, so that the system's
//! certificates are read and a registry is connected to once and not for each image; and how registries answer without a login.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::{Client, Url};

/// The clients and challenges. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Clients(Arc<Shared>);

#[derive(Default)]
struct Shared {
    clients: Mutex<HashMap<Key, Client>>,
    logins: Mutex<HashMap<String, KnownLogin>>,
}

/// Everything that a client is built from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) trust: Trust,
    pub(crate) is_loopback: bool,
    pub(crate) user_agent: String,
}

/// Whom a client trusts, and what it shows.
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

/// How a registry answers a request without a login.
#[derive(Clone)]
pub(crate) enum KnownLogin {
    /// It does not ask for a login.
    NotRequired,
    /// It asks for a login.
    Required {
        /// The headers that say how.
        challenges: Vec<String>,
        /// Where the answer comes from.
        from: Url,
    },
}

impl fmt::Debug for Clients {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never the keys, which have secrets.
        formatter.debug_struct("Clients").finish_non_exhaustive()
    }
}

impl Clients {
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

    /// Returns how the registry at `base` answers without a login, if it was asked.
    pub(crate) fn login(&self, base: &Url) -> Option<KnownLogin> {
        self.0.logins.lock().unwrap_or_else(PoisonError::into_inner).get(base.as_str()).cloned()
    }

    /// Records how the registry at `base` answers without a login.
    pub(crate) fn record_login(&self, base: &Url, login: KnownLogin) {
        self.0.logins.lock().unwrap_or_else(PoisonError::into_inner).insert(base.to_string(), login);
    }
}
