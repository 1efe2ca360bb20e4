//! Documents sorted into what a bundle is made of; objects that say the same are taken once.
//!
//! Source of the sorting: `internal/generate/collector` of operator-framework/operator-sdk.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};

use serde_json::Value as Json;

use super::error::Error;
use super::go_types::{self, Change, GoStruct};
use super::json::string_at;
use super::report::{GenerateReport, ObjectOutcome, SourceLocation, SourceObject, clip};
use kube_yaml::{Kind, Value};
use olm_model::Document;
use olm_model::report::suggest::nearest;

/// An object and its number in the [`GenerateReport`].
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) source: usize,
    pub(crate) json: Json,
    /// The status as it is written, which only operator-sdk keeps; null for objects that are not typed.
    pub(crate) status: Json,
}

impl Item {
    pub(crate) fn name(&self) -> &str {
        string_at(&self.json, &["metadata", "name"])
    }

    pub(crate) fn namespace(&self) -> &str {
        string_at(&self.json, &["metadata", "namespace"])
    }

    pub(crate) fn kind(&self) -> &str {
        string_at(&self.json, &["kind"])
    }

    pub(crate) fn api_version(&self) -> &str {
        string_at(&self.json, &["apiVersion"])
    }
}

/// The objects of the input by what they are for.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) csvs: Vec<Item>,
    pub(crate) deployments: Vec<Item>,
    pub(crate) roles: Vec<Item>,
    pub(crate) cluster_roles: Vec<Item>,
    pub(crate) role_bindings: Vec<Item>,
    pub(crate) cluster_role_bindings: Vec<Item>,
    pub(crate) service_accounts: Vec<Item>,
    pub(crate) services: Vec<Item>,
    pub(crate) crds: Vec<Item>,
    pub(crate) crds_v1beta1: Vec<Item>,
    pub(crate) validating: Vec<Item>,
    pub(crate) mutating: Vec<Item>,
    pub(crate) scorecards: Vec<Item>,
    pub(crate) others: Vec<Item>,
    seen: KnownObjects,
}

/// Finds objects that are equal to an earlier one, without comparing each with all others.
#[derive(Debug, Default)]
struct KnownObjects {
    hasher: RandomState,
    /// The hash of an object to the positions of the objects with that hash in their lists.
    positions: HashMap<u64, Vec<usize>>,
}

/// Sorts all objects.
///
/// # Errors
/// An object that does not fit its type, or a template that was not rendered.
pub(crate) fn collect(documents: &[Document], report: &mut GenerateReport) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    for document in documents {
        let root = document.tree.root();
        if let Some((what, text)) = unrendered(root) {
            let place = SourceLocation { file: document.file.clone(), position: text.position() };
            return Err(Error::Unrendered { place, what, text: text.text().to_owned() });
        }
        duplicate_keys(root, &mut |key| {
            let place = SourceLocation { file: document.file.clone(), position: key.position() };
            let key = clip(key.text());
            report
                .warn_at(Some(place), format!("duplicate key `{}`: the last one counts", key.escape_debug()));
        });
        collected.document(&document.file, root, None, report)?;
    }
    Ok(collected)
}

/// Returns the name of an object, or the image of a container, that is a template which was not rendered.
fn unrendered(root: Value<'_>) -> Option<(&'static str, Value<'_>)> {
    let is_template = |value: &Value<'_>| value.text().contains("{{") || value.text() == "<no value>";
    let name = root.dig(&["metadata", "name"]).filter(is_template);
    let images = || {
        let pod = root.dig(&["spec", "template", "spec"])?;
        let containers = ["initContainers", "containers"].into_iter().filter_map(|field| pod.get(field));
        let mut images = containers.flat_map(Value::items).filter_map(|container| container.get("image"));
        images.find(|image| is_template(image) || image.text().contains("<no value>"))
    };
    name.map(|name| ("name", name)).or_else(|| images().map(|image| ("image", image)))
}

