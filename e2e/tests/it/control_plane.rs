//! Tests of the operator that need no pods: the manager runs as a process of the test, the control plane has no nodes.
//! With nodes a thousand Memcacheds would be a thousand pods, so these tests are skipped then.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use e2e::{
    Audit, Away, Cluster, LossyProxy, Manager, Programs, Restarter, TIMEOUT, Traces, count, create, skip,
    wait_for,
};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;

const VERSION: &str = "cache.example.com/v1";
const ALL: usize = 1000;
const SCALED: usize = 50;
/// How long a step with all of them may take on a machine that compiles meanwhile.
const LONG_TIMEOUT: Duration = Duration::from_mins(10);
/// How many were scaled before the API server is killed.
const BEFORE: usize = 10;
/// Writes whose answers may be lost at once: three of each Memcached that the manager works on.
const LOST: usize = 48;

/// The control plane with Memcacheds defined; `None`, and the reason is printed, where it has nodes.
async fn control_plane(programs: &Programs) -> Result<Option<Cluster>> {
    let cluster = Cluster::from_env().await?;
    let nodes: Api<Node> = Api::all(cluster.client.clone());
    if count(&nodes).await? > 0 {
        skip("this cluster has nodes and would run a pod for each Memcached");
        return Ok(None);
    }
    cluster.define_memcached(programs).await?;
    Ok(Some(cluster))
}

fn memcached(name: &str) -> Result<DynamicObject> {
    Ok(serde_json::from_value(json!({
        "apiVersion": VERSION, "kind": "Memcached",
        "metadata": {"name": name}, "spec": {"size": 1, "containerPort": 11211},
    }))?)
}

/// Makes a thousand Memcacheds and scales fifty at once, with `disturb` in the middle of that; returns what is there.
async fn scaled(
    cluster: &Cluster,
    programs: &Programs,
    audit: Option<&Audit>,
    disturb: impl Fn() -> Result<Option<Away>>,
) -> Result<Traces> {
    let namespace = cluster.namespace("thousand").await?;
    let memcacheds = cluster.api(VERSION, "Memcached", &namespace.name).await?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let manager = Manager::start(programs, &["--watch-namespace", &namespace.name], &[])?;

    let template = memcached("")?;
    create(&memcacheds, ALL, |index| {
        let mut object = template.clone();
        object.metadata.name = Some(format!("cache-{index:04}"));
        object
    })
    .await?;
    wait_for("each has its Deployment and its Service", LONG_TIMEOUT, async || {
        let found = (count(&deployments).await?, count(&services).await?);
        ensure!(found == (ALL, ALL), "{found:?} Deployments and Services");
        Ok(())
    })
    .await?;

    let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
    let mut scaling = stream::iter((0..SCALED).map(|index| {
        let (memcacheds, scale) = (&memcacheds, &scale);
        let name = format!("cache-{:04}", index * (ALL / SCALED));
        async move {
            wait_for(&format!("{name} is scaled"), LONG_TIMEOUT, async || {
                Ok(memcacheds.patch_scale(&name, &PatchParams::default(), scale).await?)
            })
            .await
        }
    }))
    .buffer_unordered(SCALED);
    let (mut done, mut away) = (0, None);
    while let Some(scaled) = scaling.next().await {
        scaled?;
        done += 1;
        if done == BEFORE {
            away = disturb()?;
        }
    }
    if let Some(away) = away {
        away.over()?;
    }
    wait_for("each scaled Deployment has its size and a disruption budget", LONG_TIMEOUT, async || {
        let list = deployments.list(&ListParams::default()).await?.items;
        let grown = list.iter().filter(|d| d.spec.as_ref().is_some_and(|spec| spec.replicas == Some(3)));
        let found = (list.len(), grown.count(), count(&budgets).await?);
        ensure!(found == (ALL, SCALED, SCALED), "Deployments, of size 3, disruption budgets: {found:?}");
        Ok(())
    })
    .await?;
    // A manager that did something twice would do it now: it has been told everything again.
    wait_for("every Memcached tells its generation", LONG_TIMEOUT, async || {
        let list = memcacheds.list(&ListParams::default()).await?.items;
        let late = list.iter().filter(|object| {
            object.data["status"]["observedGeneration"].as_i64() != object.metadata.generation
        });
        let late = late.count();
        ensure!(list.len() == ALL && late == 0, "{} Memcacheds, {late} of them not", list.len());
        Ok(())
    })
    .await?;
    // The API server closes connections, also idle ones, whenever it likes.
    let traces = wait_for("the traces are read", LONG_TIMEOUT, async || {
        Traces::of(cluster, &namespace.name, audit).await
    })
    .await?;
    wait_for("all Memcacheds are deleted", LONG_TIMEOUT, async || {
        memcacheds.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
        Ok(())
    })
    .await?;
    wait_for("all Memcacheds are gone", LONG_TIMEOUT, async || {
        let left = count(&memcacheds).await?;
        ensure!(left == 0, "{left} are left");
        Ok(())
    })
    .await?;
    drop(manager);
    deployments.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    namespace.delete().await?;
    Ok(traces)
}

