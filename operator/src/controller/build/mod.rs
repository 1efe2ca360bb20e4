//! The objects that a Memcached owns, one kind per file. Pure: makes no request.
//!
//! What [`build`] returns is complete for server-side apply: the operator manages every field in it and reverts external
//! changes to it; every other field belongs to others.

mod deployment;
mod disruption_budget;
mod service;

pub use deployment::USER as OPERAND_USER;

use super::live::Parts;
use super::shape::Outline;
use super::validate::Wanted;
use crate::crd::{Memcached, STORED_VERSION};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use kube::Resource;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The label with the name of the Memcached that an object belongs to.
pub(crate) const INSTANCE: &str = "app.kubernetes.io/instance";
const NAME: &str = "app.kubernetes.io/name";
const VERSION: &str = "app.kubernetes.io/version";
/// The label of everything that this operator created.
pub(crate) const MANAGED: (&str, &str) = ("app.kubernetes.io/managed-by", "memcached-operator");

/// Kinds that a Memcached owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Owned {
    /// Deployment, headless Service and `PodDisruptionBudget`
    All,
    /// Only the Deployment, as in the tutorial
    Deployment,
}

/// One object to apply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Desired {
    /// The object, as sent.
    pub(crate) body: Value,
    /// The digest of its fields, to compare with what was observed.
    pub(crate) digest: u64,
}

/// Everything that a Memcached should own; `None` for a kind that it should not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objects {
    pub(crate) deployment: Desired,
    pub(crate) service: Option<Desired>,
    pub(crate) disruption_budget: Option<Desired>,
}

/// The digests of everything that a Memcached should own: enough to tell whether anything has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digests {
    pub(crate) deployment: u64,
    pub(crate) service: Option<u64>,
    pub(crate) disruption_budget: Option<u64>,
}

impl Objects {
    pub(crate) fn digests(&self) -> Digests {
        let Self { deployment, service, disruption_budget } = self;
        let digest = |desired: &Desired| desired.digest;
        Digests {
            deployment: deployment.digest,
            service: service.as_ref().map(digest),
            disruption_budget: disruption_budget.as_ref().map(digest),
        }
    }
}

/// The fields that are applied, for each kind.
#[derive(Clone, Debug)]
pub(crate) struct Outlines {
    pub(crate) deployment: Outline,
    pub(crate) service: Outline,
    pub(crate) disruption_budget: Outline,
}

impl Outlines {
    /// Returns the fields of a Memcached that has everything set.
    pub(crate) fn new() -> Result<Self, serde_json::Error> {
        let everything = Wanted {
            key: super::cache::Key { namespace: "namespace".into(), name: "name".into() },
            uid: "uid".into(),
            size: 3,
            port: 1024,
            image: "image:tag".into(),
            memory_mib: 1,
            node_selector: [("key".to_owned(), "value".to_owned())].into(),
        };
        Ok(Self {
            deployment: Outline::of(&body(&deployment::deployment(&everything, Some(OPERAND_USER)))?),
            service: Outline::of(&body(&service::service(&everything))?),
            disruption_budget: Outline::of(&body(&disruption_budget::disruption_budget(&everything))?),
        })
    }
}

/// Builds what a Memcached should own; `run_as_user` is `None` if the cluster assigns user IDs.
///
/// # Errors
/// When an object cannot be serialized, which would be a defect of this program.
pub(crate) fn build(
    wanted: &Wanted,
    owned: Owned,
    run_as_user: Option<i64>,
    outlines: &Outlines,
) -> Result<Objects, serde_json::Error> {
    let everything = owned == Owned::All;
    let budgeted = everything && wanted.size > 1;
    Ok(Objects {
        deployment: desired(&deployment::deployment(wanted, run_as_user), &outlines.deployment)?,
        service: everything.then(|| desired(&service::service(wanted), &outlines.service)).transpose()?,
        disruption_budget: budgeted
            .then(|| desired(&disruption_budget::disruption_budget(wanted), &outlines.disruption_budget))
            .transpose()?,
    })
}

fn desired<K: Kind + Serialize>(object: &K, outline: &Outline) -> Result<Desired, serde_json::Error> {
    let body = body(object)?;
    let digest = outline.digest(object.meta().labels.as_ref(), outline.spec_digest(&body["spec"]));
    Ok(Desired { body, digest })
}

fn body<K: Serialize>(object: &K) -> Result<Value, serde_json::Error> {
    serde_json::to_value(object)
}

/// Returns the labels that never change: they select a Memcached's pods.
pub(crate) fn selector(name: &str) -> BTreeMap<String, String> {
    [(NAME.to_owned(), "memcached".to_owned()), (INSTANCE.to_owned(), name.to_owned())].into()
}

/// Returns the selector in the form of the scale subresource.
pub(crate) fn selector_text(name: &str) -> String {
    let pairs = selector(name).into_iter().map(|(key, value)| format!("{key}={value}"));
    pairs.collect::<Vec<_>>().join(",")
}

