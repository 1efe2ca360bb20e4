//! Derives descriptors from the schemas of custom resources: the names, descriptions and widgets in consoles.
//!
//! Source of the descriptors: `spec-descriptors` and `status-descriptors` of OpenShift's console.

use serde_json::{Map, Value as Json, json};

use super::base::display_name;
use super::input::Item;
use super::json::{dig, entries, items, string_at};

const UI: &str = "urn:alm:descriptor:com.tectonic.ui:";
/// The beginning of the description that kube-rs gives to a type that it derives from the spec's, whose own description
/// is that of the field `spec`.
const GENERATED: &str = "Auto-generated derived type for ";
/// Maximum depth of descriptors below `spec` and `status`.
const DEPTH: usize = 3;
/// Maximum number of descriptors; with more of them, only the first level is described.
const MANY: usize = 40;
/// Fields that are rarely changed.
const ADVANCED: [&str; 12] = [
    "affinity",
    "annotations",
    "env",
    "imagePullPolicy",
    "imagePullSecrets",
    "labels",
    "nodeSelector",
    "podSecurityContext",
    "priorityClassName",
    "securityContext",
    "serviceAccountName",
    "tolerations",
];

/// Returns the entries of `owned` for all served versions of a CRD, without descriptors.
pub(crate) fn summaries(definition: &Item) -> Vec<Json> {
    let mut entries = owned(definition);
    for entry in entries.iter_mut().filter_map(Json::as_object_mut) {
        entry.retain(|key, _| !key.ends_with("Descriptors"));
    }
    entries
}

/// Returns the entries of `owned` for all served versions of a CRD.
pub(crate) fn owned(definition: &Item) -> Vec<Json> {
    let kind = string_at(&definition.json, &["spec", "names", "kind"]);
    let shared = dig(&definition.json, &["spec", "validation", "openAPIV3Schema"]);
    let served = items(&definition.json, &["spec", "versions"])
        .iter()
        .filter(|version| dig(version, &["served"]) == &Json::Bool(true));
    served
        .map(|version| {
            let own = dig(version, &["schema", "openAPIV3Schema"]);
            let schema = if own.is_object() { own } else { shared };
            let mut entry = Map::new();
            entry.insert("kind".to_owned(), kind.into());
            entry.insert("name".to_owned(), definition.name().into());
            entry.insert("version".to_owned(), string_at(version, &["name"]).into());
            entry.insert("displayName".to_owned(), display_name(kind).into());
            let description = match string_at(schema, &["description"]) {
                generated if generated.starts_with(GENERATED) => {
                    string_at(schema, &["properties", "spec", "description"])
                }
                description => description,
            };
            if !description.is_empty() {
                entry.insert("description".to_owned(), description.into());
            }
            for (part, field) in [("spec", "specDescriptors"), ("status", "statusDescriptors")] {
                let list = descriptors(dig(schema, &["properties", part]), part == "status");
                if !list.is_empty() {
                    entry.insert(field.to_owned(), list.into());
                }
            }
            Json::Object(entry)
        })
        .collect()
}

fn descriptors(schema: &Json, status: bool) -> Vec<Json> {
    let mut list = Vec::new();
    walk(schema, "", DEPTH, status, &mut list);
    if list.len() > MANY {
        list.clear();
        walk(schema, "", 1, status, &mut list);
    }
    list.sort_by(|a, b| string_at(a, &["path"]).cmp(string_at(b, &["path"])));
    list
}

fn walk(schema: &Json, prefix: &str, depth: usize, status: bool, list: &mut Vec<Json>) {
    for (name, property) in entries(schema, &["properties"]).into_iter().flatten() {
        let path = format!("{prefix}{name}");
        let widgets = if status { status_widgets(name, property) } else { spec_widgets(name, property) };
        let below = entries(property, &["properties"]).is_some_and(|properties| !properties.is_empty());
        if below && depth > 1 && widgets.is_empty() {
            walk(property, &format!("{path}."), depth - 1, status, list);
            continue;
        }
        let title = string_at(property, &["title"]);
        let mut descriptor = json!({
            "path": path,
            "displayName": if title.is_empty() { display_name(name) } else { title.to_owned() },
        });
        let description = string_at(property, &["description"]);
        if !description.is_empty() {
            descriptor["description"] = description.into();
        }
        if !widgets.is_empty() {
            descriptor["x-descriptors"] = widgets.into();
        }
        list.push(descriptor);
    }
}

