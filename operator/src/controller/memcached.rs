//! What a Memcached owns, and its status.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, Probe, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use operator_runtime::controller::{
    Changes, Child, ChildOptions, Children, Error, Invalid, Observed, Reconciler, Related, SkipUnchanged,
    Watches,
};
use operator_runtime::events::Event;
use operator_runtime::labels::Instance;
use operator_runtime::validation::is_label_key;
use operator_runtime::views::{PodState, Rollout};
use operator_runtime::{labels, quantity, workload};

use crate::api::memcached::{DEFAULT_PORT, Memcached, MemcachedSpec, MemcachedStatus};
use crate::identity::IDENTITY;

/// The name of the application, of its container and of its port.
const APP: &str = "memcached";
/// User ID of the servers unless the cluster assigns one; the tutorial's choice.
const USER: i64 = 1001;
/// Architectures that memcached's official image is built for.
const ARCHITECTURES: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];
/// Memory limit of a container in mebibytes unless the spec sets one.
const DEFAULT_MEMORY_MIB: u32 = 96;

/// Kinds that a Memcached owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Owned {
    /// Deployment, headless Service and `PodDisruptionBudget`
    #[default]
    All,
    /// Only the Deployment, as in the tutorial
    Deployment,
}

/// The controller of Memcached.
#[derive(Clone, Debug)]
pub struct MemcachedController {
    /// Image of the servers unless a Memcached sets one.
    pub image: String,
    /// The servers.
    pub deployment: Child<Deployment, Rollout>,
    /// Their pods.
    pub pods: Related<Pod, PodState>,
    /// What a Memcached owns besides its Deployment, if it does.
    pub network: Option<(Child<Service>, Child<PodDisruptionBudget>)>,
}

impl MemcachedController {
    /// Declares what a Memcached owns, and what its status depends on.
    pub fn new(watches: &mut Watches<Memcached>, image: &str, owned: Owned) -> Self {
        Self {
            image: image.to_owned(),
            deployment: watches.child(),
            pods: watches.by_label(labels::INSTANCE),
            network: (owned == Owned::All)
                .then(|| (watches.child(), watches.child_with(ChildOptions::new().optional()))),
        }
    }
}

impl Reconciler for MemcachedController {
    type Object = Memcached;
    type Status = MemcachedStatus;
    type External = ();
    /// As in the tutorial.
    const FINALIZER: Option<&'static str> = Some("cache.example.com/finalizer");

    /// Returns the objects that should exist. Namespace, owner reference and the managed-by label are added to them.
    fn desired(&self, object: &Memcached, observed: &Observed<Self>) -> Result<Children, Error> {
        let spec = &object.spec;
        let memory = check(spec)?;
        let image = spec.image.as_deref().unwrap_or(&self.image);
        let instance = Instance { operator: &IDENTITY, app: APP, name: &object.name_any(), image };
        let container = Container {
            image: Some(image.to_owned()),
            ..container(spec.container_port, memory, observed.platform().user(USER))
        };
        let pod = PodSpec {
            affinity: Some(workload::linux_on(&ARCHITECTURES)),
            // The servers do not use the API.
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            node_selector: Some(spec.node_selector.clone()).filter(|labels| !labels.is_empty()),
            topology_spread_constraints: Some(workload::spread(&instance.selector())),
            ..workload::restricted_pod(vec![container])
        };
        let mut children = Children::new();
        children.add(self.deployment, workload::deployment(&instance, spec.size, pod));
        if let Some((service, budget)) = self.network {
            // Clients hash keys over the servers themselves, so they need every address.
            children.add(service, workload::headless_service(&instance, APP, spec.container_port));
            if spec.size > 1 {
                children.add(budget, workload::disruption_budget(&instance));
            }
        }
        Ok(children)
    }