fn labels(wanted: &Wanted) -> BTreeMap<String, String> {
    let mut labels = selector(&wanted.key.name);
    labels.insert(MANAGED.0.to_owned(), MANAGED.1.to_owned());
    labels.insert("app.kubernetes.io/part-of".to_owned(), "memcached-operator".to_owned());
    labels.insert(VERSION.to_owned(), version_label(&wanted.image));
    labels
}

/// Returns the image's tag, or the beginning of its digest, as a label value.
fn version_label(image: &str) -> String {
    if let Some((_, digest)) = image.split_once("@sha256:") {
        return digest.chars().take(12).collect();
    }
    let tag = image.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/')).unwrap_or("latest");
    tag.chars()
        .take(63)
        .collect::<String>()
        .trim_end_matches(['.', '_', '-'])
        .trim_start_matches('_')
        .to_owned()
}

fn metadata(wanted: &Wanted) -> ObjectMeta {
    ObjectMeta {
        name: Some(wanted.key.name.clone()),
        namespace: Some(wanted.key.namespace.clone()),
        labels: Some(labels(wanted)),
        owner_references: Some(vec![OwnerReference {
            api_version: format!("{}/{STORED_VERSION}", Memcached::group(&())),
            kind: Memcached::kind(&()).into_owned(),
            name: wanted.key.name.clone(),
            uid: wanted.uid.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]),
        ..ObjectMeta::default()
    }
}

fn label_selector(wanted: &Wanted) -> LabelSelector {
    LabelSelector { match_labels: Some(selector(&wanted.key.name)), ..LabelSelector::default() }
}

/// The kinds of owned objects.
pub(crate) trait Kind: Parts<Spec = Box<RawValue>> {
    /// The kind's name in messages.
    const NAME: &'static str;
}

impl Kind for Deployment {
    const NAME: &'static str = "Deployment";
}
impl Kind for Service {
    const NAME: &'static str = "Service";
}
impl Kind for PodDisruptionBudget {
    const NAME: &'static str = "PodDisruptionBudget";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::validate::{tests::memcached, validate};

    fn wanted(image: &str) -> Wanted {
        validate(&memcached(3), image).unwrap()
    }

    #[test]
    fn all_three_objects_as_they_are_applied() {
        let objects =
            build(&wanted("r.io/memcached:1.6"), Owned::All, Some(OPERAND_USER), &Outlines::new().unwrap())
                .unwrap();
        insta::assert_yaml_snapshot!("deployment", objects.deployment.body);
        insta::assert_yaml_snapshot!("service", objects.service.unwrap().body);
        insta::assert_yaml_snapshot!("disruption_budget", objects.disruption_budget.unwrap().body);
    }

    #[test]
    fn a_single_server_has_no_disruption_budget_and_the_tutorials_set_is_the_deployment() {
        let outlines = Outlines::new().unwrap();
        let mut one = wanted("m:1");
        one.size = 1;
        assert!(build(&one, Owned::All, None, &outlines).unwrap().disruption_budget.is_none());
        let objects = build(&wanted("m:1"), Owned::Deployment, None, &outlines).unwrap();
        assert!(objects.service.is_none() && objects.disruption_budget.is_none());
    }

    #[test]
    fn every_value_of_the_spec_changes_the_digest() {
        let outlines = Outlines::new().unwrap();
        let digest = |wanted: &Wanted| build(wanted, Owned::All, None, &outlines).unwrap().deployment.digest;
        let base = wanted("m:1");
        let changes: [fn(&mut Wanted); 5] = [
            |w| w.size = 2,
            |w| w.port = 2000,
            |w| w.image = "m:2".into(),
            |w| w.memory_mib = 192,
            |w| drop(w.node_selector.insert("a".into(), "b".into())),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = base.clone();
            change(&mut other);
            assert_ne!(digest(&base), digest(&other), "change {index}");
        }
    }

    #[test]
    fn the_version_label_is_always_a_label() {
        let digest = format!("m@sha256:{}", "ab".repeat(32));
        for (image, label) in
            [("m:1.6", "1.6"), ("r:5000/m", "latest"), ("m:a_", "a"), (digest.as_str(), "abababababab")]
        {
            assert_eq!(version_label(image), label, "{image}");
        }
    }

    #[test]
    fn the_cluster_may_assign_the_user_id() {
        let outlines = Outlines::new().unwrap();
        let build = |user| build(&wanted("m:1"), Owned::Deployment, user, &outlines).unwrap().deployment;
        let context = |deployment: &Desired| {
            let pod = &deployment.body["spec"]["template"]["spec"];
            (pod["securityContext"].clone(), pod["containers"][0]["securityContext"].clone())
        };
        let assigned = context(&build(None));
        assert!(assigned.1.get("runAsUser").is_none() && assigned.0.get("runAsUser").is_none());
        assert_eq!(assigned.1["runAsNonRoot"], true);
        assert_eq!(context(&build(Some(OPERAND_USER))).1["runAsUser"], 1001);
        assert_ne!(build(None).digest, build(Some(OPERAND_USER)).digest, "a change is applied");
    }
}
