//! An operator as data: what the manager runs, and what its manifests and permissions are generated from.

use crate::admission::{Handler, Webhook};
use crate::context::{Context, ShutdownSignal};
use crate::controller::{AnyController, Error, ImmutableFields, Reconciler, TypedController, Watches};
use crate::crd::Crd;
use crate::identity::{Identity, names};
use crate::metrics::{METRICS_PATH, Measure, drain};
use crate::rbac::{Permissions, Rule};
use axum::routing::MethodRouter;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream};
use k8s_openapi::api::apps::v1::Deployment;
use kube::core::ApiResource;
use serde_json::Value;
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// Why an operator cannot run: its parts contradict each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOperator {
    /// Two controllers would write the same fields.
    #[error("the kind `{kind}` has two controllers")]
    Controllers {
        /// The kind.
        kind: String,
    },
    /// The API server could only call one of two webhooks.
    #[error("the kind `{kind}` has two webhooks at `{path}`")]
    Webhooks {
        /// The kind.
        kind: String,
        /// The path under which both would be served.
        path: String,
    },
    /// An owner has to be in the namespace of what it watches.
    #[error("the kind `{kind}` is namespaced and cannot own the cluster-scoped kind `{child}`")]
    ClusterScopedChild {
        /// The kind that is reconciled.
        kind: String,
        /// The kind of its children.
        child: String,
    },
    /// It is not a literal path, or it is served already.
    #[error(
        "cannot serve a route at `{path}`: it must be a literal path that is not used yet, such as `/backups/last`"
    )]
    Route {
        /// The path.
        path: String,
    },
    /// One of them would delete the children of the other.
    #[error("the controller of `{kind}` declares the children `{child}` twice")]
    Children {
        /// The kind that is reconciled.
        kind: String,
        /// The kind of its children.
        child: String,
    },
}

/// Who installs an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installer {
    /// Whoever applies the manifests: the manager issues the webhooks' certificates itself.
    Manifests,
    /// OLM, which mounts the webhooks' certificates and writes their CA bundle.
    Olm,
}

