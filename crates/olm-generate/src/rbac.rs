//! Roles into the CSV's permissions, through the bindings to the service accounts that the operator's pods run as.
//!
//! Source: `SplitCSVPermissionsObjects`, `applyRoles` and `applyClusterRoles` of operator-framework/operator-sdk.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::error::Error;
use super::input::{Collected, Item};
use super::json::{dig, entries, items, string_at};
use super::report::{GenerateReport, ObjectOutcome};

/// What labels begin with that add the rules of a role to a built-in one.
const AGGREGATE: &str = "rbac.authorization.k8s.io/aggregate-to-";
const GROUP: &str = "rbac.authorization.k8s.io";
/// The service account of a pod that does not name one.
const DEFAULT_ACCOUNT: &str = "default";
/// The maximum size of all rules in the CSV, in bytes of JSON. A role's rules are repeated for every subject that it is
/// bound to; etcd rejects objects of more than 1.5 MiB.
const MAX_RULES_SIZE: usize = 16 << 20;

/// The permissions of the CSV, and what does not belong into them.
#[derive(Debug, Default)]
pub(crate) struct Rbac<'c> {
    /// `spec.install.spec.permissions`
    pub(crate) permissions: Vec<Json>,
    /// `spec.install.spec.clusterPermissions`
    pub(crate) cluster_permissions: Vec<Json>,
    /// The objects that become files of the bundle.
    pub(crate) rest: Vec<&'c Item>,
}

/// Splits roles and bindings into permissions of the CSV and files of the bundle.
///
/// # Errors
/// The permissions exceed [`MAX_RULES_SIZE`].
pub(crate) fn split<'c>(
    collected: &'c Collected,
    extra: &[String],
    report: &mut GenerateReport,
) -> Result<Rbac<'c>, Error> {
    let mut bindings = Bindings::new(collected, extra);
    for binding in &collected.role_bindings {
        bindings.role_binding(binding, report);
    }
    for binding in &collected.cluster_role_bindings {
        bindings.cluster_role_binding(binding, report);
    }
    bindings.last =
        bindings.rest.iter().map(|binding| ((binding.kind(), binding.name()), binding.source)).collect();
    let mut rbac = Rbac {
        permissions: bindings.permissions()?,
        cluster_permissions: bindings.cluster_permissions()?,
        rest: Vec::new(),
    };
    bindings.place_roles(&mut rbac.rest, report);
    bindings.place_cluster_roles(&mut rbac.rest, report);
    bindings.place_bindings(&mut rbac.rest, report);
    let created = place_service_accounts(collected, &mut rbac, report);
    warn_of_absent_accounts(collected, &created, report);
    Ok(rbac)
}

/// The bindings of the input, and which roles they bind to the operator.
struct Bindings<'c, 'a> {
    collected: &'c Collected,
    /// The service accounts that are the operator's.
    accounts: BTreeSet<&'a str>,
    /// Of several roles with one name, the last.
    roles: BTreeMap<&'c str, &'c Item>,
    cluster_roles: BTreeMap<&'c str, &'c Item>,
    /// Roles that are bound to the operator in a namespace.
    in_namespace: BTreeSet<&'c str>,
    /// Cluster roles that are bound to the operator in a namespace.
    in_namespace_cluster: BTreeSet<&'c str>,
    /// Cluster roles that are bound to the operator everywhere.
    everywhere: BTreeSet<&'c str>,
    /// Bindings that may become files of the bundle.
    rest: Vec<&'c Item>,
    /// The last of these with each kind and name, by its number.
    last: HashMap<(&'c str, &'c str), usize>,
}

