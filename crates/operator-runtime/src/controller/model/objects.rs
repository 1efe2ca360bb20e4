//! What is known of the objects that are reconciled, besides what the watch reported last. Pure.

use super::history::ReconcileHistory;
use crate::controller::object::Key;
use crate::controller::raw_object::version_of;
use kube::Resource;
use std::collections::HashMap;
use std::sync::Arc;

/// What is known of the objects of a watched namespace.
pub(crate) struct ObjectTable<O> {
    records: HashMap<Key, ObjectRecord<O>>,
    /// How many lists have begun.
    lists: u64,
}

/// What is known of one object.
struct ObjectRecord<O> {
    /// The response to the newest own write that the watch has not caught up with, and the list since which it is known.
    response: Option<(u64, Arc<O>)>,
    /// Why the spec could not be parsed.
    malformed: Option<String>,
    history: ReconcileHistory,
    /// Whether an own write is under way, and the version that the watch has reported since it began, or 0.
    hold: Option<u64>,
}

impl<O> Default for ObjectTable<O> {
    fn default() -> Self {
        Self { records: HashMap::new(), lists: 0 }
    }
}

impl<O> Default for ObjectRecord<O> {
    fn default() -> Self {
        Self { response: None, malformed: None, history: ReconcileHistory::default(), hold: None }
    }
}

impl<O: Resource> ObjectTable<O> {
    fn record(&mut self, key: &Key) -> &mut ObjectRecord<O> {
        self.records.entry(key.clone()).or_default()
    }

    /// Records whether an object's spec could be parsed; returns an error that is new.
    pub(crate) fn parsed(&mut self, key: &Key, error: Option<String>) -> Option<String> {
        let Some(error) = error else {
            if let Some(record) = self.records.get_mut(key) {
                record.malformed = None;
            }
            return None;
        };
        let record = self.record(key);
        let new = record.malformed.as_ref() != Some(&error);
        record.malformed = Some(error.clone());
        new.then_some(error)
    }

    /// Returns what is remembered of an object between reconciles.
    pub(crate) fn history(&mut self, key: &Key) -> &mut ReconcileHistory {
        &mut self.record(key).history
    }

    /// Records the response to an own write.
    pub(crate) fn written(&mut self, response: Arc<O>) {
        let (list, key) = (self.lists, Key::from(response.meta()));
        self.record(&key).response = Some((list, response));
    }

    /// An own write begins: until [`ObjectTable::release`], what the watch reports may be its echo.
    pub(crate) fn hold(&mut self, key: &Key) {
        self.record(key).hold = Some(0);
    }

    /// An own write has ended; returns whether the watch has reported something else in the meantime.
    pub(crate) fn release(&mut self, key: &Key) -> bool {
        let Some(record) = self.records.get_mut(key) else { return false };
        let Some(reported) = record.hold.take().filter(|version| *version > 0) else { return false };
        let written = record.response.as_ref().and_then(|(_, response)| version_of(response.meta()));
        if Some(reported) >= written {
            record.response = None;
        }
        Some(reported) > written
    }

    /// Returns the newer one of the stored object and of what a write returned.
    pub(crate) fn newest(&self, stored: &Arc<O>) -> Arc<O> {
        let record = self.records.get(&Key::from(stored.meta()));
        let response = record.and_then(|record| record.response.as_ref()).map(|(_, response)| response);
        let newer = |response: &&Arc<O>| {
            response.meta().uid == stored.meta().uid
                && version_of(response.meta()) > version_of(stored.meta())
        };
        Arc::clone(response.filter(newer).unwrap_or(stored))
    }

    /// Records what the watch reported; returns false if that is the echo of an own write or older than one.
    pub(crate) fn reported(&mut self, object: &O) -> bool {
        let record = self.records.get_mut(&Key::from(object.meta()));
        let Some(record) = record else { return true };
        if let Some(held) = &mut record.hold
            && let Some(version) = version_of(object.meta())
        {
            *held = version;
            return false;
        }
        let response = &mut record.response;
        let Some((_, written)) = &response else { return true };
        let (reported, known) = (version_of(object.meta()), version_of(written.meta()));
        let same = written.meta().uid == object.meta().uid;
        if same && reported < known {
            return false;
        }
        *response = None;
        !(same && reported == known)
    }

    /// The watch begins to list.
    pub(crate) fn list_began(&mut self) {
        self.lists += 1;
    }

