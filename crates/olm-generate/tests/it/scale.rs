//! Generation takes time in proportion to its input: what takes a second here takes minutes where something is quadratic.

use std::time::{Duration, Instant};

use olm_generate::{Base, Document, GenerateReport, Generated, Input, Options};
use serde_json::{Value as Json, json};

const COUNT: usize = 10_000;
/// Far more than an unoptimized build needs on a busy machine, and far less than it needs for 10,000 squared.
const LIMIT: Duration = Duration::from_mins(1);

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

fn bundle(objects: impl IntoIterator<Item = Json>) -> Generated {
    let operator = deployment("lake-operator", &json!({"app": "lake"}));
    let input = Input { documents: documents(objects.into_iter().chain([operator])), ..Input::default() };
    let options = Options {
        package: Some("lake-operator".to_owned()),
        version: Some("1.0.0".parse().unwrap()),
        ..Options::default()
    };
    let begin = Instant::now();
    let generated = olm_generate::bundle(&input, &options).unwrap();
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
    generated
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
    assert_eq!(bundle((0..COUNT).map(config)).files.len(), COUNT + 2);
    // Of one name, in different namespaces.
    let same = |index| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": format!("n{index}")}});
    let generated = bundle((0..COUNT).map(same));
    assert_eq!(generated.files.len(), COUNT + 2);
    // One of them is about the base.
    assert_eq!(generated.report.notes.len() + generated.report.more_warnings, COUNT + 1);
    // All equal.
    assert_eq!(bundle((0..COUNT).map(|_| config(0))).files.len(), 3);
}

#[test]
fn many_examples() {
    let sample = |index| json!({"apiVersion": "example.com/v1", "kind": "K0", "metadata": {"name": format!("s{index}")}, "spec": {}});
    let generated = bundle([crd(0, &json!({}))].into_iter().chain((0..COUNT).map(sample)));
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
    let generated = bundle(
        (0..COUNT / 2).flat_map(|index| [role(index), binding(index, "lake"), binding(index, "other")]),
    );
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
    let input = Input { documents: documents(objects), ..Input::default() };
    let options = Options { package: Some("lake-operator".to_owned()), ..Options::default() };
    let error = olm_generate::bundle(&input, &options).unwrap_err().to_string();
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
    let input = Input { documents: documents(objects), ..Input::default() };
    let options = Options { package: Some("lake-operator".to_owned()), ..Options::default() };
    let error = olm_generate::bundle(&input, &options).unwrap_err().to_string();
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
    let owned: Vec<Json> = (0..COUNT / 4)
        .map(|index| json!({"name": format!("gone{index}.example.com"), "version": "v1", "kind": format!("Gone{index}")}))
        .collect();
    let base = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": "lake-operator.v0.0.0"},
        "spec": {"customresourcedefinitions": {"owned": owned}},
    });
    let objects = (0..COUNT / 4).flat_map(|index| [crd(index, &conversion(index)), service(index)]);
    let generated = bundle(objects.chain([base]));
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("type: ConversionWebhook\n").count(), COUNT / 4);
}

#[test]
fn many_webhooks_services_and_deployments() {
    // Every Service selects two labels that many Deployments have, and only the last one both.
    let count = COUNT / 8;
    let deployments = (0..count).map(|index| {
        let labels = if index % 2 == 0 { json!({"a": "x", "n": "1"}) } else { json!({"b": "x", "n": "1"}) };
        deployment(&format!("d{index}"), &labels)
    });
    let services = (0..count).map(|index| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s{index}")},
            "spec": {"selector": {"a": "x", "b": "x"}, "ports": [{"port": 443}]},
        })
    });
    let webhooks: Vec<Json> = (0..count)
        .map(|index| {
            json!({
                "name": format!("w{index}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": format!("s{index}"), "namespace": "n", "path": "/v"}},
            })
        })
        .collect();
    let webhooks = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "w"}, "webhooks": webhooks,
    });
    let last = deployment("last", &json!({"a": "x", "b": "x"}));
    let generated = bundle(deployments.chain(services).chain([webhooks, last]));
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert_eq!(csv.matches("deploymentName: last\n").count(), count);
}

#[test]
fn many_images_of_one_name() {
    let deployments = (0..COUNT / 2).map(|index| deployment(&format!("d{index}"), &json!({})));
    let csv = bundle(deployments);
    let csv = String::from_utf8(csv.files[&csv.manifests[0]].clone()).unwrap();
    assert!(csv.contains(&format!("name: a-{}\n", COUNT / 2)));
}

#[test]
fn many_unknown_fields_are_counted() {
    let mut object = deployment("big", &json!({}));
    for index in 0..COUNT {
        object["spec"][format!("unknown{index}")] = 1.into();
    }
    let report = bundle([object]).report;
    assert_eq!(report.notes.len(), 1000);
    assert!(report.notes.len() + report.more_warnings >= COUNT);
}

#[test]
fn a_base_with_many_entries_is_updated() {
    let crds = documents((0..COUNT / 4).map(|index| crd(index, &Json::Null)));
    let build = |crds: &[Document], there: Option<&Json>, last: Option<&Json>| {
        let base = Base { package: "lake-operator", documents: crds, there, last, ..Base::default() };
        let base = olm_generate::base(&base, &mut GenerateReport::default()).unwrap();
        (base.csv, base.generated)
    };
    let begin = Instant::now();
    let (first, generated) = build(&crds, None, None);
    // Every other entry is gone from what is generated now.
    let fewer: Vec<Document> =
        crds.into_iter().enumerate().filter(|(at, _)| at % 2 == 0).map(|(_, crd)| crd).collect();
    let (second, _) = build(&fewer, Some(&first), generated.as_ref());
    assert_eq!(second["spec"]["customresourcedefinitions"]["owned"].as_array().unwrap().len(), COUNT / 8);
    let rewritten = kube_yaml::edit::rewrite(&kube_yaml::emit(&first), &second).unwrap();
    assert_eq!(rewritten, kube_yaml::emit(&second));
    assert!(begin.elapsed() < LIMIT, "{:?}", begin.elapsed());
}
