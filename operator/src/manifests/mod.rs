//! Everything that deploys the operator, generated: CRD, RBAC, the manager and samples.
//!
//! [`tree`] is the kustomize tree of `config/`, with the names that kubebuilder's scaffold uses; [`documents`] is what
//! `config/manifests` renders to, prefixed and with its namespace, for those who have no kustomize. Nothing here talks
//! to a cluster; [`write`](write::write) is the only step that touches files.

mod kustomize;
mod manager;
mod observe;
mod rbac;
mod samples;
mod webhook;
pub mod write;
mod yaml;

use crate::crd::crd;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What goes before every name, as kustomize's `namePrefix` does it.
pub const PREFIX: &str = "memcached-operator-";
/// Names, before they are prefixed, that the manager must know as well.
pub(crate) mod names {
    /// The Lease of the leader election; not generated, so complete as it is.
    pub(crate) const LEASE: &str = "memcached-operator.cache.example.com";
    /// The Service that the API server reaches the webhooks by.
    pub(crate) const WEBHOOK_SERVICE: &str = "webhook-service";
    /// The Service that Prometheus reaches the metrics by.
    pub(crate) const METRICS_SERVICE: &str = "controller-manager-metrics-service";
    /// The defaulting webhook's configuration.
    pub(crate) const MUTATING: &str = "mutating-webhook-configuration";
    /// The validating webhook's configuration.
    pub(crate) const VALIDATING: &str = "validating-webhook-configuration";
}

/// The memcached image that the manager starts unless told otherwise.
pub const OPERAND_IMAGE: &str = "docker.io/library/memcached:1.6";

/// Why manifests could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An object has no JSON form.
    #[error("failed to serialise a manifest: {0}")]
    Json(#[from] serde_json::Error),
    /// An object has no YAML form.
    #[error("failed to write a manifest as YAML: {0}")]
    Yaml(#[from] serde_saphyr::ser::Error),
    /// A file or folder could not be written.
    #[error("failed to write {path}: {source}; check that the folder exists, is yours and has room")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What the manifests leave to choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// The operator's own image.
    pub image: String,
    /// The memcached image, `MEMCACHED_IMAGE` of the manager.
    pub operand_image: String,
}

/// How names are written: bare for kustomize, which adds prefix and namespace, or complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Naming {
    /// As in `config/`: kustomize completes them.
    Bare,
    /// As kustomize would have completed them.
    Complete,
}

impl Naming {
    fn name(self, bare: &str) -> String {
        match self {
            Self::Bare => bare.to_owned(),
            Self::Complete => format!("{PREFIX}{bare}"),
        }
    }

    fn namespace(self) -> String {
        self.name("system")
    }

    fn cluster(self, bare: &str) -> ObjectMeta {
        let labels = ["name", "part-of"]
            .map(|key| (format!("app.kubernetes.io/{key}"), "memcached-operator".to_owned()))
            .into();
        ObjectMeta { name: Some(self.name(bare)), labels: Some(labels), ..ObjectMeta::default() }
    }

    fn namespaced(self, bare: &str) -> ObjectMeta {
        ObjectMeta { namespace: Some(self.namespace()), ..self.cluster(bare) }
    }
}

/// One generated file: its path below the output folder, and its text.
pub type Tree = BTreeMap<PathBuf, String>;

const HEADER: &str =
    "# Written by `memcached-operator manifests`; change the code in operator/, not this file.\n";

/// The objects that kustomize completes, as (folder, file, document), in the order in which they are applied.
fn objects(naming: Naming, options: &Options) -> Result<Vec<(&'static str, &'static str, String)>, Error> {
    let mut list = vec![("manager", "namespace.yaml", yaml::document(&manager::namespace(naming))?)];
    let mut add =
        |folder, file, text: Result<String, Error>| text.map(|text| list.push((folder, file, text)));
    add("rbac", "service_account.yaml", yaml::document(&manager::service_account(naming)))?;
    add("rbac", "role.yaml", yaml::document(&rbac::manager_role(naming)))?;
    add("rbac", "role_binding.yaml", yaml::document(&rbac::manager_role_binding(naming)))?;
    add("rbac", "cluster_role.yaml", yaml::document(&rbac::cluster_role(naming)))?;
    add("rbac", "cluster_role_binding.yaml", yaml::document(&rbac::cluster_role_binding(naming)))?;
    add("rbac", "leader_election_role.yaml", yaml::document(&rbac::leader_election_role(naming)))?;
    add(
        "rbac",
        "leader_election_role_binding.yaml",
        yaml::document(&rbac::leader_election_role_binding(naming)),
    )?;
    add("rbac", "metrics_reader_role.yaml", yaml::document(&rbac::metrics_reader(naming)))?;
    add("rbac", "metrics_service.yaml", yaml::document(&observe::metrics_service(naming)))?;
    add("rbac", "memcached_editor_role.yaml", yaml::document(&rbac::editor_role(naming)))?;
    add("rbac", "memcached_viewer_role.yaml", yaml::document(&rbac::viewer_role(naming)))?;
    add("manager", "manager.yaml", yaml::document(&manager::deployment(naming, options)))?;
    add("webhook", "service.yaml", yaml::document(&webhook::service(naming)))?;
    add("webhook", "mutating_webhook.yaml", yaml::document(&webhook::mutating(naming)))?;
    add("webhook", "validating_webhook.yaml", yaml::document(&webhook::validating(naming)))?;
    Ok(list)
}

