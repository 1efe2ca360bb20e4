//! Deploys the operator without OLM, with the options of a test, and removes it.

use crate::cluster::Cluster;
use crate::programs::{Programs, Registry};
use crate::wait::{TIMEOUT, wait_for};
use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The managers' Deployment.
const MANAGER: &str = "memcached-operator-controller-manager";

/// The operator, deployed.
pub struct Operator {
    cluster: Cluster,
    objects: Vec<Value>,
}

impl Operator {
    /// The namespace that it is deployed to.
    pub const NAMESPACE: &str = "memcached-operator-system";

    /// Pushes the operator's image and deploys what `memcached-operator manifests` prints, with a number of replicas and
    /// additional arguments of the manager; waits until all are available.
    ///
    /// # Errors
    /// A program fails, the cluster rejects, or the manager does not become available.
    pub async fn deploy(cluster: &Cluster, replicas: i32, arguments: &[&str]) -> Result<Self> {
        let (programs, registry) = (Programs::from_env()?, Registry::from_env()?);
        let image = registry.image("memcached-operator:operator-tests");
        let binary = format!("{}=/memcached-operator", programs.path("memcached-operator").display());
        let flags = registry.flags();
        let push = [
            "push",
            "image",
            &image,
            &binary,
            "--entrypoint",
            "/memcached-operator",
            "--user",
            "65532:65532",
        ];
        programs.tool(&[&push[..], &flags].concat(), &[])?;
        let operand = registry.operand();
        let manifests =
            programs.operator(&["manifests", "--stdout", "--image", &image, "--operand-image", &operand])?;
        let mut objects = Vec::new();
        for document in manifests.split("---\n").filter(|document| !document.trim().is_empty()) {
            let mut object: Value = serde_saphyr::from_str(document).context("a manifest is not YAML")?;
            if object["kind"] == "Memcached" {
                continue;
            }
            if object["kind"] == "Deployment" {
                object["spec"]["replicas"] = json!(replicas);
                let container = &mut object["spec"]["template"]["spec"]["containers"][0];
                container["imagePullPolicy"] = json!("Always");
                let list = container["args"].as_array_mut().context("the manager has no arguments")?;
                list.extend(arguments.iter().map(|argument| json!(argument)));
            }
            // The managers share the machine with other tests, and a request that the API server stops waiting for is not checked.
            for webhook in object.get_mut("webhooks").and_then(Value::as_array_mut).into_iter().flatten() {
                webhook["timeoutSeconds"] = json!(30);
            }
            objects.push(object);
        }
        let operator = Self { cluster: cluster.clone(), objects };
        for object in &operator.objects {
            // A kind that was defined a moment ago may not be served yet.
            wait_for_object(cluster, object).await?;
        }
        operator.available(replicas).await?;
        Ok(operator)
    }

