//! OLM's manifests, in the order and form in which they can be applied.

use serde_json::Value;

use crate::kinds;
use crate::kinds::Kind;
use crate::snapshot::{name_of, string};

/// The CRDs without which OLM does not work.
pub(crate) const CRDS: &[&str] = &[
    "catalogsources.operators.coreos.com",
    "clusterserviceversions.operators.coreos.com",
    "installplans.operators.coreos.com",
    "olmconfigs.operators.coreos.com",
    "operatorconditions.operators.coreos.com",
    "operatorgroups.operators.coreos.com",
    "operators.operators.coreos.com",
    "subscriptions.operators.coreos.com",
];

/// The Deployments of OLM.
pub(crate) const DEPLOYMENTS: &[&str] = &["catalog-operator", "olm-operator"];

/// Why manifests cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// An object is of a kind that OLM's manifests do not have.
    #[error("{0} is not part of an installation of OLM")]
    Kind(String),
    /// The manifests are not all of OLM.
    #[error(
        "the manifests lack {0}: pass OLM's CRDs and its deployments, crds.yaml and olm.yaml of a release"
    )]
    Incomplete(String),
    /// An object has no kind.
    #[error("an object in the manifests has no kind")]
    Kindless,
    /// An object has no name.
    #[error("a {0} in the manifests has no name")]
    Nameless(String),
}

/// Where images come from instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The begin of the names of images.
    pub from: String,
    /// What replaces it.
    pub to: String,
}

impl std::str::FromStr for Mirror {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => {
                let part = |text: &str| text.trim_end_matches('/').to_owned();
                Ok(Self { from: part(from), to: part(to) })
            }
            _ => Err("expected SOURCE=MIRROR, such as quay.io=registry.example.com/quay".into()),
        }
    }
}

/// What is changed in the manifests.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where images come from instead; the first that fits counts.
    pub mirrors: Vec<Mirror>,
    /// Whether the manifests' catalogs are omitted.
    pub without_catalogs: bool,
}

/// Manifests that can be applied.
#[derive(Debug)]
pub struct Prepared {
    /// The CRDs.
    pub crds: Vec<(Kind, Value)>,
    /// The other objects, in the order in which they are created.
    pub objects: Vec<(Kind, Value)>,
    /// The version of OLM, empty if the manifests do not name it.
    pub version: String,
}

/// Prepares OLM's manifests.
///
/// Flags with one dash get a second one: those of OLM 0.46 require it, and its quickstart manifests lack it.
///
/// # Errors
/// The manifests are not OLM's, or not all of them.
pub fn prepare(documents: Vec<Value>, options: &Options) -> Result<Prepared, PrepareError> {
    let mut prepared = Prepared { crds: Vec::new(), objects: Vec::new(), version: String::new() };
    for mut object in documents {
        let shown = || format!("{} `{}`", string(&object, "/kind"), name_of(&object));
        if string(&object, "/kind").is_empty() {
            return Err(PrepareError::Kindless);
        }
        if name_of(&object).is_empty() {
            return Err(PrepareError::Nameless(string(&object, "/kind").to_owned()));
        }
        let Some(kind) = Kind::of_object(&object) else { return Err(PrepareError::Kind(shown())) };
        if kind == kinds::CATALOG_SOURCE && options.without_catalogs {
            continue;
        }
        if kind == kinds::CSV && name_of(&object) == "packageserver" {
            string(&object, "/spec/version").clone_into(&mut prepared.version);
        }
        if kind == kinds::DEPLOYMENT {
            correct_flags(&mut object);
        }
        mirrored(&mut object, &options.mirrors);
        let list = if kind == kinds::CRD { &mut prepared.crds } else { &mut prepared.objects };
        list.push((kind, object));
    }
    let has = |list: &[(Kind, Value)], kind: Kind, name: &str| {
        list.iter().any(|(found, object)| *found == kind && name_of(object) == name)
    };
    if let Some(missing) = CRDS.iter().find(|name| !has(&prepared.crds, kinds::CRD, name)) {
        return Err(PrepareError::Incomplete(format!("CRD `{missing}`")));
    }
    if let Some(missing) = DEPLOYMENTS.iter().find(|name| !has(&prepared.objects, kinds::DEPLOYMENT, name)) {
        return Err(PrepareError::Incomplete(format!("deployment `{missing}`")));
    }
    prepared.objects.sort_by_key(|(kind, _)| rank(*kind));
    Ok(prepared)
}

