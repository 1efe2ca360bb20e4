//! Controllers against the mock API server, one scenario per test, each with a timeout.

use super::mock::{Call, MockApi};
use crate::context::{Context, Platform};
use crate::controller::{ControllerSettings, Probe};
use crate::events::Recorder;
use crate::manager::run_task;
use crate::metrics::Metrics;
use crate::operator::Operator;
use kube::Client;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How long a condition may take.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The API groups that only the manager's servers use.
const SERVER_GROUPS: [&str; 4] =
    ["admissionregistration.k8s.io", "apiextensions.k8s.io", "authentication.k8s.io", "authorization.k8s.io"];

/// Settings of the controllers of a scenario.
#[derive(Clone, Debug)]
pub struct ScenarioSettings {
    /// How many objects are reconciled at the same time.
    pub max_concurrent_reconciles: u16,
    /// Time after which everything is listed and reconciled again.
    pub sync_period: Duration,
    /// Namespaces to watch; empty for all.
    pub namespaces: Vec<String>,
    /// The cluster.
    pub platform: Platform,
}

impl Default for ScenarioSettings {
    fn default() -> Self {
        Self {
            max_concurrent_reconciles: 4,
            sync_period: Duration::from_hours(10),
            namespaces: Vec::new(),
            platform: Platform::default(),
        }
    }
}

/// The controllers and tasks of an operator against a mock API server that checks every request against the operator's
/// permissions.
pub struct Scenario {
    /// The API server.
    pub api: MockApi,
    /// The metrics of the controllers.
    pub metrics: Arc<Metrics>,
    operator: Operator,
    stop: watch::Sender<bool>,
    lead: watch::Sender<bool>,
    tasks: JoinSet<()>,
    synced: Vec<watch::Receiver<bool>>,
    probe: Probe,
    recorder: Arc<Recorder>,
}

impl Scenario {
    /// Starts the controllers of an operator, as the leader.
    #[must_use]
    pub fn start(operator: Operator) -> Self {
        let (api, client) = MockApi::start();
        Self::on(api, client, operator, ScenarioSettings::default())
    }

    /// Starts the controllers of an operator against this server, as the leader.
    #[must_use]
    pub fn on(api: MockApi, client: Client, operator: Operator, settings: ScenarioSettings) -> Self {
        let scenario = Self::standby(api, client, operator, settings);
        scenario.lead();
        scenario
    }

    /// Starts a manager that does not lead yet.
    #[must_use]
    pub fn standby(api: MockApi, client: Client, operator: Operator, settings: ScenarioSettings) -> Self {
        operator.validate().expect("the operator is valid");
        api.allow(&operator);
        let metrics = Arc::new(Metrics::new(&operator.identity));
        let recorder = Arc::new(Recorder::new(client.clone(), &operator.identity, "test".to_owned()));
        let (lead, leads) = watch::channel(false);
        let (stop, stopped) = watch::channel(false);
        let probe = Probe::default();
        let context = Context {
            client,
            identity: operator.identity,
            platform: settings.platform,
            namespaces: settings.namespaces,
            metrics: Arc::clone(&metrics),
            recorder: Arc::clone(&recorder),
        };
        let mut tasks = JoinSet::new();
        let mut synced = Vec::new();
        for controller in &operator.controllers {
            let (sync, is_synced) = watch::channel(false);
            synced.push(is_synced);
            let running = controller.run(ControllerSettings {
                context: context.clone(),
                name: operator.name_of(&controller.info().resource),
                concurrency: settings.max_concurrent_reconciles,
                sync_period: settings.sync_period,
                synced: sync,
                leads: leads.clone(),
                stop: stopped.clone(),
                probe: Some(Arc::clone(&probe)),
            });
            tasks.spawn(async move { running.await.expect("the controller starts") });
        }
        for task in operator.tasks.clone() {
            let (context, leads, stopped) = (context.clone(), leads.clone(), stopped.clone());
            tasks.spawn(async move {
                run_task(&task, &context, leads, stopped).await.expect("the task succeeds");
            });
        }
        Self { api, metrics, operator, stop, lead, tasks, synced, probe, recorder }
    }

    /// Makes the manager lead.
    pub fn lead(&self) {
        self.lead.send_replace(true);
    }