impl<'c: 'a, 'a> Bindings<'c, 'a> {
    fn new(collected: &'c Collected, extra: &'a [String]) -> Self {
        let by_name = |roles: &'c [Item]| roles.iter().map(|role| (role.name(), role)).collect();
        Self {
            collected,
            accounts: collected
                .deployments
                .iter()
                .map(account)
                .chain(extra.iter().map(String::as_str))
                .collect(),
            roles: by_name(&collected.roles),
            cluster_roles: by_name(&collected.cluster_roles),
            in_namespace: BTreeSet::new(),
            in_namespace_cluster: BTreeSet::new(),
            everywhere: BTreeSet::new(),
            rest: Vec::new(),
            last: HashMap::new(),
        }
    }

    fn role_binding(&mut self, binding: &'c Item, report: &mut GenerateReport) {
        let (kind, name) = role_of(binding);
        let known = match kind {
            "Role" => self.roles.contains_key(name),
            "ClusterRole" => self.cluster_roles.contains_key(name),
            _ => false,
        };
        let bound = Bound::new(binding, &self.accounts, known);
        warn_of_subjects(binding, &self.accounts, &bound, self.collected, report);
        if bound.ours {
            if let Some(namespace) = self.collected.foreign_namespace(binding) {
                let title = report.title(binding.source);
                report.warn(
                    binding.source,
                    format!(
                        "{title} is in namespace `{}`, but OLM grants the permissions of a CSV in the operator's namespace; bind a \
                         ClusterRole with a ClusterRoleBinding, or create both outside of the bundle",
                        namespace.escape_debug()
                    ),
                );
            }
            let bound_roles =
                if kind == "Role" { &mut self.in_namespace } else { &mut self.in_namespace_cluster };
            bound_roles.insert(name);
            report.record(binding.source, ObjectOutcome::Csv("install.spec.permissions".to_owned()));
        }
        bound.place(binding, &mut self.rest, report);
    }

    fn cluster_role_binding(&mut self, binding: &'c Item, report: &mut GenerateReport) {
        let (kind, name) = role_of(binding);
        let known = kind == "ClusterRole" && self.cluster_roles.contains_key(name);
        let bound = Bound::new(binding, &self.accounts, known);
        warn_of_subjects(binding, &self.accounts, &bound, self.collected, report);
        if bound.ours {
            self.everywhere.insert(name);
            report.record(binding.source, ObjectOutcome::Csv("install.spec.clusterPermissions".to_owned()));
        }
        bound.place(binding, &mut self.rest, report);
    }

    /// Returns the permissions in the operator's namespace.
    fn permissions(&self) -> Result<Vec<Json>, Error> {
        permissions(&self.collected.role_bindings, &self.accounts, |binding| {
            let (kind, name) = role_of(binding);
            let (roles, bound) = if kind == "Role" {
                (&self.roles, &self.in_namespace)
            } else {
                (&self.cluster_roles, &self.in_namespace_cluster)
            };
            roles.get(name).copied().filter(|_| bound.contains(name))
        })
    }

    /// Returns the permissions in all namespaces.
    fn cluster_permissions(&self) -> Result<Vec<Json>, Error> {
        permissions(&self.collected.cluster_role_bindings, &self.accounts, |binding| {
            let (_, name) = role_of(binding);
            self.cluster_roles.get(name).copied().filter(|_| self.everywhere.contains(name))
        })
    }

    /// Decides which roles become files of the bundle.
    fn place_roles(&self, rest: &mut Vec<&'c Item>, report: &mut GenerateReport) {
        let bound_by_objects = self.bound_by_objects();
        for role in &self.collected.roles {
            let name = role.name();
            if self.roles.get(name).is_some_and(|last| last.source != role.source) {
                omit_overridden(role, report);
            } else if self.in_namespace.contains(name) {
                taken(role, "install.spec.permissions", report);
                if bound_by_objects.contains(&("Role", name)) {
                    warn_of_others(role, report);
                }
            } else {
                rest.push(role);
            }
        }
    }

    /// Returns the kinds and names of the roles that bindings name which become files.
    fn bound_by_objects(&self) -> HashSet<(&'c str, &'c str)> {
        self.rest.iter().filter(|binding| self.is_last(binding)).map(|binding| role_of(binding)).collect()
    }

    /// Decides which cluster roles become files of the bundle.
    fn place_cluster_roles(&self, rest: &mut Vec<&'c Item>, report: &mut GenerateReport) {
        let bound_by_objects = self.bound_by_objects();
        for role in &self.collected.cluster_roles {
            let name = role.name();
            let (here, there) = (self.in_namespace_cluster.contains(name), self.everywhere.contains(name));
            if self.cluster_roles.get(name).is_some_and(|last| last.source != role.source) {
                omit_overridden(role, report);
            } else if here || there {
                warn_of_aggregation(role, report);
                if here {
                    taken(role, "install.spec.permissions", report);
                }
                if there {
                    taken(role, "install.spec.clusterPermissions", report);
                }
                if bound_by_objects.contains(&("ClusterRole", name)) {
                    warn_of_others(role, report);
                }
            } else {
                rest.push(role);
            }
        }
    }

    /// Returns whether a binding that may become a file is the last one with its name.
    fn is_last(&self, binding: &Item) -> bool {
        self.last.get(&(binding.kind(), binding.name())) == Some(&binding.source)
    }

    /// Decides which bindings become files of the bundle: of several with one name, the last.
    fn place_bindings(&self, rest: &mut Vec<&'c Item>, report: &mut GenerateReport) {
        for &binding in &self.rest {
            if self.is_last(binding) {
                rest.push(binding);
            } else {
                omit_overridden(binding, report);
            }
        }
    }
}

