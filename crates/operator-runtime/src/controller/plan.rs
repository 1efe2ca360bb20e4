//! What has to be written to reach the desired state. Pure: compares digests, makes no request.

use super::children::DesiredChild;
use super::model::ObservedChild;
use super::object::Key;
use super::observed::Snapshot;
use super::watches::Declared;
use std::collections::HashSet;
use std::sync::Arc;

/// What to do about one child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ChildStep {
    /// It is up to date.
    Keep,
    /// Apply what was built. `ours` means that the object exists and is ours; otherwise it must not exist.
    Apply { ours: bool },
    /// Set the label and the owner of the object, which was created once.
    Adopt,
    /// Delete the object with this uid.
    Delete { uid: String },
    /// It cannot be created now, for this reason. The watch reports when the other object is gone.
    Blocked(String),
}

/// What to do about the object of a kind under a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlannedStep {
    /// Index of the kind in [`Declared`].
    pub(crate) kind: usize,
    pub(crate) key: Key,
    pub(crate) step: ChildStep,
    /// The digest of what is applied.
    pub(crate) digest: Option<u64>,
}

/// Compares the desired state with what was observed; returns everything that has to be done.
pub(crate) fn plan(
    wanted: &[DesiredChild],
    observed: &Snapshot,
    declared: &Declared,
    find: impl Fn(usize, &Key) -> Option<Arc<ObservedChild>>,
    uid: &str,
) -> Vec<PlannedStep> {
    let mut planned: Vec<PlannedStep> = wanted
        .iter()
        .map(|DesiredChild { kind, key, once, digest }| {
            let name = &declared.children[*kind].resource.kind;
            let step = match desired_step(name, *digest, find(*kind, key).as_deref(), uid) {
                ChildStep::Apply { ours: true } if *once => kept_step(find(*kind, key).as_deref()),
                step => step,
            };
            PlannedStep { kind: *kind, key: key.clone(), step, digest: *digest }
        })
        .collect();
    let desired: HashSet<(usize, &Key)> = wanted.iter().map(|wanted| (wanted.kind, &wanted.key)).collect();
    for (kind, _) in declared.children.iter().enumerate().filter(|(_, known)| known.options.optional) {
        for (key, seen) in observed.children_of(kind) {
            if !desired.contains(&(kind, key)) {
                planned.push(PlannedStep {
                    kind,
                    key: key.clone(),
                    step: surplus_step(seen, uid),
                    digest: None,
                });
            }
        }
    }
    planned.retain(|planned| planned.step != ChildStep::Keep);
    planned
}

fn surplus_step(seen: &ObservedChild, uid: &str) -> ChildStep {
    let ours = seen.owner.as_ref().is_some_and(|owner| owner.uid == uid);
    if ours && seen.deleting.is_none() {
        ChildStep::Delete { uid: seen.uid.clone() }
    } else {
        ChildStep::Keep
    }
}

fn desired_step(kind: &str, digest: Option<u64>, seen: Option<&ObservedChild>, uid: &str) -> ChildStep {
    let Some(seen) = seen else { return ChildStep::Apply { ours: false } };
    if let Some(deletion) = &seen.deleting {
        let waits = waits_for(&deletion.finalizers);
        return ChildStep::Blocked(format!("the previous {kind} of this name is still being deleted{waits}"));
    }
    match &seen.owner {
        Some(owner) if owner.uid == uid && digest == Some(seen.digest) && !seen.unwatched => ChildStep::Keep,
        // An object without an owner that has the operator's label, or the watch would not report it, was orphaned
        // (`kubectl delete --cascade=orphan`) and is adopted again.
        None => ChildStep::Apply { ours: true },
        Some(owner) if owner.uid == uid => ChildStep::Apply { ours: true },
        Some(_) => ChildStep::Blocked(format!("a {kind} of this name belongs to another object")),
    }
}

/// Returns the end of a sentence about an object that is being deleted.
fn waits_for(finalizers: &[String]) -> String {
    let names = finalizers.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match finalizers.len() {
        0 => String::new(),
        1 => format!(": waiting for the finalizer {names}"),
        _ => format!(": waiting for the finalizers {names}"),
    }
}