/// Calls `found` with each key that an earlier one of its map equals.
fn duplicate_keys<'v>(value: Value<'v>, found: &mut impl FnMut(Value<'v>)) {
    match value.kind() {
        Kind::Array => value.items().for_each(|item| duplicate_keys(item, found)),
        Kind::Object => {
            let mut seen = HashSet::with_capacity(value.len());
            for (key, child) in value.entries() {
                // A merged key (`<<`) is written in another map.
                if key.position() >= value.position() && !seen.insert(key.text()) {
                    found(key);
                }
                duplicate_keys(child, found);
            }
        }
        _ => {}
    }
}

/// A CSV outside the manifests, as a person's base is.
///
/// # Errors
/// A field that does not fit its type.
pub(crate) fn typed_csv(document: &Document, report: &mut GenerateReport) -> Result<Item, Error> {
    let root = document.tree.root();
    let source = register(&document.file, root, report);
    typed(root, source, &go_types::CLUSTER_SERVICE_VERSION, &document.file, report)
}

/// Returns a CSV as Go decodes it: without unknown fields and empty optional ones, and with the names of fields in their case. The
/// report says what was omitted or renamed.
///
/// # Errors
/// A field that does not fit its type.
pub fn decode_csv(document: &Document, report: &mut GenerateReport) -> Result<Json, Error> {
    Ok(typed_csv(document, report)?.json)
}

fn register(file: &str, root: Value<'_>, report: &mut GenerateReport) -> usize {
    let string = |keys: &[&str]| root.dig(keys).and_then(Value::as_str).unwrap_or_default().to_owned();
    report.sources.push(SourceObject {
        place: SourceLocation { file: file.to_owned(), position: root.position() },
        api_version: string(&["apiVersion"]),
        kind: string(&["kind"]),
        name: string(&["metadata", "name"]),
        outcomes: Vec::new(),
    });
    report.sources.len() - 1
}

fn typed(
    root: Value<'_>,
    source: usize,
    fields: &'static GoStruct,
    file: &str,
    report: &mut GenerateReport,
) -> Result<Item, Error> {
    let title = report.title(source);
    let place = |position| SourceLocation { file: file.to_owned(), position };
    match go_types::conform(root, fields) {
        Ok((json, remarks)) => {
            report.omit_warnings(remarks.omitted);
            for remark in remarks.list {
                let at = Some(place(remark.position));
                let path = remark.path;
                match remark.change {
                    Change::Dropped => {
                        report.warn_at(at, format!("{title}: unknown field `{path}` was omitted"));
                    }
                    Change::Renamed(name) => {
                        report.warn_at(
                            at,
                            format!("{title}: field `{path}` was read as `{name}`; correct its case"),
                        );
                    }
                    Change::Quoted { written, text } if written == text => {
                        report.inform(at, format!("{title}: {path}: expected a string; written as {text:?}"));
                    }
                    Change::Quoted { written, text } => {
                        let written = written.escape_debug();
                        report.warn_at(
                            at,
                            format!("{title}: {path}: expected a string, found `{written}`, which YAML reads as {text:?}: put it in quotes"),
                        );
                    }
                }
            }
            let status = root.get("status").map_or(Json::Null, Value::to_json);
            Ok(Item { source, json, status })
        }
        Err(error) => Err(Error::Field {
            place: place(error.position),
            title,
            path: error.path,
            message: error.message,
        }),
    }
}

