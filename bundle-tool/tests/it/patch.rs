//! Changes to a YAML file in place: what is read back is what was wanted, and comments stay.
use bundle_tool::generate::patch;
use bundle_tool::read::yaml::parse;
use serde_json::{Value as Json, json};

const BASE: &str = "# The lake's own words.
metadata:
  name: lake # the name
spec:
  # What people read.
  description: |
    # Lakes

    Deep.
  keywords:
  - water
  owned:
  # The first one.
  - kind: Lake
    # How deep?
    specDescriptors:
    - path: depth
      displayName: Depth # in metres
  - kind: River
    name: rivers
  # The end of the list.
  maturity: alpha

  version: 0.0.0
";

/// Patches, reads the result back and compares.
fn changed(text: &str, change: impl FnOnce(&mut Json)) -> String {
    let tree = parse(text.as_bytes()).documents.remove(0);
    let mut wanted = tree.root().to_json();
    change(&mut wanted);
    let patched = patch(text, tree.root(), &wanted);
    let read = parse(patched.as_bytes());
    assert_eq!(read.error, None, "{patched}");
    assert_eq!(read.documents[0].root().to_json(), wanted, "{patched}");
    patched
}

#[test]
fn what_says_the_right_thing_is_not_touched() {
    assert_eq!(changed(BASE, |_| {}), BASE);
}

#[test]
fn a_change_touches_its_own_lines_alone() {
    let new = changed(BASE, |json| json["spec"]["maturity"] = "beta".into());
    assert_eq!(new, BASE.replace("alpha", "beta"));
    let new = changed(BASE, |json| json["spec"]["description"] = "Shallow.".into());
    assert!(new.contains("  # What people read.\n  description: Shallow.\n  keywords:\n"), "{new}");
    let new = changed(BASE, |json| json["spec"]["owned"][0]["specDescriptors"][0]["path"] = "height".into());
    assert!(new.contains("# How deep?\n"), "{new}");
}

#[test]
fn entries_and_items_come_and_go() {
    let new = changed(BASE, |json| {
        json["spec"]["icon"] = json!([{"mediatype": "x"}]);
        json["spec"]["owned"][0]["specDescriptors"][0]["description"] = "In metres.".into();
        json["spec"]["owned"].as_array_mut().unwrap().insert(1, json!({"kind": "Pond"}));
        json["metadata"]["labels"] = json!({"a": "b"});
    });
    for part in [
        "# the name",
        "# How deep?",
        "Depth # in metres",
        "# The end of the list.\n  maturity",
        "# The first one.",
    ] {
        assert!(new.contains(part), "{part}: {new}");
    }
    assert!(new.contains("  icon:\n  - mediatype: x\n"), "{new}");
    let new = changed(BASE, |json| {
        json["spec"]["owned"].as_array_mut().unwrap().remove(1);
        json["spec"].as_object_mut().unwrap().shift_remove("keywords");
    });
    assert!(
        !new.contains("River") && !new.contains("water") && new.contains("# The end of the list."),
        "{new}"
    );
    changed(BASE, |json| json["spec"]["owned"] = json!([]));
    changed(BASE, |json| json["spec"]["owned"][0] = json!({"name": "x"}));
    changed(BASE, |json| *json = json!({"a": 1}));
    changed("{a: 1, b: [1, 2]}\n", |json| json["b"] = json!([3]));
    changed("a: {x: 1}\nb:\n    - c: 1\n      d: 2\n", |json| {
        json["a"]["y"] = 2.into();
        json["b"][0]["d"] = 3.into();
    });
}
