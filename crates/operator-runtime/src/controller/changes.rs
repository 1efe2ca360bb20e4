//! What a reconcile did to the children, for events.

use super::apply::StepOutcome;
use super::object::Key;
use super::observed::Observed;
use super::plan::PlannedStep;
use super::view::View;
use super::watches::Watches;
use crate::events::Event;
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
    pub(crate) watches: &'a Watches,
    pub(crate) done: &'a [(PlannedStep, StepOutcome)],
    pub(crate) before: &'a Observed,
    /// The spec changed since the status was last written.
    pub(crate) new_spec: bool,
}

impl Changes<'_> {
    /// Returns kind, name and what happened, for each child that was written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, Change)> {
        self.changed().map(|(PlannedStep { kind, key: Key { name, .. }, .. }, change)| {
            (self.watches.children[*kind].resource.kind.as_str(), name.as_str(), change)
        })
    }

    fn changed(&self) -> impl Iterator<Item = (&PlannedStep, Change)> {
        self.done.iter().filter_map(|(planned, done)| {
            let change = match done {
                StepOutcome::Created => Change::Created,
                StepOutcome::Updated => Change::Updated,
                StepOutcome::Deleted => Change::Deleted,
                StepOutcome::Unchanged | StepOutcome::Failed(_) => return None,
            };
            Some((planned, change))
        })
    }

    /// Returns what happened to the child of a kind with this name, if anything.
    #[must_use]
    pub fn get<K: Resource<DynamicType = ()>>(&self, name: &str) -> Option<Change> {
        let kind = self.watches.child_index::<K>()?;
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
    pub fn events(&self) -> Vec<Event> {
        self.iter()
            .map(|(kind, name, change)| {
                let (reason, action) = match change {
                    Change::Created => ("Created", "Create"),
                    Change::Updated => ("Updated", "Update"),
                    Change::Deleted => ("Deleted", "Delete"),
                };
                Event::normal(reason, action, format!("{reason} {kind} {name}"))
            })
            .collect()
    }
}