    /// The watch has listed everything that `exists`. The list is newer than all that was known when it began, whatever the
    /// versions and generations say: etcd may have been restored from a backup.
    pub(crate) fn list_ended(&mut self, exists: impl Fn(&Key) -> bool) {
        let current = self.lists;
        self.records.retain(|key, record| {
            record.response = record.response.take().filter(|(list, _)| *list == current);
            record.history.forget_desired();
            exists(key)
        });
    }

    /// Forgets an object that no longer exists.
    pub(crate) fn deleted(&mut self, key: &Key) {
        self.records.remove(key);
    }

    /// Returns how many things are kept, by what they are.
    pub(crate) fn sizes(&self) -> [(&'static str, usize); 3] {
        let count = |keeps: fn(&ObjectRecord<O>) -> bool| {
            self.records.values().filter(|record| keeps(record)).count()
        };
        [
            ("memory", self.records.len()),
            ("responses", count(|record| record.response.is_some())),
            ("malformed", count(|record| record.malformed.is_some())),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, cluster};

    fn at(version: &str) -> Arc<Cluster> {
        let mut object = cluster(1);
        object.metadata.resource_version = Some(version.into());
        Arc::new(object)
    }

    fn newest(objects: &ObjectTable<Cluster>, stored: &str) -> String {
        objects.newest(&at(stored)).metadata.resource_version.clone().unwrap()
    }

    #[test]
    fn echo_that_precedes_the_response_is_not_a_change_either_and_others_are_not_lost() {
        for (reported, changed) in [(&["105"][..], false), (&["104", "105"], false), (&["105", "106"], true)]
        {
            let mut objects = ObjectTable::<Cluster>::default();
            let key = Key::from(at("100").meta());
            objects.hold(&key);
            for version in reported {
                assert!(!objects.reported(&at(version)));
            }
            objects.written(at("105"));
            assert_eq!(objects.release(&key), changed, "{reported:?}");
            assert_eq!(objects.sizes()[1], ("responses", 0), "the watch has caught up");
            assert!(objects.reported(&at("107")), "by somebody else");
        }
        // A write that fails.
        let mut objects = ObjectTable::<Cluster>::default();
        let key = Key::from(at("100").meta());
        objects.hold(&key);
        assert!(!objects.reported(&at("101")));
        assert!(objects.release(&key));
        assert!(!objects.release(&key), "only once");
    }

    #[test]
    fn own_write_counts_before_the_watch_reports_it_and_its_echo_is_not_a_change() {
        let mut objects = ObjectTable::default();
        objects.written(at("105"));
        assert_eq!(newest(&objects, "100"), "105");
        assert!(!objects.reported(&at("104")), "older than what was written");
        assert!(!objects.reported(&at("105")), "the echo");
        assert!(objects.reported(&at("105")), "forgotten once caught up");
        assert!(objects.reported(&at("106")));
    }

    #[test]
    fn list_replaces_newer_versions_that_were_written_before_it_began() {
        let mut objects = ObjectTable::default();
        objects.written(at("900"));
        objects.list_began();
        objects.list_ended(|_| true);
        assert_eq!(newest(&objects, "100"), "100");
        objects.list_began();
        objects.written(at("105"));
        objects.list_ended(|_| true);
        assert_eq!(newest(&objects, "100"), "105");
        objects.list_began();
        objects.written(at("106"));
        objects.list_ended(|_| false);
        assert_eq!(objects.sizes().map(|(_, size)| size), [0; 3], "what was not listed is forgotten");
    }

    #[test]
    fn malformed_spec_is_new_once_and_forgotten_when_it_is_repaired_or_deleted() {
        let mut objects = ObjectTable::<Cluster>::default();
        let key = Key::from(&at("1").metadata);
        assert_eq!(objects.parsed(&key, None), None);
        assert_eq!(objects.sizes()[0], ("memory", 0), "nothing is kept of an object that is fine");
        let error = || Some("invalid type".to_owned());
        assert_eq!(objects.parsed(&key, error()), error());
        assert_eq!(objects.parsed(&key, error()), None);
        objects.parsed(&key, None);
        assert_eq!(objects.parsed(&key, error()), error(), "it was repaired");
        objects.deleted(&key);
        assert_eq!(objects.parsed(&key, error()), error(), "it was deleted");
    }

    #[test]
    fn object_of_the_same_name_and_another_uid_is_not_the_one_that_was_written() {
        let mut objects = ObjectTable::default();
        objects.written(at("105"));
        let mut other = cluster(1);
        other.metadata.uid = Some("another".to_owned());
        other.metadata.resource_version = Some("101".to_owned());
        assert_eq!(objects.newest(&Arc::new(other.clone())).metadata.uid, other.metadata.uid);
        assert!(objects.reported(&other));
    }
}
