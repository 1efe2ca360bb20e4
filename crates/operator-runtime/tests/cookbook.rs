//! The snippets of `docs/cookbook.md`, in an operator that compiles.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Container, Namespace, Node, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, ObjectMeta};
use kube::api::{Api, ListParams};
use kube::core::{Expression, Selector, SelectorExt as _};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Client, CustomResource, ResourceExt};
use operator_runtime::admission::{Decision, Operation, Request, RequestExt as _, Webhook};
use operator_runtime::context::Context;
use operator_runtime::controller::{
    Child, ChildOptions, Children, Cleanup, Error, External, Failure, ImmutableFields, Invalid, Observed,
    OwnMetadata, RateLimit, Reconciler, Reference, References, Status, Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::labels::Instance;
use operator_runtime::manager::serve::axum::routing::get;
use operator_runtime::manager::{self, Manager};
use operator_runtime::metrics::prometheus_client::metrics::counter::Counter;
use operator_runtime::rbac::Rule;
use operator_runtime::testing::{self, Fault, MockApi, Scenario, TestController, admission_review};
use operator_runtime::views::{Rollout, SecretData};
use operator_runtime::{Identity, Operator, generate, workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::oneshot;

const IDENTITY: Identity = Identity {
    name: "cache-operator",
    group: "example.com",
    version: "0.0.1",
    about: "Runs caches",
    image: "example.com/cache-operator",
};

/// Desired state of a Cache.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Cache",
    namespaced,
    status = "CacheStatus",
    derive = "Default"
)]
struct CacheSpec {
    /// Number of servers.
    size: i32,
}

/// Observed state of a Cache.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct CacheStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
}
impl Status for CacheStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

#[rustfmt::skip]
struct Caches {
    image: String,
    deployment: Child<Deployment, Rollout>,      // the status reads the rollout
    service: Child<Service>,                     // the status reads nothing
    budget: Child<PodDisruptionBudget>,
}

impl Caches {
    fn new(watches: &mut Watches<Cache>, image: &str) -> Self {
        Self {
            image: image.to_owned(),
            deployment: watches.child(),
            service: watches.child(),
            // Deleted when `desired` no longer contains it.
            budget: watches.child_with(ChildOptions::new().optional()),
        }
    }
}

impl Reconciler for Caches {
    type Object = Cache;
    type Status = CacheStatus;
    type External = ();

    fn desired(&self, object: &Cache, _: &Observed<Self>) -> Result<Children, Error> {
        let container =
            Container { name: "cache".to_owned(), image: Some(self.image.clone()), ..Container::default() };
        let mut children = Children::new();
        #[rustfmt::skip]
        let instance = Instance { operator: &IDENTITY, app: "cache", name: &object.name_any(), image: &self.image };
        #[rustfmt::skip]
        children.add(self.deployment, workload::deployment(&instance, object.spec.size, workload::restricted_pod(vec![container])));
        children.add(self.service, workload::headless_service(&instance, "cache", 11211));
        if object.spec.size > 1 {
            children.add(self.budget, workload::disruption_budget(&instance));
        }
        Ok(children)
    }

    fn status(&self, _: &Cache, observed: &Observed<Self>) -> CacheStatus {
        observed.draft().finish()
    }
}

/// Applies in steps.
struct Steps {
    config: Child<ConfigMap>,
    servers: Child<StatefulSet>,
}

impl Steps {
    fn new(watches: &mut Watches<Cache>) -> Self {
        Self { config: watches.child(), servers: watches.child() }
    }
}

impl Reconciler for Steps {
    type Object = Cache;
    type Status = CacheStatus;
    type External = ();

    fn desired(&self, object: &Cache, observed: &Observed<Self>) -> Result<Children, Error> {
        let config = format!("{}-config", object.name_any());
        let metadata = |name: String| ObjectMeta { name: Some(name), ..ObjectMeta::default() };
        let mut children = Children::new();
        children.add(self.config, ConfigMap { metadata: metadata(config.clone()), ..ConfigMap::default() });
        let stateful_set = StatefulSet { metadata: metadata(object.name_any()), ..StatefulSet::default() };
        if observed.child(self.config, &config).is_some() {
            children.add(self.servers, stateful_set);
        }
        Ok(children)
    }

