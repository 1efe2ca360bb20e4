//! Problems of pods and deployments: of catalogs, of unpack jobs and of operators.

use std::collections::HashMap;
use std::fmt;

use serde_json::Value;

use super::message;
use super::problem::{Diagnosis, Scope, UNPACK_LABEL, covers_csv, deployment_of, object, shortened};
use super::scheduling;
use super::v1::is_of_extension;
use crate::kinds;
use crate::manifests::{CATALOG_LABEL, TEST_APP, catalog_name};
use crate::snapshot::{Snapshot, condition, label, list, name_of, namespace_of, number, string};

/// What a pod is for.
enum Role<'s> {
    Catalog(&'s str),
    Unpacking,
    Operator(&'s str),
    Test,
}

impl fmt::Display for Role<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog(name) => write!(formatter, "the pod of catalog `{name}`"),
            Self::Unpacking => formatter.write_str("the pod that unpacks the bundle"),
            Self::Operator(deployment) => write!(formatter, "the pod of deployment `{deployment}`"),
            Self::Test => formatter.write_str("the pod of the test"),
        }
    }
}

/// Returns what a pod in scope is for.
fn role<'s>(snapshot: &'s Snapshot, scope: &Scope, pod: &'s Value) -> Option<Role<'s>> {
    if !scope.covers(pod) {
        return None;
    }
    let catalog = label(pod, CATALOG_LABEL);
    if !catalog.is_empty() {
        return is_catalog_in_scope(snapshot, scope, namespace_of(pod), catalog)
            .then_some(Role::Catalog(catalog));
    }
    if !label(pod, UNPACK_LABEL).is_empty() {
        return Some(Role::Unpacking);
    }
    if label(pod, "app") == TEST_APP {
        return scope.package.is_none().then_some(Role::Test);
    }
    let deployment = deployment_of(pod)?;
    is_of_operator(snapshot, scope, namespace_of(pod), deployment).then_some(Role::Operator(deployment))
}

/// Returns whether a catalog is looked at: one of the package's subscriptions, or the package's own.
pub(crate) fn is_catalog_in_scope(snapshot: &Snapshot, scope: &Scope, namespace: &str, name: &str) -> bool {
    let Some(package) = &scope.package else { return true };
    name == catalog_name(package)
        || snapshot.objects(kinds::SUBSCRIPTION).iter().filter(|one| scope.covers_subscription(one)).any(
            |one| string(one, "/spec/source") == name && string(one, "/spec/sourceNamespace") == namespace,
        )
}

fn is_of_operator(snapshot: &Snapshot, scope: &Scope, namespace: &str, deployment: &str) -> bool {
    snapshot.within(kinds::CSV, namespace).filter(|csv| covers_csv(snapshot, scope, csv)).any(|csv| {
        list(csv, "/spec/install/spec/deployments").iter().any(|one| string(one, "/name") == deployment)
    }) || snapshot
        .get(kinds::DEPLOYMENT, namespace, deployment)
        .is_some_and(|one| is_of_extension(snapshot, scope, one))
}

/// Reports containers that do not start or do not stay up, and pods that are not scheduled.
pub(crate) fn pods(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    let owners = owners(snapshot);
    for pod in snapshot.objects(kinds::POD) {
        if !string(pod, "/metadata/deletionTimestamp").is_empty() {
            continue;
        }
        let Some(role) = role(snapshot, scope, pod) else { continue };
        if is_ended_by_node(pod) {
            // What owns it has usually created another one.
            if !is_replaced(&owners, pod) {
                found.push(ended_by_node(snapshot, pod, &role));
            }
            continue;
        }
        if let Some(problem) = scheduling::unscheduled(snapshot, pod, &role.to_string()) {
            found.push(problem);
            continue;
        }
        let problem = ["initContainerStatuses", "containerStatuses"]
            .iter()
            .flat_map(|key| list(pod, &format!("/status/{key}")))
            .find_map(|status| container(snapshot, pod, status, &role));
        if let Some(problem) = problem {
            found.push(problem);
        } else if let Some(problem) = stuck(snapshot, pod, &role) {
            found.push(problem);
        }
    }
}

/// Returns whether the node has ended a pod: it was evicted, or the node shut down or had no room for it. Such a pod is kept, and
/// never runs again.
fn is_ended_by_node(pod: &Value) -> bool {
    string(pod, "/status/phase") == "Failed" && !string(pod, "/status/reason").is_empty()
}

/// What owns a pod: its namespace, and the deployment or the UID of another owner.
#[derive(PartialEq, Eq, Hash)]
enum Owner<'s> {
    Deployment(&'s str, &'s str),
    Other(&'s str, &'s str),
}