#[tokio::test]
async fn fifty_of_a_thousand_are_scaled_while_the_api_server_is_killed() -> Result<()> {
    let programs = Programs::from_env()?;
    let Some(restarter) = Restarter::from_env() else {
        skip("CLUSTER_RESTART is not set");
        return Ok(());
    };
    let Some(cluster) = control_plane(&programs).await? else { return Ok(()) };
    let audit = Audit::from_env();
    let undisturbed = scaled(&cluster, &programs, audit.as_ref(), || Ok(None)).await?;
    let disturbed =
        scaled(&cluster, &programs, audit.as_ref(), || restarter.api_server(10).map(Some)).await?;
    disturbed.compare(&undisturbed, LOST)
}

#[tokio::test]
async fn a_standby_takes_over_when_the_lease_of_a_killed_leader_expires() -> Result<()> {
    let programs = Programs::from_env()?;
    let Some(cluster) = control_plane(&programs).await? else { return Ok(()) };
    let namespace = cluster.namespace("lease").await?;
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let holder = async || -> Result<String> {
        let lease = leases.get("memcached-operator.cache.example.com").await?;
        lease.spec.and_then(|spec| spec.holder_identity).context("nobody holds it")
    };
    let start = |name: &str| {
        Manager::start(
            &programs,
            &["--leader-elect", "--watch-namespace", &namespace.name],
            &[("POD_NAMESPACE", &namespace.name), ("POD_NAME", name)],
        )
    };
    let leads = async |name: &str| {
        wait_for(&format!("{name} leads"), TIMEOUT, async || {
            let holder = holder().await?;
            ensure!(holder == name, "{holder} does");
            Ok(())
        })
        .await
    };
    let first = start("first")?;
    leads("first").await?;
    let _second = start("second")?;

    let killed = Instant::now();
    first.kill()?;
    leads("second").await?;
    let took = killed.elapsed();
    eprintln!("the second leads {:.1} s after the first was killed", took.as_secs_f64());
    // The lease holds for 15 s from the last renewal, which is due every 2 s; who waits looks every 2 s. Both may be late.
    let (least, most) = (Duration::from_secs(10), Duration::from_mins(1));
    ensure!(took > least, "it took a lease that was not its own");
    ensure!(took < most, "it let a lease lie that had run out");

    let memcacheds = cluster.api(VERSION, "Memcached", &namespace.name).await?;
    create(&memcacheds, 1, |_| memcached("sample").unwrap_or_else(|error| panic!("{error}"))).await?;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), &namespace.name);
    wait_for("the new leader works", TIMEOUT, async || {
        ensure!(count(&deployments).await? == 1, "there is no Deployment");
        Ok(())
    })
    .await?;
    memcacheds.delete("sample", &DeleteParams::default()).await?;
    wait_for("the Memcached is gone", TIMEOUT, async || {
        ensure!(count(&memcacheds).await? == 0, "it is still there");
        Ok(())
    })
    .await?;
    namespace.delete().await
}

#[tokio::test]
async fn a_standby_that_is_stopped_ten_times_leaves_the_lease_unchanged() -> Result<()> {
    let programs = Programs::from_env()?;
    let Some(cluster) = control_plane(&programs).await? else { return Ok(()) };
    let namespace = cluster.namespace("standby").await?;
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), &namespace.name);
    let start = |name: &str| {
        Manager::start(
            &programs,
            &["--leader-elect", "--watch-namespace", &namespace.name],
            &[("POD_NAMESPACE", &namespace.name), ("POD_NAME", name)],
        )
    };
    // What changes with each renewal aside.
    let unchanging = async || -> Result<_> {
        let lease = leases.get("memcached-operator.cache.example.com").await?;
        let spec = lease.spec.context("the lease has no spec")?;
        Ok((spec.holder_identity, spec.acquire_time, spec.lease_transitions, spec.lease_duration_seconds))
    };
    let mut leader = start("leader")?;
    leader.logged("became the leader")?;
    let before = unchanging().await?;
    ensure!(before.0.as_deref() == Some("leader"), "{before:?}");
    for round in 1..=10 {
        start("standby")?.stop()?;
        let after = unchanging().await?;
        ensure!(after == before, "round {round}: {after:?} instead of {before:?}");
    }
    eprintln!("ten standbys stopped, the lease is still held by the leader since {:?}", before.1);
    leader.stop()?;
    let released = unchanging().await?;
    ensure!(released.0.as_deref() == Some(""), "the leader releases the lease: {released:?}");
    namespace.delete().await
}

/// Memcacheds behind the lossy connection.
const NAMES: usize = 30;
/// How long they are disturbed.
const DISTURBED: Duration = Duration::from_mins(2);
/// The manager's sync period, with its 10 % more, and some time for requests that have to be repeated.
const SYNC_PERIOD: &str = "--sync-period=60";
const MAX_WRONG: Duration = Duration::from_secs(66 + 30);

