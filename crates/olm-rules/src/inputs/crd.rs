//! CRDs and their versions.

use std::sync::OnceLock;

use super::same;
use super::work_budget::WorkBudget;
use kube_yaml::Value;
use olm_model::Object;
use olm_model::crd::Schema;

/// A `CustomResourceDefinition` of `apiextensions.k8s.io/v1`.
#[derive(Debug)]
pub(crate) struct Crd<'b> {
    /// The object.
    pub(crate) object: Object<'b>,
    /// `spec`; null if it is missing.
    pub(crate) spec: Value<'b>,
    /// `spec.versions`.
    pub(crate) versions: Vec<Version<'b>>,
    one_schema: OnceLock<bool>,
    has_any_status: bool,
    /// What is left to spend on its defaults.
    pub(crate) work_budget: WorkBudget<'b>,
}

/// A version of a CRD.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version<'b> {
    /// The version as written; null if the item is null.
    pub(crate) value: Value<'b>,
    /// `schema.openAPIV3Schema`, if it is set.
    pub(crate) schema: Option<Value<'b>>,
}

impl<'b> Crd<'b> {
    /// Returns the CRDs among objects, without those of another API version.
    #[must_use]
    pub(crate) fn all(objects: &[Object<'b>]) -> Vec<Self> {
        let is_crd = |object: &&Object<'_>| object.is("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        let total = objects.iter().filter(is_crd).map(|object| object.root.document_size()).sum();
        let crds = objects.iter().filter(is_crd);
        crds.map(|object| Self::new(object, WorkBudget::share(object.root.document_size(), total))).collect()
    }

    fn new(object: &Object<'b>, work_budget: WorkBudget<'b>) -> Self {
        let spec = object.root.get("spec").unwrap_or(object.root.nothing());
        let versions = spec.get("versions").into_iter().flat_map(Value::items);
        let versions: Vec<_> = versions
            .map(|value| {
                let schema = value.dig(&["schema", "openAPIV3Schema"]).filter(|schema| !schema.is_null());
                Version { value, schema }
            })
            .collect();
        let has_any_status = versions.iter().any(Version::has_status);
        Self { object: *object, spec, versions, one_schema: OnceLock::new(), has_any_status, work_budget }
    }

    /// Returns a string of `spec` by its path; empty if it is missing.
    #[must_use]
    pub(crate) fn string(&self, keys: &[&str]) -> &'b str {
        self.spec.dig(keys).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the schema of the version `index` is validated as one with a status subresource: if all versions
    /// have the same schema, the API server validates it once for all of them.
    #[must_use]
    pub(crate) fn has_status(&self, index: usize) -> bool {
        let own = self.versions.get(index).is_some_and(Version::has_status);
        own || self.has_any_status && self.has_one_schema()
    }

    /// Returns whether all versions have the same schema, as the API server compares them.
    #[must_use]
    pub(crate) fn has_one_schema(&self) -> bool {
        *self.one_schema.get_or_init(|| self.compare_schemas())
    }

    fn compare_schemas(&self) -> bool {
        self.versions.windows(2).all(|pair| match (pair[0].schema, pair[1].schema) {
            (Some(a), Some(b)) => same::schemas(&Schema::read(a), &Schema::read(b)),
            (None, None) => true,
            _ => false,
        })
    }
}

impl<'b> Version<'b> {
    /// Returns `name`.
    #[must_use]
    pub(crate) fn name(&self) -> &'b str {
        self.value.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether a field of the version is `true`.
    #[must_use]
    pub(crate) fn flag(&self, field: &str) -> bool {
        self.value.get(field).and_then(Value::as_bool).unwrap_or_default()
    }

    fn has_status(&self) -> bool {
        self.value.dig(&["subresources", "status"]).is_some_and(|status| !status.is_null())
    }
}
