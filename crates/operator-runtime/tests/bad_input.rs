//! Bad input: references to what may not be read or does not exist, in cycles or by the thousand, and external systems that lie. Each
//! ends as a condition with words, in bounded memory, and without a loop that does not pause.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::core::{Expression, Selector};
use kube::{CustomResource, ResourceExt};
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::context::Context;
use operator_runtime::controller::{
    Child, ChildOptions, Children, Cleanup, Error, External, Invalid, Observed, Reconciler, Reference,
    References, Status, Watches,
};
use operator_runtime::crd::Crd;
use operator_runtime::testing::{Fault, MockApi, Scenario, ScenarioSettings};
use operator_runtime::views::{ConfigMapData, SecretData};
use operator_runtime::{Identity, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::sleep;

const IDENTITY: Identity = Identity {
    name: "report-operator",
    group: "reports.example.com",
    version: "0.0.1",
    about: "Writes reports",
    image: "example.com/report-operator",
};

/// Desired state of a Report.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "reports.example.com",
    version = "v1",
    kind = "Report",
    namespaced,
    status = "ReportStatus",
    derive = "Default"
)]
struct ReportSpec {
    /// The label of the `ConfigMap`s that the report is about.
    #[serde(default)]
    about: Option<String>,
    /// The Secret with the credentials.
    #[serde(default)]
    secret: Option<String>,
    /// The report that this one continues.
    #[serde(default)]
    after: Option<String>,
}

/// Observed state of a Report.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct ReportStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
    #[serde(default)]
    sources: usize,
    /// One more than in the report that this one continues.
    #[serde(default)]
    part: u64,
}
impl Status for ReportStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

/// What the external system answers.
type Answer = fn(calls: usize) -> Result<External<String>, Error>;
type CleanupAnswer = fn(calls: usize) -> Result<Cleanup, Error>;

/// The status of another report.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct Part {
    status: PartStatus,
}
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
struct PartStatus {
    part: u64,
}

struct Reports {
    text: Child<ConfigMap>,
    sources: References<ConfigMap, ConfigMapData>,
    secret: References<Secret, SecretData>,
    after: References<Report, Part>,
    answer: Answer,
    cleanup: CleanupAnswer,
    /// How often `desired` was called, and the external system.
    desired: Arc<AtomicUsize>,
    calls: Arc<Mutex<usize>>,
}

impl Reconciler for Reports {
    type Object = Report;
    type Status = ReportStatus;
    type External = String;
    const FINALIZER: Option<&'static str> = Some("reports.example.com/finalizer");

    async fn reconcile_external(
        &self,
        _: &Report,
        _: &Observed<Self>,
        _: &Context,
    ) -> Result<External<String>, Error> {
        (self.answer)(count(&self.calls))
    }

    async fn cleanup(&self, _: &Report, _: &Observed<Self>, _: &Context) -> Result<Cleanup, Error> {
        (self.cleanup)(count(&self.calls))
    }

    fn desired(&self, report: &Report, observed: &Observed<Self>) -> Result<Children, Error> {
        self.desired.fetch_add(1, Ordering::SeqCst);
        let mut children = Children::new();
        if report.spec.secret.is_none() || observed.reference(self.secret).is_some() {
            let metadata = ObjectMeta { name: Some(report.name_any()), ..ObjectMeta::default() };
            children.add(self.text, ConfigMap { metadata, ..ConfigMap::default() });
        }
        Ok(children)
    }

    fn status(&self, report: &Report, observed: &Observed<Self>) -> ReportStatus {
        let mut status = observed.draft();
        status.sources = observed.references(self.sources).count();
        status.part = observed.reference(self.after).map_or(0, |after| after.status.part + 1);
        let exists = observed.child(self.text, &report.name_any()).is_some();
        status.set("Available", if exists { True } else { False }, "Written", "Whether the report exists");
        status.degraded(observed.problem());
        status.finish()
    }
}

fn count(calls: &Mutex<usize>) -> usize {
    let mut calls = calls.lock().unwrap();
    *calls += 1;
    *calls
}

#[derive(Default)]
struct Counts {
    desired: Arc<AtomicUsize>,
    calls: Arc<Mutex<usize>>,
}

impl Counts {
    fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }
}

