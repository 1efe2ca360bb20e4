//! The objects that `run bundle` creates.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::client::MANAGER;
use super::kinds;
use super::snapshot::{Snapshot, label, list, name_of, string, strings};

/// The label with the name of this program, on everything that it creates.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The label with the name of the package, on everything that was created for it.
pub const PART_OF: &str = "app.kubernetes.io/part-of";
/// The value of the label `app` of pods that run tests, which is operator-sdk's.
pub(crate) const TEST_APP: &str = "scorecard-test";
/// The label that OLM puts on the pods of a catalog, and that ours have, too.
pub(crate) const CATALOG_LABEL: &str = "olm.catalogSource";
/// The annotation with the hash of the served catalog: a changed catalog replaces the pod.
const HASH: &str = "bundle-tool/catalog-digest";

/// The maximum size of the data of one `ConfigMap`, below the API server's limit of 1 MiB.
pub(crate) const MAX_CONFIG_MAP: usize = 1_000_000;

/// The maximum number of characters of a label's name after its prefix.
const MAX_LABEL_NAME: usize = 63;

/// The port of a catalog.
const PORT: u16 = 50051;

/// What to install, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// The package.
    pub package: String,
    /// The channel of the subscription.
    pub channel: String,
    /// The name of the CSV to install.
    pub csv: String,
    /// The namespace of the operator.
    pub namespace: String,
    /// The namespaces that the operator watches, none for all; `None` to use the existing `OperatorGroup`.
    pub targets: Option<Vec<String>>,
    /// Where OLM finds the bundle.
    pub catalog: Catalog,
    /// The secret with credentials for pulling images.
    pub pull_secret: Option<String>,
    /// Whether pods comply with the Pod Security level `restricted`.
    pub restricted: bool,
    /// Whether the namespace is created.
    pub create_namespace: bool,
}

/// Where OLM finds the bundle.
#[derive(Debug, Clone)]
pub enum Catalog {
    /// A catalog in a `ConfigMap`, served by a deployment in the namespace.
    Served {
        /// The catalog, as JSON documents.
        content: String,
        /// The digest of the catalog.
        digest: String,
        /// An image with opm.
        image: String,
        /// The service account of the pod.
        service_account: Option<String>,
        /// The user of the process; `None` where the cluster assigns one.
        user: Option<u32>,
    },
    /// An index image.
    Image {
        /// Its name.
        name: String,
        /// Whether it contains the program that serves it; otherwise OLM serves its data with its own opm.
        serves_itself: bool,
    },
}

/// The content does not fit into a `ConfigMap`.
#[derive(Debug, thiserror::Error)]
#[error(
    "the catalog of the bundle has {0} bytes, which exceed the limit of {MAX_CONFIG_MAP} bytes of a ConfigMap; push the bundle with --push-to"
)]
pub struct TooLarge(pub usize);

impl Request {
    /// Returns the name of the catalog and of what serves it.
    #[must_use]
    pub fn catalog_name(&self) -> String {
        catalog_name(&self.package)
    }

    /// Returns the name of the subscription.
    #[must_use]
    pub(crate) fn subscription_name(&self) -> String {
        self.package.clone()
    }