    fn status(&self, _: &Cache, observed: &Observed<Self>) -> CacheStatus {
        observed.draft().finish()
    }
}

async fn check(request: Request, client: Client) -> Result<Decision, Error> {
    let cache = request.parse::<Cache>()?;
    let shrinks = request.parse_old::<Cache>()?.is_some_and(|old| cache.spec.size < old.spec.size);
    if shrinks && !request.dry_run {
        let nodes: Api<Node> = Api::all(client);
        if nodes.list_metadata(&ListParams::default().limit(1)).await?.items.is_empty() {
            return Err(Invalid::new("spec.size: cannot shrink while there are no nodes").into());
        }
    }
    Ok(Decision::allowed())
}

fn webhook() -> Webhook {
    Webhook::validating::<Cache, _>(check).on([Operation::Update])
}

async fn is_allowed(webhook: &Webhook, object: &Value, old: Option<&Value>) -> bool {
    let (_api, client) = MockApi::start();
    let review = serde_json::to_vec(&admission_review(object, old)).unwrap();
    let response = webhook.respond(&client, &review).await.unwrap();
    let response: Value = serde_json::from_slice(&response).unwrap();
    response["response"]["allowed"] == true
}

#[tokio::test]
async fn webhook_is_asked_without_a_server() {
    assert!(is_allowed(&webhook(), &json!(cache()), None).await);
    assert!(!is_allowed(&webhook(), &json!({"kind": "Cache", "spec": {"size": "large"}}), None).await);
}

/// Desired state of a Mirror.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Mirror")]
struct MirrorSpec {
    namespace: String,
    secret: String,
    label: String,
}

/// Copies a Secret into namespaces.
struct Mirrors {
    copies: Child<Secret>,
    source: References<Secret, SecretData>,
    namespaces: References<Namespace>,
}

impl Mirrors {
    fn new(watches: &mut Watches<Mirror>) -> Self {
        Self {
            copies: watches.child_with(ChildOptions::new().optional()),
            source: watches.referenced(|mirror| {
                vec![Reference::named(&mirror.spec.secret).in_namespace(&mirror.spec.namespace)]
            }),
            namespaces: watches.referenced(|mirror| {
                vec![Reference::labelled(Selector::from(Expression::Exists(mirror.spec.label.clone())))]
            }),
        }
    }
}

impl Reconciler for Mirrors {
    type Object = Mirror;
    type Status = ();
    type External = ();

    fn desired(&self, mirror: &Mirror, observed: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let Some(source) = observed.reference(self.source) else { return Ok(children) };
        for (namespace, _) in observed.references(self.namespaces) {
            let copy = Secret {
                metadata: ObjectMeta {
                    name: Some(mirror.spec.secret.clone()),
                    namespace: Some(namespace.name.clone()),
                    ..ObjectMeta::default()
                },
                data: Some(source.data.clone()),
                ..Secret::default()
            };
            children.add(self.copies, copy);
        }
        Ok(children)
    }

    fn status(&self, _: &Mirror, _: &Observed<Self>) {}
}

/// Labels nodes.
struct Nodes {
    labels: OwnMetadata,
}

impl Nodes {
    fn new(watches: &mut Watches<Node>) -> Self {
        Self { labels: watches.own_metadata() }
    }
}

impl Reconciler for Nodes {
    type Object = Node;
    type Status = ();
    type External = ();

    fn desired(&self, _: &Node, _: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        children.set_label(self.labels, "nodes.example.com/class", Some("large"));
        Ok(children)
    }

    fn status(&self, _: &Node, _: &Observed<Self>) {}
}

/// Desired state of a Database.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[kube(group = "example.com", version = "v1", kind = "Database", namespaced)]
struct DatabaseSpec {
    token: String,
}

/// Where a database is.
struct Address(String);

struct Cloud;

#[derive(Debug, thiserror::Error)]
enum CloudError {
    #[error("the quota is exceeded")]
    QuotaExceeded,
    #[error("databases of this kind are not supported")]
    Unsupported,
}

#[allow(clippy::unused_async, reason = "a real cloud is called over the network")]
impl Cloud {
    async fn ensure(&self, name: &str, _: &str) -> Result<Address, CloudError> {
        match name {
            "huge" => return Err(CloudError::QuotaExceeded),
            "odd" => return Err(CloudError::Unsupported),
            _ => {}
        }
        Ok(Address(format!("{name}.example.com")))
    }
    async fn delete(&self, _: &str) -> Result<bool, CloudError> {
        Ok(true)
    }
}

