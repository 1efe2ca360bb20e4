//! Generation takes time in proportion to its input.

use olm_generate::{Base, Document, Error, GenerateReport, Generated, Options};
use serde_json::{Value as Json, json};
use test_support::{LINEAR, growth};

use crate::generate;

/// The number of objects; a multiple of 32.
const COUNT: usize = 4096;

fn documents(objects: impl IntoIterator<Item = Json>) -> Vec<Document> {
    let text: Vec<String> = objects.into_iter().map(|object| object.to_string()).collect();
    let parsed = kube_yaml::parse(text.join("\n---\n").as_bytes());
    assert!(parsed.error.is_none());
    parsed.documents.into_iter().map(|tree| Document { file: "all.yaml".to_owned(), tree }).collect()
}

fn deployment(name: &str, labels: &Json) -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"selector": {}, "template": {
            "metadata": {"labels": labels},
            "spec": {"serviceAccountName": "lake", "containers": [{"name": "a", "image": format!("quay.io/a/{name}:v1")}]},
        }},
    })
}

/// Returns the bundle of `COUNT` objects, as `objects` returns them. It is generated in time that is proportional to their number.
fn bundle<I: IntoIterator<Item = Json>>(objects: impl Fn(usize) -> I) -> Generated {
    let options = Options { version: Some("1.0.0".parse().unwrap()), ..options() };
    let documents = |count| {
        let operator = deployment("lake-operator", &json!({"app": "lake"}));
        documents(objects(count).into_iter().chain([operator]))
    };
    let grown = growth(COUNT / 8, documents, |documents| drop(generate(documents, &options).unwrap()));
    assert!(grown < LINEAR, "{grown}");
    generate(documents(COUNT), &options).unwrap()
}

fn options() -> Options {
    Options { package: Some("lake-operator".to_owned()), ..Options::default() }
}

fn rejection(objects: impl IntoIterator<Item = Json>) -> Error {
    generate(documents(objects), &options()).unwrap_err()
}

fn crd(index: usize, conversion: &Json) -> Json {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("k{index}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "conversion": conversion,
            "names": {"kind": format!("K{index}"), "plural": format!("k{index}")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })
}

#[test]
fn many_objects_of_one_kind() {
    let config =
        |index| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{index}")}});
    assert_eq!(bundle(|count| (0..count).map(config)).files.len(), COUNT + 2);
    // Of one name, in different namespaces.
    let same = |index| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": format!("n{index}")}});
    let generated = bundle(|count| (0..count).map(same));
    assert_eq!(generated.files.len(), COUNT + 2);
    // One of them is about the base.
    assert_eq!(generated.report.notes.len() + generated.report.more_warnings, COUNT + 1);
    // All equal.
    assert_eq!(bundle(|count| (0..count).map(|_| config(0))).files.len(), 3);
}

#[test]
fn many_examples() {
    let sample = |index| json!({"apiVersion": "example.com/v1", "kind": "K0", "metadata": {"name": format!("s{index}")}, "spec": {}});
    let generated = bundle(|count| [crd(0, &json!({}))].into_iter().chain((0..count).map(sample)));
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("\"name\": \"s").count(), COUNT);
}

#[test]
fn many_roles_and_bindings() {
    let role = |index| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": format!("r{index}")},
            "rules": [{"apiGroups": ["a"], "resources": ["b"], "verbs": ["get"]}],
        })
    };
    let binding = |index: usize, account: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("b{}-{account}", index / 2)},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": format!("r{index}")},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": format!("n{index}")}],
        })
    };
    let generated = bundle(|count| {
        (0..count / 2).flat_map(|index| [role(index), binding(index, "lake"), binding(index, "other")])
    });
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("        - apiGroups:\n").count(), COUNT / 2);
    assert_eq!(generated.files.len(), COUNT / 4 + 2);
}

#[test]
fn rules_repeated_for_many_subjects_have_a_limit() {
    let rules: Vec<Json> = (0..1000)
        .map(|index| json!({"apiGroups": [format!("a{index}")], "resources": ["b"], "verbs": ["get"]}))
        .collect();
    let subjects: Vec<Json> = (0..1000)
        .map(|index| json!({"kind": "ServiceAccount", "name": "lake", "namespace": format!("n{index}")}))
        .collect();
    let objects = [
        deployment("lake-operator", &json!({})),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}, "rules": rules}),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}, "subjects": subjects,
        }),
    ];
    let error = rejection(objects).to_string();
    assert!(error.contains("service account `lake` exceed the limit of 16777216 bytes: role `r`"), "{error}");
}

