//! Tests of the operator on a real cluster.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::{
    Audit, Away, Call, Cluster, Namespace, Operator, Programs, Registry, Restarter, TIMEOUT, Traces,
    condition, skip, wait_for,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Pod, Secret, Service};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

const VERSION: &str = "cache.example.com/v1";

/// A deployed operator and a namespace.
struct Stage {
    cluster: Cluster,
    operator: Operator,
    namespace: Namespace,
    memcacheds: Api<DynamicObject>,
}

impl Stage {
    async fn new(name: &str, replicas: i32, arguments: &[&str]) -> Result<Self> {
        let cluster = Cluster::from_env().await?;
        let operator = Operator::deploy(&cluster, replicas, arguments).await?;
        let namespace = cluster.namespace(name).await?;
        let memcacheds = cluster.api(VERSION, "Memcached", &namespace.name).await?;
        Ok(Self { cluster, operator, namespace, memcacheds })
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.namespace.name)
    }

    async fn create(&self, name: &str, spec: Value) -> Result<()> {
        let object = json!({
            "apiVersion": VERSION, "kind": "Memcached",
            "metadata": {"name": name, "namespace": self.namespace.name}, "spec": spec,
        });
        self.cluster.apply(&object).await.map(drop)
    }

    /// Waits until the webhooks respond; until then the API server ignores them.
    async fn webhooks(&self, name: &str) -> Result<()> {
        let dry = PatchParams { dry_run: true, ..PatchParams::default() };
        let invalid = Patch::Merge(json!({"spec": {"nodeSelector": {"a b": "c"}}}));
        wait_for("the webhooks respond", TIMEOUT, async || {
            let error = self.memcacheds.patch(name, &dry, &invalid).await.err();
            let error = error.context("an invalid label key was accepted")?.to_string();
            ensure!(error.contains("spec.nodeSelector: invalid label key"), "{error}");
            Ok(())
        })
        .await
    }

    async fn change(&self, name: &str, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "spec": spec }));
        self.memcacheds.patch(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    async fn available(&self, name: &str, size: usize) -> Result<()> {
        wait_for(&format!("{name} is Available with {size} nodes"), TIMEOUT, async || {
            let object = self.memcacheds.get(name).await?;
            let nodes = object.data["status"]["nodes"].as_array().map_or(0, Vec::len);
            let found = condition(&object, "Available");
            ensure!(found.0 == "True" && nodes == size, "{found:?}, {nodes} nodes");
            Ok(())
        })
        .await
    }

    async fn degraded(&self, name: &str, reason: &str) -> Result<()> {
        wait_for(&format!("{name} is Degraded with {reason}"), TIMEOUT, async || {
            let found = condition(&self.memcacheds.get(name).await?, "Degraded");
            ensure!(found == ("True".to_owned(), reason.to_owned()), "{found:?}");
            Ok(())
        })
        .await
    }

    async fn events(&self, name: &str) -> Result<Vec<String>> {
        let events: Api<Event> = self.api();
        let list = events.list(&ListParams::default()).await?;
        let of = |event: &Event| {
            event.regarding.as_ref().is_some_and(|regarding| {
                regarding.kind.as_deref() == Some("Memcached") && regarding.name.as_deref() == Some(name)
            })
        };
        Ok(list.items.into_iter().filter(of).filter_map(|event| event.reason).collect())
    }

    /// Deletes every Memcached and waits until all that they owned is gone.
    async fn clear(&self) -> Result<()> {
        let (deployments, pods): (Api<Deployment>, Api<Pod>) = (self.api(), self.api());
        wait_for("deletion removes all", TIMEOUT, async || {
            // Again if the connection was closed, as happens while a test reads a long log.
            self.memcacheds.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
            let memcacheds = self.memcacheds.list(&ListParams::default()).await?.items.len();
            let deployments = deployments.list(&ListParams::default()).await?.items.len();
            let pods = pods.list(&ListParams::default()).await?.items.len();
            ensure!(
                memcacheds + deployments + pods == 0,
                "{memcacheds} Memcacheds, {deployments} Deployments, {pods} pods"
            );
            Ok(())
        })
        .await
    }

    /// Returns a stage with the same operator and a new namespace.
    async fn in_new_namespace(self, name: &str) -> Result<Self> {
        self.clear().await?;
        self.namespace.delete().await?;
        let namespace = self.cluster.namespace(name).await?;
        let memcacheds = self.cluster.api(VERSION, "Memcached", &namespace.name).await?;
        Ok(Self { cluster: self.cluster, operator: self.operator, namespace, memcacheds })
    }

    /// Deletes everything, the operator included.
    async fn tear_down(self) -> Result<()> {
        self.clear().await?;
        self.namespace.delete().await?;
        self.operator.undeploy().await
    }
}