    /// Waits until this many managers are available and one of them leads.
    ///
    /// # Errors
    /// They do not become so in time.
    pub async fn available(&self, replicas: i32) -> Result<()> {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client.clone(), Self::NAMESPACE);
        wait_for("the manager is available and leads", TIMEOUT, async || {
            let deployment = deployments.get(MANAGER).await?;
            let generation = deployment.metadata.generation;
            let status = deployment.status.unwrap_or_default();
            let counts = [status.replicas, status.updated_replicas, status.available_replicas];
            ensure!(status.observed_generation >= generation, "the Deployment has not been seen");
            ensure!(counts == [Some(replicas); 3], "replicas, updated, available: {counts:?}");
            self.leader().await?.context("nobody leads")
        })
        .await
        .map(drop)
    }

    /// Has all managers replaced, one after the other; returns the Deployment's generation.
    ///
    /// # Errors
    /// The API server rejects.
    pub async fn restart(&self, cluster: &Cluster) -> Result<i64> {
        let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), Self::NAMESPACE);
        // As `kubectl rollout restart` does.
        let annotations = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
        let patch = Patch::Merge(json!({"spec": {"template": {"metadata": {"annotations": annotations}}}}));
        let deployment = deployments.patch(MANAGER, &PatchParams::default(), &patch).await?;
        deployment.metadata.generation.context("the Deployment has no generation")
    }

    /// Whether only managers of a generation of the Deployment run, and one of them leads.
    ///
    /// # Errors
    /// A request fails.
    pub async fn is_rolled_out(&self, generation: i64) -> Result<bool> {
        let deployments: Api<Deployment> = Api::namespaced(self.cluster.client.clone(), Self::NAMESPACE);
        let status = deployments.get(MANAGER).await?.status.unwrap_or_default();
        let all = status.replicas;
        let replaced = status.observed_generation >= Some(generation)
            && [status.updated_replicas, status.available_replicas] == [all; 2];
        if !replaced {
            return Ok(false);
        }
        let pods: Api<Pod> = Api::namespaced(self.cluster.client.clone(), Self::NAMESPACE);
        let pods = pods.list_metadata(&ListParams::default()).await?.items;
        let leader = self.leader().await?;
        // Pods that terminate do not count as replicas.
        let ended = pods.len() == usize::try_from(all.unwrap_or_default())?;
        Ok(ended && pods.iter().any(|pod| pod.metadata.name == leader))
    }

    /// Returns the name of the pod that leads.
    ///
    /// # Errors
    /// The Lease cannot be read.
    pub async fn leader(&self) -> Result<Option<String>> {
        let leases: Api<Lease> = Api::namespaced(self.cluster.client.clone(), Self::NAMESPACE);
        let lease = leases.get_opt("memcached-operator.cache.example.com").await?;
        let holder = lease.and_then(|lease| lease.spec).and_then(|spec| spec.holder_identity);
        Ok(holder.filter(|holder| !holder.is_empty()))
    }

    /// Returns the permissions of the manager's service account as `VERB GROUP/RESOURCE`, from all roles bound to it.
    #[must_use]
    pub fn permissions(&self) -> BTreeSet<String> {
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
        };
        let bound: BTreeSet<String> = self
            .objects
            .iter()
            .filter(|object| object["kind"].as_str().is_some_and(|kind| kind.ends_with("RoleBinding")))
            .filter_map(|object| object["roleRef"]["name"].as_str().map(ToOwned::to_owned))
            .collect();
        let mut permissions = BTreeSet::new();
        for role in self.objects.iter().filter(|object| {
            object["metadata"]["name"].as_str().is_some_and(|name| bound.contains(name))
                && object["rules"].is_array()
        }) {
            for rule in role["rules"].as_array().into_iter().flatten() {
                for verb in texts(&rule["verbs"]) {
                    for group in texts(&rule["apiGroups"]) {
                        for resource in texts(&rule["resources"]) {
                            permissions.insert(format!("{verb} {group}/{resource}"));
                        }
                    }
                }
            }
        }
        permissions
    }

    /// Deletes everything and waits until the namespace is gone.
    ///
    /// # Errors
    /// The cluster rejects.
    pub async fn undeploy(self) -> Result<()> {
        for object in self.objects.iter().rev() {
            self.cluster.delete(object).await?;
        }
        let namespaces: Api<Namespace> = Api::all(self.cluster.client.clone());
        let definitions: Api<CustomResourceDefinition> = Api::all(self.cluster.client.clone());
        wait_for("the operator is gone", TIMEOUT, async || {
            ensure!(namespaces.get_opt(Self::NAMESPACE).await?.is_none(), "its namespace is still there");
            // The next test could create nothing of a kind whose definition is being deleted.
            let definition = definitions.get_opt("memcacheds.cache.example.com").await?;
            ensure!(definition.is_none(), "its CRD is still there");
            Ok(())
        })
        .await
    }
}

async fn wait_for_object(cluster: &Cluster, object: &Value) -> Result<()> {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        match cluster.apply(object).await {
            Ok(_) => return Ok(()),
            Err(error) if std::time::Instant::now() > deadline => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(250)).await,
        }
    }
}

/// Status and reason of an object's condition, empty where it has none.
#[must_use]
pub fn condition(object: &DynamicObject, kind: &str) -> (String, String) {
    let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind);
    let text = |field: &str| found.and_then(|found| found[field].as_str()).unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}