/// Decides which service accounts become files of the bundle. Returns those that OLM creates: those that have permissions, and no others;
/// operator-sdk rejects a `ServiceAccount` in the bundle that a Deployment of the CSV uses.
fn place_service_accounts<'c>(
    collected: &'c Collected,
    rbac: &mut Rbac<'c>,
    report: &mut GenerateReport,
) -> BTreeSet<String> {
    let mut created: BTreeSet<String> = rbac
        .permissions
        .iter()
        .chain(&rbac.cluster_permissions)
        .map(|entry| string_at(entry, &["serviceAccountName"]).to_owned())
        .collect();
    let used: BTreeSet<&str> = collected.deployments.iter().map(account).collect();
    for item in &collected.service_accounts {
        let name = item.name();
        if !created.contains(name) {
            if !used.contains(name) || name == DEFAULT_ACCOUNT {
                rbac.rest.push(item);
                continue;
            }
            created.insert(name.to_owned());
            rbac.permissions.push(json!({"serviceAccountName": name, "rules": []}));
        }
        report.record(
            item.source,
            ObjectOutcome::Csv("install.spec (OLM creates the service account)".to_owned()),
        );
        let annotated = entries(&item.json, &["metadata", "annotations"]).is_some_and(|map| !map.is_empty());
        let omitted = [
            (annotated, "annotations"),
            (!items(&item.json, &["imagePullSecrets"]).is_empty(), "imagePullSecrets"),
            (!items(&item.json, &["secrets"]).is_empty(), "secrets"),
            (!dig(&item.json, &["automountServiceAccountToken"]).is_null(), "automountServiceAccountToken"),
        ];
        for (_, field) in omitted.into_iter().filter(|(is_lost, _)| *is_lost) {
            let title = report.title(item.source);
            let message =
                format!("{title}: {field} were omitted: OLM creates the service account from the CSV");
            report.warn(item.source, message);
        }
    }
    created
}

/// Warns about Deployments that run as a service account that nothing creates.
fn warn_of_absent_accounts(collected: &Collected, created: &BTreeSet<String>, report: &mut GenerateReport) {
    let in_bundle: BTreeSet<&str> = collected.service_accounts.iter().map(Item::name).collect();
    for deployment in &collected.deployments {
        let account = account(deployment);
        if account != DEFAULT_ACCOUNT && !created.contains(account) && !in_bundle.contains(account) {
            let title = report.title(deployment.source);
            report.warn(
                deployment.source,
                format!(
                    "{title} runs as service account `{}`, which is not in the input and has no permissions in the CSV, so OLM \
                     does not create it; add the ServiceAccount to the input",
                    account.escape_debug()
                ),
            );
        }
    }
}

/// Returns the service account that a Deployment's pods run as.
fn account(deployment: &Item) -> &str {
    // The API server reads the old name of the field, too (`pkg/apis/core/v1/conversion.go` of Kubernetes).
    let names = ["serviceAccountName", "serviceAccount"]
        .map(|field| string_at(&deployment.json, &["spec", "template", "spec", field]));
    names.into_iter().find(|name| !name.is_empty()).unwrap_or(DEFAULT_ACCOUNT)
}