#[tokio::test]
async fn scaled_by_kubectl_and_by_an_autoscaler() -> Result<()> {
    let stage = Stage::new("scale", 1, &[]).await?;
    stage.create("sample", json!({"size": 1})).await?;
    stage.available("sample", 1).await?;

    // What `kubectl scale` does.
    let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
    let answer = stage.memcacheds.patch_scale("sample", &PatchParams::default(), &scale).await?;
    ensure!(answer.status.is_some_and(|status| status.selector.is_some()), "the scale has no selector");
    stage.available("sample", 3).await?;
    let budgets: Api<PodDisruptionBudget> = stage.api();
    ensure!(budgets.get_opt("sample").await?.is_some(), "three servers have a disruption budget");

    let autoscalers: Api<HorizontalPodAutoscaler> = stage.api();
    let autoscaler = serde_json::from_value(json!({
        "metadata": {"name": "sample"},
        "spec": {
            "scaleTargetRef": {"apiVersion": VERSION, "kind": "Memcached", "name": "sample"},
            "minReplicas": 4, "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
        },
    }))?;
    autoscalers.create(&PostParams::default(), &autoscaler).await?;
    stage.available("sample", 4).await?;
    autoscalers.delete("sample", &DeleteParams::default()).await?;

    stage.change("sample", json!({"size": 1})).await?;
    stage.available("sample", 1).await?;
    wait_for("the disruption budget is gone", TIMEOUT, async || {
        ensure!(budgets.get_opt("sample").await?.is_none(), "it is still there");
        Ok(())
    })
    .await?;
    let events = stage.events("sample").await?;
    ensure!(
        events.contains(&"Created".to_owned()) && events.contains(&"Scaled".to_owned()),
        "events: {events:?}"
    );
    stage.tear_down().await
}

#[tokio::test]
async fn drift_is_reverted_and_foreign_fields_are_kept() -> Result<()> {
    let stage = Stage::new("drift", 1, &[]).await?;
    stage.create("sample", json!({"size": 2})).await?;
    stage.available("sample", 2).await?;
    let (deployments, services): (Api<Deployment>, Api<Service>) = (stage.api(), stage.api());
    let budgets: Api<PodDisruptionBudget> = stage.api();

    let foreign =
        Patch::Merge(json!({"metadata": {"annotations": {"team": "x"}}, "spec": {"minReadySeconds": 1}}));
    deployments.patch("sample", &PatchParams::default(), &foreign).await?;
    let drift = Patch::Strategic(json!({"spec": {"replicas": 5, "template": {"spec": {
        "containers": [{"name": "memcached", "args": ["-v"]}]}}}}));
    deployments.patch("sample", &PatchParams::default(), &drift).await?;
    services.delete("sample", &DeleteParams::default()).await?;
    budgets.delete("sample", &DeleteParams::default()).await?;
    let unlabelled = Patch::Merge(json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}));
    deployments.patch("sample", &PatchParams::default(), &unlabelled).await?;

    wait_for("drift is reverted", TIMEOUT, async || {
        let found = deployments.get("sample").await?;
        let labels = found.labels().clone();
        let annotations = found.annotations().clone();
        let spec = found.spec.context("no spec")?;
        ensure!(spec.replicas == Some(2), "replicas: {:?}", spec.replicas);
        let containers = spec.template.spec.context("no pod spec")?.containers;
        ensure!(
            containers[0].args.as_ref().is_some_and(|args| args.len() == 4),
            "arguments: {:?}",
            containers[0].args
        );
        ensure!(labels.contains_key("app.kubernetes.io/managed-by"), "labels: {labels:?}");
        ensure!(
            annotations.contains_key("team") && spec.min_ready_seconds == Some(1),
            "foreign fields were lost"
        );
        ensure!(services.get_opt("sample").await?.is_some(), "no Service");
        ensure!(budgets.get_opt("sample").await?.is_some(), "no disruption budget");
        Ok(())
    })
    .await?;
    deployments.delete("sample", &DeleteParams::default()).await?;
    wait_for("a deleted Deployment comes back", TIMEOUT, async || {
        let found = deployments.get("sample").await?;
        ensure!(found.metadata.deletion_timestamp.is_none(), "it is being deleted");
        Ok(())
    })
    .await?;
    stage.available("sample", 2).await?;
    stage.tear_down().await
}

