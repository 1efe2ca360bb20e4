//! What a controller does when others write at the same time, when writes fail, and when the reconciler itself errs.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::{CustomResource, ResourceExt};
use operator_runtime::conditions::ConditionStatus::{False, True};
use operator_runtime::controller::{
    Child, Children, Error, Failure, Invalid, Observed, Reconciler, Status, Watches,
};
use operator_runtime::testing::{Fault, MockApi, Scenario};
use operator_runtime::{Identity, Operator};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const IDENTITY: Identity = Identity {
    name: "page-operator",
    group: "pages.example.com",
    version: "0.0.1",
    about: "Serves pages",
    image: "example.com/page-operator",
};

/// Desired state of a Page.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "pages.example.com",
    version = "v1",
    kind = "Page",
    namespaced,
    status = "PageStatus",
    derive = "Default"
)]
struct PageSpec {
    /// What the page shows.
    text: String,
}

/// Observed state of a Page.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default, PartialEq)]
struct PageStatus {
    #[serde(default)]
    #[schemars(schema_with = "operator_runtime::conditions::schema")]
    conditions: Vec<Condition>,
    #[serde(default)]
    text: String,
}
impl Status for PageStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
    fn conditions_mut(&mut self) -> Option<&mut Vec<Condition>> {
        Some(&mut self.conditions)
    }
}

/// Returns the text of the page of a `ConfigMap`, which a test may make fail or change in every reconcile.
type Render = fn(&Page, calls: usize) -> Result<String, Error>;

/// More calls than any reconcile loop that ends makes.
const MAX_CALLS: usize = 2_000;

struct Pages {
    config: Child<ConfigMap>,
    render: Render,
    calls: Arc<AtomicUsize>,
}

impl Reconciler for Pages {
    type Object = Page;
    type Status = PageStatus;
    type External = ();

    fn desired(&self, page: &Page, _: &Observed<Self>) -> Result<Children, Error> {
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        assert!(calls < MAX_CALLS, "a reconcile loop without a pause");
        let mut children = Children::new();
        let config = ConfigMap {
            metadata: ObjectMeta { name: Some(page.name_any()), ..ObjectMeta::default() },
            data: Some([("text".to_owned(), (self.render)(page, calls)?)].into()),
            ..ConfigMap::default()
        };
        if page.spec.text == "twice" {
            children.add(self.config, config.clone());
        }
        children.add(self.config, config);
        Ok(children)
    }

    fn status(&self, page: &Page, observed: &Observed<Self>) -> PageStatus {
        let exists = observed.child(self.config, &page.name_any()).is_some();
        let mut status = observed.draft();
        status.text.clone_from(&page.spec.text);
        status.set("Available", if exists { True } else { False }, "Rendered", "Whether the page exists");
        status.degraded(observed.problem());
        status.finish()
    }

    fn retry(&self, failure: &Failure<'_>) -> Option<Duration> {
        match failure.error().downcast_ref::<Refused>() {
            Some(Refused::ForGood) => None,
            Some(Refused::AtFirst) if failure.attempts() >= 3 => None,
            Some(Refused::AtFirst) => Some(Duration::from_mins(7)),
            None => Some(failure.delay()),
        }
    }
}

/// Errors that the policy of the controller knows.
#[derive(Debug, thiserror::Error)]
#[error("refused")]
enum Refused {
    ForGood,
    AtFirst,
}

fn start(render: Render) -> (Scenario, Arc<AtomicUsize>) {
    let calls = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&calls);
    let pages = move |watches: &mut Watches<Page>| Pages { config: watches.child(), render, calls: counted };
    let scenario = Scenario::start(Operator::new(IDENTITY).controller(pages));
    (scenario, calls)
}

fn page(text: &str) -> Value {
    json!({
        "apiVersion": "pages.example.com/v1", "kind": "Page", "metadata": {"name": "home"}, "spec": {"text": text},
    })
}

fn shown(api: &MockApi) -> Value {
    api.get("configmaps", "home").unwrap_or_default()["data"]["text"].clone()
}

fn writes(api: &MockApi) -> usize {
    api.writes().iter().filter(|write| *write == "patch configmaps").count()
}

/// Shows the text with what an annotation and a label add.
#[allow(clippy::unnecessary_wraps, reason = "one of several `Render`")]
fn annotated(page: &Page, _: usize) -> Result<String, Error> {
    let annotation = page.annotations().get("suffix").map_or("", String::as_str);
    let label = page.labels().get("suffix").map_or("", String::as_str);
    Ok(format!("{}{annotation}{label}", page.spec.text))
}