/// Creates databases in a cloud.
struct Databases {
    token: References<Secret, SecretData>,
    credentials: Child<Secret>,
    servers: Child<StatefulSet, Rollout>,
    limit: RateLimit,
    cloud: Cloud,
}

impl Databases {
    fn new(watches: &mut Watches<Database>) -> Self {
        let servers = watches.child_with(ChildOptions::new().immutable_fields(ImmutableFields::ExpandClaims));
        Self {
            token: watches.referenced(|database: &Database| vec![Reference::named(&database.spec.token)]),
            credentials: watches.child(),
            servers,
            limit: RateLimit::new(Duration::from_millis(200), 10),
            cloud: Cloud,
        }
    }
}

#[rustfmt::skip]
impl Reconciler for Databases {
    type Object = Database;
    type Status = ();
    type External = Address;
    const FINALIZER: Option<&'static str> = Some("example.com/finalizer");

    async fn reconcile_external(
        &self,
        database: &Database,
        observed: &Observed<Self>,
        _: &Context,
    ) -> Result<External<Address>, Error> {
        let token = observed.reference(self.token).and_then(|secret| secret.string("token"));
        let token = token.ok_or_else(|| Invalid::new("spec.token: the Secret has no key `token`"))?;
        self.limit.acquire().await;
        let address = self.cloud.ensure(&database.name_any(), token).await?;
        Ok(External::new(address).again_after(Duration::from_mins(5)))
    }

    async fn cleanup(
        &self,
        database: &Database,
        _: &Observed<Self>,
        _: &Context,
    ) -> Result<Cleanup, Error> {
        self.limit.acquire().await;
        if self.cloud.delete(&database.name_any()).await? {
            return Ok(Cleanup::Done);
        }
        Ok(Cleanup::waiting("The database is still being deleted", Duration::from_secs(10)))
    }

    fn retry(&self, failure: &Failure<'_>) -> Option<Duration> {
        match failure.error().downcast_ref::<CloudError>() {
            Some(CloudError::QuotaExceeded) => Some(Duration::from_mins(30)),
            Some(CloudError::Unsupported) => None,
            _ => Some(failure.delay()),
        }
    }

    fn desired(&self, object: &Database, observed: &Observed<Self>) -> Result<Children, Error> {
        let mut children = Children::new();
        let credentials = Secret {
            metadata: ObjectMeta { name: Some(format!("{}-credentials", object.name_any())), ..ObjectMeta::default() },
            string_data: Some([("password".to_owned(), generate::password(32)?)].into()),
            ..Secret::default()
        };
        children.create_once(self.credentials, credentials);
        let servers = StatefulSet {
            metadata: ObjectMeta {
                name: Some(object.name_any()),
                annotations: observed.external().map(|Address(name)| [("address".to_owned(), name.clone())].into()),
                ..ObjectMeta::default()
            },
            ..StatefulSet::default()
        };
        children.add(self.servers, servers);
        Ok(children)
    }

    fn status(&self, _: &Database, _: &Observed<Self>) {}
}

async fn reconcile(_: Arc<Secret>, _: Arc<Context>) -> Result<Action, kube::Error> {
    std::future::ready(Ok(Action::await_change())).await
}

fn error_policy(_: Arc<Secret>, _: &kube::Error, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_secs(5))
}

fn operator() -> Operator {
    let caches = |watches: &mut _| Caches::new(watches, "example.com/cache:v1");
    let rules = [Rule::new("", "secrets", &["list", "watch"], "reconciles them")];
    #[rustfmt::skip]
    let operator = Operator::new(IDENTITY).kube_controller("secret", rules, |context, stop, measure| {
        let secrets: Api<Secret> = Api::all(context.client().clone());
        Controller::new(secrets, watcher::Config::default())
            .graceful_shutdown_on(stop.wait())
            .run(measure.reconcile(reconcile), error_policy, Arc::new(context))
    });
    operator.crd(Crd::new::<Cache>()).controller(caches)
}

