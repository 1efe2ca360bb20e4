//! What was found outside of the API server, for as long as it counts. Pure.

use super::external::CallResult;
use super::model::Views;
use super::object::{Key, Object};
use super::observed::Snapshot;
use std::collections::{BTreeMap, HashMap};
use tokio::time::Instant;

/// What a call of an external system depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    uid: Option<String>,
    /// The generation or, of kinds without one, the version.
    generation: Result<i64, Option<String>>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    references: Vec<Views>,
}

impl Input {
    pub(crate) fn new<O: Object>(object: &O, snapshot: &Snapshot) -> Self {
        let metadata = object.meta();
        Self {
            uid: metadata.uid.clone(),
            generation: metadata.generation.ok_or_else(|| metadata.resource_version.clone()),
            labels: metadata.labels.clone(),
            annotations: metadata.annotations.clone(),
            references: snapshot.references.clone(),
        }
    }
}

struct Memo<T> {
    input: Input,
    until: Instant,
    result: CallResult<T>,
}

/// What was found, by object.
pub(crate) struct Memos<T> {
    memos: HashMap<Key, Memo<T>>,
}

impl<T> Default for Memos<T> {
    fn default() -> Self {
        Self { memos: HashMap::new() }
    }
}

impl<T> Memos<T> {
    /// Returns what is known for an input, and for how much longer.
    pub(crate) fn get(
        &self,
        key: &Key,
        input: &Input,
        now: Instant,
    ) -> Option<(CallResult<T>, std::time::Duration)> {
        let memo = self.memos.get(key).filter(|memo| memo.input == *input)?;
        let left = memo.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some((memo.result.clone(), left))
    }

    /// Records what a call found until a time; without one, nothing.
    pub(crate) fn set(&mut self, key: &Key, input: Input, until: Option<Instant>, result: &CallResult<T>) {
        match until {
            Some(until) => {
                self.memos.insert(key.clone(), Memo { input, until, result: result.clone() });
            }
            None => self.forget(key),
        }
    }

    /// Records that an own write changed the input.
    pub(crate) fn rebase(&mut self, key: &Key, input: Input) {
        if let Some(memo) = self.memos.get_mut(key) {
            memo.input = input;
        }
    }

    /// Forgets an object.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.memos.remove(key);
    }
}
