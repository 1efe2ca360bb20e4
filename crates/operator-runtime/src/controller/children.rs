//! The children that an object should have, as they are applied.

use super::error::ReconcileError;
use super::object::{Key, Object};
use super::outline::{Outline, digest_of_all};
use super::watches::{Child, Declared, Handle, OwnMetadata, is_namespaced};
use crate::identity::Identity;
use crate::labels;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};

/// The children that an object should have; returned by [`Reconciler::desired`](super::Reconciler::desired).
///
/// Set `metadata.name` and the fields that you want to manage. Namespace, owner reference and the label
/// `app.kubernetes.io/managed-by` are added. The operator manages every field that is set, and reverts changes to it; all other
/// fields belong to others.
#[derive(Debug, Default)]
pub struct Children {
    objects: Vec<DeclaredChild>,
    labels: BTreeMap<String, Option<String>>,
    annotations: BTreeMap<String, Option<String>>,
    /// The controllers whose handles were used.
    controllers: HashSet<u64>,
}

/// A child as it was added.
#[derive(Debug)]
struct DeclaredChild {
    handle: Handle,
    once: bool,
    body: Result<Value, serde_json::Error>,
}

impl Children {
    /// Returns an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a child of a declared kind.
    pub fn add<K: Object, V>(&mut self, kind: Child<K, V>, child: K) -> &mut Self {
        self.push(kind.handle, false, serde_json::to_value(child))
    }

    /// Adds a child that is created once and then kept as it is, whatever it contains and whoever changes it: for values that are
    /// generated, such as passwords.
    ///
    /// An object of this name that belongs to the owner is never overwritten, even if it lost its labels and no watch reports it.
    /// The child is deleted with its owner.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Secret;
    /// # use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    /// # use operator_runtime::controller::{Child, Children, Error};
    /// use operator_runtime::generate;
    ///
    /// # fn desired(secret: Child<Secret>) -> Result<Children, Error> {
    /// # let mut children = Children::new();
    /// children.create_once(secret, Secret {
    ///     metadata: ObjectMeta { name: Some("credentials".to_owned()), ..ObjectMeta::default() },
    ///     string_data: Some([("password".to_owned(), generate::password(32)?)].into()),
    ///     ..Secret::default()
    /// });
    /// # Ok(children)
    /// # }
    /// ```
    pub fn create_once<K: Object, V>(&mut self, kind: Child<K, V>, child: K) -> &mut Self {
        self.push(kind.handle, true, serde_json::to_value(child))
    }

    /// Sets a label of the object itself, or removes it; labels that are not mentioned stay as they are.
    pub fn set_label(&mut self, own: OwnMetadata, key: &str, value: Option<&str>) -> &mut Self {
        self.controllers.insert(own.controller);
        self.labels.insert(key.to_owned(), value.map(ToOwned::to_owned));
        self
    }

    /// Sets an annotation of the object itself, or removes it; annotations that are not mentioned stay as they are.
    pub fn set_annotation(&mut self, own: OwnMetadata, key: &str, value: Option<&str>) -> &mut Self {
        self.controllers.insert(own.controller);
        self.annotations.insert(key.to_owned(), value.map(ToOwned::to_owned));
        self
    }

    fn push(&mut self, handle: Handle, once: bool, body: Result<Value, serde_json::Error>) -> &mut Self {
        self.controllers.insert(handle.controller);
        self.objects.push(DeclaredChild { handle, once, body });
        self
    }

