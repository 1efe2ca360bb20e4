//! A bundle taken apart into manifests gives the same bundle again, whatever the manifests say.
use kube_yaml::emit;
use kube_yaml::parse;
use olm_generate::{Document, Generated, Options};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

fn made(objects: &[Json]) -> Generated {
    let documents = objects
        .iter()
        .enumerate()
        .map(|(index, object)| {
            let text = emit(object);
            let parsed = parse(text.as_bytes());
            assert_eq!(parsed.error, None, "{text}");
            let tree = parsed.documents.into_iter().next().unwrap();
            // What is written is read back as it was.
            assert_eq!(tree.root().to_json(), *object, "{text}");
            Document { file: format!("{index}.yaml"), tree }
        })
        .collect();
    let options = Options {
        package: Some("lake".into()),
        version: Some("1.2.3".parse().unwrap()),
        ..Options::default()
    };
    crate::generate(documents, &options).unwrap()
}

fn read(bytes: &[u8]) -> Json {
    let parsed = parse(bytes);
    assert_eq!(parsed.error, None);
    parsed.documents[0].root().to_json()
}

/// The manifests that a bundle could have been made from.
fn apart(bundle: &Generated) -> Vec<Json> {
    let mut csv = read(&bundle.files[&bundle.manifests[0]]);
    let mut objects = Vec::new();
    let details = csv["spec"]["install"]["spec"].take();
    for deployment in details["deployments"].as_array().into_iter().flatten() {
        objects.push(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": deployment["name"], "labels": deployment["label"]},
            "spec": deployment["spec"],
        }));
    }
    for (field, role, binding) in
        [("permissions", "Role", "RoleBinding"), ("clusterPermissions", "ClusterRole", "ClusterRoleBinding")]
    {
        for permission in details[field].as_array().into_iter().flatten() {
            let account = &permission["serviceAccountName"];
            let api = "rbac.authorization.k8s.io/v1";
            objects.push(json!({"apiVersion": api, "kind": role, "metadata": {"name": account}, "rules": permission["rules"]}));
            objects.push(json!({
                "apiVersion": api,
                "kind": binding,
                "metadata": {"name": account},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": account},
                "subjects": [{"kind": "ServiceAccount", "name": account}],
            }));
        }
    }
    let annotations = csv["metadata"]["annotations"].as_object_mut().unwrap();
    let examples = annotations.remove("alm-examples").unwrap();
    annotations.remove("createdAt").unwrap();
    objects.extend(serde_json::from_str::<Vec<Json>>(examples.as_str().unwrap()).unwrap());
    for (path, bytes) in &bundle.files {
        if path.starts_with("manifests/") && *path != bundle.manifests[0] {
            objects.push(read(bytes));
        }
    }
    objects.push(csv);
    objects
}

/// A text as people write it, and as nobody should.
fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[ -~]{0,40}",
        "\\PC{0,20}",
        "([a-z ]{1,30}\n){1,4}",
        Just("yes".to_owned()),
        Just("1e3".to_owned()),
        Just("- a: b #c".to_owned()),
        Just("a  b ".repeat(30)),
        Just("\ttab\r\n \n".to_owned()),
    ]
}

fn rules() -> impl Strategy<Value = Json> {
    prop::collection::vec(("[a-z]{1,5}", "[a-z*]{1,6}"), 0..4).prop_map(|rules| {
        rules
            .into_iter()
            .map(|(group, verb)| json!({"apiGroups": [group], "resources": ["x"], "verbs": [verb]}))
            .collect()
    })
}

prop_compose! {
    fn deployment(index: usize)(
        account in prop_oneof![Just("default".to_owned()), Just("lake".to_owned()), Just("river".to_owned())],
        label in "[a-z]{1,8}",
        variables in prop::collection::vec(("[A-Z_]{1,8}", words()), 0..4),
        image in prop_oneof![Just("quay.io/a/b:v1".to_owned()), Just("b@sha256:00".to_owned()), "[a-z]{1,5}"],
        replicas in prop::option::of(0..3),
        memory in prop::option::of(prop_oneof![Just("1024Mi"), Just("0.5"), Just("64Mi"), Just("1e3")]),
        port in prop::option::of(0..65536),
    ) -> Json {
        let env: Vec<Json> = variables.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": format!("lake-{index}"), "namespace": "somewhere", "labels": {"app": label}},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": label}},
                "template": {
                    "metadata": {"labels": {"app": label}, "creationTimestamp": null},
                    "spec": {
                        "serviceAccountName": account,
                        "hostNetwork": false,
                        "containers": [{
                            "name": "manager",
                            "image": image,
                            "env": env,
                            "ports": port.map(|port| json!([{"containerPort": port}])),
                            "resources": {"limits": memory.map(|memory| json!({"memory": memory}))},
                        }],
                    },
                },
            },
        })
    }
}

prop_compose! {
    fn manifests()(
        deployments in prop::collection::vec(Just(()), 1..4).prop_flat_map(|list| {
            (0..list.len()).map(deployment).collect::<Vec<_>>()
        }),
        roles in prop::collection::vec((rules(), any::<bool>(), "(lake|river|default|nobody)"), 0..5),
        description in words(),
        keywords in prop::collection::vec(words(), 0..3),
        sample in words(),
        served in any::<bool>(),
    ) -> Vec<Json> {
        let mut objects = deployments;
        for (index, (rules, cluster, account)) in roles.into_iter().enumerate() {
            let prefix = if cluster { "Cluster" } else { "" };
            let name = format!("role-{index}");
            let api = "rbac.authorization.k8s.io/v1";
            objects.push(json!({"apiVersion": api, "kind": format!("{prefix}Role"), "metadata": {"name": name}, "rules": rules}));
            objects.push(json!({
                "apiVersion": api,
                "kind": format!("{prefix}RoleBinding"),
                "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": format!("{prefix}Role"), "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "somewhere"}],
            }));
        }
        objects.push(json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "lakes.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"kind": "Lake", "plural": "lakes"},
                "scope": "Namespaced",
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "description": description, "minimum": 1.5}}},
                    {"name": "v2", "served": served, "storage": false},
                ],
            },
        }));
        objects.push(json!({"apiVersion": "example.com/v1", "kind": "Lake", "metadata": {"name": "a"}, "spec": {"text": sample}}));
        objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"text": sample}}));
        objects.push(json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {"name": "lake.v0.0.0", "annotations": {"capabilities": "Basic Install", "text": description}},
            "spec": {"displayName": "Lake", "description": description, "keywords": keywords, "version": "0.0.0"},
        }));
        objects
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_bundle_taken_apart_is_the_same_bundle_again(objects in manifests()) {
        let bundle = made(&objects);
        let again = made(&apart(&bundle));
        for (path, bytes) in &bundle.files {
            let other = again.files.get(path).map(|bytes| String::from_utf8_lossy(bytes));
            prop_assert_eq!(Some(String::from_utf8_lossy(bytes)), other, "{}", path);
        }
        prop_assert_eq!(bundle.files.len(), again.files.len());
    }
}
