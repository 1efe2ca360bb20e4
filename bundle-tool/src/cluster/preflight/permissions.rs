//! Whether the user may create what an installation needs.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::cluster::client::{Cluster, Write};
use crate::cluster::diagnose::Problem;
use crate::cluster::kinds::{self, Kind};
use crate::cluster::snapshot::string;

/// What the API server answers questions about permissions at.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Returns what the user may not do of an installation in a namespace: create `objects` by server-side apply and, if one is a
/// `Subscription`, approve the `InstallPlan`. In a namespace that does not exist yet, no dry run finds that.
///
/// Questions that the API server does not answer count as allowed.
///
/// Source: `SelfSubjectAccessReview` of the API `authorization.k8s.io/v1`; an apply that creates needs both verbs.
pub async fn denied(cluster: &Cluster, namespace: &str, objects: &[Value]) -> Option<Problem> {
    let mut wanted = Vec::new();
    if objects.iter().any(|object| Kind::of(object) == Some(kinds::SUBSCRIPTION)) {
        wanted.push((kinds::INSTALL_PLAN, "patch"));
    }
    for kind in objects.iter().filter_map(Kind::of) {
        for verb in ["create", "patch"] {
            if !wanted.contains(&(kind, verb)) {
                wanted.push((kind, verb));
            }
        }
    }
    let answers = join_all(wanted.iter().map(|&(kind, verb)| async move {
        let review = review(kind, verb, namespace);
        let action = format!("ask whether {} may be created", kind.plural);
        cluster.create_at(REVIEWS, &review, &action, Write::Stored).await.ok()
    }))
    .await;
    let denied: Vec<_> = wanted
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.as_ref().is_some_and(|answer| answer["status"]["allowed"] == false))
        .collect();
    let ((first, verb), _) = denied.first()?;
    let mut problem = Problem::of_preflight(
        "permission-denied",
        format!("Namespace `{namespace}`"),
        if first.namespaced {
            format!("you may not {verb} {} in namespace `{namespace}`", resource(*first))
        } else {
            format!("you may not {verb} {}", resource(*first))
        },
        format!(
            "ask an administrator to grant the permissions, or to install: kubectl auth can-i --list -n {namespace}"
        ),
    );
    for ((kind, verb), answer) in denied {
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

fn review(kind: Kind, verb: &str, namespace: &str) -> Value {
    let group = kind.api_version.split_once('/').map_or("", |(group, _)| group);
    let namespace = if kind.namespaced { namespace } else { "" };
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {
            "namespace": namespace, "verb": verb, "group": group, "resource": kind.plural,
        }},
    })
}