/// Starts a task.
type Start = Arc<dyn Fn(Context, ShutdownSignal) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;
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
    pub(crate) routes: Vec<(String, MethodRouter)>,
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
            routes: Vec::new(),
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

    /// Adds a controller, whose reconciler is built with the kinds that it watches: `.controller(Greetings::new)`.
    #[must_use]
    pub fn controller<R: Reconciler>(mut self, build: impl FnOnce(&mut Watches<R::Object>) -> R) -> Self {
        self.controllers.push(Arc::new(TypedController::new(build)));
        self
    }

    /// Adds a webhook.
    #[must_use]
    pub fn webhook(mut self, webhook: Webhook) -> Self {
        self.webhooks.push(webhook);
        self
    }

    /// Adds a `kube::runtime::Controller` under a name, and the permissions that it needs in the watched namespaces. It starts when
    /// this manager leads, its errors are logged, and its reconciles are in the metrics that controllers of this crate have.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kube::Api;
    /// use kube::runtime::controller::Action;
    /// use kube::runtime::{Controller, watcher};
    /// use operator_runtime::context::Context;
    /// use operator_runtime::rbac::Rule;
    /// use operator_runtime::{Identity, Operator};
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// async fn reconcile(_: Arc<Secret>, _: Arc<Context>) -> Result<Action, kube::Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// # const IDENTITY: Identity =
    /// #     Identity { name: "backup-operator", group: "example.com", version: "1.0.0", about: "", image: "" };
    /// let rules = [Rule::new("", "secrets", &["list", "watch"], "reconciles them")];
    /// let operator = Operator::new(IDENTITY).kube_controller("secret", rules, |context, stop, measure| {
    ///     let secrets: Api<Secret> = Api::all(context.client().clone());
    ///     let retry = |_: Arc<Secret>, _: &kube::Error, _: Arc<Context>| Action::requeue(Duration::from_secs(5));
    ///     Controller::new(secrets, watcher::Config::default())
    ///         .graceful_shutdown_on(stop.wait())
    ///         .run(measure.reconcile(reconcile), retry, Arc::new(context))
    /// });
    /// assert!(operator.validate().is_ok());
    /// ```
    #[must_use]
    pub fn kube_controller<R, E, Q, S>(
        self,
        name: &str,
        rules: impl IntoIterator<Item = Rule>,
        start: impl Fn(Context, ShutdownSignal, Measure) -> S + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream<Item = Result<R, kube::runtime::controller::Error<E, Q>>> + Send + 'static,
        R: Send,
        E: StdError + Send + 'static,
        Q: StdError + Send + 'static,
    {
        let controller = name.to_owned();
        self.task(name, rules, move |context, stop| {
            let (controller, measure) = (controller.clone(), context.metrics.measure(&controller));
            let results = start(context, stop, measure);
            async move {
                drain(&controller, results).await;
                Ok(())
            }
        })
    }

    /// Adds a task of plain kube-rs and the permissions that it needs in the watched namespaces. It starts when this manager leads; it should end when its `ShutdownSignal` completes, and is dropped otherwise. An error ends
    /// the manager.
    #[must_use]
    pub fn task<F>(
        mut self,
        name: &str,
        rules: impl IntoIterator<Item = Rule>,
        task: impl Fn(Context, ShutdownSignal) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.extra.watched.extend(rules);
        let start: Start = Arc::new(move |context, stop| task(context, stop).boxed());
        self.tasks.push(Task { name: name.to_owned(), start });
        self
    }

    /// Adds an HTTP route to the server of the metrics, with [its limits](crate::manager::serve::limits): over TLS, and only for
    /// clients that the API server authorizes for path and method (a rule with `nonResourceURLs`). With `--metrics-secure=false`, it
    /// is open to all. Every manager serves it, whether it leads or not.
    ///
    /// A path is literal, such as `/backups/last`; parameters are in the query.
    ///
    /// ```
    /// use operator_runtime::manager::serve::axum::routing::get;
    /// use operator_runtime::{Identity, Operator};
    ///
    /// # const IDENTITY: Identity =
    /// #     Identity { name: "backup-operator", group: "example.com", version: "1.0.0", about: "", image: "" };
    /// let operator = Operator::new(IDENTITY).route("/backups/last", get(async || "none yet"));
    /// assert!(operator.validate().is_ok());
    /// assert!(operator.route("/metrics", get(async || "")).validate().is_err());
    /// ```
    #[must_use]
    pub fn route(mut self, path: &str, handler: MethodRouter) -> Self {
        self.routes.push((path.to_owned(), handler));
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

    /// Checks that the operator can run; the manager and the generated manifests begin with it.
    ///
    /// # Errors
    /// When kinds, controllers or webhooks contradict each other.
    pub fn validate(&self) -> Result<(), InvalidOperator> {
        let mut controlled = BTreeSet::new();
        for controller in &self.controllers {
            let info = controller.info();
            let kind = &info.resource.kind;
            if !controlled.insert((&info.resource.group, kind)) {
                return Err(InvalidOperator::Controllers { kind: kind.clone() });
            }
            let mut children = BTreeSet::new();
            let mut declared = info.declared.children.iter().map(|child| &child.resource);
            if let Some(child) = declared.find(|child| !children.insert((&child.group, &child.kind))) {
                return Err(InvalidOperator::Children { kind: kind.clone(), child: child.kind.clone() });
            }
            if let Some(child) =
                info.declared.children.iter().find(|child| info.namespaced && !child.namespaced)
            {
                let child = child.resource.kind.clone();
                return Err(InvalidOperator::ClusterScopedChild { kind: kind.clone(), child });
            }
        }
        let mut routes = BTreeSet::from([METRICS_PATH]);
        if let Some((path, _)) =
            self.routes.iter().find(|(path, _)| !is_literal_path(path) || !routes.insert(path))
        {
            return Err(InvalidOperator::Route { path: path.clone() });
        }
        let mut paths = BTreeSet::new();
        for webhook in &self.webhooks {
            let (of, path) = (&webhook.resource, webhook.path());
            // Conversions share a path.
            let converted =
                matches!(webhook.handler, Handler::Conversion(_)).then_some((&of.group, &of.kind));
            if !paths.insert((converted, path.clone())) {
                return Err(InvalidOperator::Webhooks { kind: of.kind.clone(), path });
            }
        }
        Ok(())
    }

    /// Returns all permissions that the operator needs, each with its reason. If OLM installs it, it needs fewer
    /// ([`documents_for_olm`](crate::manifests::documents_for_olm)).
    #[must_use]
    pub fn permissions(&self) -> Permissions {
        self.permissions_with(Installer::Manifests)
    }

    /// Returns the permissions that the operator needs if `installer` installs it.
    pub(crate) fn permissions_with(&self, installer: Installer) -> Permissions {
        let Permissions { mut watched, mut cluster, mut own } = self.extra.clone();
        for controller in &self.controllers {
            let info = controller.info();
            // A cluster-scoped kind is watched in the whole cluster, and so is what it watches.
            let mut add = |namespaced: bool, rule: Rule| {
                let rules = if info.namespaced && namespaced { &mut watched } else { &mut cluster };
                rules.push(rule);
            };
            let (group, plural) = (info.resource.group.clone(), info.resource.plural.clone());
            let rule =
                |suffix: &str, verbs, why| Rule::new(group.clone(), format!("{plural}{suffix}"), verbs, why);
            add(true, rule("", &["list", "watch"], "the controller watches its objects"));
            if info.finalizer.is_some() {
                add(true, rule("", &["patch"], "adds and removes the finalizer"));
            }
            if info.declared.own_metadata {
                add(true, rule("", &["patch"], "writes labels and annotations"));
            }
            if info.has_status {
                add(true, rule("/status", &["patch"], "writes the status"));
            }
            let why =
                "required to set blockOwnerDeletion where OwnerReferencesPermissionEnforcement is enabled";
            if !info.declared.children.is_empty() {
                add(true, rule("/finalizers", &["update"], why).implied());
            }
            for child in &info.declared.children {
                let (group, plural) = (child.resource.group.clone(), child.resource.plural.clone());
                let rule = |verbs, why| Rule::new(group.clone(), plural.clone(), verbs, why);
                let namespaced = child.namespaced;
                let why = "applies children and reverts changes to them";
                add(namespaced, rule(&["list", "patch", "watch"], why));
                add(
                    namespaced,
                    rule(&["get"], "finds out what became of an object that the watch does not report"),
                );
                let why = "server-side apply creates objects that do not exist";
                add(namespaced, rule(&["create"], why).implied());
                if child.options.optional {
                    add(namespaced, rule(&["delete"], "deletes children that are no longer desired"));
                }
                let immutable = child.options.immutable;
                if immutable != ImmutableFields::Refuse {
                    let why = "creates a child again if a field cannot be changed";
                    add(namespaced, rule(&["delete"], why).implied());
                }
                if immutable == ImmutableFields::ExpandClaims {
                    let (why, claims) = ("enlarges the claims of a StatefulSet", "persistentvolumeclaims");
                    add(true, Rule::new("", claims, &["list", "patch"], why).implied());
                }
            }
            let related = info.declared.related.iter().map(|kind| (&kind.resource, kind.namespaced));
            let references = info.declared.references.iter().map(|kind| (&kind.resource, kind.namespaced));
            for (resource, namespaced) in related.chain(references) {
                let (group, plural) = (resource.group.clone(), resource.plural.clone());
                let why = "statuses and children depend on them";
                add(namespaced, Rule::new(group, plural, &["list", "watch"], why));
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
        if !self.webhooks.is_empty() && installer != Installer::Olm {
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

    /// Returns the group of a kind if kinds of other groups have its name, so that generated names contain it.
    pub(crate) fn qualifier<'a>(&self, kind: &str, group: &'a str) -> Option<&'a str> {
        let crds = self.crds.iter().map(|crd| (crd.kind(), crd.group()));
        let controllers = self.controllers.iter().map(|controller| &controller.info().resource);
        let webhooks = self.webhooks.iter().map(|webhook| &webhook.resource);
        let resources = controllers.chain(webhooks).map(|of| (of.kind.as_str(), of.group.as_str()));
        // Generated names have the kind in lower case.
        let other = |(of, found): (&str, &str)| of.eq_ignore_ascii_case(kind) && found != group;
        crds.chain(resources).any(other).then_some(group)
    }

    /// Returns the name of a controller in metrics and logs: its kind in lower case and, if that is needed, the group.
    pub(crate) fn name_of(&self, resource: &ApiResource) -> String {
        let kind = resource.kind.to_lowercase();
        match self.qualifier(&resource.kind, &resource.group) {
            Some(group) => format!("{kind}.{group}"),
            None => kind,
        }
    }

    /// Returns the name of the role for users of a kind.
    pub(crate) fn user_role(&self, crd: &Crd, role: &str) -> String {
        let kind = crd.kind().to_lowercase();
        match self.qualifier(crd.kind(), crd.group()) {
            Some(group) => format!("{}-{kind}-{role}-role", group.replace('.', "-")),
            None => format!("{kind}-{role}-role"),
        }
    }

    /// Returns the name of a webhook in its configuration.
    pub(crate) fn webhook_name(&self, webhook: &Webhook) -> String {
        let ApiResource { kind, group, .. } = &webhook.resource;
        webhook.name(self.qualifier(kind, group))
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
        if self.has_validating() {
            found.push(("validatingwebhookconfigurations", self.identity.prefixed(names::VALIDATING)));
        }
        let converted = self.crds.iter().filter(|crd| crd.is_converted());
        found.extend(converted.map(|crd| ("customresourcedefinitions", crd.name())));
        found
    }
}

/// Whether a path is absolute and has neither parameters nor what would have to be escaped.
fn is_literal_path(path: &str) -> bool {
    let is_plain = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    path.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Decision;
    use crate::conversion::Conversion;
    use crate::testing::sample::{Broken, Cluster, IDENTITY, operator, other};

    #[test]
    fn parts_that_contradict_each_other_are_an_error() {
        let webhook = || Webhook::validating::<Cluster, _>(async |_, _| Ok(Decision::allowed()));
        assert_eq!(operator().validate(), Ok(()));
        let twice = operator().webhook(webhook()).validate().unwrap_err().to_string();
        assert_eq!(twice, "the kind `Cluster` has two webhooks at `/validate-example-com-v1-cluster`");
        let conversion = || Webhook::conversion(Conversion::<Cluster>::new());
        let twice = Operator::new(IDENTITY).webhook(conversion()).webhook(conversion()).validate();
        assert_eq!(twice.unwrap_err().to_string(), "the kind `Cluster` has two webhooks at `/convert`");
        let twice = operator().controller(Broken::new).validate().unwrap_err().to_string();
        assert_eq!(twice, "the kind `Cluster` has two controllers");
        let route = |path| operator().route(path, axum::routing::get(async || "")).validate();
        assert_eq!(route("/backups/last"), Ok(()));
        for path in ["backups", "/", "/a//b", "/{id}", "/a/{*rest}", "/:id", "/a b", "/metrics"] {
            assert_eq!(route(path), Err(InvalidOperator::Route { path: path.to_owned() }));
        }
    }

    #[test]
    fn kinds_of_the_same_name_in_two_groups_have_names_with_their_groups() {
        let one = crate::manifests::documents(&operator(), "image").unwrap();
        assert!(one.contains("name: test-operator-cluster-editor-role\n"), "{one}");
        let operator = operator()
            .crd(Crd::new::<other::Cluster>())
            .controller(other::Clusters::new)
            .webhook(Webhook::validating::<other::Cluster, _>(async |_, _| Ok(Decision::allowed())));
        assert_eq!(operator.validate(), Ok(()));
        let manifests = crate::manifests::documents(&operator, "image").unwrap();
        for name in [
            "test-operator-example-com-cluster-editor-role",
            "test-operator-other-example-com-cluster-viewer-role",
            "vcluster-v1.example.com.kb.io",
            "vcluster-v1.other.example.com.kb.io",
        ] {
            let named = manifests.matches(&format!("name: {name}\n")).count();
            assert_eq!(named, 1, "{name} in\n{manifests}");
        }
        let tree = crate::manifests::tree(&operator, "image").unwrap();
        let alerts = &tree[std::path::Path::new("prometheus/alerts.yaml")];
        for alert in ["ClusterExampleComQueueStuck", "ClusterOtherExampleComQueueStuck"] {
            assert_eq!(alerts.matches(alert).count(), 1, "{alert} in\n{alerts}");
        }
        assert!(alerts.contains("controller=\"cluster.other.example.com\""), "{alerts}");
        assert!(tree.contains_key(std::path::Path::new("rbac/other_example_com_cluster_editor_role.yaml")));
    }

    #[tokio::test(start_paused = true)]
    async fn kinds_of_the_same_name_in_two_groups_are_reconciled_apart() {
        let operator = operator().crd(Crd::new::<other::Cluster>()).controller(other::Clusters::new);
        let scenario = crate::testing::Scenario::start(operator);
        for group in ["example.com", "other.example.com"] {
            let object = serde_json::json!({
                "apiVersion": format!("{group}/v1"), "kind": "Cluster", "metadata": {"name": "a"}, "spec": {"size": 1},
            });
            scenario.api.put(&format!("clusters.{group}"), object);
        }
        let available = |api: &crate::testing::MockApi| {
            api.condition("clusters.example.com", "a", "Available")["status"] == "True"
        };
        scenario.until("the one has a status", available).await;
        scenario.until("the other one has its child", |api| api.get("secrets", "a").is_some()).await;
        let owner = scenario.api.get("secrets", "a").unwrap()["metadata"]["ownerReferences"][0].clone();
        assert_eq!(owner["apiVersion"], "other.example.com/v1");
        scenario.quiet().await;
        let page = scenario.metrics.page();
        for controller in ["cluster.example.com", "cluster.other.example.com"] {
            assert!(page.contains(&format!("controller=\"{controller}\",result=\"success\"")), "{page}");
        }
        scenario.end().await;
    }

    #[test]
    fn cluster_scoped_kind_needs_permissions_in_the_whole_cluster() {
        let permissions =
            Operator::new(IDENTITY).controller(crate::testing::sample::Buckets::new).permissions();
        let resources = |rules: &[Rule]| {
            let all = rules.iter().map(|rule| rule.resource.clone().into_owned());
            all.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(resources(&permissions.watched), "events");
        let cluster =
            "buckets buckets/finalizers buckets/status configmaps subjectaccessreviews tokenreviews";
        assert_eq!(resources(&permissions.cluster), cluster);
    }
}