#[tokio::test]
async fn problems_are_reported_and_block_no_other_memcached() -> Result<()> {
    let stage = Stage::new("refused", 1, &[]).await?;
    stage.create("no-image", json!({"size": 1, "image": "nowhere.invalid/memcached:none"})).await?;
    stage.create("no-node", json!({"size": 1, "nodeSelector": {"disk": "of-gold"}})).await?;
    stage.create("fine", json!({"size": 1})).await?;
    stage.available("fine", 1).await?;
    stage.degraded("no-image", "ImagePullBackOff").await?;
    stage.degraded("no-node", "Unschedulable").await?;
    stage
        .cluster
        .apply(&json!({
            "apiVersion": "v1", "kind": "ResourceQuota",
            "metadata": {"name": "few", "namespace": stage.namespace.name},
            "spec": {"hard": {"pods": "3"}},
        }))
        .await?;
    stage.create("no-quota", json!({"size": 1})).await?;
    stage.degraded("no-quota", "FailedCreate").await?;
    let message = stage.memcacheds.get("no-quota").await?.data["status"]["conditions"].to_string();
    ensure!(message.contains("exceeded quota"), "the API's own words: {message}");
    // Events are sent beside statuses.
    wait_for("an event says so", TIMEOUT, async || {
        let events = stage.events("no-quota").await?;
        ensure!(events.contains(&"FailedCreate".to_owned()), "events: {events:?}");
        Ok(())
    })
    .await?;
    stage.tear_down().await
}

#[tokio::test]
async fn schema_and_webhook_reject_invalid_specs() -> Result<()> {
    let stage = Stage::new("admission", 1, &[]).await?;
    stage.create("sample", json!({"size": 2})).await?;
    stage.webhooks("sample").await?;
    for (spec, word) in [
        (json!({"containerPort": 80}), "spec.containerPort"),
        (json!({"image": "no image"}), "spec.image"),
        (json!({"memoryLimit": "1Mi"}), "spec.memoryLimit"),
        // The webhook's part.
        (json!({"nodeSelector": {"a b": "c"}}), "spec.nodeSelector: invalid label key"),
    ] {
        let error = stage.change("sample", spec).await.err().context("it was accepted")?;
        ensure!(format!("{error:#}").contains(word), "{error:#}");
    }
    stage.change("sample", json!({"size": 1})).await?;
    stage.tear_down().await
}

