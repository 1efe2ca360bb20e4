//! Compares what two runs leave behind: the owned objects, and the log of the operator's writes.

use crate::audit::Audit;
use crate::cluster::Cluster;
use anyhow::{Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use std::collections::BTreeMap;

/// The result of a run.
pub struct Traces {
    /// Each owned object with its generation, which shows changes that were lost or made twice.
    objects: BTreeMap<String, String>,
    /// How often each owned object was written with success; `None` without an audit log.
    writes: Option<BTreeMap<String, usize>>,
}

impl Traces {
    /// Returns what the operator created in a namespace.
    ///
    /// # Errors
    /// A request fails, or the audit log cannot be read.
    pub async fn of(cluster: &Cluster, namespace: &str, audit: Option<&Audit>) -> Result<Self> {
        let every = ListParams::default();
        let mut objects = BTreeMap::new();
        let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), namespace);
        for deployment in deployments.list(&every).await?.items {
            let replicas = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
            let generation = deployment.metadata.generation.unwrap_or_default();
            objects.insert(
                format!("Deployment {}", deployment.name_any()),
                format!("{replicas} replicas, generation {generation}"),
            );
        }
        let services: Api<Service> = Api::namespaced(cluster.client.clone(), namespace);
        for service in services.list(&every).await?.items {
            objects.insert(format!("Service {}", service.name_any()), String::new());
        }
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), namespace);
        for budget in budgets.list(&every).await?.items {
            let generation = budget.metadata.generation.unwrap_or_default();
            objects.insert(
                format!("PodDisruptionBudget {}", budget.name_any()),
                format!("generation {generation}"),
            );
        }
        let writes = audit.map(|audit| writes(audit, namespace)).transpose()?;
        Ok(Self { objects, writes })
    }

    /// Prints and compares two results: the same objects, changed and written equally often, except for at most `lost`
    /// writes whose responses may have been lost, which may be sent once more.
    ///
    /// # Errors
    /// They differ.
    pub fn compare(&self, undisturbed: &Self, lost: usize) -> Result<()> {
        eprintln!("undisturbed: {}\n  disturbed: {}", undisturbed.summary(), self.summary());
        let differing: Vec<_> = undisturbed
            .objects
            .keys()
            .chain(self.objects.keys())
            .filter(|name| undisturbed.objects.get(*name) != self.objects.get(*name))
            .map(|name| (name, undisturbed.objects.get(name), self.objects.get(name)))
            .collect();
        ensure!(differing.is_empty(), "object, undisturbed, disturbed: {differing:#?}");
        let (Some(before), Some(after)) = (&undisturbed.writes, &self.writes) else { return Ok(()) };
        let times =
            |writes: &BTreeMap<String, usize>, write: &String| writes.get(write).copied().unwrap_or_default();
        let unlike: BTreeMap<_, _> = before
            .keys()
            .chain(after.keys())
            .map(|write| (write, (times(before, write), times(after, write))))
            .filter(|(_, (before, after))| before != after)
            .collect();
        eprintln!("written more or less often, with both numbers: {unlike:?}");
        ensure!(unlike.len() <= lost, "more than {lost} writes differ in number");
        let valid = unlike.values().all(|(before, after)| after.abs_diff(*before) <= 1);
        ensure!(valid, "a write was repeated more than once");
        Ok(())
    }

    fn summary(&self) -> String {
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for (name, state) in &self.objects {
            let kind = name.split(' ').next().unwrap_or_default();
            *kinds.entry(format!("{kind} {state}").trim().to_owned()).or_default() += 1;
        }
        let mut logged: BTreeMap<&str, usize> = BTreeMap::new();
        for (write, times) in self.writes.iter().flatten() {
            *logged.entry(write.rsplit_once(' ').map_or("", |(what, _)| what)).or_default() += times;
        }
        format!("objects {kinds:?}, writes {logged:?}")
    }
}

/// The operator's successful writes to owned objects: those under its field manager, and deletes by it.
fn writes(audit: &Audit, namespace: &str) -> Result<BTreeMap<String, usize>> {
    let calls = audit.calls(|entry| {
        entry["requestURI"].as_str().is_some_and(|uri| uri.contains("fieldManager=memcached-operator"))
    })?;
    let mut writes = BTreeMap::new();
    for call in calls {
        let owned = ["deployments", "services", "poddisruptionbudgets"].contains(&call.resource.as_str());
        if owned && call.namespace == namespace && (200..300).contains(&call.code) {
            *writes.entry(format!("{} {} {}", call.verb, call.resource, call.name)).or_default() += 1;
        }
    }
    Ok(writes)
}