#[tokio::test(start_paused = true)]
async fn metadata_changed_just_before_a_status_write_is_reconciled() {
    for field in ["annotations", "labels"] {
        let (scenario, _) = start(annotated);
        scenario.api.put("pages", page("one"));
        scenario.until("it is shown", |api| shown(api) == "one").await;
        scenario.quiet().await;
        // The response to the status write contains the change, and the watch reports both only later.
        scenario.api.intercept("patch", "pages/status", move |store| {
            store.hold_watches();
            store.edit("pages", "home", |page| page["metadata"][field] = json!({"suffix": "!"}));
        });
        scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!("two"));
        let written = |api: &MockApi| api.get("pages", "home").unwrap()["status"]["text"] == "two";
        scenario.until("the status is written", written).await;
        scenario.quiet().await;
        scenario.api.release_watches();
        scenario.quiet().await;
        assert_eq!(shown(&scenario.api), "two!", "{field}");
        scenario.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn status_of_others_changed_just_before_a_status_write_is_reconciled() {
    let reviewed = |page: &Page, _| {
        let conditions = page.status.iter().flat_map(|status| &status.conditions);
        let reviewed = conditions.filter(|condition| condition.type_ == "Reviewed").count();
        Ok(format!("{}{reviewed}", page.spec.text))
    };
    let (scenario, calls) = start(reviewed);
    scenario.api.put("pages", page("one"));
    scenario.until("it is shown", |api| shown(api) == "one0").await;
    scenario.quiet().await;
    scenario.api.intercept("patch", "pages/status", move |store| {
        store.hold_watches();
        store.edit("pages", "home", |page| {
            page["status"]["conditions"].as_array_mut().unwrap().push(json!({
                "type": "Reviewed", "status": "True", "reason": "Read", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }));
        });
    });
    scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!("two"));
    scenario.until("it is shown", |api| shown(api) == "two0" || shown(api) == "two1").await;
    scenario.quiet().await;
    scenario.api.release_watches();
    scenario.quiet().await;
    assert_eq!(shown(&scenario.api), "two1");
    let before = calls.load(Ordering::SeqCst);
    scenario.quiet().await;
    assert_eq!(calls.load(Ordering::SeqCst), before, "own writes cause no further reconcile");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn events_are_recorded_if_the_first_status_write_fails() {
    let (scenario, _) = start(annotated);
    scenario.api.fault(Fault::new("patch", "pages/status", 500, "InternalError"));
    scenario.api.put("pages", page("one"));
    let available = |api: &MockApi| api.condition("pages", "home", "Available")["status"] == "True";
    scenario.until("it is available", available).await;
    scenario.quiet().await;
    assert_eq!(scenario.api.events(), ["Created"]);
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn desired_state_that_is_never_the_same_is_written_with_a_backoff() {
    let (scenario, calls) = start(|_, calls| Ok(calls.to_string()));
    scenario.api.put("pages", page("one"));
    tokio::time::sleep(Duration::from_mins(10)).await;
    let (writes, calls) = (writes(&scenario.api), calls.load(Ordering::SeqCst));
    assert!((20..50).contains(&writes), "{writes} writes in ten minutes, {calls} calls");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn drift_that_another_controller_causes_again_and_again_is_reverted_with_a_backoff() {
    let (scenario, _) = start(annotated);
    scenario.api.put("pages", page("one"));
    scenario.until("it is shown", |api| shown(api) == "one").await;
    for _ in 0..6_000 {
        if shown(&scenario.api) == "one" {
            scenario.api.change("configmaps", "home", |config| config["data"]["text"] = json!("theirs"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let writes = writes(&scenario.api);
    assert!((20..50).contains(&writes), "{writes} writes in ten minutes");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn new_spec_is_written_at_once_however_often_the_children_were() {
    let (scenario, _) = start(annotated);
    scenario.api.put("pages", page("0"));
    for index in 1..100 {
        scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!(index.to_string()));
        let began = tokio::time::Instant::now();
        let text = json!(index.to_string());
        scenario.until("it is shown", |api| shown(api) == text).await;
        assert!(began.elapsed() < Duration::from_secs(1), "{index}");
    }
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn error_behind_a_question_mark_in_desired_is_shown_and_retried() {
    let (scenario, _) = start(|page, calls| {
        let number: i32 = if calls < 3 { "later".parse()? } else { 7 };
        Ok(format!("{}{number}", page.spec.text))
    });
    scenario.api.put("pages", page("one"));
    let shown_as = |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "ReconcileFailed";
    scenario.until("the failure is shown", shown_as).await;
    scenario.until("it is shown", |api| shown(api) == "one7").await;
    let healthy = |api: &MockApi| api.condition("pages", "home", "Degraded")["status"] == "False";
    scenario.until("the failure is over", healthy).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_object_is_shown_and_not_retried() {
    let (scenario, calls) = start(|page, _| match page.spec.text.as_str() {
        "" => Err(Invalid::new("spec.text: must not be empty").into()),
        text => Ok(text.to_owned()),
    });
    scenario.api.put("pages", page(""));
    let invalid = |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "InvalidSpec";
    scenario.until("it is reported", invalid).await;
    scenario.quiet().await;
    let before = calls.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(calls.load(Ordering::SeqCst), before);
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn panic_is_the_error_of_one_object_and_retried() {
    let (scenario, _) = start(|page, calls| {
        assert!(page.spec.text != "panics" || calls > 5, "the page cannot be rendered");
        Ok(page.spec.text.clone())
    });
    scenario.api.put("pages", page("panics"));
    let mut other = page("fine");
    other["metadata"]["name"] = json!("other");
    scenario.api.put("pages", other);
    let panicked =
        |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "ReconcilePanicked";
    scenario.until("it is shown", panicked).await;
    let message = scenario.api.condition("pages", "home", "Degraded")["message"].clone();
    assert_eq!(message, "the reconciler panicked: the page cannot be rendered");
    scenario.until("others are reconciled", |api| api.get("configmaps", "other").is_some()).await;
    scenario.until("it is retried", |api| shown(api) == "panics").await;
    let healthy = |api: &MockApi| api.condition("pages", "home", "Degraded")["status"] == "False";
    scenario.until("the failure is over", healthy).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn error_that_the_policy_does_not_retry_waits_for_a_change() {
    let (scenario, calls) = start(|page, _| match page.spec.text.as_str() {
        "bad" => Err(Refused::ForGood.into()),
        text => Ok(text.to_owned()),
    });
    scenario.api.put("pages", page("bad"));
    let failed = |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "ReconcileFailed";
    scenario.until("the failure is shown", failed).await;
    scenario.quiet().await;
    let before = calls.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_hours(2)).await;
    assert_eq!(calls.load(Ordering::SeqCst), before);
    scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!("good"));
    scenario.until("it is shown", |api| shown(api) == "good").await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn policy_decides_when_and_how_often_an_error_is_retried() {
    let (scenario, calls) = start(|_, _| Err(Refused::AtFirst.into()));
    scenario.api.put("pages", page("bad"));
    let failed = |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "ReconcileFailed";
    scenario.until("the failure is shown", failed).await;
    let mut counts = Vec::new();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_mins(5)).await;
        counts.push(calls.load(Ordering::SeqCst));
    }
    assert_eq!(counts, [1, 2, 3, 3], "every seven minutes, until it gives up; the status causes no attempt");
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn change_just_before_the_status_of_an_error_that_is_not_retried_is_reconciled() {
    let (scenario, _) = start(|page, _| match page.spec.text.as_str() {
        "bad" => Err(Refused::ForGood.into()),
        text => Ok(text.to_owned()),
    });
    // The response to the status write contains the change, and the watch reports both only later.
    scenario.api.intercept("patch", "pages/status", |store| {
        store.hold_watches();
        store.edit("pages", "home", |page| {
            page["spec"]["text"] = json!("good");
            page["metadata"]["generation"] = json!(2);
        });
    });
    scenario.api.put("pages", page("bad"));
    scenario.until("the change is shown", |api| shown(api) == "good").await;
    scenario.api.release_watches();
    scenario.quiet().await;
    let healthy = |api: &MockApi| api.condition("pages", "home", "Degraded")["status"] == "False";
    scenario.until("the failure is over", healthy).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn errors_that_are_not_retried_are_shown_when_they_change_fast() {
    let (scenario, _) = start(|_, _| Err(Refused::ForGood.into()));
    scenario.api.put("pages", page("one"));
    let failed = |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "ReconcileFailed";
    scenario.until("the failure is shown", failed).await;
    scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!("two"));
    let newest = |api: &MockApi| api.condition("pages", "home", "Degraded")["observedGeneration"] == 2;
    scenario.until("the failure of the newest spec is shown", newest).await;
    scenario.end().await;
}

#[tokio::test(start_paused = true)]
async fn desired_state_that_cannot_be_applied_is_shown_with_words() {
    let (scenario, _) = start(annotated);
    scenario.api.put("pages", page("twice"));
    let shown_as =
        |api: &MockApi| api.condition("pages", "home", "Degraded")["reason"] == "InvalidDesiredState";
    scenario.until("the mistake is shown", shown_as).await;
    let message = scenario.api.condition("pages", "home", "Degraded")["message"].clone();
    assert_eq!(message, "`desired` contains the ConfigMap default/home twice");
    assert!(scenario.api.get("configmaps", "home").is_none(), "nothing was applied");
    scenario.api.change("pages", "home", |page| page["spec"]["text"] = json!("once"));
    scenario.until("it is shown", |api| shown(api) == "once").await;
    scenario.end().await;
}
