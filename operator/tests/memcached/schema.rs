//! The schema of the CRD.

use memcached_operator::api::memcached::crd;
use serde_json::{Value, json};

#[test]
fn versions_share_one_schema_and_only_v1_is_stored() {
    let versions = crd().build().unwrap().spec.versions;
    assert_eq!(versions.iter().map(|v| v.name.as_str()).collect::<Vec<_>>(), ["v1", "v1alpha1"]);
    assert_eq!(versions.iter().map(|v| v.storage).collect::<Vec<_>>(), [true, false]);
    assert!(versions.iter().all(|v| v.served));
    assert_eq!(versions[0].schema, versions[1].schema);
}

#[test]
fn empty_name_lists_are_removed() {
    let text = serde_json::to_string(&crd().build().unwrap()).unwrap();
    assert!(!text.contains("categories") && !text.contains("shortNames"), "{text}");
}

#[test]
fn port_has_a_default_and_the_size_has_bounds() {
    let crd = serde_json::to_value(crd().build().unwrap()).unwrap();
    let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    assert_eq!(spec["properties"]["containerPort"]["default"], 11211);
    assert_eq!(spec["properties"]["size"]["minimum"].as_f64(), Some(1.0));
    assert_eq!(spec["properties"]["size"]["maximum"].as_f64(), Some(5.0));
    assert_eq!(spec["required"], serde_json::json!(["size"]));
}

fn schema() -> Value {
    let crd = serde_json::to_value(crd().build().unwrap()).unwrap();
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn schema_has_nothing_nullable_and_no_defaults_in_the_status() {
    let schema = schema();
    assert!(!schema.to_string().contains("\"nullable\""));
    assert!(!schema["properties"]["status"].to_string().contains("\"default\""));
}

#[test]
fn conditions_have_the_limits_of_the_api_conventions() {
    let conditions = &schema()["properties"]["status"]["properties"]["conditions"];
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    let fields = &conditions["items"]["properties"];
    assert_eq!(fields["status"]["enum"], json!(["True", "False", "Unknown"]));
    assert_eq!((&fields["type"]["maxLength"], &fields["reason"]["minLength"]), (&json!(316), &json!(1)));
    assert_eq!(
        (&fields["reason"]["maxLength"], &fields["message"]["maxLength"]),
        (&json!(1024), &json!(32768))
    );
}

#[test]
fn schema_rejects_what_the_controller_rejects() {
    let schema = schema();
    let spec = &schema["properties"]["spec"]["properties"];
    assert_eq!(spec["containerPort"]["minimum"].as_f64(), Some(1024.0));
    assert_eq!(spec["nodeSelector"]["additionalProperties"]["maxLength"], 63);
    for (place, word) in
        [(&schema, "metadata.name"), (&spec["image"], "sha256"), (&spec["memoryLimit"], "4194304")]
    {
        let rule = &place["x-kubernetes-validations"][0];
        assert!(rule["rule"].as_str().unwrap().contains(word), "{place}");
        assert!(rule["message"].as_str().unwrap().contains("must be"), "{place}");
    }
}
