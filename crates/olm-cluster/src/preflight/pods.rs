//! Whether the API server accepts the pods of deployments.

use futures::future::join_all;
use serde_json::{Value, json};

use crate::client::{Cluster, Error, Write};
use crate::diagnose::{Diagnosis, explain_message};
use crate::kinds;
use crate::snapshot::Snapshot;

/// Returns the deployments whose pods the API server rejects because of Pod Security or a quota, found by a dry run of one pod of
/// each. Nothing is returned for one whose pods cannot be validated, because the user may not create pods, for example.
///
/// The pods are those of the user, and have another service account: where admission depends on either, as with the security
/// context constraints of OpenShift, the result is likely and not certain.
///
/// `deployments` are names with the specs that they get; pods of one that `snapshot` has count towards quotas already.
pub async fn rejected_pods(
    cluster: &Cluster,
    snapshot: &Snapshot,
    namespace: &str,
    deployments: &[(&str, &Value)],
) -> Vec<Diagnosis> {
    let path = kinds::POD.path(Some(namespace));
    let dry_runs = deployments.iter().map(|(name, spec)| {
        let (path, pod) = (&path, pod(name, spec));
        async move {
            let action = format!("create a pod of deployment `{name}`");
            let error = cluster.create_at(path, &pod, &action, Write::DryRun).await.err()?;
            let exists = snapshot.get(kinds::DEPLOYMENT, namespace, name).is_some()
                || snapshot.unreadable.contains_key(kinds::DEPLOYMENT.kind);
            problem(name, namespace, exists, &error)
        }
    });
    join_all(dry_runs).await.into_iter().flatten().collect()
}

/// Returns a pod as the controller would create it, with a service account that every namespace has.
fn pod(name: &str, spec: &Value) -> Value {
    let template = &spec["template"];
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": format!("{name}-")}, "spec": template["spec"],
    });
    for field in ["labels", "annotations"] {
        if template["metadata"][field].is_object() {
            pod["metadata"][field] = template["metadata"][field].clone();
        }
    }
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.retain(|field, _| field != "serviceAccountName" && field != "serviceAccount");
    }
    pod
}

/// Returns the problem that an error stands for. Others depend on the service account, which does not exist yet.
fn problem(name: &str, namespace: &str, exists: bool, error: &Error) -> Option<Diagnosis> {
    let Error::Rejected { message, .. } = error else { return None };
    let (reason, help) = explain_message(message, namespace)?;
    let is_certain = reason == "pod-security-violation" || (reason == "quota-exceeded" && !exists);
    is_certain.then(|| {
        let message = format!("the API server would reject the pods of deployment `{name}`: {message}");
        Diagnosis::new(reason, format!("Deployment `{name}`"), message).help(help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_those_of_the_template_without_a_service_account() {
        let spec = json!({"replicas": 2, "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"serviceAccountName": "manager", "containers": [{"name": "manager"}]},
        }});
        assert_eq!(
            pod("operator", &spec),
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"generateName": "operator-", "labels": {"app": "a"}},
                "spec": {"containers": [{"name": "manager"}]},
            })
        );
    }

    #[test]
    fn rejections_that_depend_on_nothing_else_are_problems() {
        for (message, exists, expected) in [
            (
                "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"",
                true,
                Some("pod-security-violation"),
            ),
            (
                "pods \"a\" is forbidden: exceeded quota: pods, requested: pods=1",
                false,
                Some("quota-exceeded"),
            ),
            ("pods \"a\" is forbidden: exceeded quota: pods, requested: pods=1", true, None),
            ("pods is forbidden: User \"a\" cannot create resource \"pods\"", false, None),
            ("admission webhook \"a\" does not support dry run", false, None),
            ("error looking up service account a/default: serviceaccount \"default\" not found", false, None),
        ] {
            let error = Error::Rejected { action: String::new(), message: message.to_owned(), code: 403 };
            let found = problem("operator", "a", exists, &error);
            assert_eq!(found.map(|problem| problem.reason), expected, "{message}");
        }
    }
}
