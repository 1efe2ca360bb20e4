//! Measures the operator against the control plane that `KUBECONFIG` names: how fast new Memcacheds get their
//! Deployments, and what that costs in requests, memory and CPU. See docs/internals/performance.md for the method.
//!
//! Pods are not meant to run: a control plane without nodes is enough, and one with nodes would be filled.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::{Cluster, Manager, Namespace, Programs, count, create, wait_for};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Where the measured manager serves its metrics, without TLS and for this machine only.
const METRICS: &str = "127.0.0.1:18080";

/// What the manager's metrics page says.
async fn counters() -> Result<Counters> {
    let mut stream =
        tokio::net::TcpStream::connect(METRICS).await.context("the manager serves no metrics")?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n").await?;
    let mut page = String::new();
    stream.read_to_string(&mut page).await?;
    let mut counters = Counters::default();
    for line in page.lines() {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        if let Some(labels) = name.strip_prefix("rest_client_requests_total") {
            let method = labels.split("method=\"").nth(1).and_then(|rest| rest.split('"').next());
            *counters.requests.entry(method.unwrap_or_default().to_owned()).or_default() += value;
        }
        if name.starts_with("controller_runtime_reconcile_total") {
            counters.reconciles += value;
        }
        match name {
            "process_cpu_seconds_total" => counters.cpu = value,
            "process_resident_memory_bytes" => counters.resident = value,
            _ => {}
        }
    }
    Ok(counters)
}

/// Returns the seconds of CPU that the API server has used.
async fn api_server_cpu(cluster: &Cluster) -> Result<f64> {
    let page = cluster.client.request_text(http::Request::get("/metrics").body(Vec::new())?).await?;
    let line = page.lines().find_map(|line| line.strip_prefix("process_cpu_seconds_total "));
    Ok(line.context("the API server does not report its CPU time")?.parse()?)
}

#[derive(Clone, Debug, Default)]
struct Counters {
    requests: BTreeMap<String, f64>,
    reconciles: f64,
    cpu: f64,
    resident: f64,
}

impl Counters {
    fn sum(&self, methods: &[&str]) -> f64 {
        methods.iter().filter_map(|method| self.requests.get(*method)).sum()
    }
}

async fn until(api: &Api<Deployment>, wanted: usize) -> Result<()> {
    let deadline = Instant::now() + Duration::from_mins(10);
    while count(api).await? < wanted {
        ensure!(Instant::now() < deadline, "not all Deployments were made in ten minutes");
        // Each look costs the API server as much as a write.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Measures what plain Deployments cost the API server: created, and created by server-side apply.
async fn yardstick(cluster: &Cluster, number: usize) -> Result<()> {
    let deployment = |index: usize| {
        let labels = json!({"app": format!("plain-{index}")});
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": {"name": format!("plain-{index}")},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "pause", "image": "pause"}]}}},
        }))
        .unwrap_or_default();
        deployment
    };
    for applied in [false, true] {
        let namespace = cluster.namespace("yardstick").await?;
        let api: Api<Deployment> = Api::namespaced(cluster.client.clone(), &namespace.name);
        let (start, before) = (Instant::now(), api_server_cpu(cluster).await?);
        if applied {
            let params = PatchParams::apply("yardstick");
            let requests = stream::iter(0..number).map(|index| {
                let (api, params) = (api.clone(), &params);
                async move {
                    let name = format!("plain-{index}");
                    api.patch(&name, params, &Patch::Apply(deployment(index))).await.map(drop)
                }
            });
            requests.buffer_unordered(CONCURRENT).try_collect::<()>().await?;
        } else {
            create(&api, number, deployment).await?;
        }
        println!(
            "yardstick: {number} plain Deployments {} in {:.1} s with {:.1} s of the API server's CPU",
            if applied { "applied" } else { "created" },
            start.elapsed().as_secs_f64(),
            api_server_cpu(cluster).await? - before
        );
        clear(cluster, namespace).await?;
    }
    Ok(())
}

/// The garbage collector looks for new kinds every half minute. Until it knows Memcacheds, it requests the owner of each
/// Deployment from the API server.
const GARBAGE_COLLECTOR: Duration = Duration::from_secs(35);

/// Requests of the yardstick at the same time.
const CONCURRENT: usize = 32;

/// Deletes what a run made: the namespace with all that is in it, finalizers first.
async fn clear(cluster: &Cluster, namespace: Namespace) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &namespace.name);
    deployments.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    namespace.delete().await
}

