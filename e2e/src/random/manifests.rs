//! The other kinds that a bundle may carry: `ConfigMap`, Secret, `PodDisruptionBudget`, `PriorityClass` and
//! `NetworkPolicy`.

use super::metadata;

/// Names of which nothing is asked but that they can stand in a path.
const NAME: &str = r#"'$v[["a","a.b"],["",".","..","a/b","a%b",7]]'"#;

/// The template of a `ConfigMap`.
#[must_use]
pub(crate) fn config_map() -> String {
    let text = r#"
apiVersion: '$v[["v1"],["v1beta9","v3"]]'
kind: ConfigMap
metadata: $metadata
"data?": '$v[[{"a":"b"},{"a.b":"","A-b_c":"d"}],[{"a/b":"c"},{"":"a"},{"a b":"c"},{"..":"a"},{"a":1},{"a":true},{"a":{}},{"ä":"b"},["a"]]]'
"binaryData?": '$v[[{"bin":"YQ=="}],[{"bin":"%"},{"a/b":"YQ=="},{"bin":"YQ="},{"bin":1}]]'
"immutable?": $bool
"#;
    text.replace("$metadata", &metadata::template("$subdomain"))
}

/// The template of a `ConfigMap` of some size.
pub(crate) const LARGE_CONFIG_MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: large}, data: {a: $large}}";

/// The template of a Secret of some size.
pub(crate) const LARGE_SECRET: &str =
    "{apiVersion: v1, kind: Secret, metadata: {name: large}, stringData: {a: $large}}";

/// The template of a Secret.
#[must_use]
pub(crate) fn secret() -> String {
    let text = r#"
apiVersion: '$v[["v1"],["v1beta9","v3"]]'
kind: Secret
metadata: $metadata
"immutable?": $bool
$one:
- "type?": '$v[["Opaque","example.com/a"],["kubernetes.io/tls","kubernetes.io/dockercfg","kubernetes.io/basic-auth","kubernetes.io/ssh-auth","kubernetes.io/dockerconfigjson","kubernetes.io/service-account-token",7]]'
  "data?": '$v[[{"a":"YQ=="},{"a.b":""}],[{"a":"%"},{"a/b":"YQ=="},{"a":"YQ="},{"a":1},{"":"YQ=="},{"a b":"YQ=="}]]'
  "stringData?": '$v[[{"c":"d"}],[{"a/b":"c"},{"c":1},{"":"a"},{"c":true}]]'
- type: kubernetes.io/tls
  data: '$v[[{"tls.crt":"YQ==","tls.key":"YQ=="}],[{"tls.crt":"YQ=="},{"tls.key":"YQ=="},{},{"tls.crt":"%","tls.key":"YQ=="}]]'
- type: kubernetes.io/basic-auth
  stringData: '$v[[{"username":"a"},{"password":"a"}],[{},{"user":"a"}]]'
- type: kubernetes.io/ssh-auth
  stringData: '$v[[{"ssh-privatekey":"a"}],[{},{"ssh-privatekey":""},{"key":"a"}]]'
- type: kubernetes.io/dockerconfigjson
  stringData: '$v[[{".dockerconfigjson":"{}"}],[{},{".dockerconfigjson":"{"},{".dockercfg":"{}"},{".dockerconfigjson":""}]]'
- type: kubernetes.io/dockercfg
  stringData: '$v[[{".dockercfg":"{}"}],[{},{".dockercfg":"{"},{".dockerconfigjson":"{}"}]]'
"#;
    text.replace("$metadata", &metadata::template("$subdomain"))
}

/// The template of a `PodDisruptionBudget`.
#[must_use]
pub(crate) fn pod_disruption_budget() -> String {
    let text = r#"
apiVersion: '$v[["policy/v1"],["policy/v1beta9","policy/v3"]]'
kind: PodDisruptionBudget
metadata: $metadata
spec:
  $one: [{minAvailable: $percent}, {maxUnavailable: $percent}]
  "selector?": $selector
  "unhealthyPodEvictionPolicy?": '$of(IfHealthyBudget,AlwaysAllow)'
"#;
    text.replace("$metadata", &metadata::template(NAME))
}

/// The template of a `PriorityClass`.
#[must_use]
pub(crate) fn priority_class() -> String {
    let name = r#"'$v[["a","high.a"],["","A","system-a","system-node-critical","a_b","-a"]]'"#;
    let text = r#"
apiVersion: '$v[["scheduling.k8s.io/v1"],["scheduling.k8s.io/v1beta9","scheduling.k8s.io/v3"]]'
kind: PriorityClass
metadata: $metadata
value: '$v[[0,1000000000,-5],[1000000001,2147483648,"5",1.5]]'
"globalDefault?": '$v[[false],["false"]]'
"description?": '$v[["a"],[7]]'
"preemptionPolicy?": '$of(PreemptLowerPriority,Never)'
"#;
    text.replace("$metadata", &metadata::template(name))
}

/// The template of a `NetworkPolicy`.
#[must_use]
pub(crate) fn network_policy() -> String {
    let text = r#"
apiVersion: '$v[["networking.k8s.io/v1"],["networking.k8s.io/v1beta9","networking.k8s.io/v3"]]'
kind: NetworkPolicy
metadata: $metadata
spec:
  podSelector: $selector
  "policyTypes?": '$v[[["Ingress"],["Egress","Ingress"],[]],[["x"],["ingress"],["Ingress","Egress","Ingress"],[""]]]'
  "ingress|egress?":
  - "ports?":
    - {"protocol?": '$of(TCP,UDP,SCTP)', "port?": $port-or-name}
    - $maybe: {port: '$v[[80],[0,65536,"A"]]', endPort: '$v[[80,90],[79,65536,0,-1]]'}
    - $maybe: {port: '$v[["http"],["A--","1234"]]', "endPort?": '$v[[],[80]]'}
  - $maybe: {"ports?": [{port: 80}]}
  "$one?": [{ingress: [{from: [$peer]}]}, {egress: [{to: [$peer]}]}]
"#;
    let peer = "{$one: [{ipBlock: {cidr: $cidr, \"except?\": ['$v[[],[\"10.0.0.0\",\"a\",\"11.0.0.0/8\",\"\",\"10.0.0.0/33\"]]']}}, \
                {podSelector: $selector, \"namespaceSelector?\": $selector}, {namespaceSelector: $selector}]}";
    let except = "{ipBlock: {cidr: '$v[[\"10.0.0.0/8\"],[\"10.1.0.0/16\",\"10.0.0.0\",\"\"]]', except: ['$v[[\"10.1.0.0/16\"],\
                  [\"11.0.0.0/16\",\"10.0.0.0/8\",\"a\",\"\",\"10.0.0.0/7\"]]']}}";
    let text = text.replace("[$peer]", &format!("[{peer}, {{$maybe: {except}}}]"));
    text.replace("$metadata", &metadata::template("$subdomain"))
}