#[tokio::test]
async fn the_webhook_certificate_is_rotated_under_load() -> Result<()> {
    let stage = Stage::new("rotation", 2, &["--webhook-cert-lifetime=30"]).await?;
    stage.create("sample", json!({"size": 1})).await?;
    stage.webhooks("sample").await?;
    let secrets: Api<Secret> = Api::namespaced(stage.cluster.client.clone(), Operator::NAMESPACE);
    let serial = async || -> Result<String> {
        let secret = secrets.get("memcached-operator-webhook-server-cert").await?;
        Ok(secret.annotations().get("cache.example.com/not-after").cloned().unwrap_or_default())
    };
    let mut seen = vec![serial().await?];
    let (start, mut requests) = (Instant::now(), 0);
    // Only the webhook rejects these requests, and the API server ignores a webhook that does not respond: a request that
    // succeeds was not checked.
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    while seen.len() < 4 {
        ensure!(start.elapsed() < TIMEOUT, "the certificate was rotated {} times only", seen.len() - 1);
        let patch = Patch::Merge(json!({"spec": {"nodeSelector": {"a b": requests.to_string()}}}));
        let error = stage.memcacheds.patch("sample", &dry, &patch).await.err();
        let error = error.context("a request was not checked")?.to_string();
        ensure!(error.contains("spec.nodeSelector: invalid label key"), "{error}");
        requests += 1;
        let now = serial().await?;
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    eprintln!("{requests} requests, {} rotations, every request was checked", seen.len() - 1);
    stage.tear_down().await
}

/// Memcacheds that exist while both managers are replaced.
const KEPT: usize = 5;

/// Returns the version of every object of the tests' namespace that the manager writes, except for one Memcached's.
async fn versions(stage: &Stage, except: &str) -> Result<BTreeMap<String, Option<String>>> {
    let every = ListParams::default();
    let mut found = BTreeMap::new();
    for memcached in stage.memcacheds.list(&every).await?.items {
        found.insert(format!("Memcached {}", memcached.name_any()), memcached.resource_version());
    }
    for service in stage.api::<Service>().list(&every).await?.items {
        found.insert(format!("Service {}", service.name_any()), service.resource_version());
    }
    for deployment in stage.api::<Deployment>().list(&every).await?.items {
        found.insert(format!("Deployment {}", deployment.name_any()), deployment.resource_version());
    }
    found.retain(|name, _| !name.ends_with(except));
    Ok(found)
}

#[tokio::test]
async fn both_managers_are_replaced_under_admission_load() -> Result<()> {
    let stage = Stage::new("rolling", 2, &[]).await?;
    for index in 0..KEPT {
        stage.create(&format!("cache-{index}"), json!({"size": 2})).await?;
    }
    for index in 0..KEPT {
        stage.available(&format!("cache-{index}"), 2).await?;
    }
    stage.webhooks("cache-0").await?;
    // The cluster's controllers may still write statuses.
    let begin = Instant::now();
    let mut before = versions(&stage, "cache-0").await?;
    loop {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let now = versions(&stage, "cache-0").await?;
        if std::mem::replace(&mut before, now.clone()) == now {
            break;
        }
        ensure!(begin.elapsed() < TIMEOUT, "statuses are still written: {now:#?}");
    }
    let audit = Audit::from_env();

    let restarted = stage.operator.restart(&stage.cluster).await?;
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let (start, mut requests) = (Instant::now(), 0);
    while !stage.operator.is_rolled_out(restarted).await? {
        ensure!(start.elapsed() < TIMEOUT, "the managers are not replaced");
        // Only the webhook rejects the one, and nothing the other; the API server ignores a webhook that does not respond.
        let invalid = Patch::Merge(json!({"spec": {"nodeSelector": {"a b": requests.to_string()}}}));
        let error = stage.memcacheds.patch("cache-0", &dry, &invalid).await.err();
        let error = error.with_context(|| format!("request {requests} was not checked"))?.to_string();
        ensure!(error.contains("spec.nodeSelector: invalid label key"), "request {requests}: {error}");
        let valid = Patch::Merge(json!({"spec": {"size": 1 + requests % 5}}));
        let result = stage.memcacheds.patch("cache-0", &dry, &valid).await;
        result.with_context(|| format!("request {requests} failed"))?;
        requests += 2;
    }
    // Whatever the new leader finds is reconciled before this change.
    stage.change("cache-0", json!({"size": 1})).await?;
    stage.available("cache-0", 1).await?;
    let after = versions(&stage, "cache-0").await?;
    ensure!(before == after, "{before:#?}\n{after:#?}");
    if let Some(audit) = audit {
        let written: Vec<_> = asked(&audit)?
            .into_iter()
            .filter(|call| call.namespace == stage.namespace.name && call.name != "cache-0")
            .filter(|call| !matches!(call.verb.as_str(), "list" | "watch" | "get"))
            .filter(|call| call.resource != "events")
            .collect();
        ensure!(written.is_empty(), "written although nothing changed: {written:?}");
    }
    eprintln!(
        "{requests} requests while both managers were replaced: all were checked, and nothing was written twice"
    );
    stage.tear_down().await
}

/// Rolls ten Memcacheds out, scales all of them, with `disturb` in the middle; returns what is there afterwards.
async fn rolled_out(
    stage: &Stage,
    audit: Option<&Audit>,
    disturb: impl AsyncFnOnce(&Stage) -> Result<Option<Away>>,
) -> Result<Traces> {
    for index in 0..10 {
        stage.create(&format!("cache-{index}"), json!({"size": 2})).await?;
    }
    let deployments: Api<Deployment> = stage.api();
    let made = async |wanted: usize| {
        let found = deployments.list(&ListParams::default()).await?.items.len();
        ensure!(found >= wanted, "{found} Deployments");
        Ok(())
    };
    wait_for("the roll-out is under way", TIMEOUT, async || made(3).await).await?;
    if let Some(away) = disturb(stage).await? {
        away.over()?;
    }
    wait_for("every Memcached has its Deployment", TIMEOUT, async || made(10).await).await?;
    for index in 0..10 {
        let scale = Patch::Merge(json!({"spec": {"replicas": 1 + index % 3}}));
        let name = format!("cache-{index}");
        // The webhook of a leader that is gone may be asked once more.
        wait_for(&format!("{name} is scaled"), TIMEOUT, async || {
            Ok(stage.memcacheds.patch_scale(&name, &PatchParams::default(), &scale).await?)
        })
        .await?;
    }
    for index in 0..10 {
        stage.available(&format!("cache-{index}"), 1 + index % 3).await?;
    }
    Traces::of(&stage.cluster, &stage.namespace.name, audit).await
}

/// Writes whose answers may be lost at once: as many as the manager works on Memcacheds here.
const LOST: usize = 10;

#[tokio::test]
async fn the_leader_is_killed_during_a_rollout() -> Result<()> {
    let (audit, stage) = (Audit::from_env(), Stage::new("leader", 2, &[]).await?);
    let undisturbed = rolled_out(&stage, audit.as_ref(), async |_: &Stage| Ok(None)).await?;
    let stage = stage.in_new_namespace("leader-killed").await?;
    let found = rolled_out(&stage, audit.as_ref(), async |stage: &Stage| {
        let leader = stage.operator.leader().await?.context("nobody leads")?;
        let pods: Api<Pod> = Api::namespaced(stage.cluster.client.clone(), Operator::NAMESPACE);
        pods.delete(&leader, &DeleteParams::default().grace_period(0)).await?;
        wait_for("another manager leads", TIMEOUT, async || {
            let now = stage.operator.leader().await?;
            ensure!(now.as_ref().is_some_and(|now| *now != leader), "{now:?}");
            Ok(())
        })
        .await?;
        Ok(None)
    })
    .await?;
    found.compare(&undisturbed, LOST)?;
    stage.tear_down().await
}

#[tokio::test]
async fn the_api_server_is_down_for_60_seconds() -> Result<()> {
    let Some(restarter) = Restarter::from_env() else {
        skip("CLUSTER_RESTART is not set");
        return Ok(());
    };
    let (audit, stage) = (Audit::from_env(), Stage::new("away", 2, &[]).await?);
    let undisturbed = rolled_out(&stage, audit.as_ref(), async |_: &Stage| Ok(None)).await?;
    let stage = stage.in_new_namespace("away-killed").await?;
    let found =
        rolled_out(&stage, audit.as_ref(), async |_: &Stage| restarter.api_server(60).map(Some)).await?;
    found.compare(&undisturbed, LOST)?;
    stage.operator.available(2).await?;
    let cluster = stage.cluster.clone();
    stage.tear_down().await?;
    cluster.olm_is_back().await
}

/// Returns the requests of the manager's service account, except for discovery, which everybody is allowed.
fn asked(audit: &Audit) -> Result<Vec<Call>> {
    let manager =
        format!("system:serviceaccount:{}:memcached-operator-controller-manager", Operator::NAMESPACE);
    audit.calls(|entry| entry["user"]["username"] == manager.as_str() && entry["objectRef"].is_object())
}

#[tokio::test]
async fn metrics_are_served_only_to_clients_that_the_api_server_authorizes() -> Result<()> {
    let stage = Stage::new("metrics", 1, &[]).await?;
    stage.create("sample", json!({"size": 1})).await?;
    stage.available("sample", 1).await?;
    let (cluster, namespace) = (&stage.cluster, &stage.namespace.name);
    let reader = cluster.service_account(namespace, "reader").await?;
    let stranger = cluster.service_account(namespace, "stranger").await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": format!("{namespace}-metrics-reader")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                    "name": "memcached-operator-metrics-reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    });
    cluster.apply(&binding).await?;
    let leader = stage.operator.leader().await?.context("nobody leads")?;
    let ask = async |token: Option<&str>| {
        stage.operator.metrics(cluster, &leader, token.map(ToOwned::to_owned)).await
    };
    wait_for("who may read does", TIMEOUT, async || {
        let (code, page) = ask(Some(&reader)).await?;
        ensure!(code == 200, "{code}: {page}");
        let reconciles = page.lines().find_map(|line| {
            line.strip_prefix(
                "controller_runtime_reconcile_total{controller=\"memcached\",result=\"success\"} ",
            )
        });
        let number: u64 = reconciles.context("no reconciles are counted")?.parse()?;
        ensure!(number > 0, "no reconcile is counted");
        Ok(())
    })
    .await?;
    for (token, expected) in [(None, 401), (Some("rubbish"), 401), (Some(stranger.as_str()), 403)] {
        let (code, page) = ask(token).await?;
        ensure!(code == expected, "{code} instead of {expected}: {page}");
        ensure!(!page.contains("controller_runtime"), "rejected, but the page has metrics: {page}");
    }
    cluster.delete(&binding).await?;
    stage.tear_down().await
}

