//! An operator as data: what the manager runs, and what its manifests and permissions are generated from.

use crate::admission::{Handler, Webhook};
use crate::context::{Context, Stop};
use crate::controller::{AnyController, Reconciler, Typed};
use crate::crd::Crd;
use crate::identity::{Identity, names};
use crate::rbac::{Permissions, Rule};
use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Starts a task.
type Start = Arc<dyn Fn(Context, Stop) -> BoxFuture<'static, ()> + Send + Sync>;
/// Changes the manager's Deployment.
type Adjust = Arc<dyn Fn(&mut Deployment) + Send + Sync>;

/// A task that runs while the manager leads.
#[derive(Clone)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) start: Start,
}

/// An operator: its custom resources, controllers, webhooks and permissions.
///
/// [`main`](crate::main) runs it and writes its manifests; both come from this one description.
#[derive(Clone)]
pub struct Operator {
    pub(crate) identity: Identity,
    pub(crate) crds: Vec<Crd>,
    pub(crate) controllers: Vec<Arc<dyn AnyController>>,
    pub(crate) webhooks: Vec<Webhook>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) arguments: Vec<String>,
    pub(crate) samples: Vec<(String, Value)>,
    pub(crate) adjustments: Vec<Adjust>,
    extra: Permissions,
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operator").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Operator {
    /// Returns an operator with these names that does nothing yet.
    #[must_use]
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            crds: Vec::new(),
            controllers: Vec::new(),
            webhooks: Vec::new(),
            tasks: Vec::new(),
            environment: Vec::new(),
            arguments: Vec::new(),
            samples: Vec::new(),
            adjustments: Vec::new(),
            extra: Permissions::default(),
        }
    }

    /// Adds a CRD to generate.
    #[must_use]
    pub fn crd(mut self, crd: Crd) -> Self {
        self.crds.push(crd);
        self
    }

    /// Adds a controller.
    #[must_use]
    pub fn controller(mut self, reconciler: impl Reconciler) -> Self {
        self.controllers.push(Arc::new(Typed::new(reconciler)));
        self
    }

    /// Adds a webhook.
    #[must_use]
    pub fn webhook(mut self, webhook: Webhook) -> Self {
        self.webhooks.push(webhook);
        self
    }

    /// Adds a task of plain kube-rs, such as a `kube::runtime::Controller`, and the permissions that it needs in the watched
    /// namespaces. It starts when this manager leads; it should end when told to stop, and is dropped otherwise.
    #[must_use]
    pub fn task<F>(
        mut self,
        name: &str,
        rules: impl IntoIterator<Item = Rule>,
        task: impl Fn(Context, Stop) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extra.watched.extend(rules);
        let start: Start = Arc::new(move |context, stop| task(context, stop).boxed());
        self.tasks.push(Task { name: name.to_owned(), start });
        self
    }

    /// Adds a permission in the watched namespaces.
    #[must_use]
    pub fn allow(mut self, rule: Rule) -> Self {
        self.extra.watched.push(rule);
        self
    }

    /// Adds a permission in the whole cluster.
    #[must_use]
    pub fn allow_cluster(mut self, rule: Rule) -> Self {
        self.extra.cluster.push(rule);
        self
    }

    /// Adds a permission in the manager's own namespace.
    #[must_use]
    pub fn allow_own(mut self, rule: Rule) -> Self {
        self.extra.own.push(rule);
        self
    }

    /// Sets an environment variable of the manager.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an argument of the manager, such as `--max-concurrent-reconciles=16`.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Adds a sample, which is also one of the CSV's `alm-examples`.
    #[must_use]
    pub fn sample(mut self, file: &str, object: Value) -> Self {
        self.samples.push((file.to_owned(), object));
        self
    }

    /// Changes the manager's Deployment as it is generated.
    #[must_use]
    pub fn deployment(mut self, adjust: impl Fn(&mut Deployment) + Send + Sync + 'static) -> Self {
        self.adjustments.push(Arc::new(adjust));
        self
    }

    /// Returns the names of the operator.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns all permissions that the operator needs, each with its reason.
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        let Permissions { mut watched, mut cluster, mut own } = self.extra.clone();
        for controller in &self.controllers {
            let info = controller.info();
            let (group, plural) = (info.resource.group.clone(), info.resource.plural.clone());
            let rule =
                |suffix: &str, verbs, why| Rule::new(group.clone(), format!("{plural}{suffix}"), verbs, why);
            add(true, rule("", &["list", "watch"], "the controller watches its objects"));
            if info.finalizer.is_some() {
                add(true, rule("", &["patch"], "adds and removes the finalizer"));
            }
            add(true, rule("/status", &["patch"], "writes the status"));
            let why =
                "required to set blockOwnerDeletion where OwnerReferencesPermissionEnforcement is enabled";
            add(true, rule("/finalizers", &["update"], why).implied());
            for child in &info.owns.children {
                let (group, plural) = (child.resource.group.clone(), child.resource.plural.clone());
                let rule = |verbs, why| Rule::new(group.clone(), plural.clone(), verbs, why);
                let namespaced = child.namespaced;
                let why = "applies children and reverts changes to them";
                add(namespaced, rule(&["list", "patch", "watch"], why));
                add(namespaced, rule(&["get"], "finds out who owns an object after a conflict"));
                let why = "server-side apply creates objects that do not exist";
                add(namespaced, rule(&["create"], why).implied());
                if child.optional {
                    add(namespaced, rule(&["delete"], "deletes children that are no longer desired"));
                }
            }
            for related in &info.owns.related {
                let (group, plural) = (related.resource.group.clone(), related.resource.plural.clone());
                let why = "statuses and children depend on them";
                add(related.namespaced, Rule::new(group, plural, &["list", "watch"], why));
            }
        }
        watched.push(Rule::new("events.k8s.io", "events", &["create", "patch"], "records events"));
        let why = "authenticates readers of the metrics";
        cluster.push(Rule::new("authentication.k8s.io", "tokenreviews", &["create"], why));
        let why = "authorizes readers of the metrics";
        cluster.push(Rule::new("authorization.k8s.io", "subjectaccessreviews", &["create"], why));
        let group = "coordination.k8s.io";
        own.push(Rule::new(group, "leases", &["create"], "the first manager creates the Lease"));
        own.push(
            Rule::new(group, "leases", &["get", "update"], "leader election").named([self.identity.lease()]),
        );
        if !self.webhooks.is_empty() {
            let bundle = "writes the CA bundle of the manager's own certificate";
            for (resource, name) in self.configurations() {
                let group = if resource == "customresourcedefinitions" {
                    "apiextensions.k8s.io"
                } else {
                    "admissionregistration.k8s.io"
                };
                cluster.push(Rule::new(group, resource, &["list", "patch", "watch"], bundle).named([name]));
            }
            own.push(Rule::new(
                "",
                "secrets",
                &["create"],
                "the first manager creates the webhook certificate",
            ));
            let why = "all managers share and renew the webhook certificate";
            own.push(
                Rule::new("", "secrets", &["list", "update", "watch"], why).named([self.identity.secret()]),
            );
        }
        Permissions { watched, cluster, own }
    }

    pub(crate) fn has_mutating(&self) -> bool {
        self.webhooks.iter().any(|webhook| matches!(webhook.handler, Handler::Mutating(_)))
    }

    pub(crate) fn has_validating(&self) -> bool {
        self.webhooks.iter().any(|webhook| matches!(webhook.handler, Handler::Validating(_)))
    }

    /// Returns resource and name of every object that refers to the webhooks.
    pub(crate) fn configurations(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if self.has_mutating() {
            found.push(("mutatingwebhookconfigurations", self.identity.prefixed(names::MUTATING)));
        }
            // A cluster-scoped kind is watched in the whole cluster, and so is what it owns.
            let mut add = |namespaced: bool, rule: Rule| {
                let rules = if info.namespaced && namespaced { &mut watched } else { &mut cluster };
                rules.push(rule);
            };
        if self.has_validating() {
            found.push(("validatingwebhookconfigurations", self.identity.prefixed(names::VALIDATING)));
        }
        let converted = self.crds.iter().filter(|crd| crd.is_converted());
        found.extend(converted.map(|crd| ("customresourcedefinitions", crd.name())));
        found
    }
}