#[allow(clippy::cast_precision_loss, reason = "numbers of objects are small")]
async fn measure(
    cluster: &Cluster,
    number: usize,
    subject: &Subject,
    concurrent: Option<&str>,
) -> Result<()> {
    let Subject { program, arguments } = subject;
    let namespace = cluster.namespace("bench").await?;
    let memcacheds: Api<DynamicObject> =
        cluster.api("cache.example.com/v1", "Memcached", &namespace.name).await?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let mut options = vec![
        "--metrics-secure=false",
        "--metrics-bind-address",
        METRICS,
        "--watch-namespace",
        &namespace.name,
    ];
    options.extend(arguments.iter().map(String::as_str));
    options.extend(concurrent.into_iter().flat_map(|number| ["--max-concurrent-reconciles", number]));
    let manager = Manager::launch(program, &options, &[])?;
    // A manager that has nothing to do yet.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let rest = counters().await?;
    let server_before = api_server_cpu(cluster).await?;

    let start = Instant::now();
    let creating = create(&memcacheds, number, memcached);
    let (created, all) = futures::try_join!(creating, async {
        until(&deployments, number).await?;
        Ok(start.elapsed())
    })?;
    let at_once = counters().await?;
    let megabytes = |bytes: f64| bytes / 1e6;
    let server = api_server_cpu(cluster).await? - server_before;
    println!("{number} Memcacheds, {}:", arguments.join(" "));
    println!(
        "  created in {:.1} s, all Deployments after {:.1} s, with {:.2} s of CPU and {:.1} MB; API server {server:.1} s of CPU",
        created.as_secs_f64(),
        all.as_secs_f64(),
        at_once.cpu,
        megabytes(at_once.resident)
    );
    println!("  at rest before: {:.1} MB", megabytes(rest.resident));
    if let Some(synced) = manager.mark("caches synced") {
        println!("  caches synced {:.0} ms after the start", synced.as_secs_f64() * 1e3);
    }
    // The controller manager makes 20 requests a second, and each Deployment needs one before its status is known.
    let patience = Duration::from_mins(5) + Duration::from_millis(100) * u32::try_from(number)?;
    let settled = at_rest(start + patience).await?;
    let server = api_server_cpu(cluster).await? - server_before;
    let per =
        |counters: &Counters, methods: &[&str]| (counters.sum(methods) - rest.sum(methods)) / number as f64;
    println!(
        "  nothing more written after {:.0} s: {:.2} s of CPU and {:.1} MB; API server {server:.1} s of CPU",
        start.elapsed().as_secs_f64(),
        settled.cpu,
        megabytes(settled.resident)
    );
    println!(
        "  per Memcached: {:.2} writes ({:.2} of them events), {:.3} reads, {:.2} reconciles",
        per(&settled, &["PATCH", "POST", "PUT", "DELETE"]),
        per(&settled, &["POST"]),
        per(&settled, &["GET"]),
        settled.reconciles / number as f64
    );

    drop(manager);
    let restarted = Instant::now();
    let server_before = api_server_cpu(cluster).await?;
    let manager = Manager::launch(program, &options, &[])?;
    wait_for("the manager serves metrics", Duration::from_mins(1), async || counters().await.map(drop))
        .await?;
    let last = at_rest(restarted + patience).await?;
    println!(
        "  after a restart: {:.2} writes, {:.3} reads per Memcached, {:.2} s of CPU; API server {:.1} s of CPU in {:.0} s",
        // Without requests the sum is -0.
        last.sum(&["PATCH", "POST", "PUT", "DELETE"]).abs() / number as f64,
        last.sum(&["GET"]).abs() / number as f64,
        last.cpu,
        api_server_cpu(cluster).await? - server_before,
        restarted.elapsed().as_secs_f64(),
    );

    leave(&memcacheds).await?;
    drop(manager);
    clear(cluster, namespace).await
}

/// Waits until the manager makes no more requests, and returns its counters then.
async fn at_rest(deadline: Instant) -> Result<Counters> {
    let mut settled = counters().await?;
    loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let now = counters().await?;
        if now.requests == settled.requests {
            return Ok(settled);
        }
        ensure!(Instant::now() < deadline, "the manager does not come to rest");
        settled = now;
    }
}

/// What is measured: a program with the options of a manager.
struct Subject {
    program: PathBuf,
    arguments: Vec<String>,
}

impl Subject {
    fn new(program: PathBuf, arguments: &[&str]) -> Self {
        Self { program, arguments: arguments.iter().map(ToString::to_string).collect() }
    }
}

/// Names that exist at the same time during the churn.
const BATCH: usize = 500;

