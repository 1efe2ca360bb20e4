//! What has to be written to reach the desired state. Pure: compares digests, makes no request.

use super::cache::Seen;
use super::children::Wanted;
use super::key::Key;
use super::observed::Observed;
use super::owns::Owns;
use std::collections::HashSet;
use std::sync::Arc;

/// What to do about one child.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// It is up to date.
    Leave,
    /// Apply what was built. `ours` means that the object exists and is ours; otherwise it must not exist.
    Apply { ours: bool },
    /// Delete the object with this uid.
    Delete { uid: String },
    /// It cannot be created now, for this reason. The watch reports when the other object is gone.
    Blocked(String),
}

/// What to do about the object of a kind under a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    /// Index of the kind in [`Owns`].
    pub(crate) kind: usize,
    pub(crate) key: Key,
    pub(crate) step: Step,
    /// The digest of what is applied.
    pub(crate) digest: Option<u64>,
}

/// Compares the desired state with what was observed; returns everything that has to be done.
pub(crate) fn plan(
    wanted: &[Wanted],
    observed: &Observed,
    owns: &Owns,
    find: impl Fn(usize, &Key) -> Option<Arc<Seen>>,
    uid: &str,
) -> Vec<Planned> {
    let mut planned: Vec<Planned> = wanted
        .iter()
        .map(|Wanted { kind, key, digest }| {
            let name = &owns.children[*kind].resource.kind;
            let step = desired_step(name, *digest, find(*kind, key).as_deref(), uid);
            Planned { kind: *kind, key: key.clone(), step, digest: *digest }
        })
        .collect();
    let desired: HashSet<(usize, &Key)> = wanted.iter().map(|wanted| (wanted.kind, &wanted.key)).collect();
    for (kind, _) in owns.children.iter().enumerate().filter(|(_, known)| known.optional) {
        for (key, seen) in observed.children_of(kind) {
            if !desired.contains(&(kind, key)) {
                planned.push(Planned { kind, key: key.clone(), step: surplus_step(seen, uid), digest: None });
            }
        }
    }
    planned.retain(|planned| planned.step != Step::Leave);
    planned
}

fn surplus_step(seen: &Seen, uid: &str) -> Step {
    let ours = seen.owner.as_ref().is_some_and(|owner| owner.uid == uid);
    if ours && !seen.deleting { Step::Delete { uid: seen.uid.clone() } } else { Step::Leave }
}

fn desired_step(kind: &str, digest: Option<u64>, seen: Option<&Seen>, uid: &str) -> Step {
    let Some(seen) = seen else { return Step::Apply { ours: false } };
    if seen.deleting {
        return Step::Blocked(format!("the previous {kind} of this name is still being deleted"));
    }
    match &seen.owner {
        Some(owner) if owner.uid == uid && digest == Some(seen.digest) => Step::Leave,
        // An object without an owner that has the operator's label, or the watch would not report it, was orphaned
        // (`kubectl delete --cascade=orphan`) and is adopted again.
        None => Step::Apply { ours: true },
        Some(owner) if owner.uid == uid => Step::Apply { ours: true },
        Some(_) => Step::Blocked(format!("a {kind} of this name belongs to another object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::controller::cache::Owner;

    fn seen(owner: Option<&str>, digest: u64, deleting: bool) -> Seen {
        let owner = owner.map(|uid| Owner { uid: uid.into(), key: None });
        Seen { uid: "d".into(), owner, digest, deleting, view: None }
    }

    fn planned(wanted: Option<u64>, seen: Option<&Seen>) -> Step {
        desired_step("Service", wanted, seen, "me")
    }

    #[test]
    fn a_missing_object_is_created() {
        assert_eq!(planned(Some(1), None), Step::Apply { ours: false });
    }

    #[test]
    fn an_object_that_is_up_to_date_is_unchanged() {
        assert_eq!(planned(Some(1), Some(&seen(Some("me"), 1, false))), Step::Leave);
    }

    #[test]
    fn drift_is_reverted() {
        let drifted = seen(Some("me"), 2, false);
        assert_eq!(planned(Some(1), Some(&drifted)), Step::Apply { ours: true });
    }

    #[test]
    fn an_object_of_another_owner_or_one_being_deleted_blocks() {
        assert!(matches!(planned(Some(1), Some(&seen(Some("other"), 1, false))), Step::Blocked(_)));
        assert!(matches!(planned(Some(1), Some(&seen(Some("me"), 1, true))), Step::Blocked(_)));
    }

    #[test]
    fn only_an_object_of_ours_is_deleted() {
        assert_eq!(surplus_step(&seen(Some("me"), 1, false), "me"), Step::Delete { uid: "d".into() });
        assert_eq!(surplus_step(&seen(Some("other"), 1, false), "me"), Step::Leave);
        assert_eq!(surplus_step(&seen(None, 1, false), "me"), Step::Leave);
        assert_eq!(surplus_step(&seen(Some("me"), 1, true), "me"), Step::Leave);
    }

    #[test]
    fn without_digests_every_reconcile_applies() {
        assert_eq!(planned(None, Some(&seen(Some("me"), 1, false))), Step::Apply { ours: true });
    }
}
