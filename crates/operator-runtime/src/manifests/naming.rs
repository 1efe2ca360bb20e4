//! Names and labels of the generated objects.

use crate::identity::Identity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;

/// The form of names: bare for kustomize, which adds prefix and namespace, or complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As in `config/`: kustomize completes them.
    Bare,
    /// As completed by kustomize.
    Complete,
}

/// The names of an operator in one form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Naming {
    pub(crate) identity: Identity,
    pub(crate) form: Form,
}

impl Naming {
    pub(crate) fn name(self, bare: &str) -> String {
        match self.form {
            Form::Bare => bare.to_owned(),
            Form::Complete => self.identity.prefixed(bare),
        }
    }

    pub(crate) fn namespace(self) -> String {
        self.name("system")
    }

    pub(crate) fn cluster(self, bare: &str) -> ObjectMeta {
        let labels = ["name", "part-of"]
            .map(|key| (format!("app.kubernetes.io/{key}"), self.identity.name.to_owned()))
            .into();
        ObjectMeta { name: Some(self.name(bare)), labels: Some(labels), ..ObjectMeta::default() }
    }

    pub(crate) fn namespaced(self, bare: &str) -> ObjectMeta {
        ObjectMeta { namespace: Some(self.namespace()), ..self.cluster(bare) }
    }

    /// Returns the labels of the manager's pods.
    pub(crate) fn selector(self) -> BTreeMap<String, String> {
        [("app.kubernetes.io/name", self.identity.name), ("control-plane", "controller-manager")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }
}