/// Creates and deletes `number` Memcacheds in batches, and prints the manager's resident memory after each tenth of them.
async fn churn(cluster: &Cluster, programs: &Programs, number: usize) -> Result<()> {
    let namespace = cluster.namespace("churn").await?;
    let memcacheds: Api<DynamicObject> =
        cluster.api("cache.example.com/v1", "Memcached", &namespace.name).await?;
    let arguments =
        ["--metrics-secure=false", "--metrics-bind-address", METRICS, "--watch-namespace", &namespace.name];
    let manager = Manager::start(programs, &arguments, &[])?;
    println!("churn of {number} names, {BATCH} at a time; resident memory in MB:");
    println!("  {:>7}: {:.1}", 0, counters().await?.resident / 1e6);
    let batches = number.div_ceil(BATCH);
    for batch in 0..batches {
        create(&memcacheds, BATCH, |index| {
            let mut object = memcached(batch * BATCH + index);
            // Valid for the schema but not for the controller, so that no servers are created.
            object.data["spec"]["nodeSelector"] = json!({"a b": "c"});
            object
        })
        .await?;
        leave(&memcacheds).await?;
        if (batch + 1) % batches.div_ceil(10) == 0 {
            println!("  {:>7}: {:.1}", (batch + 1) * BATCH, counters().await?.resident / 1e6);
        }
    }
    drop(manager);
    clear(cluster, namespace).await
}

/// How long the first reconcile of a manager takes after it has the lease.
async fn first_reconcile(cluster: &Cluster, programs: &Programs) -> Result<()> {
    let namespace = cluster.namespace("lease").await?;
    let memcacheds: Api<DynamicObject> =
        cluster.api("cache.example.com/v1", "Memcached", &namespace.name).await?;
    create(&memcacheds, 1, memcached).await?;
    let arguments =
        ["--leader-elect", "--log-level=operator_runtime=debug", "--watch-namespace", &namespace.name];
    let environment = [("POD_NAMESPACE", namespace.name.as_str())];
    let mut manager = Manager::start(programs, &arguments, &environment)?;
    let (leading, reconciled) = (manager.logged("became the leader")?, manager.logged("reconciled")?);
    println!(
        "first reconcile over {:.0} ms after the lease, which took {:.0} ms from the start",
        reconciled.saturating_sub(leading).as_secs_f64() * 1e3,
        leading.as_secs_f64() * 1e3
    );
    leave(&memcacheds).await?;
    drop(manager);
    clear(cluster, namespace).await
}

/// Deletes all Memcacheds while the manager is there to take its finalizers away.
async fn leave(memcacheds: &Api<DynamicObject>) -> Result<()> {
    memcacheds.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    let deadline = Instant::now() + Duration::from_mins(5);
    while !memcacheds.list_metadata(&ListParams::default().limit(1)).await?.items.is_empty() {
        ensure!(Instant::now() < deadline, "the Memcacheds do not go away");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

fn memcached(index: usize) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "cache.example.com/v1", "kind": "Memcached",
        "metadata": {"name": format!("bench-{index}")}, "spec": {"size": 1, "containerPort": 11211},
    }))
    .unwrap_or_else(|_| DynamicObject::new("", &kube::discovery::ApiResource::erase::<Deployment>(&())))
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut numbers = Vec::new();
    let programs = Programs::from_env()?;
    let operator = |owned: &str| Subject::new(programs.path("memcached-operator"), &["--owned", owned]);
    let (mut subjects, mut concurrent) = (vec![operator("deployment"), operator("all")], None);
    let mut churned = None;
    let mut measured = 1000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--owned" => subjects = vec![operator(&value()?)],
            "--yardstick" => measured = value()?.parse().context("--yardstick requires a number")?,
            "--variants" => {
                let program = std::env::current_exe()?.with_file_name("bench-manager");
                let subject = |variant: &str| Subject::new(program.clone(), &["--variant", variant]);
                subjects = ["plain", "uncached", "cached"].map(subject).into();
            }
            "--concurrent" => concurrent = Some(value()?),
            "--churn" => churned = Some(value()?.parse().context("--churn requires a number of names")?),
            number => numbers.push(number.parse().with_context(|| format!("{number:?} is not a number"))?),
        }
    }
    if numbers.is_empty() {
        numbers = vec![1000, 5000];
    }
    let cluster = Cluster::from_env().await?;
    cluster.define_memcached(&programs).await?;

    if let Some(number) = churned {
        return churn(&cluster, &programs, number).await;
    }
    first_reconcile(&cluster, &programs).await?;
    tokio::time::sleep(GARBAGE_COLLECTOR).await;
    yardstick(&cluster, measured).await?;
    for number in numbers {
        for subject in &subjects {
            measure(&cluster, number, subject, concurrent.as_deref()).await?;
        }
    }
    Ok(())
}
