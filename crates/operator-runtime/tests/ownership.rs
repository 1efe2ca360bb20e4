//! Who owns what: names that several objects ask for, objects that exist already, and kinds without a namespace.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{CustomResource, ResourceExt};
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::controller::{
    Child, Children, Error, Exists, Key, Observed, Reconciler, Related, Status, Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::testing::{ControlPlane, MockApi, Scenario, ScenarioSettings, TestController};
use operator_runtime::{Identity, InvalidOperator, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const IDENTITY: Identity = Identity {
    name: "site-operator",
    group: "sites.example.com",
    version: "0.0.1",
    about: "Runs sites",
    image: "example.com/site-operator",
};

/// Desired state of a Site.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "sites.example.com",
    version = "v1",
    kind = "Site",
    namespaced,
    status = "SiteStatus",
    derive = "Default"
)]
struct SiteSpec {
    /// Name of its `ConfigMap`.
    config: String,
}

/// Observed state of a Site.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct SiteStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
    #[serde(default)]
    nodes: usize,
}
impl Status for SiteStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

/// Every node is related to the Site `home` in the namespace `team-a`.
struct Sites {
    config: Child<ConfigMap>,
    nodes: Related<Node>,
    /// A handle of another controller, which is used instead.
    mistaken: Option<Child<ConfigMap>>,
}

impl Sites {
    fn new(watches: &mut Watches<Site>) -> Self {
        let home = || vec![Key::new("team-a", "home")];
        Self { config: watches.child(), nodes: watches.mapped(move |_| home()), mistaken: None }
    }
}

impl Reconciler for Sites {
    type Object = Site;
    type Status = SiteStatus;
    type External = ();

    fn desired(&self, site: &Site, _: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let config = ConfigMap {
            metadata: ObjectMeta { name: Some(site.spec.config.clone()), ..ObjectMeta::default() },
            data: Some([("site".to_owned(), site.name_any())].into()),
            ..ConfigMap::default()
        };
        children.add(self.config, config);
        Ok(children)
    }

    fn status(&self, site: &Site, observed: &Observed<Self>) -> SiteStatus {
        let mut status = observed.draft();
        if let Some(other) = self.mistaken {
            status.set("Available", False, "Mistaken", "");
            status.nodes = observed.children(other).count();
        } else {
            let exists = observed.child(self.config, &site.spec.config).is_some();
            status.set("Available", if exists { True } else { False }, "Config", "");
            status.nodes = observed.related(self.nodes).count();
        }
        status.degraded(observed.problem());
        status.finish()
    }
}

fn operator() -> Operator {
    Operator::new(IDENTITY).controller(Sites::new)
}

fn site(name: &str, config: &str) -> Value {
    json!({
        "apiVersion": "sites.example.com/v1", "kind": "Site",
        "metadata": {"name": name}, "spec": {"config": config},
    })
}

fn owner(api: &MockApi, config: &str) -> Value {
    api.get("configmaps", config).unwrap_or_default()["metadata"]["ownerReferences"][0]["name"].clone()
}

fn is_blocked(api: &MockApi, site: &str) -> bool {
    api.condition("sites", site, "Degraded")["reason"] == "ConfigMapBlocked"
}