    /// Returns the objects, in the order in which they are created.
    ///
    /// # Errors
    /// The catalog is too large for a `ConfigMap`.
    pub fn objects(&self) -> Result<Vec<Value>, TooLarge> {
        let mut objects = Vec::new();
        if self.create_namespace {
            objects.push(json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": self.namespace, "labels": self.labels()},
            }));
        }
        match &self.catalog {
            Catalog::Served { content, digest, image, service_account, user } => {
                if content.len() > MAX_CONFIG_MAP {
                    return Err(TooLarge(content.len()));
                }
                objects.push(self.object(
                    "v1",
                    "ConfigMap",
                    &self.catalog_name(),
                    &json!({
                        "data": {"catalog.json": content},
                    }),
                ));
                let pod = self.catalog_pod(image, service_account.as_deref(), *user);
                objects.push(self.catalog_deployment(&pod, digest));
                objects.push(self.object(
                    "v1",
                    "Service",
                    &self.catalog_name(),
                    &json!({
                        "spec": {
                            "selector": self.selector(),
                            "ports": [{"name": "grpc", "port": PORT, "targetPort": PORT}],
                        },
                    }),
                ));
            }
            Catalog::Image { .. } => {}
        }
        objects.push(self.catalog_source());
        if let Some(targets) = &self.targets {
            let spec = if targets.is_empty() { json!({}) } else { json!({"targetNamespaces": targets}) };
            let name = format!("{}-group", self.package);
            objects.push(self.object(
                "operators.coreos.com/v1",
                "OperatorGroup",
                &name,
                &json!({"spec": spec}),
            ));
        }
        objects.push(self.object(
            "operators.coreos.com/v1alpha1",
            "Subscription",
            &self.subscription_name(),
            &json!({"spec": {
                "name": self.package,
                "channel": self.channel,
                "source": self.catalog_name(),
                "sourceNamespace": self.namespace,
                "startingCSV": self.csv,
                // Approved by this program, once the plan is known to install nothing else unnoticed.
                "installPlanApproval": "Manual",
            }}),
        ));
        Ok(objects)
    }

    fn labels(&self) -> Value {
        labels(&self.package)
    }

    fn selector(&self) -> Value {
        json!({CATALOG_LABEL: self.catalog_name()})
    }

    fn object(&self, api_version: &str, kind: &str, name: &str, rest: &Value) -> Value {
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace, "labels": self.labels()},
        });
        if let (Some(object), Some(rest)) = (object.as_object_mut(), rest.as_object()) {
            object.extend(rest.clone());
        }
        object
    }

    fn catalog_source(&self) -> Value {
        let mut spec = json!({
            "sourceType": "grpc",
            "displayName": self.package,
            "publisher": MANAGER,
        });
        match &self.catalog {
            Catalog::Served { .. } => {
                spec["address"] = format!("{}.{}.svc:{PORT}", self.catalog_name(), self.namespace).into();
            }
            Catalog::Image { name, serves_itself } => {
                spec["image"] = name.clone().into();
                let security = if self.restricted { "restricted" } else { "legacy" };
                spec["grpcPodConfig"] = json!({"securityContextConfig": security});
                if !serves_itself {
                    spec["grpcPodConfig"]["extractContent"] = json!({"catalogDir": "/configs"});
                }
            }
        }
        if let Some(secret) = &self.pull_secret {
            spec["secrets"] = json!([secret]);
        }
        self.object(
            "operators.coreos.com/v1alpha1",
            "CatalogSource",
            &self.catalog_name(),
            &json!({"spec": spec}),
        )
    }

    fn catalog_pod(&self, image: &str, service_account: Option<&str>, user: Option<u32>) -> Value {
        let mut pod = json!({
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "catalog",
                "image": image,
                "command": ["/bin/opm", "serve", "/configs"],
                "ports": [{"name": "grpc", "containerPort": PORT}],
                "readinessProbe": {"grpc": {"port": PORT}, "periodSeconds": 1, "failureThreshold": 30},
                "livenessProbe": {"grpc": {"port": PORT}, "initialDelaySeconds": 10, "periodSeconds": 10},
                "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}},
                "terminationMessagePolicy": "FallbackToLogsOnError",
                // Files of a ConfigMap are links to a hidden directory, which opm would read as well.
                "volumeMounts": [
                    {"name": "catalog", "mountPath": "/configs/catalog.json", "subPath": "catalog.json"},
                    {"name": "tmp", "mountPath": "/tmp"},
                ],
            }],
            "volumes": [
                {"name": "catalog", "configMap": {"name": self.catalog_name()}},
                {"name": "tmp", "emptyDir": {}},
            ],
        });
        if self.restricted {
            pod["securityContext"] =
                json!({"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}});
            if let Some(user) = user {
                pod["securityContext"]["runAsUser"] = user.into();
            }
            pod["containers"][0]["securityContext"] = json!({
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": true,
            });
        }
        if let Some(account) = service_account {
            pod["serviceAccountName"] = account.into();
        }
        if let Some(secret) = &self.pull_secret {
            pod["imagePullSecrets"] = json!([{"name": secret}]);
        }
        pod
    }

    fn catalog_deployment(&self, pod: &Value, digest: &str) -> Value {
        let mut pod_labels: BTreeMap<String, String> =
            serde_json::from_value(self.labels()).unwrap_or_default();
        pod_labels.insert(CATALOG_LABEL.into(), self.catalog_name());
        self.object(
            "apps/v1",
            "Deployment",
            &self.catalog_name(),
            &json!({"spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": self.selector()},
                "template": {
                    "metadata": {"labels": pod_labels, "annotations": {HASH: digest}},
                    "spec": pod,
                },
            }}),
        )
    }
}

/// Returns the name of the catalog of a package, the one that operator-sdk uses.
#[must_use]
pub fn catalog_name(package: &str) -> String {
    format!("{package}-catalog")
}

