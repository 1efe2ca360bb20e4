//! A problem, the objects that are looked at, and their names.

use serde::Serialize;
use serde_json::Value;

use crate::kinds;
use crate::kinds::Kind;
use crate::manifests::component_label;
use crate::snapshot::{Snapshot, label, list, name_of, namespace_of, string, strings};
use kube_yaml::text::null_if_empty;

/// The label of the jobs and pods that unpack bundles.
pub(crate) const UNPACK_LABEL: &str = "operatorframework.io/bundle-unpack-ref";

/// The maximum number of characters of a quoted message.
const MAX_MESSAGE: usize = 600;
/// The maximum number of events that are quoted as evidence.
const MAX_EVENTS: usize = 3;

/// Something that keeps an operator from being installed, upgraded or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// A name of the reason, for programs.
    pub reason: &'static str,
    /// The object, such as ``Pod `namespace/name` ``.
    pub object: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What was observed: conditions and events.
    pub evidence: Vec<String>,
    /// What to do about it.
    #[serde(serialize_with = "null_if_empty")]
    pub help: String,
    /// For how many seconds the problem may pass by itself.
    #[serde(skip)]
    pub patience: u64,
    /// Whether it only follows from another problem.
    #[serde(skip)]
    pub symptom: bool,
    /// The container whose log says more.
    #[serde(skip)]
    pub log: Option<Log>,
}

/// A container whose log says more about a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The namespace.
    pub namespace: String,
    /// The pod.
    pub pod: String,
    /// The container.
    pub container: String,
}

impl Diagnosis {
    pub(crate) fn new(reason: &'static str, object: String, message: impl Into<String>) -> Self {
        Self {
            reason,
            object,
            message: message.into(),
            evidence: Vec::new(),
            help: String::new(),
            patience: 0,
            symptom: false,
            log: None,
        }
    }

    /// Returns a problem that is found before anything is created.
    #[must_use]
    pub fn of_preflight(reason: &'static str, object: String, message: String, help: String) -> Self {
        Self::new(reason, object, message).help(help)
    }

    pub(crate) fn evidence(mut self, line: impl Into<String>) -> Self {
        let line = line.into();
        if !line.is_empty() {
            self.evidence.push(line);
        }
        self
    }

    pub(crate) fn condition(self, condition: &Value) -> Self {
        let kind = string(condition, "/type");
        let reason = string(condition, "/reason");
        let message = shortened(string(condition, "/message"));
        self.evidence(format!("condition {kind}: {reason}: {message}"))
    }

    pub(crate) fn events(mut self, snapshot: &Snapshot, kind: Kind, object: &Value) -> Self {
        let mut events: Vec<_> = snapshot.events(kind, object).collect();
        events.sort_by_key(|event| string(event, "/lastTimestamp").to_owned());
        for event in events.iter().rev().take(MAX_EVENTS).rev() {
            let reason = string(event, "/reason");
            let message = shortened(string(event, "/message"));
            let line = format!("event {reason}: {message}");
            if !self.evidence.contains(&line) {
                self.evidence.push(line);
            }
        }
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    pub(crate) fn patience(mut self, seconds: u64) -> Self {
        self.patience = seconds;
        self
    }

    pub(crate) fn symptom(mut self) -> Self {
        self.symptom = true;
        self
    }

    pub(crate) fn log(mut self, pod: &Value, container: &str) -> Self {
        self.log = Some(Log {
            namespace: namespace_of(pod).to_owned(),
            pod: name_of(pod).to_owned(),
            container: container.to_owned(),
        });
        self
    }
}

/// What is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The namespace; all without one.
    pub namespace: Option<String>,
    /// The package; all without one.
    pub package: Option<String>,
    /// The CSV; those of the subscriptions without one.
    pub csv: Option<String>,
}

impl Scope {
    pub(crate) fn covers(&self, object: &Value) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == namespace_of(object))
    }

    pub(crate) fn covers_subscription(&self, subscription: &Value) -> bool {
        self.covers(subscription)
            && self.package.as_deref().is_none_or(|package| package == string(subscription, "/spec/name"))
    }
}

/// Returns the name of an object with its kind and namespace.
#[must_use]
pub fn object(kind: Kind, object: &Value) -> String {
    if kind.namespaced {
        format!("{} `{}/{}`", kind.kind, namespace_of(object), name_of(object))
    } else {
        format!("{} `{}`", kind.kind, name_of(object))
    }
}

/// Returns that an object, which is called `name`, is being deleted, and the finalizers that it waits for.
#[must_use]
pub fn deletion(name: &str, object: &Value) -> String {
    let finalizers: Vec<_> = strings(object, "/metadata/finalizers").collect();
    if finalizers.is_empty() {
        format!("{name} is being deleted")
    } else {
        format!("{name} is being deleted and waits for finalizers: {}", finalizers.join(", "))
    }
}

/// Returns the deployment that a pod belongs to, by the name of its `ReplicaSet`.
#[must_use]
pub(crate) fn deployment_of(pod: &Value) -> Option<&str> {
    let owner = list(pod, "/metadata/ownerReferences").iter().find(|owner| owner["kind"] == "ReplicaSet")?;
    let name = string(owner, "/name");
    let hash = label(pod, "pod-template-hash");
    name.strip_suffix(hash)?.strip_suffix('-')
}

/// Returns whether a CSV is looked at.
pub(crate) fn covers_csv(snapshot: &Snapshot, scope: &Scope, csv: &Value) -> bool {
    if !scope.covers(csv) {
        return false;
    }
    if let Some(name) = &scope.csv {
        return name == name_of(csv);
    }
    let Some(package) = &scope.package else { return true };
    let label = component_label(package, namespace_of(csv));
    csv["metadata"]["labels"].get(label).is_some()
        || snapshot.within(kinds::SUBSCRIPTION, namespace_of(csv)).any(|subscription| {
            string(subscription, "/spec/name") == package
                && [string(subscription, "/status/currentCSV"), string(subscription, "/status/installedCSV")]
                    .contains(&name_of(csv))
        })
}

/// Returns a message on one line and of limited length.
#[must_use]
pub fn shortened(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    kube_yaml::text::shortened(&text, MAX_MESSAGE).into_owned()
}
