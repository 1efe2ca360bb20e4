//! The forms in which manifests are written: one stream of YAML, a kustomize base, a Helm chart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::context::string;
use kube_yaml::emit;

/// What is known of the operator, and its objects in the order in which they are created.
#[derive(Debug)]
pub struct Manifests {
    /// The name of the CSV.
    pub name: String,
    /// The version.
    pub version: String,
    /// The short description.
    pub description: String,
    /// The oldest version of Kubernetes that it runs on; empty for any.
    pub min_kube_version: String,
    /// The objects.
    pub objects: Vec<Value>,
}

/// The namespace of the objects of a Helm chart: stands for the release's, and is replaced in the templates.
pub const HELM_NAMESPACE: &str = "bundle-tool-release-namespace";

/// Returns all objects as YAML documents.
#[must_use]
pub fn stream(manifests: &Manifests) -> String {
    manifests.objects.iter().map(|object| format!("---\n{}", emit(object))).collect()
}

/// Returns the name of an object's file, unique among `used`.
fn file_name(object: &Value, used: &mut BTreeMap<String, usize>) -> String {
    let part = |pointer: &str| {
        string(object, pointer)
            .to_ascii_lowercase()
            .replace(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '-' | '.'), "-")
    };
    let mut name = format!("{}_{}", part("/kind"), part("/metadata/name"));
    let count = used.entry(name.clone()).or_default();
    *count += 1;
    if *count > 1 {
        // Writing to a string cannot fail.
        let _ = write!(name, "_{count}");
    }
    format!("{name}.yaml")
}

/// Returns the files of a kustomize base, by their paths.
#[must_use]
pub fn kustomize(manifests: &Manifests) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut resources = Vec::new();
    let mut used = BTreeMap::new();
    for object in &manifests.objects {
        let name = file_name(object, &mut used);
        files.insert(name.clone(), emit(object));
        resources.push(name);
    }
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources,
    });
    files.insert("kustomization.yaml".into(), emit(&kustomization));
    files
}

/// Returns the files of a Helm chart, by their paths. The objects must be those of [`HELM_NAMESPACE`].
///
/// The release's namespace is that of the operator. CRDs are templates, so that an upgrade of the release upgrades them;
/// they stay when the release is deleted. CRDs that the chart has instances of are in `crds/`, unless they have a conversion
/// webhook: Helm creates those first, and never upgrades them.
#[must_use]
pub fn helm(manifests: &Manifests, name: &str) -> BTreeMap<String, String> {
    let mut chart = json!({
        "apiVersion": "v2", "name": name, "type": "application",
        "version": manifests.version, "appVersion": manifests.version,
        "description": manifests.description,
    });
    if !manifests.min_kube_version.is_empty() {
        chart["kubeVersion"] = format!(">= {}-0", manifests.min_kube_version.trim_start_matches('v')).into();
    }
    let mut files = BTreeMap::from([
        ("Chart.yaml".to_owned(), emit(&chart)),
        (
            "values.yaml".to_owned(),
            "# Install the CRDs in templates/ with the release; --skip-crds omits those in crds/\ncrds:\n  install: true\n".to_owned(),
        ),
    ]);
    let mut used = BTreeMap::new();
    for object in &manifests.objects {
        // Helm creates it: `helm install --create-namespace`.
        if object["kind"] == "Namespace" {
            continue;
        }
        let is_crd = object["kind"] == "CustomResourceDefinition";
        if is_crd && manifests.objects.iter().any(|instance| is_instance(instance, object)) {
            let text = emit(object);
            // Nothing there is a template, so that a CRD with the namespace of a conversion webhook has to be one.
            if !text.contains(HELM_NAMESPACE) {
                files.insert(format!("crds/{}", file_name(object, &mut used)), text);
                continue;
            }
        }
        let mut object = object.clone();
        if is_crd && let Some(metadata) = object["metadata"].as_object_mut() {
            let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
            annotations["helm.sh/resource-policy"] = "keep".into();
        }
        let name = file_name(&object, &mut used);
        let mut text = template(&emit(&object));
        if is_crd {
            text = format!("{{{{- if .Values.crds.install }}}}\n{text}{{{{- end }}}}\n");
        }
        files.insert(format!("templates/{name}"), text);
    }
    files
}

/// Returns whether a CRD defines the kind of an object.
fn is_instance(object: &Value, crd: &Value) -> bool {
    let group = string(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
    group == string(crd, "/spec/group") && string(object, "/kind") == string(crd, "/spec/names/kind")
}

/// Returns YAML as a template: what looks like an action is text, and the namespace is the release's.
fn template(yaml: &str) -> String {
    let escaped = yaml.replace("{{", "{{ \"{{\" }}");
    let mut out = String::with_capacity(escaped.len());
    for line in escaped.split_inclusive('\n') {
        // A whole value is quoted: a namespace may look like a number.
        let whole = line.trim_end().strip_suffix(HELM_NAMESPACE).filter(|rest| rest.ends_with([' ', '-']));
        match whole {
            Some(rest) => {
                let _ = writeln!(out, "{rest}{{{{ .Release.Namespace | quote }}}}");
            }
            None => out.push_str(&line.replace(HELM_NAMESPACE, "{{ .Release.Namespace }}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crds_of_objects_in_the_chart_are_created_before_it() {
        let crd = |plural: &str, kind: &str| {
            json!({
                "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.example.com")},
                "spec": {"group": "example.com", "names": {"kind": kind}},
            })
        };
        let manifests = Manifests {
            name: "gizmo.v1.0.0".into(),
            version: "1.0.0".into(),
            description: String::new(),
            min_kube_version: String::new(),
            objects: vec![
                crd("gizmos", "Gizmo"),
                crd("widgets", "Widget"),
                json!({"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "sample"}}),
                json!({"apiVersion": "other.com/v1", "kind": "Widget", "metadata": {"name": "sample"}}),
            ],
        };
        let mut with_webhook = manifests.objects[0].clone();
        with_webhook["spec"]["conversion"] = HELM_NAMESPACE.into();
        let files = helm(&manifests, "gizmo");
        let places: Vec<_> = files.keys().filter(|path| path.contains("definition")).collect();
        assert_eq!(
            places,
            [
                "crds/customresourcedefinition_gizmos.example.com.yaml",
                "templates/customresourcedefinition_widgets.example.com.yaml"
            ]
        );
        let manifests = Manifests { objects: vec![with_webhook, manifests.objects[2].clone()], ..manifests };
        let files = helm(&manifests, "gizmo");
        assert!(
            files.contains_key("templates/customresourcedefinition_gizmos.example.com.yaml"),
            "{files:?}"
        );
    }

    #[test]
    fn templates_have_the_namespace_of_the_release_and_no_other_action() {
        let object = json!({
            "namespace": HELM_NAMESPACE, "list": [HELM_NAMESPACE],
            "dns": format!("a.{HELM_NAMESPACE}.svc"), "text": "{{ .Values.x }}",
        });
        let text = template(&emit(&object));
        assert_eq!(
            text,
            "dns: a.{{ .Release.Namespace }}.svc\n\
             list:\n\
             - {{ .Release.Namespace | quote }}\n\
             namespace: {{ .Release.Namespace | quote }}\n\
             text: '{{ \"{{\" }} .Values.x }}'\n"
        );
    }
}