fn operator(answer: Answer, cleanup: CleanupAnswer) -> (Operator, Counts) {
    let counts = Counts::default();
    let (desired, calls) = (Arc::clone(&counts.desired), Arc::clone(&counts.calls));
    let operator =
        Operator::new(IDENTITY).crd(Crd::new::<Report>()).controller(|watches: &mut Watches<Report>| {
            let named = |name: &Option<String>| name.iter().map(Reference::named).collect::<Vec<_>>();
            Reports {
                text: watches.child_with(ChildOptions::new().optional()),
                sources: watches.referenced(|report| {
                    let label = report.spec.about.iter();
                    let selector = |label: &String| Selector::from(Expression::Exists(label.clone()));
                    label.map(|label| Reference::labelled(selector(label)).in_all_namespaces()).collect()
                }),
                secret: watches.referenced(move |report| named(&report.spec.secret)),
                after: watches.referenced(move |report| named(&report.spec.after)),
                answer,
                cleanup,
                desired,
                calls,
            }
        });
    (operator, counts)
}

fn honest() -> (Operator, Counts) {
    operator(|_| Ok(External::none()), |_| Ok(Cleanup::Done))
}

fn report(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "reports.example.com/v1", "kind": "Report", "metadata": {"name": name}, "spec": spec})
}

fn degraded(api: &MockApi, name: &str) -> [String; 2] {
    let condition = api.condition("reports", name, "Degraded");
    ["reason", "message"].map(|field| condition[field].as_str().unwrap_or_default().to_owned())
}

fn status(api: &MockApi, name: &str, field: &str) -> Value {
    api.get("reports", name).unwrap_or_default()["status"][field].clone()
}