impl Collected {
    /// Sorts an object; `list_type` are `apiVersion` and `kind` of the items of the list that it is in.
    fn document(
        &mut self,
        file: &str,
        root: Value<'_>,
        list_type: Option<(&str, &str)>,
        report: &mut GenerateReport,
    ) -> Result<(), Error> {
        let string = |key: &str| root.get(key).and_then(Value::as_str).unwrap_or_default();
        let list_type = list_type.filter(|_| string("kind").is_empty() && root.kind() == Kind::Object);
        let (api_version, kind) = list_type.unwrap_or((string("apiVersion"), string("kind")));
        if root.kind() != Kind::Object || kind.is_empty() {
            let source = register(file, root, report);
            if root.items().any(|item| item.get("kind").is_some()) {
                report.warn(source, "expected an object, found a list: use an object of kind `List`, or separate the objects with `---`");
            } else if root.get("metadata").is_some() {
                let name = root.dig(&["metadata", "name"]).map_or("", Value::text);
                report.warn(
                    source,
                    format!("object `{}` was omitted, because it has no `kind`", clip(name).escape_debug()),
                );
            } else if root.kind() == Kind::String {
                // What a program wrote into its output beside the manifests.
                report.warn(
                    source,
                    format!(
                        "text was omitted, because it is not an object: `{}`",
                        clip(root.text()).escape_debug()
                    ),
                );
            } else if root.kind() == Kind::Object && !is_file(file) && root.entries().next().is_some() {
                // Directories also contain values, kustomizations and patches; the output of a program does not.
                let key = root.entries().next().map_or("", |(key, _)| key.text());
                report.warn(
                    source,
                    format!(
                        "the object with the field `{}` was omitted, because it has no `kind`",
                        clip(key).escape_debug()
                    ),
                );
            }
            report.record(
                source,
                ObjectOutcome::Omitted("it has no kind, so it is not a Kubernetes object".to_owned()),
            );
            return Ok(());
        }
        // `List`, and as in kustomize every other kind of list.
        let is_list = root.get("items").is_some_and(|items| items.kind() == Kind::Array);
        if (api_version == "v1" && kind == "List") || (kind.ends_with("List") && is_list) {
            // As in the answers of the API server, the items of a typed list need not say what they are.
            let items_type = Some((api_version, kind.strip_suffix("List").unwrap_or(kind)))
                .filter(|(_, kind)| !kind.is_empty());
            for item in root.get("items").into_iter().flat_map(Value::items) {
                self.document(file, item, items_type, report)?;
            }
            return Ok(());
        }
        let source = register(file, root, report);
        if api_version.is_empty() {
            let title = report.title(source);
            report.warn(source, format!("{title} has no `apiVersion`, so OLM cannot install it"));
        }
        if let (Some((api_version, kind)), Some(source)) = (list_type, report.sources.last_mut()) {
            (source.api_version, source.kind) = (api_version.to_owned(), kind.to_owned());
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let (list, fields) = match (group, kind) {
            ("operators.coreos.com", "ClusterServiceVersion") => {
                (&mut self.csvs, &go_types::CLUSTER_SERVICE_VERSION)
            }
            ("apps", "Deployment") => (&mut self.deployments, &go_types::DEPLOYMENT),
            ("rbac.authorization.k8s.io", "Role") => (&mut self.roles, &go_types::ROLE),
            ("rbac.authorization.k8s.io", "ClusterRole") => {
                (&mut self.cluster_roles, &go_types::CLUSTER_ROLE)
            }
            ("rbac.authorization.k8s.io", "RoleBinding") => {
                (&mut self.role_bindings, &go_types::ROLE_BINDING)
            }
            ("rbac.authorization.k8s.io", "ClusterRoleBinding") => {
                (&mut self.cluster_role_bindings, &go_types::ROLE_BINDING)
            }
            ("", "ServiceAccount") => (&mut self.service_accounts, &go_types::SERVICE_ACCOUNT),
            ("", "Service") => (&mut self.services, &go_types::SERVICE),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => match version {
                "v1" => (&mut self.crds, &go_types::CUSTOM_RESOURCE_DEFINITION),
                "v1beta1" => (&mut self.crds_v1beta1, &go_types::CUSTOM_RESOURCE_DEFINITION_V1BETA1),
                _ => {
                    return Err(Error::ApiVersion {
                        place: report.sources[source].place.clone(),
                        title: report.title(source),
                        api_version: api_version.to_owned(),
                        known: "apiextensions.k8s.io/v1, apiextensions.k8s.io/v1beta1",
                    });
                }
            },
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
                (&mut self.validating, &go_types::VALIDATING_WEBHOOK_CONFIGURATION)
            }
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
                (&mut self.mutating, &go_types::MUTATING_WEBHOOK_CONFIGURATION)
            }
            ("scorecard.operatorframework.io", "Configuration") => {
                (&mut self.scorecards, &go_types::CONFIGURATION)
            }
            _ => {
                let item = of_type(Item { source, json: root.to_json(), status: Json::Null }, list_type);
                self.seen.add(&mut self.others, item, report);
                return Ok(());
            }
        };
        let item = of_type(typed(root, source, fields, file, report)?, list_type);
        self.seen.add(list, item, report);
        Ok(())
    }

    /// All definitions of custom resources, those of v1 first.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Item> {
        self.crds.iter().chain(&self.crds_v1beta1)
    }

    /// Returns the namespace of an object if no Deployment is in it: OLM installs all objects into that of the operator.
    pub(crate) fn foreign_namespace<'i>(&self, item: &'i Item) -> Option<&'i str> {
        let namespace = item.namespace();
        let mut deployments =
            self.deployments.iter().map(Item::namespace).filter(|other| !other.is_empty()).peekable();
        let is_foreign = !namespace.is_empty() && deployments.peek().is_some();
        (is_foreign && deployments.all(|other| other != namespace)).then_some(namespace)
    }

    /// # Errors
    /// Two scorecard configurations have one name; or, unless the bundle is that of operator-sdk, there is no Deployment, or two have
    /// one name.
    pub(crate) fn check(&self, is_of_sdk: bool, report: &GenerateReport) -> Result<(), Error> {
        if self.deployments.is_empty() && !is_of_sdk {
            let is_workload = |item: &&Item| {
                let kinds = [
                    "StatefulSet",
                    "DaemonSet",
                    "ReplicaSet",
                    "Pod",
                    "Job",
                    "CronJob",
                    "DeploymentConfig",
                    "Deployment",
                ];
                kinds.contains(&item.kind())
            };
            return Err(match self.others.iter().find(is_workload) {
                Some(workload) => Error::OtherWorkload {
                    place: report.place(workload.source),
                    title: report.title(workload.source),
                    api_version: workload.api_version().to_owned(),
                },
                None => match self.others.iter().find(|item| meant(item) == Some("Deployment")) {
                    Some(item) => Error::Misspelled {
                        place: report.place(item.source),
                        kind: item.kind().to_owned(),
                        meant: "Deployment",
                    },
                    None => Error::NoDeployment,
                },
            });
        }
        let unique = |kind: &'static str, items: &[Item]| {
            let mut seen: HashMap<&str, usize> = HashMap::new();
            for item in items {
                if let Some(first) = seen.insert(item.name(), item.source) {
                    return Err(Error::Duplicate {
                        kind,
                        name: item.name().to_owned(),
                        first: report.place(first),
                        second: report.place(item.source),
                    });
                }
            }
            Ok(())
        };
        if !is_of_sdk {
            unique("Deployment", &self.deployments)?;
        }
        unique("scorecard Configuration", &self.scorecards)
    }
}

