//! What an object refers to.

use super::object::Key;
use kube::core::Selector;

/// A reference of an object to others of one kind: by name, by labels, or by owner; returned by the function given to
/// [`Watches::referenced`](super::Watches::referenced).
///
/// A reference is to the namespace of the object that refers, unless it names another one. From a cluster-scoped object it is to
/// all watched namespaces.
///
/// ```
/// use kube::core::{Expression, Selector};
/// use operator_runtime::controller::Reference;
///
/// let credentials = Reference::named("credentials").in_namespace("vault");
/// let certificates = Reference::labelled(Selector::from(Expression::Exists("example.com/certificate".to_owned())));
/// # let _ = (credentials, certificates);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub(crate) scope: ReferenceScope,
    pub(crate) target: Target,
}

/// Where a reference is to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceScope {
    Beside,
    Namespace(String),
    Everywhere,
}

/// What a reference is to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Name(String),
    Labels(Selector),
    /// The uid of the owner.
    Owner(String),
}

impl Reference {
    fn new(target: Target) -> Self {
        Self { scope: ReferenceScope::Beside, target }
    }

    /// Returns a reference to the object of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(Target::Name(name.into()))
    }

    /// Returns a reference to all objects with these labels. An empty selector selects all; one of the API's form converts:
    /// `Selector::try_from(label_selector)`.
    #[must_use]
    pub fn labelled(selector: Selector) -> Self {
        Self::new(Target::Labels(selector))
    }

    /// Returns a reference to all objects that have an owner with this uid.
    pub fn owned_by(uid: impl Into<String>) -> Self {
        Self::new(Target::Owner(uid.into()))
    }

    /// Returns this reference into a namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        Self { scope: ReferenceScope::Namespace(namespace.into()), ..self }
    }

    /// Returns this reference into all watched namespaces.
    #[must_use]
    pub fn in_all_namespaces(self) -> Self {
        Self { scope: ReferenceScope::Everywhere, ..self }
    }

    /// Returns the namespace that is referred to by an object in this one; `None` for all. The namespace of
    /// cluster-scoped kinds is empty.
    pub(crate) fn namespace(&self, namespaced: bool, own: &str) -> Option<String> {
        match &self.scope {
            _ if !namespaced => Some(String::new()),
            ReferenceScope::Namespace(namespace) => Some(namespace.clone()),
            ReferenceScope::Beside if !own.is_empty() => Some(own.to_owned()),
            ReferenceScope::Beside | ReferenceScope::Everywhere => None,
        }
    }
}

impl From<Key> for Reference {
    fn from(key: Key) -> Self {
        let reference = Self::named(key.name);
        if key.namespace.is_empty() { reference } else { reference.in_namespace(key.namespace) }
    }
}