impl<'s> Owner<'s> {
    fn of_pod(pod: &'s Value) -> Option<Self> {
        let namespace = namespace_of(pod);
        match deployment_of(pod) {
            Some(deployment) => Some(Self::Deployment(namespace, deployment)),
            None => match string(pod, "/metadata/ownerReferences/0/uid") {
                "" => None,
                uid => Some(Self::Other(namespace, uid)),
            },
        }
    }
}

/// The pods of an owner.
#[derive(Default)]
struct Owned<'s> {
    /// When the latest one was created.
    latest: &'s str,
    /// Whether one was not ended by its node.
    has_live: bool,
}

/// Returns the owners of pods.
fn owners(snapshot: &Snapshot) -> HashMap<Owner<'_>, Owned<'_>> {
    let mut owners: HashMap<_, Owned<'_>> = HashMap::new();
    for pod in snapshot.objects(kinds::POD) {
        let Some(owner) = Owner::of_pod(pod) else { continue };
        let pods = owners.entry(owner).or_default();
        pods.latest = pods.latest.max(created(pod));
        pods.has_live |= !is_ended_by_node(pod);
    }
    owners
}

fn created(pod: &Value) -> &str {
    string(pod, "/metadata/creationTimestamp")
}

/// Returns whether another pod of the owner of a pod that its node has ended was created later, or has not ended.
fn is_replaced(owners: &HashMap<Owner<'_>, Owned<'_>>, pod: &Value) -> bool {
    let pods = Owner::of_pod(pod).and_then(|owner| owners.get(&owner));
    pods.is_some_and(|pods| pods.has_live || pods.latest > created(pod))
}

fn ended_by_node(snapshot: &Snapshot, pod: &Value, role: &Role<'_>) -> Diagnosis {
    let reason = string(pod, "/status/reason");
    let text = shortened(string(pod, "/status/message"));
    let (id, what, help) = if reason == "Evicted" {
        (
            "pod-evicted",
            "was evicted",
            "free memory or disk of its node, or set requests that fit what it uses",
        )
    } else {
        ("pod-failed", "was terminated by its node", "check its node: kubectl describe node")
    };
    Diagnosis::new(
        id,
        object(kinds::POD, pod),
        format!("{role} {what}, and no other pod replaces it: {text}"),
    )
    .evidence(format!("status: phase Failed, {reason}: {text}"))
    .help(help)
    .patience(15)
    .events(snapshot, kinds::POD, pod)
}

/// For how many seconds a registry may not respond: the kubelet tries again after ten.
const SECOND_PULL: u64 = 15;
/// For how many seconds an object that a pod refers to may be missing: others may be about to create it, such as the operator of a
/// certificate.
const MISSING: u64 = 15;
/// For how many seconds a node may have no network for a pod: plugins start after the node.
const NETWORK: u64 = 30;

/// Reports a pod that waits for its volumes or its network, which only events explain.
fn stuck(snapshot: &Snapshot, pod: &Value, role: &Role<'_>) -> Option<Diagnosis> {
    let event = snapshot
        .events(kinds::POD, pod)
        .filter(|event| {
            matches!(
                string(event, "/reason"),
                "FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox"
            )
        })
        .max_by_key(|event| string(event, "/lastTimestamp").to_owned())?;
    if string(pod, "/status/phase") != "Pending" {
        return None;
    }
    let text = shortened(string(event, "/message"));
    let volume = string(event, "/reason") != "FailedCreatePodSandBox";
    let namespace = namespace_of(pod);
    let help = if !volume {
        "check the network plugin of the node".to_owned()
    } else if message::is_temporary(&text) {
        format!("see its events: kubectl describe pod {} -n {namespace}", name_of(pod))
    } else {
        format!("create what the volume refers to in namespace `{namespace}`")
    };
    Some(
        Diagnosis::new("pod-not-started", object(kinds::POD, pod), format!("{role} cannot start: {text}"))
            .events(snapshot, kinds::POD, pod)
            .help(help)
            .patience(message::patience(&text, if volume { MISSING } else { NETWORK })),
    )
}