#[rustfmt::skip]
async fn run(operator: Operator, client: kube::Client, stop: oneshot::Receiver<()>) -> Result<(), manager::Error> {
    let mut options = manager::Options::default();
    options.watch_namespace = "team-a".into();
    let stopped = async { drop(stop.await) };
    Manager::new(operator, options).client(client).stop_on(stopped).run().await
}

fn count_backups(context: &Context) -> Counter {
    let backups = Counter::<u64>::default();
    context.metrics().register("backups", "Total number of backups", backups.clone());
    backups
}

fn with_routes(operator: Operator, backups: Counter) -> Operator {
    operator.route("/backups/count", get(async move || backups.get().to_string()))
}

fn cache() -> Cache {
    let mut cache = Cache::new("one", CacheSpec { size: 2 });
    cache.metadata.namespace = Some("default".to_owned());
    cache
}

struct Report {
    spec: ReportSpec,
}

struct ReportSpec {
    sources: LabelSelector,
}

fn selector(report: &Report) -> Result<Selector, Invalid> {
    let selector = report.spec.sources.clone();
    selector.try_into().map_err(|error| Invalid::new(format!("spec.sources: {error}")))
}

#[test]
fn selector_that_users_write_is_checked() {
    let sources =
        |value: Value| Report { spec: ReportSpec { sources: serde_json::from_value(value).unwrap() } };
    let all = selector(&sources(json!({}))).unwrap();
    assert!(all.matches(&BTreeMap::new()));
    let invalid = selector(&sources(json!({"matchExpressions": [{"key": "k", "operator": "Near"}]})));
    insta::assert_snapshot!(invalid.unwrap_err().message());
}

/// The lines of a text without indentation.
fn lines(text: &str) -> String {
    text.lines().map(|line| line.trim().to_owned() + "\n").collect()
}

#[test]
fn cookbook_snippets_are_all_in_this_file() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cookbook.md");
    let cookbook = std::fs::read_to_string(docs).unwrap();
    let here = lines(include_str!("cookbook.rs")).replace("#[rustfmt::skip]\n", "");
    let snippets: Vec<_> =
        cookbook.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(snippets.len() >= 4, "{}", snippets.len());
    for snippet in snippets {
        let wanted = lines(snippet);
        // The last line of an expression may go on here.
        assert!(here.contains(wanted.trim_end()), "not in this file:\n{snippet}");
    }
}

