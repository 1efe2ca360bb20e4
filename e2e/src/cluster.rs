//! The cluster of `KUBECONFIG`: applies, reads and deletes objects of any kind.

use crate::programs::Programs;
use crate::wait::{TIMEOUT, wait_for};
use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Namespace as CoreNamespace;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::{self, Scope};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A connection to the cluster.
#[derive(Clone)]
pub struct Cluster {
    /// The client, for typed calls.
    pub client: Client,
}

impl Cluster {
    /// Connects to the cluster of the environment.
    ///
    /// # Errors
    /// No cluster is configured, or it does not respond.
    pub async fn from_env() -> Result<Self> {
        let client = Client::try_default()
            .await
            .context("KUBECONFIG does not configure a cluster; see e2e/README.md")?;
        client.apiserver_version().await.context("the cluster of KUBECONFIG does not respond")?;
        Ok(Self { client })
    }

    /// Applies an object, as `kubectl apply --server-side` does, and returns it as stored.
    ///
    /// # Errors
    /// Its kind is unknown, or the API server rejects it.
    pub async fn apply(&self, object: &Value) -> Result<DynamicObject> {
        let dynamic: DynamicObject = serde_json::from_value(object.clone())?;
        let api = self.api_of(&dynamic).await?;
        let parameters = PatchParams::apply("e2e").force();
        let name = dynamic.name_any();
        api.patch(&name, &parameters, &Patch::Apply(object))
            .await
            .with_context(|| format!("failed to apply {name}"))
    }

    /// Deletes an object, if it exists.
    ///
    /// # Errors
    /// Its kind is unknown, or the API server rejects.
    pub async fn delete(&self, object: &Value) -> Result<()> {
        let dynamic: DynamicObject = serde_json::from_value(object.clone())?;
        match self.api_of(&dynamic).await?.delete(&dynamic.name_any(), &DeleteParams::background()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Defines the Memcached, without the rest of the operator.
    ///
    /// # Errors
    /// The program fails, or the API server rejects.
    pub async fn define_memcached(&self, programs: &Programs) -> Result<()> {
        let manifests = programs.operator(&["manifests", "--stdout"])?;
        let mut documents = manifests.split("---\n");
        let definition = documents
            .find(|document| document.contains("kind: CustomResourceDefinition\n"))
            .context("memcached-operator manifests prints no CRD")?;
        self.apply(&serde_saphyr::from_str(definition)?).await?;
        wait_for("Memcacheds are served", TIMEOUT, async || {
            self.api("cache.example.com/v1", "Memcached", "default").await.map(drop)
        })
        .await
    }

    /// The API of objects of a kind, in a namespace where the kind has one.
    ///
    /// # Errors
    /// The cluster does not know the kind.
    pub async fn api(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let (resource, capabilities) =
            discovery::pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind))
                .await
                .with_context(|| format!("the cluster does not know {api_version} {kind}"))?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        })
    }

    /// Waits until OLM runs in namespace `olm`, if it is there: its programs end when they lose the API server, and are started again
    /// after a back-off.
    ///
    /// # Errors
    /// It does not run within six minutes, which is longer than the longest back-off.
    pub async fn olm_is_back(&self) -> Result<()> {
        let deployments = self.api("apps/v1", "Deployment", "olm").await?;
        wait_for("OLM runs", Duration::from_mins(6), async || {
            for deployment in deployments.list(&ListParams::default()).await? {
                let available = deployment.data["status"]["availableReplicas"].as_i64();
                let wanted = deployment.data["spec"]["replicas"].as_i64();
                ensure!(available >= wanted, "{} has {available:?} replicas", deployment.name_any());
            }
            Ok(())
        })
        .await
    }

    async fn api_of(&self, object: &DynamicObject) -> Result<Api<DynamicObject>> {
        let types = object.types.as_ref().context("an object without apiVersion and kind")?;
        let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
        self.api(&types.api_version, &types.kind, &namespace).await
    }

    /// Creates a namespace with a new name that begins with `prefix`, at the Pod Security level `restricted`.
    ///
    /// # Errors
    /// The API server rejects.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace> {
        self.namespace_for(prefix, "restricted").await
    }

    /// Creates a namespace at a Pod Security level: OLM's catalog pods do not comply with `restricted`.
    ///
    /// # Errors
    /// The API server rejects.
    pub async fn namespace_for(&self, prefix: &str, level: &str) -> Result<Namespace> {
        let namespaces: Api<CoreNamespace> = Api::all(self.client.clone());
        let object = serde_json::from_value(json!({
            "metadata": {
                "generateName": format!("{prefix}-"),
                "labels": {"pod-security.kubernetes.io/enforce": level},
            },
        }))?;
        let name = namespaces.create(&PostParams::default(), &object).await?.name_any();
        eprintln!("namespace {name}");
        Ok(Namespace { name, namespaces })
    }
}

/// The namespace of a test.
pub struct Namespace {
    /// Its name.
    pub name: String,
    namespaces: Api<CoreNamespace>,
}

impl Namespace {
    /// Deletes the namespace with everything in it. A failed test leaves its namespace behind for inspection.
    ///
    /// # Errors
    /// The API server rejects.
    pub async fn delete(self) -> Result<()> {
        self.namespaces.delete(&self.name, &DeleteParams::background()).await?;
        Ok(())
    }
}

/// Objects that are created at the same time.
const CREATORS: usize = 32;

/// Creates `number` objects, many at a time; returns how long that took.
///
/// # Errors
/// The API server rejects one.
pub async fn create<K>(api: &Api<K>, number: usize, object: impl Fn(usize) -> K) -> Result<Duration>
where
    K: kube::Resource + Clone + serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let start = Instant::now();
    let mut made = stream::iter((0..number).map(|index| {
        let object = object(index);
        async move { api.create(&PostParams::default(), &object).await }
    }))
    .buffer_unordered(CREATORS);
    while let Some(result) = made.next().await {
        result.context("failed to create an object")?;
    }
    Ok(start.elapsed())
}

/// How many objects there are; cheap, however many.
///
/// # Errors
/// The API server rejects.
pub async fn count<K>(api: &Api<K>) -> Result<usize>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let page = api.list_metadata(&ListParams::default().limit(1)).await?;
    let rest = page.metadata.remaining_item_count.unwrap_or_default();
    Ok(page.items.len() + usize::try_from(rest).unwrap_or_default())
}
