//! The bundle that contains a random object, and the requests for the API server's verdict on it.
//!
//! OLM creates some objects itself from a CSV; these are built here as `pkg/controller/install` of
//! operator-lifecycle-manager builds them, and the CSV is sent too: the schema of its CRD validates it first.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::edit::{Edit, set};
use super::template::Step;
use super::typed;

/// How an object comes into a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A Deployment of the install strategy.
    Deployment,
    /// An admission webhook of the CSV.
    Webhook,
    /// `permissions` of the install strategy.
    Permission,
    /// `clusterPermissions` of the install strategy.
    ClusterPermission,
    /// An API service that the CSV owns.
    ApiService,
    /// The CSV itself.
    Csv,
    /// The bundle's CRD.
    Crd,
    /// A file in `manifests/`, and where the API server takes objects of its kind.
    Manifest(&'static str),
}

/// A request for a dry-run create.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path at the API server.
    pub path: String,
    /// The object.
    pub body: Value,
}

const CSV_FILE: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD_FILE: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";

/// The valid bundle that random objects are added to.
#[derive(Debug)]
pub struct ValidBundle {
    csv: Value,
    crd: Value,
    annotations: Vec<u8>,
    csv_schema: Value,
}

impl Default for ValidBundle {
    fn default() -> Self {
        let mut csv = yaml(include_bytes!(
            "../../../crates/olm-rules/tests/fixtures/bundle/manifests/gizmo-operator.clusterserviceversion.yaml"
        ));
        let crd = yaml(include_bytes!(
            "../../../crates/olm-rules/tests/fixtures/bundle/manifests/gizmos.gadgets.example.com.crd.yaml"
        ));
        set(&mut csv, &keys("spec.webhookdefinitions"), None);
        set(&mut csv, &keys("spec.icon"), None);
        Self {
            csv,
            crd,
            annotations: include_bytes!(
                "../../../crates/olm-rules/tests/fixtures/bundle/metadata/annotations.yaml"
            )
            .to_vec(),
            csv_schema: Value::Null,
        }
    }
}

impl ValidBundle {
    /// Takes the schema of the CSVs' CRD, by which CSVs are written as OLM writes them.
    #[must_use]
    pub fn with_csv_schema(self, csv_schema: Value) -> Self {
        Self { csv_schema, ..self }
    }

    /// The object of a kind that an instance of its template stands for.
    #[must_use]
    pub fn object(&self, subject: Subject, instance: Value) -> Value {
        if subject == Subject::Csv {
            let mut csv = self.csv.clone();
            overlay(&mut csv, &instance);
            csv
        } else {
            instance
        }
    }

    /// Returns the files of the bundle that contains `object`.
    #[must_use]
    pub fn files(&self, subject: Subject, object: &Value) -> BTreeMap<String, Vec<u8>> {
        let mut crd = self.crd.clone();
        let mut files = BTreeMap::from([(ANNOTATIONS_FILE.to_owned(), self.annotations.clone())]);
        match subject {
            Subject::Crd => crd = object.clone(),
            Subject::Manifest(_) => {
                files.insert("manifests/object.yaml".to_owned(), object.to_string().into_bytes());
            }
            _ => {}
        }
        files.insert(CRD_FILE.to_owned(), crd.to_string().into_bytes());
        files.insert(CSV_FILE.to_owned(), self.csv(subject, object).to_string().into_bytes());
        files
    }