    /// Returns what is applied: the children, and labels and annotations of the object itself.
    pub(crate) fn into_bodies<O: Object>(
        self,
        owner: &O,
        declared: &Declared,
        identity: &Identity,
    ) -> Result<(Vec<ChildBody>, OwnBody), ReconcileError> {
        if self.controllers.iter().any(|controller| *controller != declared.id) {
            return Err(ReconcileError::ForeignHandle);
        }
        let owner_namespace = if is_namespaced::<O>() {
            owner.meta().namespace.clone().unwrap_or_default()
        } else {
            String::new()
        };
        let reference = json!([{
            "apiVersion": O::api_version(&()),
            "blockOwnerDeletion": true,
            "controller": true,
            "kind": O::kind(&()),
            "name": owner.meta().name,
            "uid": owner.meta().uid,
        }]);
        let mut names = HashSet::new();
        let mut bodies = Vec::new();
        for DeclaredChild { handle: Handle { index, .. }, once, body } in self.objects {
            let child = declared.children.get(index).ok_or(ReconcileError::ForeignHandle)?;
            let kind = &child.resource.kind;
            let mut object = body?;
            let metadata = &mut object["metadata"];
            let text =
                |metadata: &Value, field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            let mut key = Key { namespace: text(metadata, "namespace"), name: text(metadata, "name") };
            let mistake = |message: String| Err(ReconcileError::Desired(message));
            if key.name.is_empty() {
                return mistake(format!("`desired` contains a {kind} without a name"));
            }
            if child.namespaced && !owner_namespace.is_empty() {
                if !key.namespace.is_empty() && key.namespace != owner_namespace {
                    return mistake(format!(
                        "`desired` contains the {kind} {key}, which is not in the namespace of its owner, {owner_namespace}"
                    ));
                }
                key.namespace.clone_from(&owner_namespace);
                metadata["namespace"] = json!(owner_namespace);
            }
            if child.namespaced && key.namespace.is_empty() {
                return mistake(format!("`desired` contains the {kind} {key} without a namespace"));
            }
            // Two handles may be of one kind.
            if !names.insert((child.resource.clone(), key.clone())) {
                return mistake(format!("`desired` contains the {kind} {key} twice"));
            }
            metadata["ownerReferences"] = reference.clone();
            metadata["labels"][labels::MANAGED_BY] = json!(identity.name);
            bodies.push(ChildBody { kind: index, key, once, object });
        }
        Ok((bodies, OwnBody { labels: self.labels, annotations: self.annotations }))
    }
}

/// One object to apply.
#[derive(Clone, Debug)]
pub(crate) struct ChildBody {
    /// Index of the kind in [`Declared`].
    pub(crate) kind: usize,
    pub(crate) key: Key,
    /// It is created and then kept as it is.
    pub(crate) once: bool,
    /// The object, as sent.
    pub(crate) object: Value,
}

impl PartialEq for ChildBody {
    fn eq(&self, other: &Self) -> bool {
        let same = self.kind == other.kind && self.key == other.key && self.once == other.once;
        // What is generated is another value each time, and only used if the object does not exist.
        same && (self.once || self.object == other.object)
    }
}

/// Labels and annotations that the object itself should have; `None` for those that it should not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnBody {
    labels: BTreeMap<String, Option<String>>,
    annotations: BTreeMap<String, Option<String>>,
}

impl OwnBody {
    /// Returns the metadata to merge into the object; `None` if it is as it should be.
    pub(crate) fn patch<O: Object>(&self, object: &O) -> Option<Value> {
        let differing = |wanted: &BTreeMap<String, Option<String>>,
                         found: &Option<BTreeMap<String, String>>| {
            let found = |key: &str| found.as_ref().and_then(|found| found.get(key));
            let changed = wanted.iter().filter(|(key, value)| found(key) != value.as_ref());
            changed.map(|(key, value)| (key.clone(), json!(value))).collect::<serde_json::Map<_, _>>()
        };
        let labels = differing(&self.labels, &object.meta().labels);
        let annotations = differing(&self.annotations, &object.meta().annotations);
        let mut metadata = serde_json::Map::new();
        for (field, changed) in [("labels", labels), ("annotations", annotations)] {
            if !changed.is_empty() {
                metadata.insert(field.to_owned(), changed.into());
            }
        }
        (!metadata.is_empty()).then(|| metadata.into())
    }
}

/// What is known of an object to apply without its body: enough to tell whether it has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DesiredChild {
    pub(crate) kind: usize,
    pub(crate) key: Key,
    pub(crate) once: bool,
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
        .map(|body| DesiredChild {
            kind: body.kind,
            key: body.key.clone(),
            once: body.once,
            digest: digest(body),
        })
        .collect()
}
