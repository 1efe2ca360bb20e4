//! The controller of Memcacheds: what they own, and their status. Everything here is pure.

mod deployment;
mod disruption_budget;
mod service;
mod status;
mod validate;

pub use deployment::USER as OPERAND_USER;

use crate::api::{Memcached, MemcachedSpec, MemcachedStatus};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use operator_runtime::conditions::phase;
use operator_runtime::controller::{
    Change, Changes, Children, Digests, Exists, Invalid, Observed, Owns, Reconciler,
};
use operator_runtime::events::Note;
use operator_runtime::labels;
use operator_runtime::views::{PodState, Rollout};

/// Kinds that a Memcached owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Owned {
    /// Deployment, headless Service and `PodDisruptionBudget`
    All,
    /// Only the Deployment, as in the tutorial
    Deployment,
}

/// The controller of Memcacheds.
#[derive(Clone, Debug)]
pub struct Memcacheds {
    /// Image of the servers unless a Memcached sets one.
    pub image: String,
    /// Kinds that a Memcached owns.
    pub owned: Owned,
}

impl Reconciler for Memcacheds {
    type Object = Memcached;
    /// As in the tutorial.
    const FINALIZER: Option<&'static str> = Some("cache.example.com/finalizer");

    fn owns(&self, owns: &mut Owns) {
        owns.child::<Deployment, Rollout>();
        if self.owned == Owned::All {
            owns.child::<Service, Exists>();
            owns.child::<PodDisruptionBudget, Exists>().optional();
        }
        owns.related::<Pod, PodState>(labels::INSTANCE);
    }

    fn desired(&self, memcached: &Memcached, observed: &Observed) -> Result<Children, Invalid> {
        let wanted = validate::validate(memcached, &self.image)?;
        let run_as_user = (!observed.platform().openshift).then_some(OPERAND_USER);
        let mut children = Children::new();
        children.add(deployment::deployment(&wanted, run_as_user));
        if self.owned == Owned::All {
            children.add(service::service(&wanted));
            if wanted.size > 1 {
                children.add(disruption_budget::disruption_budget(&wanted));
            }
        }
        Ok(children)
    }

    fn status(&self, memcached: &Memcached, observed: &Observed) -> MemcachedStatus {
        status::status(memcached, observed)
    }

    fn complete(&self, memcached: &Memcached, status: &mut MemcachedStatus) {
        status.phase = Some(phase(&status.conditions).to_owned());
        status.selector = Some(labels::text(&labels::selector("memcached", &memcached.name_any())));
        status.observed_generation = memcached.metadata.generation;
    }

    fn events(&self, memcached: &Memcached, changes: &Changes<'_>) -> Vec<Note> {
        let (name, size) = (memcached.name_any(), memcached.spec.size);
        let before = changes.before::<Deployment, Rollout>(&name).map(|rollout| rollout.wanted);
        let note = match (changes.of::<Deployment>(&name), before) {
            (Some(Change::Created), _) => {
                Note::normal("Created", "Create", format!("Created Deployment {name} with {size} servers"))
            }
            (Some(Change::Updated), Some(before)) if before != size => {
                Note::normal("Scaled", "Scale", format!("Scaled from {before} to {size} servers"))
            }
            (Some(Change::Updated), _) => {
                Note::normal("Updated", "Update", format!("Reverted external changes to Deployment {name}"))
            }
            _ => return Vec::new(),
        };
        vec![note]
    }

    fn digests(&self) -> Option<Digests<Memcached>> {
        let everything = MemcachedSpec {
            size: 3,
            container_port: 1024,
            image: Some("image:tag".to_owned()),
            memory_limit: Some("96Mi".to_owned()),
            node_selector: [("key".to_owned(), "value".to_owned())].into(),
        };
        Some(Digests::of(Memcached::new("example", everything)).by_generation())
    }
}

/// Checks what the schema cannot; the error says what to change. The controller checks the same later.
pub(crate) fn check(memcached: &Memcached, operand_image: &str) -> Result<(), String> {
    validate::validate(memcached, operand_image).map(drop).map_err(|invalid| invalid.to_string())
}

#[cfg(test)]
mod tests {
    use super::validate::tests::{IMAGE, memcached};
    use super::*;
    use crate::IDENTITY;
    use operator_runtime::context::Platform;
    use operator_runtime::testing;
    use serde_json::Value;

    fn memcacheds(owned: Owned) -> Memcacheds {
        Memcacheds { image: IMAGE.to_owned(), owned }
    }

    fn children(owned: Owned, memcached: &Memcached) -> Vec<Value> {
        testing::desired(&memcacheds(owned), memcached, &IDENTITY).unwrap()
    }

    #[test]
    fn all_three_objects_as_they_are_applied() {
        let image = Memcacheds { image: "r.io/memcached:1.6".to_owned(), owned: Owned::All };
        let objects = testing::desired(&image, &memcached(3), &IDENTITY).unwrap();
        for (name, object) in ["deployment", "service", "disruption_budget"].iter().zip(objects) {
            insta::assert_yaml_snapshot!(*name, object);
        }
    }

    #[test]
    fn a_single_server_has_no_disruption_budget_and_the_tutorials_set_is_the_deployment() {
        let kinds = |owned, size| -> Vec<_> {
            children(owned, &memcached(size)).iter().map(|child| child["kind"].clone()).collect()
        };
        assert_eq!(kinds(Owned::All, 1), ["Deployment", "Service"]);
        assert_eq!(kinds(Owned::Deployment, 3), ["Deployment"]);
    }

    #[test]
    fn every_value_of_the_spec_changes_the_deployment_and_is_covered_by_digests() {
        let base = memcached(3);
        let changes: [fn(&mut MemcachedSpec); 5] = [
            |spec| spec.size = 2,
            |spec| spec.container_port = 2000,
            |spec| spec.image = Some("m:2".into()),
            |spec| spec.memory_limit = Some("192Mi".into()),
            |spec| drop(spec.node_selector.insert("a".into(), "b".into())),
        ];
        let reconciler = memcacheds(Owned::All);
        assert!(testing::is_covered(&reconciler, &base, &IDENTITY));
        for (index, change) in changes.into_iter().enumerate() {
            let mut other = base.clone();
            change(&mut other.spec);
            assert_ne!(children(Owned::All, &base)[0], children(Owned::All, &other)[0], "change {index}");
            assert!(testing::is_covered(&reconciler, &other, &IDENTITY), "change {index}");
        }
    }

    #[test]
    fn the_cluster_may_assign_the_user_id() {
        let context = |openshift| {
            let platform = Platform::openshift(openshift);
            let objects =
                testing::desired_on(&memcacheds(Owned::Deployment), &memcached(3), &IDENTITY, platform)
                    .unwrap();
            let pod = &objects[0]["spec"]["template"]["spec"];
            (pod["securityContext"].clone(), pod["containers"][0]["securityContext"].clone())
        };
        let assigned = context(true);
        assert!(assigned.1.get("runAsUser").is_none() && assigned.0.get("runAsUser").is_none());
        assert_eq!(assigned.1["runAsNonRoot"], true);
        assert_eq!(context(false).1["runAsUser"], 1001);
    }
}
