//! What a reconcile did to the children, for events.

use super::apply::Done;
use super::key::Key;
use super::observed::Observed;
use super::owns::Owns;
use super::plan::Planned;
use super::view::View;
use crate::events::Note;
use kube::Resource;

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
    pub(crate) owns: &'a Owns,
    pub(crate) done: &'a [(Planned, Done)],
    pub(crate) before: &'a Observed,
    /// The spec changed since the status was last written.
    pub(crate) new_spec: bool,
}

impl Changes<'_> {
    /// Returns kind, name and what happened, for each child that was written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Change)> {
        self.changed().map(|(Planned { kind, key: Key { name, .. }, .. }, change)| {
            (self.owns.children[*kind].resource.kind.as_str(), name.as_str(), change)
        })
    }

    fn changed(&self) -> impl Iterator<Item = (&Planned, Change)> {
        self.done.iter().filter_map(|(planned, done)| {
            let change = match done {
                Done::Created => Change::Created,
                Done::Updated => Change::Updated,
                Done::Deleted => Change::Deleted,
                Done::Nothing | Done::Failed(_) => return None,
            };
            Some((planned, change))
        })
    }

    /// Returns what happened to the child of a kind with this name, if anything.
    #[must_use]
    pub fn of<K: Resource<DynamicType = ()>>(&self, name: &str) -> Option<Change> {
        let kind = self.owns.child_index::<K>()?;
        self.changed()
            .find(|(planned, _)| planned.kind == kind && planned.key.name == name)
            .map(|(_, change)| change)
    }

    /// Returns the view of a child as it was before.
    #[must_use]
    pub fn before<K: Resource<DynamicType = ()>, V: View>(&self, name: &str) -> Option<&V> {
        self.before.child::<K, V>(name)
    }

    /// Returns one event per child that was written: `Created`, `Updated` or `Deleted`.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        self.iter()
            .map(|(kind, name, change)| {
                let (reason, action) = match change {
                    Change::Created => ("Created", "Create"),
                    Change::Updated => ("Updated", "Update"),
                    Change::Deleted => ("Deleted", "Delete"),
                };
                Note::normal(reason, action, format!("{reason} {kind} {name}"))
            })
            .collect()
    }
}
