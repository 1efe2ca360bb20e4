//! Documents sorted into what a bundle is made of; objects that say the same are taken once.
//!
//! Source of the sorting: `internal/generate/collector` of operator-framework/operator-sdk.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};

use serde_json::Value as Json;

use super::error::Error;
use super::json::text;
use super::ledger::{Fate, Ledger, Place, Source};
use super::shape::{self, Change, Fields};
use crate::model::Document;
use crate::model::yaml::{Kind, Value};

/// An object and its number in the [`Ledger`].
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) source: usize,
    pub(super) json: Json,
}

impl Item {
    pub(super) fn name(&self) -> &str {
        text(&self.json, &["metadata", "name"])
    }

    pub(super) fn namespace(&self) -> &str {
        text(&self.json, &["metadata", "namespace"])
    }

    pub(super) fn kind(&self) -> &str {
        text(&self.json, &["kind"])
    }

    pub(super) fn api_version(&self) -> &str {
        text(&self.json, &["apiVersion"])
    }
}

/// The objects of the input by what they are for.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) csvs: Vec<Item>,
    pub(super) deployments: Vec<Item>,
    pub(super) roles: Vec<Item>,
    pub(super) cluster_roles: Vec<Item>,
    pub(super) role_bindings: Vec<Item>,
    pub(super) cluster_role_bindings: Vec<Item>,
    pub(super) service_accounts: Vec<Item>,
    pub(super) services: Vec<Item>,
    pub(super) crds: Vec<Item>,
    pub(super) crds_v1beta1: Vec<Item>,
    pub(super) validating: Vec<Item>,
    pub(super) mutating: Vec<Item>,
    pub(super) scorecards: Vec<Item>,
    pub(super) others: Vec<Item>,
    seen: Seen,
}

/// Finds objects that are equal to an earlier one, without comparing each with all others.
#[derive(Debug, Default)]
struct Seen {
    hasher: RandomState,
    /// The hash of an object to the positions of the objects with that hash in their lists.
    positions: HashMap<u64, Vec<usize>>,
}

/// Sorts all objects.
///
/// # Errors
/// An object that does not fit its type.
pub(super) fn collect(documents: &[Document], ledger: &mut Ledger) -> Result<Collected, Error> {
    let mut collected = Collected::default();
    for document in documents {
        collected.document(&document.file, document.tree.root(), ledger)?;
    }
    Ok(collected)
}

/// A CSV outside the manifests, as a person's base is.
///
/// # Errors
/// A field that does not fit its type.
pub(super) fn typed_csv(document: &Document, ledger: &mut Ledger) -> Result<Item, Error> {
    let root = document.tree.root();
    let source = register(&document.file, root, ledger);
    typed(root, source, &shape::CLUSTER_SERVICE_VERSION, &document.file, ledger)
}

fn register(file: &str, root: Value<'_>, ledger: &mut Ledger) -> usize {
    let string = |keys: &[&str]| root.dig(keys).and_then(Value::as_str).unwrap_or_default().to_owned();
    ledger.sources.push(Source {
        place: Place { file: file.to_owned(), position: root.position() },
        api_version: string(&["apiVersion"]),
        kind: string(&["kind"]),
        name: string(&["metadata", "name"]),
        fates: Vec::new(),
    });
    ledger.sources.len() - 1
}