/// Changes a Memcached, or what it owns, at random.
async fn disturb(
    name: &str,
    memcacheds: &Api<DynamicObject>,
    cluster: &Cluster,
    namespace: &str,
) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), namespace);
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), namespace);
    let (size, params) = (fastrand::i32(1..=5), PatchParams::default());
    let done = match fastrand::u8(..4) {
        0 => memcacheds.patch(name, &params, &Patch::Merge(json!({"spec": {"size": size}}))).await.map(drop),
        1 => {
            deployments.patch(name, &params, &Patch::Merge(json!({"spec": {"replicas": 7}}))).await.map(drop)
        }
        2 => deployments.delete(name, &DeleteParams::background()).await.map(drop),
        _ => services.delete(name, &DeleteParams::default()).await.map(drop),
    };
    match done {
        // It was deleted before, and is not there yet.
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => Ok(other?),
    }
}

/// Returns the Memcacheds that do not have what they should, with what is wrong.
async fn wrong(
    memcacheds: &Api<DynamicObject>,
    cluster: &Cluster,
    namespace: &str,
) -> Result<BTreeMap<String, String>> {
    let every = ListParams::default();
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), namespace);
    let services: Api<Service> = Api::namespaced(cluster.client.clone(), namespace);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(cluster.client.clone(), namespace);
    let named = |name: &Option<String>| name.clone().unwrap_or_default();
    let deployments = deployments.list(&every).await?.items;
    let replicas: BTreeMap<_, _> = deployments
        .iter()
        .map(|found| (named(&found.metadata.name), found.spec.as_ref().and_then(|spec| spec.replicas)))
        .collect();
    let services = services.list_metadata(&every).await?.items;
    let services: Vec<_> = services.iter().map(|found| named(&found.metadata.name)).collect();
    let budgets = budgets.list_metadata(&every).await?.items;
    let budgets: Vec<_> = budgets.iter().map(|found| named(&found.metadata.name)).collect();
    let mut found = BTreeMap::new();
    for memcached in memcacheds.list(&every).await?.items {
        let name = named(&memcached.metadata.name);
        let size = memcached.data["spec"]["size"].as_i64();
        let reported = memcached.data["status"]["observedGeneration"].as_i64();
        let has = (
            replicas.get(&name).copied().flatten().map(i64::from),
            services.contains(&name),
            budgets.contains(&name),
            reported,
        );
        let wanted = (size, true, size > Some(1), memcached.metadata.generation);
        if has != wanted {
            found.insert(
                name,
                format!("replicas, service, budget, generation: {has:?} instead of {wanted:?}"),
            );
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_slow_lossy_connection_leaves_nothing_wrong_for_longer_than_the_sync_period() -> Result<()> {
    let programs = Programs::from_env()?;
    let Some(cluster) = control_plane(&programs).await? else { return Ok(()) };
    let namespace = cluster.namespace("lossy").await?;
    let memcacheds = cluster.api(VERSION, "Memcached", &namespace.name).await?;
    let proxy = LossyProxy::start().await?;
    let (name, config) = (namespace.name.clone(), proxy.kubeconfig());
    let started = tokio::task::spawn_blocking(move || {
        let config = config.to_string_lossy();
        let arguments = ["--watch-namespace", &name, SYNC_PERIOD, "--request-timeout=5"];
        Manager::start(&programs, &arguments, &[("KUBECONFIG", &config)])
    });
    let manager = started.await??;
    create(&memcacheds, NAMES, |index| {
        memcached(&format!("cache-{index}")).unwrap_or_else(|e| panic!("{e}"))
    })
    .await?;

    let start = Instant::now();
    let mut since: BTreeMap<String, Instant> = BTreeMap::new();
    let (mut disturbances, mut longest) = (0, Duration::ZERO);
    loop {
        let disturbed = start.elapsed() < DISTURBED;
        let now = wrong(&memcacheds, &cluster, &namespace.name).await?;
        since.retain(|name, _| now.contains_key(name));
        for (name, what) in &now {
            let wrong_for = since.entry(name.clone()).or_insert_with(Instant::now).elapsed();
            longest = longest.max(wrong_for);
            ensure!(wrong_for < MAX_WRONG, "{name} is wrong for {wrong_for:?}: {what} ({proxy})");
        }
        if !disturbed && now.is_empty() {
            break;
        }
        if disturbed {
            let name = format!("cache-{}", fastrand::usize(..NAMES));
            disturb(&name, &memcacheds, &cluster, &namespace.name).await?;
            // Wrong for another reason from now on.
            since.remove(&name);
            disturbances += 1;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    eprintln!(
        "{disturbances} disturbances, {proxy}; wrong for {:.1} s at most; all is right {:.1} s after the last",
        longest.as_secs_f64(),
        (start.elapsed().saturating_sub(DISTURBED)).as_secs_f64()
    );
    // The connection is good again, so that the finalizers are removed soon.
    drop(manager);
    let programs = Programs::from_env()?;
    let manager = Manager::start(&programs, &["--watch-namespace", &namespace.name], &[])?;
    memcacheds.delete_collection(&DeleteParams::default(), &ListParams::default()).await?;
    wait_for("all Memcacheds are gone", TIMEOUT, async || {
        ensure!(count(&memcacheds).await? == 0, "some are left");
        Ok(())
    })
    .await?;
    drop(manager);
    namespace.delete().await
}
