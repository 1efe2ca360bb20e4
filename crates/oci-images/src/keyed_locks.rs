//! Locks by key: one task does the work for a key, and the others wait and find it done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The locks that tasks hold or wait for.
#[derive(Debug, Default)]
pub(crate) struct KeyedLocks(Mutex<HashMap<String, Arc<AsyncMutex<()>>>>);

/// A lock of one task, which ends when the value is dropped.
pub(crate) type KeyedLock = OwnedMutexGuard<()>;

impl KeyedLocks {
    /// Waits until no other task holds the lock of `key`. The caller then checks what the others have done.
    pub(crate) async fn lock(&self, key: String) -> KeyedLock {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(key).or_default())
        };
        lock.lock_owned().await
    }
}
