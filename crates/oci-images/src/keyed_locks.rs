//! Locks by key: one task does the work for a key, and the others wait and find it done. After a failure, tasks no longer wait for
//! each other, because each failure may take as long as a timeout.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The locks that tasks hold or wait for, and those of work that has failed.
#[derive(Debug, Default)]
pub(crate) struct KeyedLocks(Mutex<Locks>);

#[derive(Debug, Default)]
struct Locks {
    by_key: HashMap<String, Arc<Lock>>,
    /// The number of locks at which those that nobody needs any more are removed.
    sweep_at: usize,
}

#[derive(Debug, Default)]
struct Lock {
    held: Arc<AsyncMutex<()>>,
    has_failed: AtomicBool,
}

/// A lock of one task, which ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct KeyedLock {
    lock: Arc<Lock>,
    /// `None` if the work has failed before: then several tasks may do it at once.
    _guard: Option<OwnedMutexGuard<()>>,
}

impl KeyedLocks {
    /// Waits until no other task holds the lock of `key`. The caller then checks what the others have done.
    pub(crate) async fn lock(&self, key: String) -> KeyedLock {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if locks.by_key.len() >= locks.sweep_at {
                locks.by_key.retain(|_, lock| Arc::strong_count(lock) > 1 || lock.has_failed());
                locks.sweep_at = 2 * locks.by_key.len() + 16;
            }
            Arc::clone(locks.by_key.entry(key).or_default())
        };
        let mut guard = None;
        if !lock.has_failed() {
            guard = Some(Arc::clone(&lock.held).lock_owned().await);
        }
        let guard = guard.filter(|_| !lock.has_failed());
        KeyedLock { lock, _guard: guard }
    }
}

impl Lock {
    fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }
}

impl KeyedLock {
    /// Records that the work has failed, so that no other task waits for this one.
    pub(crate) fn fail(self) {
        self.lock.has_failed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_by_one_task_until_it_fails() {
        let locks = KeyedLocks::default();
        let first = locks.lock("a".into()).await;
        locks.lock("b".into()).await;
        let mut second = Box::pin(locks.lock("a".into()));
        assert!(futures::poll!(&mut second).is_pending());
        first.fail();
        let second = second.await;
        // It has failed once, so that a third one does not wait for the second.
        let third = locks.lock("a".into()).await;
        drop((second, third));
        for number in 0..100 {
            locks.lock(number.to_string()).await;
        }
        let left = &locks.0.lock().unwrap().by_key;
        assert!(left.len() < 40 && left.contains_key("a"), "{left:?}");
    }
}