#[test]
fn indentation_of_nested_values_has_a_limit() {
    let mut value = json!({"a": vec![0; 20_000]});
    for _ in 0..900 {
        value = json!({"a": value});
    }
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "deep"}, "data": value});
    let objects = [deployment("lake-operator", &json!({})), config];
    let error = rejection(objects).to_string();
    assert_eq!(error, "ConfigMap deep: its manifest would exceed the limit of 33554432 bytes");
}

#[test]
fn many_crds_with_conversions_and_a_base_that_describes_others() {
    let conversion = |index| {
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": {"service": {"name": format!("s{index}"), "namespace": "n", "path": "/c"}},
            "conversionReviewVersions": ["v1"],
        }})
    };
    let service = |index| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s{index}")},
            "spec": {"selector": {"app": "lake"}, "ports": [{"port": 443}]},
        })
    };
    let gone = |index| json!({"name": format!("gone{index}.example.com"), "version": "v1", "kind": format!("Gone{index}")});
    let base = |count| {
        let owned: Vec<Json> = (0..count).map(gone).collect();
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "lake-operator.v0.0.0"},
            "spec": {"customresourcedefinitions": {"owned": owned}},
        })
    };
    let generated = bundle(|count| {
        let objects = (0..count / 4).flat_map(|index| [crd(index, &conversion(index)), service(index)]);
        objects.chain([base(count / 4)])
    });
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("type: ConversionWebhook\n").count(), COUNT / 4);
}

#[test]
fn many_webhooks_services_and_deployments() {
    // Every Service selects two labels that many Deployments have, and only the last one both.
    let any_deployment = |index| {
        let labels = if index % 2 == 0 { json!({"a": "x", "n": "1"}) } else { json!({"b": "x", "n": "1"}) };
        deployment(&format!("d{index}"), &labels)
    };
    let service = |index| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s{index}")},
            "spec": {"selector": {"a": "x", "b": "x"}, "ports": [{"port": 443}]},
        })
    };
    let webhook = |index| {
        json!({
            "name": format!("w{index}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": format!("s{index}"), "namespace": "n", "path": "/v"}},
        })
    };
    let webhooks = |count| {
        let webhooks: Vec<Json> = (0..count).map(webhook).collect();
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "w"}, "webhooks": webhooks,
        })
    };
    let generated = bundle(|count| {
        let count = count / 4;
        let last = deployment("last", &json!({"a": "x", "b": "x"}));
        let workloads = (0..count).map(any_deployment).chain((0..count).map(service));
        workloads.chain([webhooks(count), last])
    });
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("deploymentName: last\n").count(), COUNT / 4);
}

#[test]
fn many_images_of_one_name() {
    let csv = bundle(|count| (0..count / 2).map(|index| deployment(&format!("d{index}"), &json!({}))));
    let csv = String::from_utf8(csv.files[&csv.manifests[0]].clone()).unwrap();
    assert!(csv.contains(&format!("name: a-{}\n", COUNT / 2)));
}

#[test]
fn many_unknown_fields_are_counted() {
    let report = bundle(|count| {
        let mut object = deployment("big", &json!({}));
        for index in 0..count {
            object["spec"][format!("unknown{index}")] = 1.into();
        }
        [object]
    })
    .report;
    assert_eq!(report.notes.len(), 1000);
    assert!(report.notes.len() + report.more_warnings >= COUNT);
}

#[test]
fn a_base_with_many_entries_is_updated() {
    let build = |crds: &[Document], there: Option<&Json>, last: Option<&Json>| {
        let base = Base { package: "lake-operator", documents: crds, there, last, ..Base::default() };
        let base = olm_generate::base(&base, &mut GenerateReport::default()).unwrap();
        (base.csv, base.generated)
    };
    let update = |crds: Vec<Document>| {
        let (first, generated) = build(&crds, None, None);
        // Every other entry is gone from what is generated now.
        let fewer: Vec<Document> = crds.into_iter().step_by(2).collect();
        let (second, _) = build(&fewer, Some(&first), generated.as_ref());
        assert_eq!(
            second["spec"]["customresourcedefinitions"]["owned"].as_array().unwrap().len(),
            fewer.len()
        );
        let rewritten = kube_yaml::edit::rewrite(&kube_yaml::emit(&first), &second).unwrap();
        assert_eq!(rewritten, kube_yaml::emit(&second));
    };
    let crds = |count| documents((0..count).map(|index| crd(index, &Json::Null)));
    let grown = growth(COUNT / 16, crds, update);
    assert!(grown < LINEAR, "{grown}");
}