fn rank(kind: Kind) -> u8 {
    match kind {
        kinds::NAMESPACE => 0,
        kinds::SERVICE_ACCOUNT | kinds::CLUSTER_ROLE | kinds::ROLE | kinds::NETWORK_POLICY => 1,
        kinds::CLUSTER_ROLE_BINDING | kinds::ROLE_BINDING | kinds::OLM_CONFIG => 2,
        kinds::OPERATOR_GROUP => 4,
        kinds::CSV => 5,
        kinds::CATALOG_SOURCE => 6,
        _ => 3,
    }
}

/// Gives flags of OLM's containers their second dash, and joins `--flag value` where the value follows blanks.
fn correct_flags(deployment: &mut Value) {
    let containers = deployment.pointer_mut("/spec/template/spec/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        for argument in container["args"].as_array_mut().into_iter().flatten() {
            let Some(text) = argument.as_str() else { continue };
            let is_short = text.strip_prefix('-').is_some_and(|rest| {
                let name = rest.split('=').next().unwrap_or_default();
                name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic())
            });
            if is_short {
                *argument = format!("-{text}").into();
            }
        }
    }
}

/// Replaces the beginning of image names, wherever they are: fields, arguments and variables.
fn mirrored(value: &mut Value, mirrors: &[Mirror]) {
    match value {
        Value::String(text) => {
            for mirror in mirrors {
                let at = text.find('=').filter(|_| text.starts_with('-')).map_or(0, |at| at + 1);
                let rest = text[at..].strip_prefix(&mirror.from).filter(|rest| rest.starts_with('/'));
                if let Some(rest) = rest {
                    *text = format!("{}{}{rest}", &text[..at], mirror.to);
                    return;
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mirrored(item, mirrors)),
        Value::Object(map) => map.values_mut().for_each(|item| mirrored(item, mirrors)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn documents() -> Vec<Value> {
        let deployment = |name: &str| {
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "olm"},
            "spec": {"template": {"spec": {"containers": [{
                "image": "quay.io/operator-framework/olm@sha256:0",
                "args": ["-namespace", "olm", "-util-image=quay.io/a", "--debug", "-v"],
            }]}}}})
        };
        let crd = |name: &&str| json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name}});
        let mut found = vec![
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": {"name": "hub"},
                "spec": {"image": "quay.io/operatorhubio/catalog:latest"}}),
            json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
                "metadata": {"name": "packageserver"}, "spec": {"version": "0.46.0"}}),
            deployment("catalog-operator"),
            deployment("olm-operator"),
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "olm"}}),
        ];
        found.extend(CRDS.iter().map(crd));
        found
    }

    #[test]
    fn manifests_are_ordered_and_corrected() {
        let prepared = prepare(documents(), &Options::default()).unwrap();
        assert_eq!((prepared.version.as_str(), prepared.crds.len()), ("0.46.0", CRDS.len()));
        let order: Vec<_> = prepared.objects.iter().map(|(kind, _)| kind.kind).collect();
        assert_eq!(
            order,
            ["Namespace", "Deployment", "Deployment", "ClusterServiceVersion", "CatalogSource"]
        );
        let container = &prepared.objects[1].1["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(
            container["args"],
            json!(["--namespace", "olm", "--util-image=quay.io/a", "--debug", "-v"])
        );
    }

    #[test]
    fn images_come_from_the_mirror_and_catalogs_are_omitted() {
        let mirrors = vec!["quay.io=registry.example.com/quay/".parse().unwrap()];
        let prepared = prepare(documents(), &Options { mirrors, without_catalogs: true }).unwrap();
        assert!(prepared.objects.iter().all(|(kind, _)| *kind != kinds::CATALOG_SOURCE));
        let container = &prepared.objects[1].1["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], "registry.example.com/quay/operator-framework/olm@sha256:0");
        assert_eq!(container["args"][2], "--util-image=registry.example.com/quay/a");
        assert!("quay.io".parse::<Mirror>().is_err());
    }

    #[test]
    fn manifests_that_are_not_all_of_olm_are_errors() {
        let without = |name: &str| {
            let documents = documents().into_iter().filter(|object| name_of(object) != name).collect();
            prepare(documents, &Options::default()).unwrap_err().to_string()
        };
        assert!(without("olmconfigs.operators.coreos.com").starts_with("the manifests lack CRD `olmconfigs"));
        assert!(without("catalog-operator").starts_with("the manifests lack deployment `catalog-operator`"));
        let mut other = documents();
        other.push(json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}}));
        let error = prepare(other, &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), "CronJob `x` is not part of an installation of OLM");
        let error = prepare(vec![json!([])], &Options::default()).unwrap_err();
        assert_eq!(error.to_string(), "an object in the manifests has no kind");
    }
}