/// Returns whether a document is from a file rather than from a stream.
fn is_file(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some()
}

/// Returns an item of a list as an object that says what it is.
fn of_type(mut item: Item, list_type: Option<(&str, &str)>) -> Item {
    if let (Some((api_version, kind)), Some(object)) = (list_type, item.json.as_object_mut()) {
        object.shift_insert(0, "apiVersion".to_owned(), api_version.into());
        object.shift_insert(1, "kind".to_owned(), kind.into());
    }
    item
}

/// The kinds that a bundle is generated from, by their API group.
const KINDS: [(&str, &[&str]); 6] = [
    ("", &["ConfigMap", "Secret", "Service", "ServiceAccount"]),
    ("apps", &["Deployment"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("admissionregistration.k8s.io", &["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]),
    ("operators.coreos.com", &["ClusterServiceVersion"]),
];

/// Returns the kind that an object's kind is likely a misspelling of.
pub(crate) fn meant(item: &Item) -> Option<&'static str> {
    let group = item.api_version().split_once('/').map_or("", |(group, _)| group);
    let (_, kinds) = KINDS.iter().find(|(known, _)| *known == group)?;
    if kinds.contains(&item.kind()) {
        return None;
    }
    nearest(item.kind(), kinds.iter().copied())
}

impl KnownObjects {
    fn add(&mut self, list: &mut Vec<Item>, item: Item, report: &mut GenerateReport) {
        let positions = self.positions.entry(self.hasher.hash_one(&item.json)).or_default();
        // Equal objects have the same kind and with it the same list; another list may share a hash.
        let same = positions.iter().filter_map(|&at| list.get(at)).find(|other| other.json == item.json);
        if let Some(same) = same {
            let first = report.place(same.source);
            report.record(item.source, ObjectOutcome::Omitted(format!("identical to the object at {first}")));
        } else {
            positions.push(list.len());
            list.push(item);
        }
    }
}
