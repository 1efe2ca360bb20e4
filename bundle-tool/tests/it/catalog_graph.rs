//! `bundle-tool catalog graph`, `diff` and `explain-upgrade`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const VALID: &str = include_str!("../fixtures/catalog/valid.yaml");

fn tool(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .current_dir(directory)
        .arg("catalog")
        .args(arguments)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn assert_text(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_graph_is_shown_as_text_mermaid_and_dot() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID).unwrap();
    let mut all = String::new();
    for format in ["text", "mermaid", "dot"] {
        let output = tool(dir.path(), &["graph", ".", "--output", format]);
        assert_eq!(output.status.code(), Some(0));
        all.extend(["# ", format, "\n", &stdout(&output), "\n"]);
    }
    assert_text("catalog-graph", &all);
    let one = tool(dir.path(), &["graph", "c.yaml", "--package", "gizmo", "--channel", "fast"]);
    assert_eq!(stdout(&one), "gizmo (deprecated)\n  fast\n    ● gizmo.v1.2.0 head\n");
    for arguments in [&["--package", "gadget"][..], &["--channel", "slow"]] {
        let output = tool(dir.path(), &[&["graph", "c.yaml"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("is not in the catalog"));
    }
}

#[test]
fn a_broken_graph_is_shown_too_and_names_cannot_leave_their_labels() {
    let dir = tempfile::tempdir().unwrap();
    let broken = VALID
        .replace("- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.2.0\n")
        .replace("name: fast", "name: \"f\\\"]\\n  evil --> n1\\e[1m\"");
    fs::write(dir.path().join("c.yaml"), broken).unwrap();
    for format in ["text", "mermaid", "dot"] {
        let output = tool(dir.path(), &["graph", ".", "--output", format]);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0));
        assert!(!text.contains("\n  evil") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("gizmo.v1.0.0"), "{text}");
    }
}

#[test]
fn upgrades_are_those_of_both_versions_of_olm() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID).unwrap();
    let mut all = String::new();
    for (from, channel, code) in [
        ("1.0.0", "stable", 0),
        ("gizmo.v1.1.0", "stable", 0),
        ("gizmo.v1.2.0", "stable", 0),
        ("gizmo.v0.9.0", "stable", 0),
        ("gizmo.v0.8.0", "stable", 1),
        ("gizmo.v1.0.0", "fast", 1),
    ] {
        let arguments = ["explain-upgrade", ".", "--package", "gizmo", "--channel", channel, "--from", from];
        let output = tool(dir.path(), &arguments);
        assert_eq!(output.status.code(), Some(code), "{from}: {}", String::from_utf8_lossy(&output.stderr));
        all.extend(["# ", from, ", ", channel, "\n", &stdout(&output), "\n"]);
    }
    // Without the range, both take each step.
    fs::write(dir.path().join("c.yaml"), VALID.replace("  skipRange: '>=1.0.0 <1.2.0'\n", "")).unwrap();
    let output = tool(dir.path(), &["explain-upgrade", ".", "--package", "gizmo", "--from", "1.0.0"]);
    all.extend(["# 1.0.0, without skipRange\n", &stdout(&output), "\n"]);
    assert_text("catalog-explain-upgrade", &all);
}

#[test]
fn differences_name_what_a_cluster_would_lose() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("old"), VALID).unwrap();
    let output = tool(dir.path(), &["diff", "old", "old"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "no differences\n"));
    let new = VALID
        .replace(
            "  replaces: gizmo.v1.1.0\n  skips: [gizmo.v0.9.0]\n  skipRange: '>=1.0.0 <1.2.0'\n",
            "  skips: [gizmo.v1.1.0]\n",
        )
        .replace("name: fast", "name: faster")
        .replace("gizmo-bundle:v1.2.0", "gizmo-bundle:v1.2.0-1")
        .replace("message: too old", "message: far too old");
    fs::write(path("new"), new).unwrap();
    let output = tool(dir.path(), &["diff", "old", "new"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert_text("catalog-diff", &text);
    let output = tool(dir.path(), &["diff", "old", "new", "--output", "json", "--package", "gizmo"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let stranded: Vec<_> = json["differences"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|difference| difference["kind"] == "stranded")
        .map(|difference| difference["subject"].as_str().unwrap())
        .collect();
    assert_eq!(stranded, ["gizmo.v1.0.0 in channel stable"]);
    assert_eq!(tool(dir.path(), &["diff", "old", "nowhere"]).status.code(), Some(2));
}
