//! Service accounts, and the roles that fit the install mode.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::context::{Context, Error, MAX_OBJECTS, list, object, string};
use kube_yaml::go_json::compact;

/// The maximum length of a name that OLM makes.
const MAX_NAME: usize = 63;

const API: &str = "rbac.authorization.k8s.io/v1";

fn account(permission: &Value) -> &str {
    match string(permission, "/serviceAccountName") {
        "" => "default",
        name => name,
    }
}

/// Returns a name that is unique to the rules, as short as OLM's.
fn name(base: &str, rules: &Value) -> String {
    let digest = Sha256::digest(compact(rules));
    let suffix: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let mut end = base.len().min(MAX_NAME - suffix.len() - 1);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}-{suffix}", base[..end].trim_end_matches(['-', '.']))
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rules: &Value) -> Value {
    let mut role = object(API, kind, name, namespace);
    role["rules"] = rules.clone();
    role
}

fn binding(context: &Context<'_>, kind: &str, name: &str, namespace: Option<&str>, account: &str) -> Value {
    let mut binding = object(API, &format!("{kind}Binding"), name, namespace);
    binding["roleRef"] = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    binding["subjects"] =
        json!([{"kind": "ServiceAccount", "name": account, "namespace": context.options.namespace}]);
    binding
}

/// Returns service accounts, roles and their bindings. Where the operator watches all namespaces, the permissions of a
/// namespace become those of the cluster, with reading namespaces.
pub(crate) fn objects(context: &Context<'_>) -> Result<Vec<Value>, Error> {
    let permissions = list(context.csv, "/spec/install/spec/permissions");
    let cluster = list(context.csv, "/spec/install/spec/clusterPermissions");
    let accounts: BTreeSet<&str> = permissions.iter().chain(cluster).map(account).collect();
    let namespace = Some(context.options.namespace.as_str());
    let mut found: Vec<Value> = accounts
        .into_iter()
        .filter(|account| *account != "default")
        .map(|account| object("v1", "ServiceAccount", account, namespace))
        .collect();
    let count = context.options.targets.len().saturating_mul(permissions.len()).saturating_mul(2);
    if count.saturating_add(cluster.len()) > MAX_OBJECTS {
        return Err(Error::TooMany);
    }
    let base = |permission| format!("{}-{}", context.name(), account(permission));
    let mut of_cluster: Vec<(String, Value)> =
        cluster.iter().map(|one| (account(one).to_owned(), one["rules"].clone())).collect();
    for permission in permissions {
        let rules = &permission["rules"];
        if context.is_global() {
            let mut rules = rules.as_array().cloned().unwrap_or_default();
            rules.push(
                json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]}),
            );
            of_cluster.push((account(permission).to_owned(), rules.into()));
            continue;
        }
        let name = name(&base(permission), rules);
        for target in &context.options.targets {
            found.push(role("Role", &name, Some(target), rules));
            found.push(binding(context, "Role", &name, Some(target), account(permission)));
        }
    }
    for (account, rules) in of_cluster {
        let name = name(&format!("{}-{account}", context.name()), &rules);
        found.push(role("ClusterRole", &name, None, &rules));
        found.push(binding(context, "ClusterRole", &name, None, &account));
    }
    Ok(found)
}