fn typed(
    root: Value<'_>,
    source: usize,
    fields: &'static Fields,
    file: &str,
    ledger: &mut Ledger,
) -> Result<Item, Error> {
    let title = ledger.title(source);
    let place = |position| Place { file: file.to_owned(), position };
    match shape::conform(root, fields) {
        Ok((json, remarks)) => {
            ledger.omit_warnings(remarks.omitted);
            for remark in remarks.list {
                let at = Some(place(remark.position));
                let path = remark.path;
                match remark.change {
                    Change::Dropped => {
                        ledger.warn_at(at, format!("{title}: unknown field `{path}` was omitted"));
                    }
                    Change::Renamed(name) => {
                        ledger.warn_at(
                            at,
                            format!("{title}: field `{path}` was read as `{name}`; correct its case"),
                        );
                    }
                    Change::Quoted(text) => {
                        ledger.inform(at, format!("{title}: {path}: expected a string; written as {text:?}"));
                    }
                }
            }
            Ok(Item { source, json })
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
    fn document(&mut self, file: &str, root: Value<'_>, ledger: &mut Ledger) -> Result<(), Error> {
        let string = |key: &str| root.get(key).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (string("apiVersion"), string("kind"));
        if root.kind() != Kind::Object || kind.is_empty() {
            let source = register(file, root, ledger);
            ledger.fate(source, Fate::Omitted("it has no kind, so it is not a Kubernetes object".to_owned()));
            return Ok(());
        }
        if api_version == "v1" && kind == "List" {
            for item in root.get("items").into_iter().flat_map(Value::items) {
                self.document(file, item, ledger)?;
            }
            return Ok(());
        }
        let source = register(file, root, ledger);
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let (list, fields) = match (group, kind) {
            ("operators.coreos.com", "ClusterServiceVersion") => {
                (&mut self.csvs, &shape::CLUSTER_SERVICE_VERSION)
            }
            ("apps", "Deployment") => (&mut self.deployments, &shape::DEPLOYMENT),
            ("rbac.authorization.k8s.io", "Role") => (&mut self.roles, &shape::ROLE),
            ("rbac.authorization.k8s.io", "ClusterRole") => (&mut self.cluster_roles, &shape::CLUSTER_ROLE),
            ("rbac.authorization.k8s.io", "RoleBinding") => (&mut self.role_bindings, &shape::ROLE_BINDING),
            ("rbac.authorization.k8s.io", "ClusterRoleBinding") => {
                (&mut self.cluster_role_bindings, &shape::ROLE_BINDING)
            }
            ("", "ServiceAccount") => (&mut self.service_accounts, &shape::SERVICE_ACCOUNT),
            ("", "Service") => (&mut self.services, &shape::SERVICE),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => match version {
                "v1" => (&mut self.crds, &shape::CUSTOM_RESOURCE_DEFINITION),
                "v1beta1" => (&mut self.crds_v1beta1, &shape::CUSTOM_RESOURCE_DEFINITION_V1BETA1),
                _ => {
                    return Err(Error::ApiVersion {
                        place: ledger.sources[source].place.clone(),
                        title: ledger.title(source),
                        api_version: api_version.to_owned(),
                        known: "apiextensions.k8s.io/v1, apiextensions.k8s.io/v1beta1",
                    });
                }
            },
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
                (&mut self.validating, &shape::VALIDATING_WEBHOOK_CONFIGURATION)
            }
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
                (&mut self.mutating, &shape::MUTATING_WEBHOOK_CONFIGURATION)
            }
            ("scorecard.operatorframework.io", "Configuration") => {
                (&mut self.scorecards, &shape::CONFIGURATION)
            }
            _ => {
                let item = Item { source, json: root.to_json() };
                self.seen.add(&mut self.others, item, ledger);
                return Ok(());
            }
        };
        let item = typed(root, source, fields, file, ledger)?;
        self.seen.add(list, item, ledger);
        Ok(())
    }

    /// All definitions of custom resources, those of v1 first.
    pub(super) fn definitions(&self) -> impl Iterator<Item = &Item> {
        self.crds.iter().chain(&self.crds_v1beta1)
    }

    /// # Errors
    /// There is no Deployment, or two have one name.
    pub(super) fn check(&self, ledger: &Ledger) -> Result<(), Error> {
        if self.deployments.is_empty() {
            return Err(Error::NoDeployment);
        }
        let unique = |kind: &'static str, items: &[Item]| {
            let mut seen: HashMap<&str, usize> = HashMap::new();
            for item in items {
                if let Some(first) = seen.insert(item.name(), item.source) {
                    return Err(Error::Duplicate {
                        kind,
                        name: item.name().to_owned(),
                        first: ledger.place(first),
                        second: ledger.place(item.source),
                    });
                }
            }
            Ok(())
        };
        unique("Deployment", &self.deployments)?;
        unique("scorecard Configuration", &self.scorecards)
    }
}

impl Seen {
    fn add(&mut self, list: &mut Vec<Item>, item: Item, ledger: &mut Ledger) {
        let positions = self.positions.entry(self.hasher.hash_one(&item.json)).or_default();
        // Equal objects have the same kind and with it the same list; another list may share a hash.
        let same = positions.iter().filter_map(|&at| list.get(at)).find(|other| other.json == item.json);
        if let Some(same) = same {
            let first = ledger.place(same.source);
            ledger.fate(item.source, Fate::Omitted(format!("identical to the object at {first}")));
        } else {
            positions.push(list.len());
            list.push(item);
        }
    }
}