/// The kustomize tree: every file of `config/` that is generated.
///
/// # Errors
/// When an object cannot be serialised.
pub fn tree(options: &Options) -> Result<Tree, Error> {
    let mut files = Tree::new();
    let mut put = |path: String, text: &str| files.insert(PathBuf::from(path), format!("{HEADER}{text}"));
    put(format!("crd/bases/{CRD_FILE}"), &yaml::document(&crd())?);
    let objects = objects(Naming::Bare, options)?;
    for (folder, file, text) in &objects {
        put(format!("{folder}/{file}"), text);
    }
    for (file, sample) in samples::all() {
        put(format!("samples/{file}"), &yaml::document(&sample)?);
    }
    let files_of = |wanted: &str| -> Vec<String> {
        objects
            .iter()
            .filter(|(folder, ..)| *folder == wanted)
            .map(|(_, file, _)| (*file).to_owned())
            .collect()
    };
    put("webhook/kustomizeconfig.yaml".to_owned(), &yaml::document(&kustomize::webhook_references())?);
    // For those who want them: named by no kustomization that is deployed by default.
    put("prometheus/monitor.yaml".to_owned(), &yaml::document(&observe::service_monitor(Naming::Bare))?);
    put("prometheus/alerts.yaml".to_owned(), &yaml::document(&observe::alerts(Naming::Bare))?);
    put("network-policy/manager.yaml".to_owned(), &yaml::document(&observe::network_policy(Naming::Bare))?);
    put("scorecard/config.yaml".to_owned(), &yaml::document(&observe::scorecard())?);
    let strings = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    let samples = samples::all().map(|(file, _)| file);
    for (folder, kustomization) in [
        ("crd", kustomize::resources(&[format!("bases/{CRD_FILE}")])),
        ("rbac", kustomize::resources(&files_of("rbac"))),
        ("manager", kustomize::resources(&files_of("manager"))),
        ("webhook", kustomize::webhook(&files_of("webhook"))),
        ("prometheus", kustomize::resources(&strings(&["monitor.yaml", "alerts.yaml"]))),
        ("network-policy", kustomize::resources(&strings(&["manager.yaml"]))),
        ("scorecard", kustomize::resources(&strings(&["config.yaml"]))),
        ("samples", kustomize::resources(&samples)),
        ("default", kustomize::default()),
        ("manifests", kustomize::resources(&["../default".to_owned(), "../samples".to_owned()])),
    ] {
        put(format!("{folder}/kustomization.yaml"), &yaml::document(&kustomization)?);
    }
    Ok(files)
}

/// The CRD's file, named as controller-gen names it.
const CRD_FILE: &str = "cache.example.com_memcacheds.yaml";

/// All objects with their complete names, samples last, as one multi-document text.
///
/// # Errors
/// When an object cannot be serialised.
pub fn documents(options: &Options) -> Result<String, Error> {
    let mut list = objects(Naming::Complete, options)?.into_iter().map(|(.., text)| text).collect::<Vec<_>>();
    list.insert(1, yaml::document(&crd())?);
    for (_, sample) in samples::all() {
        list.push(yaml::document(&sample)?);
    }
    Ok(list.iter().flat_map(|text| ["---\n", text.as_str()]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options { image: "example.com/op:v1".to_owned(), operand_image: OPERAND_IMAGE.to_owned() }
    }

    #[test]
    fn the_same_options_give_the_same_bytes() {
        assert_eq!(tree(&options()).unwrap(), tree(&options()).unwrap());
        assert_eq!(documents(&options()).unwrap(), documents(&options()).unwrap());
    }

    #[test]
    fn complete_names_carry_the_prefix_everywhere() {
        let text = documents(&options()).unwrap();
        assert!(text.contains("namespace: memcached-operator-system"));
        assert!(text.contains("serviceAccountName: memcached-operator-controller-manager"));
        assert!(!text.contains(": controller-manager\n  namespace"), "{text}");
        assert!(!text.contains("namespace: system"), "{text}");
    }

    #[test]
    fn every_kustomization_names_files_that_exist() {
        let tree = tree(&options()).unwrap();
        for (path, text) in tree.iter().filter(|(path, _)| path.ends_with("kustomization.yaml")) {
            let folder = path.parent().unwrap();
            for entry in text.lines().filter_map(|line| line.strip_prefix("- ")) {
                let target = match entry.strip_prefix("../") {
                    Some(sibling) => PathBuf::from(sibling).join("kustomization.yaml"),
                    None => folder.join(entry),
                };
                assert!(tree.contains_key(&target), "{} names {}", path.display(), target.display());
            }
        }
    }
}
