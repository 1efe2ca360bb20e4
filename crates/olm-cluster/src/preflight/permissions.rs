//! Whether the user may create what an installation needs.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::client::{Cluster, Write};
use crate::diagnose::Diagnosis;
use crate::kinds;
use crate::kinds::Kind;
use crate::snapshot::{name_of, string};

/// What the API server answers questions about permissions at.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Returns what the user may not do of an installation in a namespace: create `objects` by server-side apply, or change them if
/// they `exist`, and, if one is a `Subscription`, approve the `InstallPlan`. In a namespace that does not exist yet, no dry run
/// finds that.
///
/// Questions that the API server does not answer count as allowed.
///
/// Source: `SelfSubjectAccessReview` of the API `authorization.k8s.io/v1`; an apply that creates needs both verbs.
pub async fn denied(cluster: &Cluster, namespace: &str, objects: &[Value], exist: bool) -> Option<Diagnosis> {
    let verbs: &[&str] = if exist { &["patch"] } else { &["create", "patch"] };
    let mut wanted = Vec::new();
    if objects.iter().any(|object| Kind::of_object(object) == Some(kinds::SUBSCRIPTION)) {
        wanted.push((kinds::INSTALL_PLAN, "patch", ""));
    }
    for (kind, object) in objects.iter().filter_map(|object| Some((Kind::of_object(object)?, object))) {
        // A role may allow to change objects of certain names; none can allow to create them.
        let name = if exist { name_of(object) } else { "" };
        for verb in verbs {
            if !wanted.contains(&(kind, *verb, name)) {
                wanted.push((kind, *verb, name));
            }
        }
    }
    let answers = join_all(wanted.iter().map(|&(kind, verb, name)| async move {
        let review = review(kind, verb, namespace, name);
        let action = format!("ask whether {} may be created", kind.plural);
        cluster.create_at(REVIEWS, &review, &action, Write::Stored).await.ok()
    }))
    .await;
    let denied: Vec<_> = wanted
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.as_ref().is_some_and(|answer| answer["status"]["allowed"] == false))
        .collect();
    let ((first, verb, _), _) = denied.first()?;
    let mut problem = Diagnosis::of_preflight(
        "permission-denied",
        format!("Namespace `{namespace}`"),
        if first.namespaced {
            format!("you are not allowed to {verb} {} in namespace `{namespace}`", resource(*first))
        } else {
            format!("you are not allowed to {verb} {}", resource(*first))
        },
        format!(
            "ask an administrator to grant the permissions or to install the operator; to list yours: kubectl auth can-i --list -n {namespace}"
        ),
    );
    for ((kind, verb, _), answer) in denied {
        let reason = answer.as_ref().map_or("", |answer| string(answer, "/status/reason"));
        let colon = if reason.is_empty() { "" } else { ": " };
        problem = problem.evidence(format!("{verb} {}: not allowed{colon}{reason}", resource(*kind)));
    }
    Some(problem)
}

/// The name of a resource as `kubectl` has it: `deployments.apps`.
fn resource(kind: Kind) -> String {
    match kind.api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.plural),
        None => kind.plural.to_owned(),
    }
}

fn review(kind: Kind, verb: &str, namespace: &str, name: &str) -> Value {
    let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
    let namespace = if kind.namespaced { namespace } else { "" };
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": namespace, "verb": verb, "group": group, "resource": kind.plural, "name": name,
        }},
    })
}