#[tokio::test(start_paused = true)]
async fn references_that_may_not_be_read_are_shown_and_take_nothing_for_missing() {
    for (code, reason, message) in
        [(403, "Forbidden", "secrets is forbidden"), (404, "NotFound", "the server does not know the kind")]
    {
        let (api, client) = MockApi::start();
        let (operator, counts) = honest();
        // What was there before the permission was lost, in the namespace of the reports.
        api.put("secrets", json!({"metadata": {"name": "token"}}));
        api.put("reports", report("with", &json!({"secret": "token"})));
        api.put("reports", report("without", &json!({})));
        api.fault(Fault { times: 1000, message, ..Fault::new("list", "secrets", code, reason) });
        let scenario = Scenario::on(api, client, operator, ScenarioSettings::default());
        let api = &scenario.api;
        let expected =
            ["ReferencesUnreadable".to_owned(), format!("the Secret objects cannot be listed: {message}")];
        scenario.until("it is shown", |api| degraded(api, "with") == expected).await;
        scenario.until("others are reconciled", |api| api.get("configmaps", "without").is_some()).await;
        sleep(Duration::from_mins(10)).await;
        assert_eq!(degraded(api, "with"), expected);
        let lists =
            api.calls().iter().filter(|call| call.verb == "list" && call.resource == "secrets").count();
        assert!((100..300).contains(&lists), "{lists} attempts to list in ten minutes");
        assert!(api.get("configmaps", "with").is_none(), "nothing is decided");
        let before = counts.calls();
        api.delete("reports", "with");
        let finalizing = ["Finalizing".to_owned(), expected[1].clone()];
        scenario.until("the deletion waits", |api| degraded(api, "with") == finalizing).await;
        assert_eq!(counts.calls(), before, "`cleanup` is not called without what it refers to");
        api.put("reports", report("later", &json!({"secret": "token"})));
        scenario.until("a new one is told, too", |api| degraded(api, "later") == expected).await;
        api.clear_faults();
        scenario.until("it is read", |api| api.get("configmaps", "later").is_some()).await;
        scenario.until("it is deleted", |api| api.get("reports", "with").is_none()).await;
        scenario.until("all is well", |api| degraded(api, "later")[0] == "AsExpected").await;
        scenario.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn selector_of_many_objects_costs_one_cache_and_few_reconciles() {
    const MANY: usize = 10_000;
    let (api, client) = MockApi::start();
    let source = |index: usize, text: &str| {
        let metadata =
            json!({"name": format!("s-{index}"), "namespace": "elsewhere", "labels": {"source": ""}});
        json!({"metadata": metadata, "data": {"text": text}})
    };
    for index in 0..MANY {
        api.put("configmaps", source(index, ""));
    }
    let names = ["a", "b", "c"];
    for name in names {
        api.put("reports", report(name, &json!({"about": "source"})));
    }
    let (operator, counts) = honest();
    let scenario = Scenario::on(api, client, operator, ScenarioSettings::default());
    let api = &scenario.api;
    let counted = |api: &MockApi| names.iter().all(|name| status(api, name, "sources") == MANY);
    scenario.until("they are counted", counted).await;
    scenario.quiet().await;
    let kept = scenario.kept("references");
    assert!(kept <= MANY + 10 * names.len(), "{kept} are kept, whatever selects them");
    let desired = counts.desired.load(Ordering::SeqCst);
    assert!(desired < 100, "`desired` was called {desired} times");
    // Many of them change at once.
    for index in 0..MANY / 10 {
        api.put("configmaps", source(index, "new"));
    }
    scenario.quiet().await;
    let again = counts.desired.load(Ordering::SeqCst) - desired;
    assert!(again >= names.len() && again < MANY / 20, "`desired` was called {again} times");
    let writes = api.writes().len();
    assert!(writes < 50, "{writes} writes");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn cycle_of_references_comes_to_rest_or_is_paced() {
    let (operator, counts) = honest();
    let scenario = Scenario::start(operator);
    let api = &scenario.api;
    // What the reports show does not depend on each other, except for the part.
    api.put("reports", report("a", &json!({"after": "b"})));
    scenario.until("it waits", |api| status(api, "a", "part") == 0).await;
    api.put("reports", report("self", &json!({"after": "missing"})));
    scenario.quiet().await;
    let calls = api.calls().len();
    scenario.quiet().await;
    assert_eq!(api.calls().len(), calls, "no request at rest");
    // Each counts one more than the other: it never ends, and each write waits for its turn.
    api.put("reports", report("b", &json!({"after": "a"})));
    api.change("reports", "self", |report| report["spec"]["after"] = json!("self"));
    sleep(Duration::from_secs(10)).await;
    let (writes, desired) = (api.writes().len(), counts.desired.load(Ordering::SeqCst));
    sleep(Duration::from_secs(100)).await;
    let (writes, desired) = (api.writes().len() - writes, counts.desired.load(Ordering::SeqCst) - desired);
    assert!(writes > 10 && writes <= 3 * 101, "{writes} writes in 100 s");
    assert!(desired < 2000, "`desired` was called {desired} times in 100 s");
    // Once it is broken, it rests.
    api.change("reports", "b", |report| report["spec"] = json!({}));
    api.change("reports", "self", |report| report["spec"] = json!({}));
    scenario.quiet().await;
    assert_eq!([status(api, "b", "part"), status(api, "a", "part")], [json!(0), json!(1)]);
    scenario.end().await;
}

/// Desired state of a Review.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "reports.example.com",
    version = "v1",
    kind = "Review",
    namespaced,
    status = "ReportStatus",
    derive = "Default"
)]
struct ReviewSpec {
    /// The report that is reviewed.
    report: String,
}

/// Counts one more than the report does.
struct Reviews {
    report: References<Report, Part>,
}

impl Reconciler for Reviews {
    type Object = Review;
    type Status = ReportStatus;
    type External = ();

    fn desired(&self, _: &Review, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Review, observed: &Observed<Self>) -> ReportStatus {
        let mut status = observed.draft();
        status.part = observed.reference(self.report).map_or(0, |report| report.status.part + 1);
        status.set("Available", True, "Counted", "");
        status.finish()
    }
}

/// Counts one more than the review of the same name does.
struct ReviewedReports {
    review: References<Review, Part>,
}

impl Reconciler for ReviewedReports {
    type Object = Report;
    type Status = ReportStatus;
    type External = ();

    fn desired(&self, _: &Report, _: &Observed<Self>) -> Result<Children, Error> {
        Ok(Children::new())
    }

    fn status(&self, _: &Report, observed: &Observed<Self>) -> ReportStatus {
        let mut status = observed.draft();
        status.part = observed.reference(self.review).map_or(0, |review| review.status.part + 1);
        status.set("Available", True, "Counted", "");
        status.finish()
    }
}

#[tokio::test(start_paused = true)]
async fn cycle_of_two_kinds_is_paced() {
    let operator = Operator::new(IDENTITY)
        .crd(Crd::new::<Report>())
        .crd(Crd::new::<Review>())
        .controller(|watches: &mut Watches<Report>| ReviewedReports {
            review: watches.referenced(|report: &Report| vec![Reference::named(report.name_any())]),
        })
        .controller(|watches: &mut Watches<Review>| Reviews {
            report: watches.referenced(|review: &Review| vec![Reference::named(&review.spec.report)]),
        });
    let scenario = Scenario::start(operator);
    let api = &scenario.api;
    api.put("reports", report("a", &json!({})));
    api.put("reviews", json!({"metadata": {"name": "a"}, "spec": {"report": "a"}}));
    // Each counts one more than the other: it never ends, and each write waits for its turn.
    sleep(Duration::from_secs(10)).await;
    let writes = api.writes().len();
    sleep(Duration::from_secs(100)).await;
    let writes = api.writes().len() - writes;
    assert!(writes > 10 && writes <= 2 * 101, "{writes} writes in 100 s");
    // Once it is broken, it rests.
    api.delete("reviews", "a");
    scenario.quiet().await;
    assert_eq!(status(api, "a", "part"), 0);
    scenario.end().await;
}

/// Returns how often the external system is called in a minute about one report.
async fn calls_in_a_minute(answer: Answer) -> (usize, Scenario) {
    let (operator, counts) = operator(answer, |_| Ok(Cleanup::Done));
    let scenario = Scenario::start(operator);
    scenario.api.put("reports", report("r", &json!({})));
    sleep(Duration::from_secs(20)).await;
    let before = counts.calls();
    sleep(Duration::from_mins(1)).await;
    (counts.calls() - before, scenario)
}

#[tokio::test(start_paused = true)]
async fn times_that_make_no_sense_neither_panic_nor_loop() {
    let answers: [(Answer, usize, &str); 4] = [
        (|_| Ok(External::new(String::new()).again_after(Duration::ZERO)), 610, "AsExpected"),
        (|_| Ok(External::new(String::new()).again_after(Duration::MAX)), 0, "AsExpected"),
        (|_| Err(Error::retry_after(Duration::ZERO, "busy")), 121, "ExternalFailed"),
        (|_| Err(Error::retry_after(Duration::MAX, "busy")), 0, "ExternalFailed"),
    ];
    for (index, (answer, most, reason)) in answers.into_iter().enumerate() {
        let (calls, scenario) = calls_in_a_minute(answer).await;
        assert!(calls <= most, "answer {index}: {calls} calls in a minute");
        assert_eq!(degraded(&scenario.api, "r")[0], reason, "answer {index}");
        scenario.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn cleanup_that_waits_for_times_that_make_no_sense_neither_panics_nor_loops() {
    let answers: [(CleanupAnswer, usize, &str); 4] = [
        (|_| Ok(Cleanup::waiting("Still there", Duration::ZERO)), 610, "Still there"),
        (|_| Ok(Cleanup::waiting("Still there", Duration::MAX)), 1, "Still there"),
        (
            |_| Err(Error::retry_after(Duration::ZERO, "busy")),
            121,
            "Failed to clean up the custom resource r, retrying: busy",
        ),
        (
            |_| Err(Error::retry_after(Duration::MAX, "busy")),
            1,
            "Failed to clean up the custom resource r, retrying: busy",
        ),
    ];
    for (index, (answer, most, message)) in answers.into_iter().enumerate() {
        let (operator, counts) =
            operator(|_| Ok(External::none().again_after(Duration::from_hours(1))), answer);
        let scenario = Scenario::start(operator);
        scenario.api.put("reports", report("r", &json!({})));
        scenario.until("it exists", |api| api.get("configmaps", "r").is_some()).await;
        scenario.quiet().await;
        let before = counts.calls();
        scenario.api.delete("reports", "r");
        sleep(Duration::from_mins(1)).await;
        let calls = counts.calls() - before;
        assert!((1..=most).contains(&calls), "answer {index}: {calls} calls in a minute");
        assert_eq!(degraded(&scenario.api, "r"), ["Finalizing", message], "answer {index}");
        scenario.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_megabytes_are_cut_in_conditions_and_events() {
    let answers: [Answer; 3] = [
        |_| Err(Error::other("x".repeat(10 << 20))),
        |_| Err(Invalid::new("x".repeat(10 << 20)).into()),
        |_| panic!("{}", "x".repeat(10 << 10)),
    ];
    for (index, answer) in answers.into_iter().enumerate() {
        let (_, scenario) = calls_in_a_minute(answer).await;
        let api = &scenario.api;
        let stored = api.get("reports", "r").unwrap().to_string().len();
        assert!(stored < 4096, "answer {index}: {stored} bytes");
        assert!(degraded(api, "r")[1].ends_with("xxx"), "answer {index}");
        let events: Vec<usize> = api.store().all("events").map(|event| event.to_string().len()).collect();
        assert!(!events.is_empty() && events.iter().all(|size| *size < 4096), "answer {index}: {events:?}");
        scenario.end().await;
    }
}