/// Returns what to do about an object that exists, is ours, and is never changed.
fn kept_step(seen: Option<&ObservedChild>) -> ChildStep {
    let complete = seen.is_some_and(|seen| seen.owner.is_some() && !seen.unwatched);
    if complete { ChildStep::Keep } else { ChildStep::Adopt }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::controller::model::{Deletion, Owner};

    fn seen(owner: Option<&str>, digest: u64, deleting: bool) -> ObservedChild {
        let owner = owner.map(|uid| Owner { uid: uid.into(), key: None });
        let deleting = deleting.then(Box::<Deletion>::default);
        ObservedChild { uid: "d".into(), owner, digest, deleting, unwatched: false, view: None }
    }

    fn planned(wanted: Option<u64>, seen: Option<&ObservedChild>) -> ChildStep {
        desired_step("Service", wanted, seen, "me")
    }

    #[test]
    fn missing_object_is_created() {
        assert_eq!(planned(Some(1), None), ChildStep::Apply { ours: false });
    }

    #[test]
    fn object_that_is_up_to_date_is_unchanged() {
        assert_eq!(planned(Some(1), Some(&seen(Some("me"), 1, false))), ChildStep::Keep);
    }

    #[test]
    fn drift_is_reverted() {
        let drifted = seen(Some("me"), 2, false);
        assert_eq!(planned(Some(1), Some(&drifted)), ChildStep::Apply { ours: true });
    }

    #[test]
    fn object_of_another_owner_or_one_being_deleted_blocks() {
        assert!(matches!(planned(Some(1), Some(&seen(Some("other"), 1, false))), ChildStep::Blocked(_)));
        assert!(matches!(planned(Some(1), Some(&seen(Some("me"), 1, true))), ChildStep::Blocked(_)));
    }

    #[test]
    fn deletion_that_waits_names_the_finalizers() {
        let waiting = |finalizers: &[&str]| {
            let finalizers = finalizers.iter().map(ToString::to_string).collect();
            let deleting = Some(Box::new(Deletion { finalizers }));
            planned(Some(1), Some(&ObservedChild { deleting, ..seen(Some("me"), 1, false) }))
        };
        let blocked = |end: &str| {
            ChildStep::Blocked(format!("the previous Service of this name is still being deleted{end}"))
        };
        assert_eq!(waiting(&[]), blocked(""));
        assert_eq!(waiting(&["a.io/x"]), blocked(": waiting for the finalizer `a.io/x`"));
        assert_eq!(waiting(&["a.io/x", "b"]), blocked(": waiting for the finalizers `a.io/x`, `b`"));
    }

    #[test]
    fn surplus_object_is_deleted_only_if_it_is_ours() {
        assert_eq!(surplus_step(&seen(Some("me"), 1, false), "me"), ChildStep::Delete { uid: "d".into() });
        assert_eq!(surplus_step(&seen(Some("other"), 1, false), "me"), ChildStep::Keep);
        assert_eq!(surplus_step(&seen(None, 1, false), "me"), ChildStep::Keep);
        assert_eq!(surplus_step(&seen(Some("me"), 1, true), "me"), ChildStep::Keep);
    }

    #[test]
    fn child_without_a_digest_is_applied_in_every_reconcile() {
        assert_eq!(planned(None, Some(&seen(Some("me"), 1, false))), ChildStep::Apply { ours: true });
    }

    #[test]
    fn object_that_was_created_once_is_kept_whatever_it_contains() {
        assert_eq!(kept_step(Some(&seen(Some("me"), 7, false))), ChildStep::Keep);
        assert_eq!(kept_step(Some(&seen(None, 7, false))), ChildStep::Adopt);
        let unwatched = ObservedChild { unwatched: true, ..seen(Some("me"), 7, false) };
        assert_eq!(kept_step(Some(&unwatched)), ChildStep::Adopt);
        assert_eq!(planned(Some(7), Some(&unwatched)), ChildStep::Apply { ours: true });
    }
}