    /// Waits until every watch has listed everything.
    pub async fn synced(&mut self) {
        for synced in &mut self.synced {
            synced.wait_for(|synced| *synced).await.expect("the controller runs");
        }
    }

    /// Acts as the controller of a Deployment or a `StatefulSet`: all replicas are available.
    pub fn roll_out(&self, resource: &str, name: &str) {
        self.api.change(resource, name, |workload| {
            let size = workload["spec"]["replicas"].clone();
            workload["status"] = json!({
                "observedGeneration": workload["metadata"]["generation"], "replicas": size,
                "updatedReplicas": size, "readyReplicas": size, "availableReplicas": size,
            });
        });
    }

    /// Waits until a condition holds; fails the test after 40 seconds.
    pub async fn until(&self, what: &str, condition: impl Fn(&MockApi) -> bool) {
        let waited = timeout(TIMEOUT, async {
            while !condition(&self.api) {
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert!(waited.is_ok(), "{what}: not so after {TIMEOUT:?}; calls: {:#?}", self.api.calls());
    }

    /// Waits as `kubectl wait --for=condition=KIND=STATUS` does: until the object has the condition with this status, of its newest
    /// generation if the condition has one; fails the test after 40 seconds.
    pub async fn until_condition(&self, resource: &str, name: &str, kind: &str, status: &str) {
        self.until(&format!("{resource}/{name} has the condition {kind}={status}"), |api| {
            let condition = api.condition(resource, name, kind);
            let generation = &api.get(resource, name).unwrap_or_default()["metadata"]["generation"];
            let observed = &condition["observedGeneration"];
            condition["status"] == status && (observed.is_null() || observed == generation)
        })
        .await;
    }

    /// Waits until no request has been made for longer than any delay of the controllers.
    pub async fn quiet(&self) {
        let mut calls = self.api.calls().len();
        loop {
            sleep(Duration::from_millis(1300)).await;
            let now = self.api.calls().len();
            if now == calls {
                return;
            }
            calls = now;
        }
    }

    /// Returns the permissions of controllers and tasks that should show in requests and that none of these used, as
    /// `VERB RESOURCE`.
    #[must_use]
    pub fn unused(&self, calls: &[Call]) -> BTreeSet<String> {
        let permissions = self.operator.permissions();
        let rules = permissions.watched.iter().chain(&permissions.cluster);
        // Neither metrics nor webhooks are served.
        let rules = rules.filter(|rule| !SERVER_GROUPS.contains(&&*rule.group));
        let rules = rules.filter(|rule| rule.shows == crate::rbac::PermissionUse::Request);
        let wanted = rules.flat_map(|rule| rule.verbs.iter().map(move |verb| (rule, *verb)));
        wanted
            .filter(|(rule, verb)| {
                !calls.iter().any(|c| c.verb == *verb && c.group == rule.group && c.resource == rule.resource)
            })
            .map(|(rule, verb)| format!("{verb} {}", rule.resource))
            .collect()
    }

    /// Returns how much of everything is kept in memory, summed over controllers and namespaces.
    #[must_use]
    pub fn kept(&self, what: &str) -> usize {
        let probe = self.probe.lock().unwrap();
        probe
            .iter()
            .flat_map(|count| count())
            .filter(|(name, _)| *name == what)
            .map(|(_, number)| number)
            .sum()
    }

    /// Returns how many events are remembered, to count repetitions.
    #[must_use]
    pub fn remembered_events(&self) -> usize {
        self.recorder.remembered()
    }

    /// Shuts down, and fails the test if that takes longer than five seconds or something has panicked.
    pub async fn end(self) {
        self.stop.send_replace(true);
        let joined = async {
            self.tasks.join_all().await;
            self.recorder.flush().await;
        };
        timeout(Duration::from_secs(5), joined).await.expect("it stops in time");
    }
}

impl std::fmt::Debug for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scenario").field("operator", &self.operator).finish_non_exhaustive()
    }
}

impl MockApi {
    /// Returns a condition of an object; null if there is none.
    #[must_use]
    pub fn condition(&self, resource: &str, name: &str, kind: &str) -> Value {
        let object = self.get(resource, name).unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
    }

    /// Returns the reasons of all events.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        let store = self.store();
        store.all("events").map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
    }
}
