//! Turns: of work that several tasks would do beside each other for the same thing, one does it, and the others find it done.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Whose turn it is, by what the work is for.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<AsyncMutex<()>>>>);

/// The turn of one task, which ends when the value is dropped.
pub(crate) type Turn = OwnedMutexGuard<()>;

impl Turns {
    /// Waits until no other task works on `key`. The caller checks then what the others have done.
    pub(crate) async fn take(&self, key: String) -> Turn {
        let turn = Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        turn.lock_owned().await
    }
}