#[tokio::test]
async fn every_request_is_allowed_by_a_rule_and_every_rule_is_used() -> Result<()> {
    let Some(audit) = Audit::from_env() else {
        skip("AUDIT_LOG is not set");
        return Ok(());
    };
    let stage = Stage::new("rules", 1, &["--webhook-cert-lifetime=30"]).await?;
    // Objects of the same names that are somebody else's: the manager must look whose they are.
    let taken = json!({"name": "taken", "namespace": stage.namespace.name});
    let labels = json!({"matchLabels": {"app": "taken"}});
    for object in [
        json!({"apiVersion": "v1", "kind": "Service", "metadata": taken,
               "spec": {"selector": {"app": "taken"}, "ports": [{"name": "memcached", "port": 1}]}}),
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": taken,
               "spec": {"maxUnavailable": 7, "selector": labels}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": taken, "spec": {
            "replicas": 0, "selector": labels, "template": {"metadata": {"labels": {"app": "taken"}}, "spec": {
                "containers": [{"name": "memcached", "image": "other"}]}}}}),
    ] {
        // Restricted pods are only warned about: none is made.
        stage.cluster.apply(&object).await?;
    }
    stage.create("taken", json!({"size": 2})).await?;
    stage.degraded("taken", "DeploymentBlocked").await?;
    stage.create("sample", json!({"size": 2})).await?;
    stage.available("sample", 2).await?;
    stage.change("sample", json!({"size": 1})).await?;
    stage.available("sample", 1).await?;
    let allowed = stage.operator.permissions();
    // Asked inside other requests.
    let unseen = [
        "create apps/deployments",
        "create /services",
        "create policy/poddisruptionbudgets",
        "update cache.example.com/memcacheds/finalizers",
    ];
    // Who reads the metrics has the API server asked who that is, and whether they may.
    let leader = stage.operator.leader().await?.context("nobody leads")?;
    let stranger = stage.cluster.service_account(&stage.namespace.name, "stranger").await?;
    stage.operator.metrics(&stage.cluster, &leader, Some(stranger)).await?;
    let size = std::cell::Cell::new(1);
    wait_for("every rule has been used", TIMEOUT, async || {
        // Again and again the same news, so that its event is counted up.
        size.set(3 - size.get());
        stage.change("sample", json!({ "size": size.get() })).await?;
        stage.available("sample", size.get()).await?;
        let asked: Vec<String> = asked(&audit)?.iter().map(Call::permission).collect();
        let idle: Vec<_> =
            allowed.iter().filter(|rule| !unseen.contains(&rule.as_str()) && !asked.contains(rule)).collect();
        ensure!(idle.is_empty(), "never used: {idle:?}");
        Ok(())
    })
    .await?;
    let asked = asked(&audit)?;
    let forbidden: Vec<_> =
        asked.iter().filter(|call| call.code == 403 || !allowed.contains(&call.permission())).collect();
    ensure!(forbidden.is_empty(), "requests that no rule allows: {forbidden:?}");
    eprintln!("{} requests, {} permissions", asked.len(), allowed.len());
    stage.cluster.delete(&json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": taken})).await?;
    stage.tear_down().await
}

