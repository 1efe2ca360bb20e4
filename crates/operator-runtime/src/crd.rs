//! `CustomResourceDefinition`s from Rust types, in the form in which the API server stores them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, CustomResourceDefinitionVersion, WebhookClientConfig,
    WebhookConversion,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

/// Why a CRD could not be generated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A schema could not be converted.
    #[error("failed to convert the schema of {kind}: {source}")]
    Schema {
        /// The kind.
        kind: String,
        /// The error.
        source: serde_json::Error,
    },
    /// Versions of another kind or group were added.
    #[error("{other} is not a version of {kind}")]
    OtherKind {
        /// Name of the CRD.
        kind: String,
        /// Name of the CRD that was added.
        other: String,
    },
}

/// A CRD to generate, from a type with `#[derive(CustomResource)]`; its version is the stored one.
///
/// kube's derive writes empty lists (kube-rs/kube#1680), which no API server keeps; they are removed, so that what is
/// written equals what is read back. It also makes every optional field `nullable`, and serde's defaults become defaults of
/// the status; neither is wanted.
#[derive(Clone, Debug)]
pub struct Crd {
    definition: CustomResourceDefinition,
    rules: Vec<(String, String)>,
    same: Vec<String>,
    older: Vec<CustomResourceDefinition>,
}

impl Crd {
    /// Returns the CRD of a kind.
    #[must_use]
    pub fn new<K: CustomResourceExt>() -> Self {
        Self { definition: K::crd(), rules: Vec::new(), same: Vec::new(), older: Vec::new() }
    }

    /// Serves another version with the same schema; the API server converts by changing `apiVersion` only.
    #[must_use]
    pub fn also_served(mut self, version: &str) -> Self {
        self.same.push(version.to_owned());
        self
    }

    /// Serves another version with a schema of its own; needs a conversion webhook.
    #[must_use]
    pub fn version<K: CustomResourceExt>(mut self) -> Self {
        self.older.push(K::crd());
        self
    }

    /// Adds a validation rule of the whole object, in CEL, to all versions.
    #[must_use]
    pub fn rule(mut self, rule: &str, message: &str) -> Self {
        self.rules.push((rule.to_owned(), message.to_owned()));
        self
    }

    /// Adds a validation rule for objects whose name is also the name of a Service.
    #[must_use]
    pub fn named_like_a_service(self) -> Self {
        self.rule(
            "size(self.metadata.name) <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "metadata.name must be a valid name of a Service: at most 63 lowercase letters, digits or '-', \
             starting with a letter and ending with a letter or digit",
        )
    }