    /// Returns the requests for `object`, in `namespace`.
    #[must_use]
    pub fn requests(&self, subject: Subject, object: &Value, namespace: &str) -> Vec<Request> {
        let csv = Request {
            path: format!(
                "/apis/operators.coreos.com/v1alpha1/namespaces/{namespace}/clusterserviceversions"
            ),
            body: typed::written(&self.csv_schema, &self.csv(subject, object)),
        };
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        match subject {
            Subject::Csv => vec![csv],
            Subject::Crd => vec![Request {
                path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
                body: object.clone(),
            }],
            Subject::Manifest(path) => {
                vec![Request { path: path.replace("{namespace}", namespace), body: object.clone() }]
            }
            Subject::Deployment => vec![
                Request {
                    path: format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
                    body: self.deployment(object),
                },
                csv,
            ],
            Subject::Webhook => vec![Self::webhook(object, namespace), service(object, namespace), csv],
            Subject::ApiService => vec![api_service(object, namespace), csv],
            Subject::Permission => vec![
                Request { path: format!("{rbac}/namespaces/{namespace}/roles"), body: role("Role", object) },
                Request {
                    path: format!("{rbac}/namespaces/{namespace}/rolebindings"),
                    body: binding("RoleBinding", "Role", object, namespace),
                },
                account(object, namespace),
                csv,
            ],
            Subject::ClusterPermission => vec![
                Request { path: format!("{rbac}/clusterroles"), body: role("ClusterRole", object) },
                Request {
                    path: format!("{rbac}/clusterrolebindings"),
                    body: binding("ClusterRoleBinding", "ClusterRole", object, namespace),
                },
                account(object, namespace),
                csv,
            ],
        }
    }

    fn csv(&self, subject: Subject, object: &Value) -> Value {
        let mut csv = self.csv.clone();
        let strategy = "spec.install.spec";
        match subject {
            Subject::Deployment => {
                set(&mut csv, &keys(&format!("{strategy}.deployments")), Some(json!([object])));
            }
            Subject::ApiService => {
                set(&mut csv, &keys("spec.apiservicedefinitions"), Some(json!({"owned": [object]})));
            }
            Subject::Webhook => set(&mut csv, &keys("spec.webhookdefinitions"), Some(json!([object]))),
            Subject::Permission => {
                set(&mut csv, &keys(&format!("{strategy}.permissions")), Some(json!([object])));
            }
            Subject::ClusterPermission => {
                set(&mut csv, &keys(&format!("{strategy}.clusterPermissions")), Some(json!([object])));
            }
            Subject::Csv => csv = object.clone(),
            Subject::Crd => {
                let owned: Vec<_> = object["spec"]["versions"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|version| json!({"name": object["metadata"]["name"], "kind": object["spec"]["names"]["kind"], "version": version["name"]}))
                    .collect();
                set(&mut csv, &keys("spec.customresourcedefinitions.owned"), Some(Value::Array(owned)));
                set(&mut csv, &keys("metadata.annotations"), None);
            }
            Subject::Manifest(_) => {}
        }
        csv
    }

    /// As `deploymentForSpec` makes it. What no finding can come from (owners, hashes) is omitted.
    fn deployment(&self, object: &Value) -> Value {
        let mut spec = object["spec"].clone();
        let labels = object["label"].clone();
        if let Some(template) = spec.get_mut("template").and_then(|template| template.get_mut("metadata"))
            && let Some(metadata) = template.as_object_mut()
        {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            if annotations.is_null() {
                *annotations = json!({});
            }
            if let (Some(own), Some(added)) =
                (annotations.as_object_mut(), self.csv["metadata"]["annotations"].as_object())
            {
                own.extend(added.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
        }
        if let Some(spec) = spec.as_object_mut() {
            // What cannot be read is not overwritten either.
            let limit = spec.get("revisionHistoryLimit").unwrap_or(&Value::Null);
            if limit.is_null() || limit.as_i64().is_some_and(|limit| i32::try_from(limit).is_ok()) {
                spec.insert("revisionHistoryLimit".to_owned(), json!(1));
            }
        }
        let name = object.get("name").cloned().unwrap_or_else(|| json!(""));
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": labels}, "spec": spec})
    }

    fn webhook(object: &Value, namespace: &str) -> Request {
        let mutating = object["type"] == "MutatingAdmissionWebhook";
        let mut webhook = Map::new();
        for (key, value) in object.as_object().into_iter().flatten() {
            let taken = [
                "rules",
                "failurePolicy",
                "matchPolicy",
                "objectSelector",
                "sideEffects",
                "timeoutSeconds",
                "admissionReviewVersions",
            ];
            if taken.contains(&key.as_str()) || (mutating && key == "reinvocationPolicy") {
                webhook.insert(key.clone(), value.clone());
            }
        }
        let name = object.get("generateName").cloned().unwrap_or_else(|| json!(""));
        webhook.insert("name".to_owned(), name.clone());
        let mut target = json!({
            "name": format!("{}-service", object["deploymentName"].as_str().unwrap_or_default().replace('.', "-")),
            "namespace": namespace,
            "port": object.get("containerPort").filter(|port| !port.is_null() && **port != 0).cloned().unwrap_or_else(|| json!(443)),
        });
        if let (Some(path), Some(target)) = (object.get("webhookPath"), target.as_object_mut()) {
            target.insert("path".to_owned(), path.clone());
        }
        webhook.insert("clientConfig".to_owned(), json!({"service": target}));
        webhook.insert("namespaceSelector".to_owned(), json!({}));
        let kind = if mutating { "MutatingWebhookConfiguration" } else { "ValidatingWebhookConfiguration" };
        let generate_name = name.as_str().map_or_else(|| name.clone(), |name| json!(format!("{name}-")));
        Request {
            path: format!("/apis/admissionregistration.k8s.io/v1/{}s", kind.to_lowercase()),
            body: json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"generateName": generate_name, "labels": {"olm.webhook-description-generate-name": name, "olm.managed": "true"}},
                "webhooks": [webhook],
            }),
        }
    }
}