/// Returns the image with opm that OLM unpacks bundles with: an argument of its catalog-operator.
#[must_use]
pub fn opm_image(snapshot: &Snapshot) -> Option<String> {
    let operator =
        snapshot.objects(kinds::DEPLOYMENT).iter().find(|one| name_of(one) == "catalog-operator")?;
    let container = list(operator, "/spec/template/spec/containers").first()?;
    let arguments: Vec<&str> = strings(container, "/command").chain(strings(container, "/args")).collect();
    let is_flag = |text: &str| text.trim_start_matches('-') == "opmImage";
    let value = arguments.iter().enumerate().find_map(|(index, argument)| match argument.split_once('=') {
        Some((flag, value)) if is_flag(flag) => Some(value),
        None if is_flag(argument) => arguments.get(index + 1).copied(),
        _ => None,
    });
    let variable = match value {
        Some(value) => match value.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')')) {
            Some(variable) => variable,
            None => return Some(value.to_owned()),
        },
        None => "OPERATOR_REGISTRY_IMAGE",
    };
    list(container, "/env")
        .iter()
        .find(|one| string(one, "/name") == variable)
        .map(|one| string(one, "/value").to_owned())
        .filter(|image| !image.is_empty())
        // The default of OLM's own flag.
        .or_else(|| value.is_none().then(|| "quay.io/operator-framework/opm:latest".to_owned()))
}

/// Returns the label that OLM puts on the objects of a package that is installed in a namespace.
///
/// Source: `ComponentLabelKey` of `pkg/controller/operators/decorators/operator.go` of operator-lifecycle-manager.
#[must_use]
pub(crate) fn component_label(package: &str, namespace: &str) -> String {
    let name = format!("{package}.{namespace}");
    let name = match name.char_indices().nth(MAX_LABEL_NAME) {
        Some((end, _)) => name[..end].trim_end_matches(['.', '_', '-']),
        None => &name,
    };
    format!("operators.coreos.com/{name}")
}

/// Returns the labels of what is created for a package.
#[must_use]
pub fn labels(package: &str) -> Value {
    json!({MANAGED_BY: MANAGER, PART_OF: package})
}

/// Returns whether an object was created by this program for a package.
#[must_use]
pub fn is_ours(object: &Value, package: &str) -> bool {
    label(object, MANAGED_BY) == MANAGER && label(object, PART_OF) == package
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(catalog: Catalog) -> Request {
        Request {
            package: "gizmo".into(),
            channel: "stable".into(),
            csv: "gizmo.v1.0.0".into(),
            namespace: "gizmos".into(),
            targets: Some(vec!["gizmos".into()]),
            catalog,
            pull_secret: Some("pull".into()),
            restricted: true,
            create_namespace: true,
        }
    }

    fn served(content: &str) -> Catalog {
        Catalog::Served {
            content: content.into(),
            digest: "sha256:0".into(),
            image: "quay.io/operator-framework/opm:latest".into(),
            service_account: None,
            user: Some(1001),
        }
    }

    #[test]
    fn the_objects_of_a_served_catalog() {
        insta::assert_yaml_snapshot!(request(served("{}")).objects().unwrap());
    }

    #[test]
    fn an_index_image_needs_no_deployment() {
        let image = |serves_itself| Catalog::Image { name: "registry/index:v1".into(), serves_itself };
        let objects = request(image(true)).objects().unwrap();
        assert!(objects[1]["spec"]["grpcPodConfig"]["extractContent"].is_null());
        let objects = request(image(false)).objects().unwrap();
        let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["Namespace", "CatalogSource", "OperatorGroup", "Subscription"]);
        assert_eq!(objects[1]["spec"]["grpcPodConfig"]["extractContent"]["catalogDir"], "/configs");
    }

    #[test]
    fn the_component_label_is_cut_off_as_olm_does() {
        let package = "a".repeat(50);
        for (namespace, expected) in [
            ("gizmos", format!("{package}.gizmos")),
            ("namespace-12", format!("{package}.namespace-12")),
            ("namespace-123", format!("{package}.namespace-12")),
            // A label does not end with `-`.
            ("namespace12-b", format!("{package}.namespace12")),
        ] {
            let label = component_label(&package, namespace);
            assert_eq!(label, format!("operators.coreos.com/{expected}"), "{namespace}");
        }
        assert_eq!(component_label("gizmo", "gizmos"), "operators.coreos.com/gizmo.gizmos");
    }

    #[test]
    fn a_catalog_that_exceeds_a_config_map_is_an_error() {
        let error = request(served(&"x".repeat(MAX_CONFIG_MAP + 1))).objects().unwrap_err();
        assert!(error.to_string().contains("--push-to"), "{error}");
    }
}