fn role_of(binding: &Item) -> (&str, &str) {
    (string_at(&binding.json, &["roleRef", "kind"]), string_at(&binding.json, &["roleRef", "name"]))
}

/// Warns about subjects that include a service account of the operator but give it nothing in the CSV, or that are another's.
fn warn_of_subjects(
    binding: &Item,
    accounts: &BTreeSet<&str>,
    bound: &Bound<'_>,
    collected: &Collected,
    report: &mut GenerateReport,
) {
    let (role_kind, role) = role_of(binding);
    let title = report.title(binding.source);
    for subject in items(&binding.json, &["subjects"]) {
        let (kind, name) = (string_at(subject, &["kind"]), string_at(subject, &["name"]));
        let message = match kind {
            "ServiceAccount" if !accounts.contains(name) => continue,
            "ServiceAccount" if !bound.known => format!(
                "{title} binds service account `{}` to {role_kind} `{}`, which is not in the input, so the CSV has no \
                 permissions of it: the binding is kept as an object, for the namespace that it names; add a {role_kind} with \
                 the rules that the operator requires",
                name.escape_debug(),
                role.escape_debug()
            ),
            "ServiceAccount" => {
                let namespace = string_at(subject, &["namespace"]);
                let mut own = collected
                    .deployments
                    .iter()
                    .filter(|deployment| account(deployment) == name)
                    .map(Item::namespace)
                    .peekable();
                let is_known = !namespace.is_empty() && own.peek().is_some();
                if !is_known || own.any(|own| own.is_empty() || own == namespace) {
                    continue;
                }
                format!(
                    "{title} binds service account `{}` of namespace `{}`, where no Deployment runs as it: its permissions are \
                     given to the operator's service account of the same name; correct the namespace, or remove the subject",
                    name.escape_debug(),
                    namespace.escape_debug()
                )
            }
            "Group" if name.starts_with("system:serviceaccounts") || name == "system:authenticated" => {
                format!(
                    "{title} binds group `{}`, which a CSV does not support, so the CSV has no permissions of it: the binding and its \
                 role are kept as objects; bind the operator's service account instead",
                    name.escape_debug()
                )
            }
            "User" if name.starts_with("system:serviceaccount:") => format!(
                "{title} binds user `{}`, which a CSV does not support, so the CSV has no permissions of it: the binding and its \
                 role are kept as objects; bind the service account instead",
                name.escape_debug()
            ),
            "User" | "Group" => continue,
            _ => format!(
                "{title} has subject `{}` of kind `{}`, expected ServiceAccount, User or Group: nobody gets its role",
                name.escape_debug(),
                kind.escape_debug()
            ),
        };
        report.warn(binding.source, message);
    }
}

/// To whom a binding gives its role.
struct Bound<'c> {
    /// Whether the role is one of the input, and an account of the operator gets it.
    ours: bool,
    /// Whether somebody else gets it too.
    others: bool,
    /// Service accounts that no Deployment runs as.
    unused_accounts: Vec<&'c str>,
    /// Whether the role is one of the input.
    known: bool,
}

impl<'c> Bound<'c> {
    fn new(binding: &'c Item, accounts: &BTreeSet<&str>, known: bool) -> Self {
        let known = known && matches!(string_at(&binding.json, &["roleRef", "apiGroup"]), "" | GROUP);
        let subjects = items(&binding.json, &["subjects"]);
        let is_account = |subject: &&Json| string_at(subject, &["kind"]) == "ServiceAccount";
        let ours = |subject: &&Json| is_account(subject) && accounts.contains(string_at(subject, &["name"]));
        Self {
            ours: known && subjects.iter().any(|subject| ours(&subject)),
            others: subjects.iter().any(|subject| !ours(&subject)),
            unused_accounts: subjects
                .iter()
                .filter(|subject| is_account(subject) && !ours(subject))
                .map(|subject| string_at(subject, &["name"]))
                .collect(),
            known,
        }
    }

