//! Problems of subscriptions and install plans.

use serde_json::Value;

use super::message;
use super::problem::{Diagnosis, Scope, object, shortened};
use crate::kinds;
use crate::snapshot::{Snapshot, condition, list, name_of, namespace_of, string, strings};

/// Reports subscriptions that cannot be resolved.
pub(crate) fn subscriptions(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for subscription in
        snapshot.objects(kinds::SUBSCRIPTION).iter().filter(|one| scope.covers_subscription(one))
    {
        missing_catalog(snapshot, subscription, found);
        if let Some(failed) = condition(subscription, "ResolutionFailed", "True") {
            found.push(resolution(snapshot, subscription, failed));
        }
        if let Some(failed) = condition(subscription, "BundleUnpackFailed", "True") {
            found.push(
                Diagnosis::new(
                    "bundle-not-unpacked",
                    object(kinds::SUBSCRIPTION, subscription),
                    format!("OLM cannot unpack the bundle: {}", shortened(string(failed, "/message"))),
                )
                .condition(failed)
                .help(unpack_help(namespace_of(subscription)))
                .symptom(),
            );
        }
    }
}

fn missing_catalog(snapshot: &Snapshot, subscription: &Value, found: &mut Vec<Diagnosis>) {
    let (source, namespace) =
        (string(subscription, "/spec/source"), string(subscription, "/spec/sourceNamespace"));
    let unknown = snapshot.unreadable.contains_key(kinds::CATALOG_SOURCE.kind)
        || !snapshot.objects(kinds::CATALOG_SOURCE).iter().any(|catalog| namespace_of(catalog) == namespace)
            && namespace != namespace_of(subscription);
    if unknown || snapshot.get(kinds::CATALOG_SOURCE, namespace, source).is_some() {
        return;
    }
    let installed = !string(subscription, "/status/installedCSV").is_empty();
    let name = name_of(subscription);
    found.push(
        Diagnosis::new(
            "catalog-missing",
            object(kinds::SUBSCRIPTION, subscription),
            format!(
                "subscription `{name}` refers to CatalogSource `{namespace}/{source}`, which does not exist"
            ),
        )
        .help(if installed {
            "create the catalog to receive upgrades, or delete the subscription".to_owned()
        } else {
            format!("create the catalog, or set spec.source: kubectl edit subscription {name} -n {namespace}")
        })
        .patience(3),
    );
}

/// For how many seconds an upgrade may take to delete the CSV that it replaces.
const REPLACEMENT: u64 = 120;

fn resolution(snapshot: &Snapshot, subscription: &Value, failed: &Value) -> Diagnosis {
    let text = string(failed, "/message");
    let namespace = namespace_of(subscription);
    let (what, help) = explain(text, namespace);
    let prevented = string(failed, "/reason") == "ErrorPreventedResolution";
    // Follows from a catalog that does not respond, mostly because it has only just started.
    let unavailable = prevented && text.contains("Unavailable");
    let mut problem = Diagnosis::new(
        "resolution-failed",
        object(kinds::SUBSCRIPTION, subscription),
        format!("OLM cannot resolve subscription `{}`: {what}", name_of(subscription)),
    )
    .condition(failed)
    .help(help)
    .patience(if unavailable { 30 } else { 8 });
    problem.symptom = unavailable;
    if without_subscription(text).is_some_and(|csv| is_being_replaced(snapshot, csv, namespace)) {
        problem = problem.symptom().patience(REPLACEMENT);
    }
    problem
}

/// Returns the CSV that prevents resolution, because no subscription refers to it.
fn without_subscription(text: &str) -> Option<&str> {
    between(text, "clusterserviceversion ", " exists and is not referenced by a subscription")
}

/// Returns whether an upgrade replaces a CSV. The subscription refers to the new CSV before OLM deletes the old one.
fn is_being_replaced(snapshot: &Snapshot, csv: &str, namespace: &str) -> bool {
    snapshot.objects(kinds::CSV).iter().any(|other| {
        namespace_of(other) == namespace
            && string(other, "/spec/replaces") == csv
            && string(other, "/status/phase") != "Failed"
    })
}