#[tokio::test(start_paused = true)]
async fn waiting_owners_get_a_name_one_after_the_other() {
    let scenario = Scenario::start(operator());
    scenario.api.put("sites", site("c", "shared"));
    scenario.until("the first one has it", |api| owner(api, "shared") == "c").await;
    scenario.api.put("sites", site("a", "shared"));
    scenario.api.put("sites", site("b", "shared"));
    scenario.until("both wait", |api| is_blocked(api, "a") && is_blocked(api, "b")).await;
    scenario.quiet().await;
    assert_eq!(scenario.kept("children"), 3 + 2, "the object, its digests, its owner, and who waits");

    // There is no garbage collector.
    let delete = |site: &str| {
        scenario.api.delete("sites", site);
        scenario.api.delete("configmaps", "shared");
    };
    delete("c");
    scenario.until("another one has it", |api| owner(api, "shared").is_string()).await;
    scenario.quiet().await;
    let second = owner(&scenario.api, "shared").as_str().unwrap().to_owned();
    let third = if second == "a" { "b" } else { "a" };
    assert!(is_blocked(&scenario.api, third) && !is_blocked(&scenario.api, &second));
    delete(&second);
    scenario.until("the last one has it", |api| owner(api, "shared") == third).await;
    scenario.until("its status shows it", |api| !is_blocked(api, third)).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn object_of_somebody_else_is_not_changed_and_one_of_ours_is_recognized() {
    let scenario = Scenario::start(operator());
    // Neither a field nor a label in common: server-side apply alone would merge both.
    scenario.api.put("configmaps", json!({"metadata": {"name": "theirs"}, "data": {"key": "value"}}));
    let before = scenario.api.get("configmaps", "theirs");
    scenario.api.put("sites", site("a", "theirs"));
    scenario.until("it is reported", |api| is_blocked(api, "a")).await;
    let message = scenario.api.condition("sites", "a", "Degraded")["message"].clone();
    assert_eq!(message, "a ConfigMap named theirs exists and does not belong to this Site");
    assert_eq!(scenario.api.get("configmaps", "theirs"), before);
    scenario.api.delete("configmaps", "theirs");
    scenario.until("the name is free", |api| owner(api, "theirs") == "a").await;

    scenario.api.put("sites", site("b", "ours"));
    scenario.until("it is created", |api| owner(api, "ours") == "b").await;
    let reads = scenario.api.calls().into_iter().filter(|call| call.verb == "get" && call.code == 200);
    assert!(reads.count() > 0, "of what is in the way");
    let of_ours = |call: &operator_runtime::testing::Call| call.name == "ours";
    assert_eq!(scenario.api.calls().into_iter().filter(of_ours).count(), 1, "one request creates it");

    // Without its label no watch reports it.
    scenario.api.change("configmaps", "ours", |config| config["metadata"]["labels"] = json!({}));
    let labelled = |api: &MockApi| {
        let labels = api.get("configmaps", "ours").unwrap_or_default()["metadata"]["labels"].clone();
        labels["app.kubernetes.io/managed-by"] == IDENTITY.name
    };
    scenario.until("the label is back", labelled).await;
    assert!(!is_blocked(&scenario.api, "b"));
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn cluster_scoped_objects_are_watched_in_the_whole_cluster_by_a_namespaced_manager() {
    let (api, client) = MockApi::start();
    let namespaces = vec!["team-a".to_owned(), "team-b".to_owned()];
    let settings = ScenarioSettings { namespaces, ..ScenarioSettings::default() };
    let mut scenario = Scenario::on(api, client, operator(), settings);
    scenario.synced().await;
    let mut home = site("home", "home");
    home["metadata"]["namespace"] = json!("team-a");
    scenario.api.put("sites", home);
    let nodes =
        |api: &MockApi| api.get("sites", "team-a/home").unwrap_or_default()["status"]["nodes"].clone();
    scenario.until("there is none", |api| nodes(api) == 0).await;
    for name in ["one", "two"] {
        scenario.api.put("nodes", json!({"metadata": {"name": name}}));
    }
    scenario.until("both are counted", |api| nodes(api) == 2).await;
    scenario.quiet().await;
    assert_eq!(scenario.kept("queued"), 0);
    scenario.end().await;

    let permissions = operator().permissions();
    let is_nodes = |rule: &operator_runtime::rbac::Rule| rule.resource == "nodes";
    assert!(permissions.cluster.iter().any(is_nodes), "a Role cannot grant it");
    assert!(!permissions.watched.iter().any(is_nodes));
}

#[tokio::test(start_paused = true)]
async fn handle_of_another_controller_fails_the_reconcile() {
    let other = TestController::new(Sites::new).config;
    let mistaken = |watches: &mut Watches<Site>| Sites { mistaken: Some(other), ..Sites::new(watches) };
    let scenario = Scenario::start(Operator::new(IDENTITY).controller(mistaken));
    scenario.api.put("sites", site("a", "a"));
    let failed = |page: String| {
        page.lines()
            .filter_map(|line| {
                line.strip_prefix("controller_runtime_reconcile_errors_total{controller=\"site\"} ")
            })
            .any(|count| count != "0")
    };
    scenario.until("it fails", |_| failed(scenario.metrics.page())).await;
    assert_ne!(scenario.api.condition("sites", "a", "Available")["reason"], "Mistaken");
    scenario.end().await;
}

#[tokio::test]
async fn api_server_rejects_the_first_apply_of_an_object_that_exists() {
    let Some(plane) = ControlPlane::start().await.unwrap() else {
        test_support::skip("set KUBEBUILDER_ASSETS, or TEST_ASSET_KUBE_APISERVER and TEST_ASSET_ETCD");
        return;
    };
    let operator = operator()
        .crd(Crd::new::<Site>())
        .sample("a.yaml", site("a", "theirs"))
        .sample("b.yaml", site("b", "ours"));
    plane.install(&operator).await.unwrap();
    let configs: Api<ConfigMap> = Api::default_namespaced(plane.client().clone());
    let theirs = ConfigMap {
        metadata: ObjectMeta { name: Some("theirs".to_owned()), ..ObjectMeta::default() },
        data: Some([("key".to_owned(), "value".to_owned())].into()),
        ..ConfigMap::default()
    };
    let before = configs.create(&PostParams::default(), &theirs).await.unwrap();
    plane.create_samples(&operator).await.unwrap();
    let running = plane.run(&operator);

    plane.until("one is created", async |_| configs.get_opt("ours").await.unwrap().is_some()).await;
    let fields = configs.get("ours").await.unwrap().metadata.managed_fields.unwrap();
    assert!(fields.iter().all(|field| field.operation.as_deref() == Some("Apply")), "{fields:?}");
    let sites: Api<Site> = Api::default_namespaced(plane.client().clone());
    plane
        .until("the other one is blocked", async |_| {
            let status = sites.get("a").await.unwrap().status.unwrap_or_default();
            status.conditions.iter().any(|condition| condition.reason == "ConfigMapBlocked")
        })
        .await;
    let after = configs.get("theirs").await.unwrap();
    assert_eq!(after.metadata.resource_version, before.metadata.resource_version, "unchanged");
    configs.delete("theirs", &DeleteParams::default()).await.unwrap();
    plane
        .until("it is created once the name is free", async |_| {
            let found = configs.get_opt("theirs").await.unwrap();
            found.is_some_and(|config| config.metadata.owner_references.is_some())
        })
        .await;
    running.stop().await;

    // Kinds with a storage of their own.
    let ports = json!({"selector": {"a": "b"}, "ports": [{"port": 80}]});
    let budget = json!({"selector": {"matchLabels": {"a": "b"}}, "maxUnavailable": 1});
    for (api_version, kind, spec) in [("v1", "Service", ports), ("policy/v1", "PodDisruptionBudget", budget)]
    {
        let object = json!({
            "apiVersion": api_version, "kind": kind, "metadata": {"name": "first", "resourceVersion": "1"}, "spec": spec,
        });
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = ApiResource::from_gvk(&object.types.as_ref().unwrap().try_into().unwrap());
        let api: Api<DynamicObject> = Api::default_namespaced_with(plane.client().clone(), &kind);
        let apply = || async { api.patch("first", &PatchParams::apply("a"), &Patch::Apply(&object)).await };
        apply().await.unwrap();
        let error = apply().await.unwrap_err();
        assert!(matches!(&error, kube::Error::Api(status) if status.is_conflict()), "{error}");
    }
}

/// A namespaced kind that owns a cluster-scoped one.
struct Owner;

impl Owner {
    fn new(watches: &mut Watches<Site>) -> Self {
        watches.child::<Node, Exists>();
        Self
    }
}

impl Reconciler for Owner {
    type Object = Site;
    type Status = SiteStatus;
    type External = ();

    fn desired(&self, _: &Site, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Site, observed: &Observed<Self>) -> SiteStatus {
        observed.draft().finish()
    }
}

#[test]
fn namespaced_object_cannot_own_a_cluster_scoped_one() {
    let error = Operator::new(IDENTITY).controller(Owner::new).validate().unwrap_err();
    assert!(matches!(error, InvalidOperator::ClusterScopedChild { .. }), "{error}");
}