fn container(snapshot: &Snapshot, pod: &Value, status: &Value, role: &Role<'_>) -> Option<Diagnosis> {
    let name = string(status, "/name");
    let image = string(status, "/image");
    let (namespace, pod_name) = (namespace_of(pod), name_of(pod));
    let waiting = string(status, "/state/waiting/reason");
    let text = shortened(string(status, "/state/waiting/message"));
    let observed =
        |problem: Diagnosis| problem.evidence(format!("container `{name}` is waiting: {waiting}: {text}"));
    match waiting {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "InvalidImageName"
        | "ErrImageNeverPull"
        | "ImageInspectError"
        | "RegistryUnavailable" => {
            let pulled = pull_message(snapshot, pod, &text);
            let lower = pulled.to_lowercase();
            let definite = waiting == "InvalidImageName" || is_definite(&lower);
            Some(
                observed(Diagnosis::new(
                    "image-pull-failed",
                    object(kinds::POD, pod),
                    format!("{} cannot pull image `{image}`{}", role, pull_reason(&lower)),
                ))
                .events(snapshot, kinds::POD, pod)
                .help(pull_help(&lower, waiting, role, namespace))
                .patience(if definite { 0 } else { SECOND_PULL }),
            )
        }
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" | "StartError" => Some(
            observed(Diagnosis::new(
                "container-not-created",
                object(kinds::POD, pod),
                format!("{role} cannot start container `{name}`: {text}"),
            ))
            .events(snapshot, kinds::POD, pod)
            .help(start_help(&text.to_lowercase(), namespace))
            .patience(message::patience(
                &text,
                if waiting == "CreateContainerConfigError" { MISSING } else { 0 },
            )),
        ),
        "CrashLoopBackOff" => Some(crash(pod, status, role)),
        _ => terminated(pod, status, role).or_else(|| {
            // Started, but never ready.
            let running = string(status, "/state/running/startedAt");
            let unready = status["ready"] == false && !running.is_empty();
            let probe = snapshot
                .events(kinds::POD, pod)
                .filter(|event| string(event, "/reason") == "Unhealthy")
                .max_by_key(|event| string(event, "/lastTimestamp").to_owned());
            probe.filter(|event| unready && number(event, "/count") >= 3).map(|event| {
                Diagnosis::new(
                    "probe-failed",
                    object(kinds::POD, pod),
                    format!(
                        "container `{name}` of {} is running, but not ready: {}",
                        role,
                        shortened(string(event, "/message"))
                    ),
                )
                .events(snapshot, kinds::POD, pod)
                .help(format!("see its log: kubectl logs {pod_name} -n {namespace} -c {name}"))
                .patience(45)
                .log(pod, name)
            })
        }),
    }
}

/// Returns the problem of a container that ended with an error and is not restarted yet, or was several times.
fn terminated(pod: &Value, status: &Value, role: &Role<'_>) -> Option<Diagnosis> {
    let ended = status.pointer("/state/terminated");
    let failed = ended.is_some_and(|ended| number(ended, "/exitCode") != 0);
    let restarts = number(status, "/restartCount");
    let ready = status["ready"] == true;
    if failed && matches!(role, Role::Unpacking) {
        // The job starts another pod a few times; the first failure already has the reason.
        return Some(crash(pod, status, role).patience(3));
    }
    ((failed && restarts > 0) || (restarts > 1 && !ready)).then(|| crash(pod, status, role).patience(4))
}

fn crash(pod: &Value, status: &Value, role: &Role<'_>) -> Diagnosis {
    let name = string(status, "/name");
    let last =
        ["/state/terminated", "/lastState/terminated"].iter().find_map(|pointer| status.pointer(pointer));
    let restarts = number(status, "/restartCount");
    let (how, evidence) = last.map_or_else(
        || ("exits".to_owned(), String::new()),
        |last| {
            let code = number(last, "/exitCode");
            let reason = string(last, "/reason");
            let how = match (reason, number(last, "/signal")) {
                ("OOMKilled", _) => "exceeds its memory limit".to_owned(),
                (_, signal) if signal > 0 => format!("was killed by signal {signal}"),
                _ => format!("exits with status {code}"),
            };
            let message = shortened(string(last, "/message"));
            let colon = if message.is_empty() { "" } else { ": " };
            (how, format!("container `{name}` terminated: {reason}, exit code {code}, restart count {restarts}{colon}{message}"))
        },
    );
    let help = match role {
        _ if how.contains("memory limit") => "raise resources.limits.memory of the container".to_owned(),
        Role::Unpacking => {
            "check that the image is a bundle image: `bundle-tool validate IMAGE` reports missing labels and files".to_owned()
        }
        Role::Catalog(_) => "check that the image is an index image: `bundle-tool catalog validate IMAGE`".to_owned(),
        Role::Operator(_) | Role::Test => format!(
            "fix the program or its arguments; see the whole log: kubectl logs {} -n {} -c {name} --previous",
            name_of(pod),
            namespace_of(pod)
        ),
    };
    Diagnosis::new(
        "container-crashes",
        object(kinds::POD, pod),
        format!("container `{name}` of {role} {how}"),
    )
    .evidence(evidence)
    .help(help)
    .log(pod, name)
}