/// Returns what a message of OLM's resolver means, and what to do.
fn explain(text: &str, namespace: &str) -> (String, String) {
    if let Some(csv) = without_subscription(text) {
        return (
            format!("CSV `{csv}` exists in the namespace without a subscription"),
            format!("delete it, or subscribe to it: kubectl delete csv {csv} -n {namespace}"),
        );
    }
    if let Some(source) = between(text, "failed to populate resolver cache from source ", ": ") {
        let (catalog_namespace, name) = source.split_once('/').unwrap_or(("", source));
        let (name, catalog_namespace) =
            if catalog_namespace.is_empty() { (name, namespace) } else { (name, catalog_namespace) };
        return (
            format!(
                "catalog `{source}` does not respond, and OLM resolves nothing while a catalog of the namespace or of its own namespace fails"
            ),
            format!(
                "fix or delete that catalog: kubectl get pods -n {catalog_namespace} -l olm.catalogSource={name}"
            ),
        );
    }
    if let Some(catalog) = between(text, "error using catalogsource ", ": ") {
        let (of, name) = catalog.split_once('/').unwrap_or((namespace, catalog));
        return (
            format!("catalog `{catalog}` does not respond"),
            format!("see its pod: kubectl describe pods -n {of} -l olm.catalogSource={name}"),
        );
    }
    if let Some(missing) = between(text, "no operators found ", " in the catalog referenced by subscription")
    {
        return (
            format!("the catalog has nothing {missing}"),
            "compare spec.name, spec.channel and spec.startingCSV of the subscription with the catalog: \
             `bundle-tool catalog graph`"
                .into(),
        );
    }
    if let Some(missing) = between(text, "no operators found ", " in the catalog") {
        return (format!("no catalog has an operator {missing}"), "add a catalog with it".into());
    }
    if let Some(rest) = text.split_once("requires an operator ").map(|(_, rest)| rest) {
        let what = rest.split(", subscription ").next().unwrap_or(rest);
        return (
            format!("a dependency is not satisfied: no catalog has an operator {}", shortened(what)),
            "install that operator, or add a catalog that has it to the namespace of the subscription or of OLM".into(),
        );
    }
    if text.contains("provide") && text.contains("originate from") || text.contains("and provide") {
        return (
            format!("two operators provide the same API: {}", shortened(text)),
            "uninstall one of them: an API can have only one operator".into(),
        );
    }
    (shortened(text), "see `bundle-tool doctor` for the state of all catalogs and subscriptions".into())
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find(end)?])
}

fn unpack_help(namespace: &str) -> String {
    format!(
        "fix the image, then remove the failed jobs, which OLM does not repeat: \
         kubectl delete jobs -n {namespace} -l operatorframework.io/bundle-unpack-ref"
    )
}

/// Reports plans that failed, or that wait for approval.
pub(crate) fn plans(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for plan in snapshot.objects(kinds::INSTALL_PLAN).iter().filter(|plan| is_current(snapshot, scope, plan))
    {
        let (name, namespace) = (name_of(plan), namespace_of(plan));
        let phase = string(plan, "/status/phase");
        for lookup in list(plan, "/status/bundleLookups") {
            for state in list(lookup, "/conditions") {
                if state["type"] == "BundleLookupFailed" && state["status"] == "True" {
                    found.push(
                        Diagnosis::new(
                            "bundle-not-unpacked",
                            object(kinds::INSTALL_PLAN, plan),
                            format!(
                                "OLM cannot unpack bundle `{}`: {}",
                                string(lookup, "/path"),
                                shortened(string(state, "/message"))
                            ),
                        )
                        .condition(state)
                        .help(unpack_help(namespace))
                        .symptom(),
                    );
                }
            }
        }
        if phase == "RequiresApproval" && plan["spec"]["approved"] != true {
            let csvs: Vec<_> =
                strings(plan, "/spec/clusterServiceVersionNames").map(|name| format!("`{name}`")).collect();
            found.push(
                Diagnosis::new(
                    "plan-not-approved",
                    object(kinds::INSTALL_PLAN, plan),
                    format!("InstallPlan `{name}` for {} waits for approval", csvs.join(", ")),
                )
                .evidence("status: phase RequiresApproval")
                .help(format!(
                    "approve it: kubectl patch installplan {name} -n {namespace} --type=merge -p '{{\"spec\":{{\"approved\":true}}}}'"
                ))
                .patience(30),
            );
        }
        let failed =
            condition(plan, "Installed", "False").filter(|state| !string(state, "/message").is_empty());
        let text = failed.map_or_else(|| string(plan, "/status/message"), |state| string(state, "/message"));
        if phase == "Failed" || (phase == "Installing" && !text.is_empty()) {
            let (id, help) = message::explain_message(text, namespace).unwrap_or_else(|| {
                (
                    "plan-failed",
                    format!("see its steps: kubectl get installplan {name} -n {namespace} -o yaml"),
                )
            });
            let mut problem = Diagnosis::new(
                id,
                object(kinds::INSTALL_PLAN, plan),
                format!(
                    "InstallPlan `{name}` {}: {}",
                    if phase == "Failed" { "failed" } else { "does not make progress" },
                    shortened(text)
                ),
            );
            if let Some(state) = failed {
                problem = problem.condition(state);
            }
            let patience = if phase == "Failed" { 0 } else { message::patience(text, 6) };
            found.push(problem.help(help).patience(patience));
        }
    }
}

/// Returns whether a plan is the one that a subscription in scope refers to.
fn is_current(snapshot: &Snapshot, scope: &Scope, plan: &Value) -> bool {
    if !scope.covers(plan) {
        return false;
    }
    if let Some(csv) = &scope.csv
        && !strings(plan, "/spec/clusterServiceVersionNames").any(|name| name == csv)
    {
        return false;
    }
    snapshot.within(kinds::SUBSCRIPTION, namespace_of(plan)).any(|subscription| {
        scope.covers_subscription(subscription)
            && string(subscription, "/status/installPlanRef/name") == name_of(plan)
    })
}