    /// Returns the status that follows from what was observed. It is written if it changed.
    fn status(&self, object: &Memcached, observed: &Observed<Self>) -> MemcachedStatus {
        let rollout = observed.child(self.deployment, &object.name_any());
        let mut status = observed.draft();
        status.rollout(rollout, object.spec.size, observed, self.pods);
        status.nodes = observed.pods(self.pods).map(|(name, _)| name.to_owned()).collect();
        status.replicas = rollout.map(|rollout| rollout.replicas).unwrap_or_default();
        status.ready_replicas = rollout.map(|rollout| rollout.ready).unwrap_or_default();
        status.finish()
    }

    /// Sets `phase` and `observedGeneration` before each status is written.
    fn complete_status(&self, metadata: &ObjectMeta, status: &mut MemcachedStatus) {
        let phase = operator_runtime::conditions::phase(&status.conditions);
        status.phase = Some(phase.to_owned());
        let name = metadata.name.as_deref().unwrap_or_default();
        status.selector = Some(labels::to_selector(&labels::selector(APP, name)));
        status.observed_generation = metadata.generation;
    }

    /// Returns one event per reconcile that wrote the Deployment.
    fn events(&self, object: &Memcached, _: &Observed<Self>, changes: &Changes<'_>) -> Vec<Event> {
        changes.rollout(self.deployment, &object.name_any(), object.spec.size).into_iter().collect()
    }

    /// Has a restart, and changes of fields that belong to others, write nothing.
    fn skip_unchanged(&self) -> Option<SkipUnchanged<Memcached>> {
        let everything = MemcachedSpec {
            size: 3,
            container_port: 1024,
            image: Some("image:tag".to_owned()),
            memory_limit: Some("96Mi".to_owned()),
            node_selector: [("key".to_owned(), "value".to_owned())].into(),
        };
        Some(SkipUnchanged::new(Memcached::new("example", everything)).desired_is_pure_in_spec())
    }
}

/// Rejects what the schema cannot, and returns the memory limit in mebibytes. The validating webhook does the same earlier.
pub(crate) fn check(spec: &MemcachedSpec) -> Result<u32, Invalid> {
    if let Some(key) = spec.node_selector.keys().find(|key| !is_label_key(key)) {
        return Err(Invalid::new(format!("spec.nodeSelector: invalid label key `{key}`")));
    }
    let Some(limit) = &spec.memory_limit else { return Ok(DEFAULT_MEMORY_MIB) };
    quantity::parse_mebibytes(limit).ok_or_else(|| {
        Invalid::new(format!("spec.memoryLimit: invalid quantity `{limit}`: expected Mi or Gi"))
    })
}

/// Returns the container of a server, without its image.
fn container(port: i32, memory: u32, user: Option<i64>) -> Container {
    // Two thirds are for items; connections, hash table and threads need the rest. Today's memcached parses the tutorial's
    // `-m=64` as 0, but not the long form.
    let items = (u64::from(memory) * 2 / 3).max(1);
    let mut arguments = vec![format!("--memory-limit={items}"), "-o".into(), "modern".into(), "-v".into()];
    if port != DEFAULT_PORT {
        arguments.push(format!("--port={port}"));
    }
    let probe = |period: i32, failures: i32| Probe {
        period_seconds: Some(period),
        failure_threshold: Some(failures),
        timeout_seconds: Some(3),
        ..workload::tcp_probe(APP)
    };
    Container {
        name: APP.to_owned(),
        command: Some(vec!["memcached".to_owned()]),
        args: Some(arguments),
        ports: Some(vec![workload::port(APP, port)]),
        liveness_probe: Some(probe(20, 3)),
        readiness_probe: Some(probe(5, 2)),
        startup_probe: Some(probe(1, 60)),
        resources: Some(workload::resources(
            &[("cpu", "10m"), ("memory", &quantity::mebibytes(memory.div_ceil(3)))],
            &[("memory", &quantity::mebibytes(memory))],
        )),
        ..workload::container_as(user)
    }
}
