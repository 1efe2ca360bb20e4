//! Roles, their bindings and service accounts: of a CSV's permissions, and as objects of a bundle.

use super::metadata;

/// `{serviceAccountName, rules}` of `permissions`.
pub(crate) const PERMISSION: &str = r#"
serviceAccountName: '$v[["gizmo-operator","other"],["Other","a_b","a b","-a",7]]'
rules:
- apiGroups: '$v[[[""],["apps"],["*"]],[[],"apps",[1]]]'
  resources: '$v[[["pods"],["*"],["pods/status","pods"]],[[],"pods",[1]]]'
  verbs: '$v[[["get"],["*"],["get","list"]],[[],"get",[1]]]'
  "resourceNames?": '$v[[["a"]],["a",[1]]]'
- $maybe: {apiGroups: ["*"], resources: ["*"], verbs: '$v[[["*"]],[[],"get"]]', nonResourceURLs: '$v[[[]],[["/a"]]]'}
"#;

/// `{serviceAccountName, rules}` of `clusterPermissions`.
pub(crate) const CLUSTER_PERMISSION: &str = r#"
serviceAccountName: '$v[["gizmo-operator","other"],["Other","a_b","a b","-a",7]]'
rules:
- $one:
  - {nonResourceURLs: '$v[[["/metrics"],["*"],["/a/*"]],[[],"/metrics",[1]]]', verbs: '$v[[["get"],["*"]],[[],"get"]]', "resourceNames?": '$v[[[]],[["a"],"a"]]', "apiGroups?": '$v[[[]],[[""],["apps"]]]'}
  - {apiGroups: '$v[[[""],["apps"]],[[],"apps"]]', resources: '$v[[["pods"],["*"]],[[],"pods"]]', verbs: '$v[[["get"],["*"]],[[],"get"]]'}
"#;

/// The template of a Role.
#[must_use]
pub(crate) fn role() -> String {
    ROLE.replace("$metadata", &metadata::template(NAME))
}

/// The template of a `ClusterRole`.
#[must_use]
pub(crate) fn cluster_role() -> String {
    CLUSTER_ROLE.replace("$metadata", &metadata::template(NAME))
}

/// The template of a `RoleBinding`.
#[must_use]
pub(crate) fn role_binding() -> String {
    BINDING.replace("$kind", "RoleBinding").replace("$metadata", &metadata::template(NAME))
}

/// The template of a `ClusterRoleBinding`.
#[must_use]
pub(crate) fn cluster_role_binding() -> String {
    let text = BINDING.replace("$kind", "ClusterRoleBinding").replace("$metadata", &metadata::template(NAME));
    text.replace(r#"["ClusterRole","Role"]"#, r#"["ClusterRole"]"#)
}

/// The template of a `ServiceAccount`.
#[must_use]
pub(crate) fn service_account() -> String {
    ACCOUNT.replace("$metadata", &metadata::template("$subdomain"))
}

const NAME: &str = r#"'$v[["a","A b","system:a","a:b","Ünï"],["",".","..","a/b","a%b"]]'"#;

const ROLE: &str = r#"
apiVersion: '$v[["rbac.authorization.k8s.io/v1"],["rbac.authorization.k8s.io/v1beta9","rbac.authorization.k8s.io/v3"]]'
kind: Role
metadata: $metadata
rules:
- apiGroups: '$v[[[""],["apps"],["*"]],[[],"apps",[1]]]'
  resources: '$v[[["pods"],["*"],["pods/status","pods"]],[[],"pods",[1]]]'
  verbs: '$v[[["get"],["*"],["get","list"]],[[],"get",[1]]]'
  "resourceNames?": '$v[[["a"]],["a",[1]]]'
  "nonResourceURLs?": '$v[[[]],[["/a"],["*"]]]'
"#;

const CLUSTER_ROLE: &str = r#"
apiVersion: '$v[["rbac.authorization.k8s.io/v1"],["rbac.authorization.k8s.io/v1beta9","rbac.authorization.k8s.io/v3"]]'
kind: ClusterRole
metadata: $metadata
$one:
- rules:
  - $one:
    - {nonResourceURLs: '$v[[["/metrics"],["*"],["/a/*"]],[[],"/metrics",[1]]]', verbs: '$v[[["get"],["*"]],[[],"get"]]', "apiGroups?": '$v[[[]],[[""],["apps"]]]', "resourceNames?": '$v[[[]],[["a"],"a"]]'}
    - {apiGroups: '$v[[[""],["apps"]],[[],"apps"]]', resources: '$v[[["pods"],["*"]],[[],"pods"]]', verbs: '$v[[["get"],["*"]],[[],"get"]]'}
- aggregationRule: {clusterRoleSelectors: [$selector]}
"#;

const BINDING: &str = r#"
apiVersion: '$v[["rbac.authorization.k8s.io/v1"],["rbac.authorization.k8s.io/v1beta9","rbac.authorization.k8s.io/v3"]]'
kind: $kind
metadata: $metadata
roleRef: {apiGroup: '$v[["rbac.authorization.k8s.io"],["a","rbac","rbac.authorization.k8s.io/v1"]]', kind: '$v[["ClusterRole","Role"],["","x","clusterRole","User"]]', name: '$v[["a","system:a"],["","a/b",".","a%b"]]'}
subjects:
- $one:
  - {kind: '$v[["ServiceAccount"],["","x","serviceaccount"]]', name: '$v[["a","gizmo-operator"],["","A","a b","-a","a_b"]]', namespace: '$v[["a"],[7,8,true]]', "apiGroup?": '$v[[""],["rbac.authorization.k8s.io","a"]]'}
  - {kind: '$v[["User","Group"],["","x","user","ServiceAccount"]]', name: '$v[["a","A b"],[""]]', "apiGroup?": '$v[["rbac.authorization.k8s.io"],["a","v1"]]'}
"#;

const ACCOUNT: &str = r#"
apiVersion: '$v[["v1"],["v1beta9","v3"]]'
kind: ServiceAccount
metadata: $metadata
"automountServiceAccountToken?": $bool
"imagePullSecrets?": [{name: '$v[["a"],[7]]'}]
"secrets?": [{name: '$v[["a"],[7]]'}]
"#;