    /// Decides whether the binding itself goes into the bundle.
    fn place(&self, binding: &'c Item, rest: &mut Vec<&'c Item>, report: &mut GenerateReport) {
        if self.known && !self.others {
            if !self.ours {
                report.record(binding.source, ObjectOutcome::Omitted("it has no subjects".to_owned()));
                let title = report.title(binding.source);
                report.warn(binding.source, format!("{title} was omitted because it has no subjects"));
            }
            return;
        }
        if let [unused, ..] = self.unused_accounts[..] {
            let title = report.title(binding.source);
            report.warn(
                binding.source,
                format!(
                    "{title} binds service account `{unused}`, which no Deployment uses, so the CSV has no permissions of it: the \
                     binding is kept as an object; if the operator uses it, pass --extra-service-accounts={unused}"
                ),
            );
        }
        rest.push(binding);
    }
}

/// Returns the permissions of each service account: the rules of all roles bound to it, in the order of the bindings, as
/// often as they are bound.
///
/// # Errors
/// The rules exceed [`MAX_RULES_SIZE`].
fn permissions<'c>(
    bindings: &'c [Item],
    accounts: &BTreeSet<&str>,
    role: impl Fn(&'c Item) -> Option<&'c Item>,
) -> Result<Vec<Json>, Error> {
    let mut rules: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    let mut total = 0;
    for binding in bindings {
        let Some(role) = role(binding) else { continue };
        for subject in items(&binding.json, &["subjects"]) {
            let name = string_at(subject, &["name"]);
            if string_at(subject, &["kind"]) == "ServiceAccount" && accounts.contains(name) {
                total += *sizes
                    .entry(role.source)
                    .or_insert_with(|| dig(&role.json, &["rules"]).to_string().len());
                if total > MAX_RULES_SIZE {
                    return Err(Error::Permissions {
                        account: name.to_owned(),
                        role: role.name().to_owned(),
                        limit: MAX_RULES_SIZE,
                    });
                }
                rules.entry(name).or_default().extend_from_slice(items(&role.json, &["rules"]));
            }
        }
    }
    let permissions = rules.into_iter().filter(|(_, rules)| !rules.is_empty());
    Ok(permissions.map(|(name, rules)| json!({"serviceAccountName": name, "rules": rules})).collect())
}

fn taken(role: &Item, field: &str, report: &mut GenerateReport) {
    let title = report.title(role.source);
    if items(&role.json, &["rules"]).is_empty() {
        report.record(role.source, ObjectOutcome::Omitted("it has no rules".to_owned()));
        let aggregated = dig(&role.json, &["aggregationRule"]).is_object();
        let message = if aggregated {
            format!("{title} aggregates its rules, which a CSV does not support; list the rules in it")
        } else {
            format!("{title} is bound to the operator but has no rules")
        };
        report.warn(role.source, message);
    } else {
        report.record(role.source, ObjectOutcome::Csv(field.to_owned()));
    }
}

/// Warns about a `ClusterRole` whose rules become part of a built-in one.
fn warn_of_aggregation(role: &Item, report: &mut GenerateReport) {
    let title = report.title(role.source);
    let labels = entries(&role.json, &["metadata", "labels"]).into_iter().flatten();
    if let Some((label, _)) = labels.into_iter().find(|(key, _)| key.starts_with(AGGREGATE)) {
        report.warn(
            role.source,
            format!(
                "{title} has label `{}`, which is lost, because OLM creates a role of its own from the CSV: use a role that is not \
                 bound to the operator for it",
                label.escape_debug()
            ),
        );
    }
}

/// Warns about a role that the operator has and others, too: it becomes permissions of the CSV, as for operator-sdk, and a binding that
/// stays an object names no role then.
fn warn_of_others(role: &Item, report: &mut GenerateReport) {
    let title = report.title(role.source);
    report.warn(
        role.source,
        format!(
            "{title} is bound to the operator and to others: it becomes permissions of the CSV, so the binding of the others, which is \
             kept as an object, names a role that is not in the bundle; bind a copy of the role with another name to them"
        ),
    );
}

fn omit_overridden(role: &Item, report: &mut GenerateReport) {
    let title = report.title(role.source);
    report.record(role.source, ObjectOutcome::Omitted("a later object has the same name".to_owned()));
    report.warn(
        role.source,
        format!(
            "{title} (namespace `{}`) was omitted: a bundle has one namespace, and a later object has the same name",
            role.namespace().escape_debug()
        ),
    );
}