#[tokio::test(start_paused = true)]
async fn manager_runs_with_a_given_client_until_it_is_stopped() {
    let operator = Operator::new(IDENTITY).task("backups", [], |context, stop| async move {
        count_backups(&context).inc_by(3);
        assert!(context.metrics().page().contains("\nbackups_total 3\n"));
        stop.wait().await;
        Ok(())
    });
    let (_api, client) = testing::MockApi::start();
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(run(operator, client, stopped));
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn manager_serves_own_routes() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let mut options = manager::Options::default();
    options.health_probe_bind_address = "0".to_owned();
    options.metrics_bind_address = address.to_string();
    options.metrics_secure = false;
    let backups = Counter::default();
    backups.inc_by(3);
    let operator = with_routes(Operator::new(IDENTITY), backups);
    let (_api, client) = testing::MockApi::start();
    let (stop, stopped) = oneshot::channel::<()>();
    let manager = Manager::new(operator, options).client(client).stop_on(async { drop(stopped.await) });
    let running = tokio::spawn(manager.run());
    let mut connection = loop {
        match tokio::net::TcpStream::connect(address).await {
            Ok(connection) => break connection,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    let request = b"GET /backups/count HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    connection.write_all(request).await.unwrap();
    let mut response = String::new();
    connection.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with("\r\n\r\n3"), "{response}");
    stop.send(()).unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn webhook_denies_what_the_cookbook_says() {
    let (api, client) = testing::MockApi::start();
    let larger = Cache::new("one", CacheSpec { size: 3 });
    let review = testing::admission_review(&json!(cache()), Some(&json!(larger))).to_string();
    let answer =
        async || String::from_utf8(webhook().respond(&client, review.as_bytes()).await.unwrap()).unwrap();
    assert!(answer().await.contains("cannot shrink"));
    api.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    assert!(answer().await.contains("\"allowed\":true"));
    let manifests = operator_runtime::manifests::documents(&operator().webhook(webhook()), "image").unwrap();
    assert!(
        manifests.contains("  - operations:\n    - UPDATE\n")
            || manifests.contains("operations:\n    - UPDATE\n"),
        "{manifests}"
    );
    assert!(!manifests.contains("- CREATE\n"), "{manifests}");
}

#[test]
fn test_controller_runs_pure_functions() {
    let controller = TestController::new(|watches| Caches::new(watches, "example.com/cache:v1"));
    let object = cache();
    let rollout = json!({"spec": {"replicas": 2}, "status": {"replicas": 2, "availableReplicas": 2}});
    let observed = controller.observed(&object).with_child(controller.deployment, "one", &rollout);
    let status = controller.status(&object, &observed);
    let applied = controller.applied_from(&object, &observed, &IDENTITY);
    assert_eq!((status.conditions.len(), applied.unwrap().len()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn scenario_runs_the_controllers() {
    let operator = operator();
    let scenario = Scenario::start(operator);
    scenario.api.put("caches", json!(cache()));
    scenario.until("it has a Deployment", |api| api.get("deployments", "one").is_some()).await;
    scenario.roll_out("deployments", "one");
    scenario.quiet().await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn mirrors_nodes_and_databases_do_what_the_cookbook_says() {
    let operator =
        Operator::new(IDENTITY).controller(Mirrors::new).controller(Nodes::new).controller(Databases::new);
    let scenario = Scenario::start(operator);
    let api = &scenario.api;
    api.put("nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    api.put("namespaces", json!({"metadata": {"name": "team", "labels": {"mirrored": ""}}}));
    let spec = json!({"namespace": "vault", "secret": "token", "label": "mirrored"});
    api.put(
        "mirrors",
        json!({"apiVersion": "example.com/v1", "kind": "Mirror", "metadata": {"name": "m"}, "spec": spec}),
    );
    let spec = json!({"token": "token"});
    api.put(
        "databases",
        json!({"apiVersion": "example.com/v1", "kind": "Database",
            "metadata": {"name": "d", "namespace": "team"}, "spec": spec}),
    );
    let secret = json!({"metadata": {"name": "token", "namespace": "vault"}, "stringData": {"token": "x"}});
    api.put("secrets", secret);
    let address = |api: &testing::MockApi| {
        let set = api.get("statefulsets", "team/d").unwrap_or_default();
        set["metadata"]["annotations"]["address"].clone()
    };
    // The copy of the one is what the other refers to.
    scenario.until("the database has its address", |api| address(api) == "d.example.com").await;
    let password = api.get("secrets", "team/d-credentials").unwrap()["data"]["password"].clone();
    assert!(password.is_string());
    // A field cannot be changed: the set is created again, and what it owned stays.
    let uid = |api: &testing::MockApi| {
        api.get("statefulsets", "team/d").unwrap_or_default()["metadata"]["uid"].clone()
    };
    let first = uid(api);
    scenario.quiet().await;
    api.fault(Fault {
        message: "spec: Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
        ..Fault::new("patch", "statefulsets", 422, "Invalid")
    });
    api.change("statefulsets", "team/d", |set| set["metadata"]["annotations"]["address"] = json!("other"));
    scenario.until("it is created again", |api| uid(api).is_string() && uid(api) != first).await;
    assert_eq!(address(api), "d.example.com");
    scenario
        .until("the node is labelled", |api| {
            api.get("nodes", "n").unwrap()["metadata"]["labels"]["nodes.example.com/class"] == "large"
        })
        .await;
    scenario.end().await;
}

#[test]
fn snippets_do_what_the_cookbook_says() {
    let caches = testing::TestController::new(|watches| Caches::new(watches, "example.com/cache:v1"));
    let objects = caches.applied(&cache(), &IDENTITY).unwrap();
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Deployment", "Service", "PodDisruptionBudget"]);
    let first = testing::TestController::new(Steps::new).applied(&cache(), &IDENTITY).unwrap();
    let kinds: Vec<_> = first.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap"]);
    let manifests = operator_runtime::manifests::documents(&operator(), IDENTITY.image).unwrap();
    for resource in ["deployments", "poddisruptionbudgets", "secrets", "services"] {
        assert!(
            manifests.contains(&format!("  - {resource}\n")),
            "no permission for {resource}:\n{manifests}"
        );
    }
}
