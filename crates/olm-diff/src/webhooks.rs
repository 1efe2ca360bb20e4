//! What changes in the webhooks of a CSV, field by field.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::bundle::webhook_name;
use super::deployments::compare;

/// Returns the changed fields of the webhooks that two CSVs have in common, as lines.
pub(crate) fn changes(old: &[Value], new: &[Value]) -> Vec<String> {
    let old: BTreeMap<String, &Value> = old.iter().map(|webhook| (webhook_name(webhook), webhook)).collect();
    let mut found = Vec::new();
    for new in new {
        let name = webhook_name(new);
        let Some(old) = old.get(&name) else { continue };
        let (Some(old), Some(new)) = (fields(old), fields(new)) else { continue };
        for field in old.keys().chain(new.keys().filter(|field| !old.contains_key(*field))) {
            let value = |fields: &Map<String, Value>| fields.get(field).cloned().unwrap_or_default();
            compare(&format!("{name}: {field}"), &value(&old), &value(&new), &mut found);
        }
    }
    found
}

/// Returns the fields of a webhook, with the defaults that OLM and the API server set.
fn fields(webhook: &Value) -> Option<Map<String, Value>> {
    let mut fields: Map<String, Value> = webhook.as_object()?.clone();
    fields.retain(|_, value| !value.is_null());
    let mut default = |name: &str, value: Value| {
        fields.entry(name).or_insert(value);
    };
    default("containerPort", json!(443));
    if webhook["type"] != "ConversionWebhook" {
        default("failurePolicy", json!("Fail"));
        default("matchPolicy", json!("Equivalent"));
        default("timeoutSeconds", json!(10));
    }
    if webhook["type"] == "MutatingAdmissionWebhook" {
        default("reinvocationPolicy", json!("Never"));
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_fields_are_listed_and_defaults_are_equal_to_absent_fields() {
        let webhook = |fields: Value| {
            let mut webhook = json!({"type": "ValidatingAdmissionWebhook", "generateName": "v.example.com"});
            webhook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            [webhook]
        };
        let old = webhook(json!({"failurePolicy": "Ignore", "rules": [{"operations": ["CREATE"]}]}));
        let new = webhook(json!({"failurePolicy": "Fail", "rules": [{"operations": ["CREATE", "UPDATE"]}]}));
        assert_eq!(
            changes(&old, &new),
            [
                "ValidatingAdmissionWebhook v.example.com: failurePolicy: Ignore -> Fail",
                "ValidatingAdmissionWebhook v.example.com: rules: [{\"operations\":[\"CREATE\"]}] -> \
                 [{\"operations\":[\"CREATE\",\"UPDATE\"]}]",
            ]
        );
        let old = webhook(json!({"failurePolicy": "Fail", "timeoutSeconds": 10, "containerPort": 443}));
        let new = webhook(json!({"matchPolicy": "Equivalent", "objectSelector": null}));
        assert_eq!(changes(&old, &new), [""; 0]);
        assert_eq!(changes(&old, &[]), [""; 0]);
    }
}