/// The range of user IDs of OpenShift's namespaces in the emulation.
const FIRST_USER: i64 = 1_000_700_000;

/// What OpenShift's `restricted-v2` adds to the restricted Pod Security Standard: user IDs from the namespace's range only.
/// It also assigns one to pods without; here the images have one.
fn restricted_v2(namespaces: &[&str]) -> [Value; 3] {
    let allowed = "has(c.securityContext) && has(c.securityContext.runAsUser) ? \
                   c.securityContext.runAsUser >= 1000700000 && c.securityContext.runAsUser < 1000710000 : true";
    let pod = "!has(object.spec.securityContext) || !has(object.spec.securityContext.runAsUser) || \
               object.spec.securityContext.runAsUser >= 1000700000 && \
               object.spec.securityContext.runAsUser < 1000710000";
    [
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "securitycontextconstraints.security.openshift.io",
            },
            "spec": {
                "group": "security.openshift.io", "scope": "Cluster",
                "names": {"kind": "SecurityContextConstraints", "plural": "securitycontextconstraints",
                          "singular": "securitycontextconstraints"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "restricted-v2"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]},
                "validations": [
                    {"expression": pod, "message": "runAsUser of the pod is out of range"},
                    {"expression": format!("object.spec.containers.all(c, {allowed})"),
                     "message": "runAsUser of a container is out of range"},
                ],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "restricted-v2"},
            "spec": {
                "policyName": "restricted-v2", "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces}]}},
            },
        }),
    ]
}