fn spec_widgets(name: &str, schema: &Json) -> Vec<String> {
    let kind = string_at(schema, &["type"]);
    let lower = name.to_lowercase();
    let has = |field: &str| {
        entries(schema, &["properties"]).is_some_and(|properties| properties.contains_key(field))
    };
    let choices = items(schema, &["enum"]);
    let mut widgets: Vec<String> = match kind {
        "integer" if matches!(name, "size" | "replicas") || lower.ends_with("replicas") => {
            vec![format!("{UI}podCount")]
        }
        "integer" | "number" => vec![format!("{UI}number")],
        "boolean" => vec![format!("{UI}booleanSwitch")],
        "object" if has("limits") && has("requests") => vec![format!("{UI}resourceRequirements")],
        "object" if has("matchLabels") && has("matchExpressions") => {
            vec![format!("{UI}selector:core:v1:Pod")]
        }
        "object" if has("nodeAffinity") && has("podAffinity") => vec![format!("{UI}advanced")],
        "string" if name == "imagePullPolicy" => vec![format!("{UI}imagePullPolicy")],
        "string" if lower.contains("password") || lower.contains("token") => vec![format!("{UI}password")],
        "string" if lower.ends_with("secret") || lower.ends_with("secretname") => {
            vec!["urn:alm:descriptor:io.kubernetes:Secret".to_owned()]
        }
        "string" if lower.ends_with("configmap") || lower.ends_with("configmapname") => {
            vec!["urn:alm:descriptor:io.kubernetes:ConfigMap".to_owned()]
        }
        "string" if lower.starts_with("serviceaccount") => {
            vec!["urn:alm:descriptor:io.kubernetes:ServiceAccount".to_owned()]
        }
        "string" if lower.starts_with("storageclass") => {
            vec!["urn:alm:descriptor:io.kubernetes:StorageClass".to_owned()]
        }
        "string" if !choices.is_empty() => choices
            .iter()
            .filter_map(Json::as_str)
            .filter(|choice| !choice.is_empty())
            .map(|choice| format!("{UI}select:{choice}"))
            .collect(),
        "string" => vec![format!("{UI}text")],
        _ => Vec::new(),
    };
    let advanced = format!("{UI}advanced");
    if ADVANCED.binary_search(&name).is_ok() && !widgets.contains(&advanced) {
        widgets.push(advanced);
    }
    widgets
}

fn status_widgets(name: &str, schema: &Json) -> Vec<String> {
    let item = dig(schema, &["items", "properties"]);
    match (name, string_at(schema, &["type"])) {
        ("conditions", "array") if item.get("type").is_some() && item.get("status").is_some() => {
            vec!["urn:alm:descriptor:io.kubernetes.conditions".to_owned()]
        }
        ("phase", "string") => vec!["urn:alm:descriptor:io.kubernetes.phase".to_owned()],
        ("reason", "string") => vec!["urn:alm:descriptor:io.kubernetes.phase:reason".to_owned()],
        (name, "string") if name.to_lowercase().ends_with("url") => {
            vec!["urn:alm:descriptor:org.w3:link".to_owned()]
        }
        (_, "string" | "integer" | "number" | "boolean") => vec!["urn:alm:descriptor:text".to_owned()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_gets_its_widget() {
        assert!(ADVANCED.is_sorted());
        let schema = json!({"properties": {
            "size": {"type": "integer", "description": "How many."},
            "port": {"type": "integer", "title": "The port"},
            "debug": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "adminSecret": {"type": "string"},
            "resources": {"type": "object", "properties": {"limits": {}, "requests": {}}},
            "tolerations": {"type": "array"},
            "storage": {"type": "object", "properties": {"class": {"type": "string"}}},
        }});
        let found: Vec<(String, String)> = descriptors(&schema, false)
            .iter()
            .map(|descriptor| {
                let widgets: Vec<&str> = items(descriptor, &["x-descriptors"])
                    .iter()
                    .filter_map(|widget| {
                        widget.as_str()?.rsplit_once("ui:").or(widget.as_str()?.rsplit_once("descriptor:"))
                    })
                    .map(|(_, widget)| widget)
                    .collect();
                (string_at(descriptor, &["path"]).to_owned(), widgets.join(" "))
            })
            .collect();
        let wanted = [
            ("adminSecret", "io.kubernetes:Secret"),
            ("debug", "booleanSwitch"),
            ("mode", "select:a select:b"),
            ("port", "number"),
            ("resources", "resourceRequirements"),
            ("size", "podCount"),
            ("storage.class", "text"),
            ("tolerations", "advanced"),
        ];
        assert_eq!(found, wanted.map(|(path, widgets)| (path.to_owned(), widgets.to_owned())));
    }

    #[test]
    fn the_description_that_kube_generates_is_not_shown() {
        let definition = |spec: Json| {
            let schema = json!({
                "description": "Auto-generated derived type for LakeSpec via `CustomResource`",
                "properties": {"spec": spec},
            });
            let version = json!({"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}});
            Item {
                source: 0,
                json: json!({"spec": {"names": {"kind": "Lake"}, "versions": [version]}}),
                status: Json::Null,
            }
        };
        assert_eq!(owned(&definition(json!({})))[0].get("description"), None);
        assert_eq!(owned(&definition(json!({"description": "A lake."})))[0]["description"], "A lake.");
    }

    #[test]
    fn conditions_are_shown_as_conditions() {
        let schema = json!({"properties": {
            "conditions": {"type": "array", "items": {"properties": {"type": {}, "status": {}}}},
            "nodes": {"type": "array", "items": {"type": "string"}},
        }});
        let list = descriptors(&schema, true);
        assert_eq!(list[0]["x-descriptors"], json!(["urn:alm:descriptor:io.kubernetes.conditions"]));
        assert_eq!(list[1], json!({"path": "nodes", "displayName": "Nodes"}));
    }
}
