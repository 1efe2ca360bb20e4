//! What a reconcile did to the children, for events.

use super::apply::StepOutcome;
use super::object::{Key, Object};
use super::observed::Snapshot;
use super::plan::PlannedStep;
use super::view::View;
use super::watches::{Child, Declared};
use crate::events::Event;

/// What happened to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was created.
    Created,
    /// It existed and was updated.
    Updated,
    /// It was deleted.
    Deleted,
}

/// What a reconcile did to the children.
#[derive(Debug)]
pub struct Changes<'a> {
    pub(crate) declared: &'a Declared,
    pub(crate) done: &'a [(PlannedStep, StepOutcome)],
    pub(crate) before: &'a Snapshot,
    /// The spec changed since the status was last written.
    pub(crate) new_spec: bool,
}

impl Changes<'_> {
    /// Returns kind, key and what happened, for each child that was written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Key, Change)> {
        self.changed().map(|(PlannedStep { kind, key, .. }, change)| {
            (self.declared.children[*kind].resource.kind.as_str(), key, change)
        })
    }

    fn changed(&self) -> impl Iterator<Item = (&PlannedStep, Change)> {
        self.done.iter().filter_map(|(planned, done)| {
            let change = match done {
                StepOutcome::Created => Change::Created,
                StepOutcome::Updated => Change::Updated,
                StepOutcome::Deleted => Change::Deleted,
                StepOutcome::Unchanged | StepOutcome::Found | StepOutcome::Failed(_) => return None,
            };
            Some((planned, change))
        })
    }

    /// Returns what happened to the child with this name, if anything.
    #[must_use]
    pub fn get<K: Object, V>(&self, kind: Child<K, V>, name: &str) -> Option<Change> {
        self.changed()
            .find(|(planned, _)| planned.kind == kind.handle.index && planned.key.name == name)
            .map(|(_, change)| change)
    }

    /// Returns the view of a child as it was before.
    #[must_use]
    pub fn before<K: Object, V: View>(&self, kind: Child<K, V>, name: &str) -> Option<&V> {
        self.before.child(kind, name)
    }

    /// Whether the spec changed since the status was last written.
    #[must_use]
    pub fn is_new_spec(&self) -> bool {
        self.new_spec
    }

    /// Returns one event per child that was written: `Created`, `Updated` or `Deleted`.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.iter()
            .map(|(kind, key, change)| {
                let (reason, action) = match change {
                    Change::Created => ("Created", "Create"),
                    Change::Updated => ("Updated", "Update"),
                    Change::Deleted => ("Deleted", "Delete"),
                };
                Event::normal(reason, action, format!("{reason} {kind} {}", key.name))
            })
            .collect()
    }
}