#[tokio::test]
async fn it_runs_where_openshift_restricts_user_ids() -> Result<()> {
    let (programs, registry, cluster) =
        (Programs::from_env()?, Registry::from_env()?, Cluster::from_env().await?);
    // The operand, with a numeric user from the range as OpenShift would assign it.
    let image = registry.image("memcached-numeric:e2e");
    let binary = format!("{}=/usr/bin/memcached", env!("CARGO_BIN_EXE_listener"));
    let flags = registry.flags();
    let user = format!("{FIRST_USER}:0");
    let push = [
        "push",
        "image",
        &image,
        &binary,
        "--entrypoint",
        "memcached",
        "--user",
        &user,
        "--env",
        "PATH=/usr/bin",
    ];
    programs.tool(&[&push[..], &flags].concat(), &[])?;

    let namespace = cluster.namespace("openshift").await?;
    let emulation = restricted_v2(&[&namespace.name, Operator::NAMESPACE]);
    for object in &emulation {
        cluster.apply(object).await?;
    }
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let fixed: Pod = serde_json::from_value(json!({
        "metadata": {"name": "fixed"},
        "spec": {
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "c", "image": image, "securityContext": {
                "runAsUser": 1001, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}],
        },
    }))?;
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    wait_for("a fixed user ID is rejected", TIMEOUT, async || {
        let error = pods.create(&dry, &fixed).await.err().context("it was accepted")?.to_string();
        ensure!(error.contains("out of range"), "{error}");
        Ok(())
    })
    .await?;

    let operator = Operator::deploy(&cluster, 1, &[]).await?;
    let memcacheds = cluster.api(VERSION, "Memcached", &namespace.name).await?;
    let stage = Stage { cluster, operator, namespace, memcacheds };
    stage.create("sample", json!({"size": 2, "image": image})).await?;
    stage.available("sample", 2).await?;
    let deployment = stage.api::<Deployment>().get("sample").await?;
    let text = serde_json::to_string(&deployment.spec)?;
    ensure!(!text.contains("runAsUser"), "the Deployment sets a user ID: {text}");
    let cluster = stage.cluster.clone();
    stage.tear_down().await?;
    for object in emulation.iter().rev() {
        cluster.delete(object).await?;
    }
    Ok(())
}