/// Returns why an image cannot be pulled: the back-off only says that it is waiting.
fn pull_message(snapshot: &Snapshot, pod: &Value, text: &str) -> String {
    let events: Vec<_> = snapshot
        .events(kinds::POD, pod)
        .filter(|event| string(event, "/reason") == "Failed")
        .map(|event| string(event, "/message"))
        .collect();
    format!("{text} {}", events.join(" "))
}

fn is_definite(message: &str) -> bool {
    [
        "not found",
        "unauthorized",
        "denied",
        "forbidden",
        "x509",
        "invalid",
        "no such host",
        "no match for platform",
    ]
    .iter()
    .any(|part| message.contains(part))
}

fn pull_reason(message: &str) -> &'static str {
    let reasons = [
        ("unauthorized", ": the registry requires credentials"),
        ("authentication required", ": the registry requires credentials"),
        ("pull access denied", ": it does not exist, or the registry requires credentials"),
        ("403 forbidden", ": the registry denies access"),
        ("denied", ": the registry denies access"),
        ("x509", ": the node does not trust the certificate of the registry"),
        ("http response to https client", ": the registry does not use TLS"),
        ("no such host", ": the name of the registry cannot be resolved"),
        ("no match for platform", ": it has no image for the platform of the node"),
        ("not found", ": it does not exist"),
        ("connection refused", ": the registry does not respond"),
        ("i/o timeout", ": the registry does not respond"),
    ];
    reasons.iter().find(|(part, _)| message.contains(part)).map_or("", |(_, reason)| reason)
}

fn pull_help(message: &str, waiting: &str, role: &Role<'_>, namespace: &str) -> String {
    if waiting == "InvalidImageName" {
        return "fix the image name".into();
    }
    if ["unauthorized", "denied", "authentication required", "403"].iter().any(|part| message.contains(part))
    {
        return match role {
            Role::Operator(_) => format!(
                "add a pull secret to the operator's service account in namespace `{namespace}`, or to the deployment"
            ),
            Role::Test => {
                format!("add a pull secret to the service account of the tests in namespace `{namespace}`")
            }
            Role::Catalog(_) | Role::Unpacking => {
                format!("create a pull secret in namespace `{namespace}` and pass it with --pull-secret-name")
            }
        };
    }
    if message.contains("x509") || message.contains("http response to https client") {
        return "configure the registry on the nodes: its certificate authority, or plain HTTP".into();
    }
    if message.contains("no match for platform") {
        return "push an image for the platform of the nodes".into();
    }
    "check the name and the tag, and push the image if it is missing".into()
}

fn start_help(message: &str, namespace: &str) -> String {
    if message.contains("runasnonroot")
        || message.contains("non-numeric user")
        || message.contains("non-root")
    {
        return "set a numeric user other than 0 in the image, or runAsUser in the pod's security context"
            .into();
    }
    if message.contains("secret") || message.contains("configmap") {
        return format!("create the missing object in namespace `{namespace}`");
    }
    if message.contains("executable file not found") || message.contains("no such file") {
        return "fix the command of the container: the image has no such program".into();
    }
    "fix the container as the message requires".into()
}

/// Reports deployments whose pods cannot be created, and those that made no progress in time.
pub(crate) fn deployments(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for deployment in snapshot.objects(kinds::DEPLOYMENT).iter().filter(|deployment| scope.covers(deployment))
    {
        let (name, namespace) = (name_of(deployment), namespace_of(deployment));
        let catalog = string(deployment, &format!("/spec/selector/matchLabels/{CATALOG_LABEL}"));
        let in_scope = if catalog.is_empty() {
            is_of_operator(snapshot, scope, namespace, name)
        } else {
            is_catalog_in_scope(snapshot, scope, namespace, catalog)
        };
        if !in_scope {
            continue;
        }
        if let Some(failure) = condition(deployment, "ReplicaFailure", "True") {
            let text = string(failure, "/message");
            let (reason, help) = message::explain_message(text, namespace).unwrap_or_else(|| {
                (
                    "pod-not-created",
                    format!("see the events: kubectl describe deployment {name} -n {namespace}"),
                )
            });
            found.push(
                Diagnosis::new(
                    reason,
                    object(kinds::DEPLOYMENT, deployment),
                    format!("deployment `{name}` cannot create its pod: {}", shortened(text)),
                )
                .condition(failure)
                .help(help)
                .patience(message::patience(text, 4)),
            );
        } else if let Some(late) = condition(deployment, "Progressing", "False") {
            found.push(
                Diagnosis::new(
                    "deployment-not-progressing",
                    object(kinds::DEPLOYMENT, deployment),
                    format!("deployment `{name}` did not become available in time"),
                )
                .condition(late)
                .help(format!("see its pods: kubectl describe pods -n {namespace}"))
                .symptom(),
            );
        }
    }
}