    /// Returns the name of the CRD, `PLURAL.GROUP`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}.{}", self.definition.spec.names.plural, self.definition.spec.group)
    }

    /// Returns the name of its file, as controller-gen writes it.
    #[must_use]
    pub fn file(&self) -> String {
        format!("{}_{}.yaml", self.definition.spec.group, self.definition.spec.names.plural)
    }

    /// Whether versions have to be converted by a webhook.
    #[must_use]
    pub fn is_converted(&self) -> bool {
        !self.older.is_empty()
    }

    pub(crate) fn group(&self) -> &str {
        &self.definition.spec.group
    }

    pub(crate) fn plural(&self) -> &str {
        &self.definition.spec.names.plural
    }

    pub(crate) fn kind(&self) -> &str {
        &self.definition.spec.names.kind
    }

    /// Whether objects of the kind are in namespaces.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn is_namespaced(&self) -> bool {
        self.definition.spec.scope == "Namespaced"
    }

    /// Whether the kind can be scaled.
    pub(crate) fn is_scaled(&self) -> bool {
        let scale =
            |version: &CustomResourceDefinitionVersion| Some(version.subresources.as_ref()?.scale.is_some());
        self.definition.spec.versions.iter().any(|version| scale(version).unwrap_or_default())
    }

    /// Returns the `CustomResourceDefinition` with all versions, the stored one first, ready to be applied.
    ///
    /// # Errors
    /// When a schema cannot be converted, or a version is of another kind.
    pub fn build(&self) -> Result<CustomResourceDefinition, Error> {
        let mut crd = self.definition.clone();
        for older in &self.older {
            let other = format!("{}.{}", older.spec.names.plural, older.spec.group);
            if other != self.name() {
                return Err(Error::OtherKind { kind: self.name(), other });
            }
            let versions = older.spec.versions.iter().cloned();
            crd.spec.versions.extend(
                versions.map(|version| CustomResourceDefinitionVersion { storage: false, ..version }),
            );
        }
        let names = &mut crd.spec.names;
        names.list_kind = Some(format!("{}List", names.kind));
        names.categories = names.categories.take().filter(|list| !list.is_empty());
        names.short_names = names.short_names.take().filter(|list| !list.is_empty());
        for version in &mut crd.spec.versions {
            version.selectable_fields = version.selectable_fields.take().filter(|list| !list.is_empty());
            if let Some(schema) =
                version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())
            {
                let tidied = serde_json::to_value(&*schema).and_then(|value| self.tidied(value));
                *schema = tidied.map_err(|source| Error::Schema { kind: self.kind().to_owned(), source })?;
            }
        }
        if let Some(stored) = crd.spec.versions.first().cloned() {
            for name in &self.same {
                let version =
                    CustomResourceDefinitionVersion { name: name.clone(), storage: false, ..stored.clone() };
                crd.spec.versions.push(version);
            }
        }
        Ok(crd)
    }

    fn tidied<T: serde::de::DeserializeOwned>(&self, mut schema: Value) -> Result<T, serde_json::Error> {
        remove_key(&mut schema, "nullable");
        if let Some(status) = schema.pointer_mut("/properties/status") {
            remove_key(status, "default");
        }
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|(rule, message)| json!({ "rule": rule, "message": message }));
            schema["x-kubernetes-validations"] = rules.collect();
        }
        serde_json::from_value(schema)
    }

    /// Returns the CRD with the webhook that converts its versions, if they differ.
    pub(crate) fn with_conversion(
        &self,
        webhook: WebhookClientConfig,
    ) -> Result<CustomResourceDefinition, Error> {
        let mut crd = self.build()?;
        if self.is_converted() {
            crd.spec.conversion = Some(CustomResourceConversion {
                strategy: "Webhook".to_owned(),
                webhook: Some(WebhookConversion {
                    client_config: Some(webhook),
                    conversion_review_versions: vec!["v1".to_owned()],
                }),
            });
        }
        Ok(crd)
    }
}

/// Removes a keyword from a schema and everything in it.
fn remove_key(schema: &mut Value, keyword: &str) {
    match schema {
        Value::Object(map) => {
            map.remove(keyword);
            map.values_mut().for_each(|value| remove_key(value, keyword));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| remove_key(value, keyword)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::{Cluster, old};

    #[test]
    fn older_versions_follow_the_stored_one() {
        let crd = Crd::new::<Cluster>().also_served("v1alpha1").version::<old::Cluster>().build().unwrap();
        let versions: Vec<_> =
            crd.spec.versions.iter().map(|v| (v.name.as_str(), v.storage, v.served)).collect();
        assert_eq!(versions, [("v1", true, true), ("v1beta1", false, true), ("v1alpha1", false, true)]);
        assert_eq!(crd.spec.versions[0].schema, crd.spec.versions[2].schema);
        assert_ne!(crd.spec.versions[0].schema, crd.spec.versions[1].schema);
    }

    #[test]
    fn version_of_another_kind_is_rejected() {
        let error = Crd::new::<Cluster>().version::<crate::testing::sample::Bucket>().build().unwrap_err();
        assert_eq!(error.to_string(), "buckets.example.com is not a version of clusters.example.com");
    }

    #[test]
    fn crd_has_nothing_nullable_no_empty_lists_and_no_defaults_in_the_status() {
        let crd = Crd::new::<Cluster>().rule("true", "never").build().unwrap();
        let text = serde_json::to_string(&crd).unwrap();
        for word in ["\"nullable\"", "categories", "shortNames", "selectableFields"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        let crd = serde_json::to_value(crd).unwrap();
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert!(!schema["properties"]["status"].to_string().contains("\"default\""));
        assert_eq!(schema["x-kubernetes-validations"], json!([{"rule": "true", "message": "never"}]));
        let conditions = &schema["properties"]["status"]["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    }
}
