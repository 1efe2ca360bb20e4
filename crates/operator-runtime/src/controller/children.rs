//! The children that an object should have, as they are applied.

use super::error::ReconcileError;
use super::object::{Key, Object};
use super::outline::{Outline, digest_of_all};
use super::watches::Watches;
use crate::identity::Identity;
use crate::labels;
use kube::Resource;
use serde::Serialize;
use serde_json::{Value, json};

/// The children that an object should have; returned by [`Reconciler::desired`](super::Reconciler::desired).
///
/// Set `metadata.name` and the fields that you want to manage. Namespace, owner reference and the label `app.kubernetes.io/managed-by` are
/// added. The operator manages every field that is set, and reverts changes to it; all other fields belong to others.
#[derive(Debug, Default)]
pub struct Children {
    objects: Vec<(String, String, Result<Value, serde_json::Error>)>,
}

impl Children {
    /// Returns an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a child of a kind that is declared in [`Reconciler::watches`](super::Reconciler::watches).
    pub fn add<K: Resource<DynamicType = ()> + Serialize>(&mut self, child: K) -> &mut Self {
        let (group, kind) = (K::group(&()).into_owned(), K::kind(&()).into_owned());
        self.objects.push((group, kind, serde_json::to_value(child)));
        self
    }

    /// Returns the children as they are applied.
    pub(crate) fn into_bodies<O: Object>(
        self,
        owner: &O,
        watches: &Watches,
        identity: &Identity,
    ) -> Result<Vec<ChildBody>, ReconcileError> {
        let key = Key::from(owner.meta());
        let reference = json!([{
            "apiVersion": O::api_version(&()),
            "blockOwnerDeletion": true,
            "controller": true,
            "kind": O::kind(&()),
            "name": key.name,
            "uid": owner.meta().uid,
        }]);
        self.objects
            .into_iter()
            .map(|(group, kind, body)| {
                let declared = watches.children.iter();
                let index = declared
                    .enumerate()
                    .find(|(_, known)| known.resource.kind == kind && known.resource.group == group)
                    .map(|(index, _)| index)
                    .ok_or(ReconcileError::UndeclaredKind(kind))?;
                let mut object = body?;
                let metadata = &mut object["metadata"];
                if !key.namespace.is_empty() {
                    metadata["namespace"] = json!(key.namespace);
                }
                metadata["ownerReferences"] = reference.clone();
                metadata["labels"][labels::MANAGED_BY] = json!(identity.name);
                let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
                let key = Key { namespace: text("namespace"), name: text("name") };
                Ok(ChildBody { kind: index, key, object })
            })
            .collect()
    }
}

/// One object to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChildBody {
    /// Index of the kind in [`Watches`].
    pub(crate) kind: usize,
    pub(crate) key: Key,
    /// The object, as sent.
    pub(crate) object: Value,
}

/// What is known of an object to apply without its body: enough to tell whether it has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DesiredChild {
    pub(crate) kind: usize,
    pub(crate) key: Key,
    /// The digest of its fields, to compare with what was observed; `None` if it is always applied.
    pub(crate) digest: Option<u64>,
}

/// The fields that are applied to each kind; `None` for a kind that is compared as a whole with what was applied.
pub(crate) type Outlines = Vec<Option<Outline>>;

/// Returns the outlines of a set of children that has everything set.
pub(crate) fn outlines(kinds: usize, example: &[ChildBody]) -> Outlines {
    let mut outlines: Outlines = vec![None; kinds];
    for ChildBody { kind, object, .. } in example {
        let outline = Outline::from_example(object);
        outlines[*kind] = Some(match outlines[*kind].take() {
            Some(known) => known.union(outline),
            None => outline,
        });
    }
    outlines
}

/// Returns what is needed to compare children with what was observed.
pub(crate) fn desired_children(bodies: &[ChildBody], outlines: &Outlines) -> Vec<DesiredChild> {
    let digest = |body: &ChildBody| {
        let Some(outline) = &outlines[body.kind] else { return Some(digest_of_all(&body.object)) };
        if outline.covers(&body.object) {
            return Some(outline.digest_of(&body.object));
        }
        // Drift of the other fields would go unnoticed.
        tracing::debug!(child = %body.key, "a child has fields that the example lacks; applying it every time");
        None
    };
    bodies
        .iter()
        .map(|body| DesiredChild { kind: body.kind, key: body.key.clone(), digest: digest(body) })
        .collect()
}