/// The Service before a webhook, as `installCertRequirementsForDeployment` makes it.
fn service(object: &Value, namespace: &str) -> Request {
    let port = object.get("containerPort").and_then(Value::as_i64).filter(|port| *port != 0).unwrap_or(443);
    let target =
        object.get("targetPort").filter(|port| !port.is_null()).cloned().unwrap_or_else(|| json!(port));
    Request {
        path: format!("/api/v1/namespaces/{namespace}/services"),
        body: json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": format!("{}-service", object["deploymentName"].as_str().unwrap_or_default().replace('.', "-"))},
            "spec": {"ports": [{"name": port.to_string(), "port": port, "targetPort": target}], "selector": {"a": "b"}},
        }),
    }
}

/// The `APIService` of an API that the operator serves, as `createOrUpdateAPIService` makes it.
fn api_service(object: &Value, namespace: &str) -> Request {
    let text = |key: &str| object[key].as_str().unwrap_or_default();
    let (group, version) = (text("group"), text("version"));
    let port = object["containerPort"].as_i64().filter(|port| *port > 0).unwrap_or(443);
    Request {
        path: "/apis/apiregistration.k8s.io/v1/apiservices".to_owned(),
        body: json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": format!("{version}.{group}")},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 2000,
                "versionPriority": 15,
                "service": {"namespace": namespace, "name": format!("{}-service", text("deploymentName")), "port": port},
            },
        }),
    }
}

fn role(kind: &str, object: &Value) -> Value {
    let mut role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"generateName": "gizmo-operator-"}});
    if let (Some(rules), Some(role)) = (object.get("rules"), role.as_object_mut()) {
        role.insert("rules".to_owned(), rules.clone());
    }
    role
}

fn binding(kind: &str, role: &str, object: &Value, namespace: &str) -> Value {
    let account = object.get("serviceAccountName").cloned().unwrap_or_else(|| json!(""));
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": kind,
        "metadata": {"generateName": "gizmo-operator-"},
        "subjects": [{"kind": "ServiceAccount", "apiGroup": "", "name": account, "namespace": namespace}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": "gizmo-operator-1"},
    })
}

fn account(object: &Value, namespace: &str) -> Request {
    let name = object.get("serviceAccountName").cloned().unwrap_or_else(|| json!(""));
    Request {
        path: format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
        body: json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}),
    }
}

/// Puts every value of `over` over what stands there; lists are replaced.
fn overlay(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                match under.get_mut(key) {
                    Some(here)
                        if here.is_object() && value.as_object().is_some_and(|map| !map.is_empty()) =>
                    {
                        overlay(here, value);
                    }
                    _ => {
                        under.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (under, over) => *under = over.clone(),
    }
}

fn keys(path: &str) -> Vec<Step> {
    path.split('.').map(|key| Step::Key(key.to_owned())).collect()
}

fn yaml(bytes: &[u8]) -> Value {
    kube_yaml::parse(bytes).documents.first().map_or(Value::Null, |tree| tree.root().to_json())
}

/// The object with its change, if it has one.
#[must_use]
pub fn changed(object: &Value, edit: Option<&Edit>) -> Value {
    edit.map_or_else(|| object.clone(), |edit| edit.apply(object))
}
