//! What is printed on terminals: colors where they are wanted, and nothing of foreign text that a terminal obeys.

use std::fs;
use std::process::Command;

use kube_yaml::text::is_escaped;

use crate::support::{copy_bundle, run};

/// What a terminal obeys, in a file's name and in values.
const HOSTILE: &str = "x\u{1b}[31m\u{9b}1m\u{202e}\u{2066}\u{200b}y";

/// Returns the characters that a terminal obeys, other than line breaks and tabs.
fn obeyed(text: &str) -> Vec<char> {
    text.chars().filter(|char| !matches!(char, '\n' | '\t') && is_escaped(*char)).collect()
}

#[test]
fn reports_escape_foreign_text_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    let object =
        format!("apiVersion: v1\nkind: {HOSTILE:?}\nmetadata: {{name: x}}\n").replace("\\u{1b}", "\\e");
    let object = object.replace("\\u{9b}", "\\x9b").replace("\\u{202e}", "\\u202e");
    let object = object.replace("\\u{2066}", "\\u2066").replace("\\u{200b}", "\\u200b");
    fs::write(bundle.join(format!("manifests/{HOSTILE}.yaml")), object).unwrap();
    for format in ["text", "json", "json-alpha1", "sarif", "junit", "github"] {
        let output = run(dir.path(), &["validate", "bundle", "--output", format]);
        assert_eq!(output.status, Some(1), "{format}: {}", output.stderr);
        let text = output.stdout;
        assert!(text.contains("31m"), "{format}: {text}");
        assert!(obeyed(&text).is_empty(), "{format}: {text:?}");
    }
}

#[test]
fn graphs_escape_foreign_text_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    let name = "a\\e[31m\\x9b1m\\u202e\\u2066b";
    let catalog = format!(
        "schema: olm.package\nname: \"{name}\"\ndefaultChannel: \"{name}\"\n---\nschema: olm.channel\npackage: \
         \"{name}\"\nname: \"{name}\"\nentries:\n- name: \"{name}.v1.0.0\"\n"
    );
    fs::create_dir(dir.path().join("catalog")).unwrap();
    fs::write(dir.path().join("catalog/catalog.yaml"), catalog).unwrap();
    for format in ["text", "mermaid", "dot"] {
        let output = run(dir.path(), &["catalog", "graph", "catalog", "--output", format]);
        assert!(
            output.stdout.contains("\\u{202e}") || output.stdout.contains("31m"),
            "{format}: {}",
            output.stderr
        );
        assert!(obeyed(&output.stdout).is_empty(), "{format}: {:?}", output.stdout);
    }
}

#[test]
fn errors_have_colors_only_where_they_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let error = |arguments: &[&str]| run(dir.path(), &[&["diff", "a", "b"], arguments].concat()).stderr;
    assert!(error(&[]).starts_with("error: "), "{}", error(&[]));
    assert!(error(&["--color", "never"]).starts_with("error: "));
    assert!(error(&["--color", "always"]).starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m "));
}

#[test]
fn explain_renders_markdown_on_terminals_only() {
    let dir = tempfile::tempdir().unwrap();
    let explain = |arguments: &[&str]| {
        run(dir.path(), &[&["explain", "pod-port-duplicate"], arguments].concat()).stdout
    };
    assert!(
        explain(&[]).starts_with("# pod-port-duplicate\n\n**error** · suite `bundle`"),
        "{}",
        explain(&[])
    );
    let rendered = explain(&["--color", "always"]);
    assert!(
        rendered.starts_with("\u{1b}[1mpod-port-duplicate\u{1b}[0m\n\n\u{1b}[1merror\u{1b}[0m"),
        "{rendered:?}"
    );
    assert!(!rendered.contains("```") && !rendered.contains("**") && !rendered.contains("## "), "{rendered}");
}

#[test]
fn validate_names_the_rule_to_explain() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    fs::write(bundle.join("manifests/job.yaml"), "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n")
        .unwrap();
    let output = run(dir.path(), &["validate", "bundle"]);
    let last = output.stdout.lines().last().unwrap();
    assert_eq!(last, "run `bundle-tool explain unsupported-kind` for more about this rule");
    let colored = run(dir.path(), &["validate", "bundle", "--color", "always"]).stdout;
    assert!(
        colored.contains("1 bundle, 1 failed: \u{1b}[1m\u{1b}[31m1 error\u{1b}[0m, 0 warnings"),
        "{colored}"
    );
}

#[test]
fn diffs_are_colored() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = copy_bundle(dir.path().join("bundle"));
    copy_bundle(dir.path().join("old"));
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    fs::write(&csv, text.replacen("minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0", 1)).unwrap();
    let fix = |color: &str| run(dir.path(), &["fix", "bundle", "--check", "--color", color]).stdout;
    let colored = fix("always");
    for line in [
        "\u{1b}[1m--- bundle/manifests/gizmo-operator.clusterserviceversion.yaml\u{1b}[0m",
        "\u{1b}[31m-  minKubeVersion: v1.27.0\u{1b}[0m",
        "\u{1b}[32m+  minKubeVersion: 1.27.0\u{1b}[0m",
    ] {
        assert!(colored.lines().any(|colored| colored == line), "{line}: {colored}");
    }
    assert!(obeyed(&fix("never")).is_empty());
    let diff = |color: &str| run(dir.path(), &["diff", "old", "bundle", "--color", color]).stdout;
    assert!(diff("always").contains("\u{1b}[1mminimum Kubernetes version\u{1b}[0m\n"), "{}", diff("always"));
    assert!(obeyed(&diff("never")).is_empty());
}

#[test]
fn validate_runs_with_an_excessive_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    copy_bundle(dir.path().join("bundle"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    let command = command.current_dir(dir.path()).args(["validate", "bundle"]);
    assert!(command.env("RAYON_NUM_THREADS", "100000").output().unwrap().status.success());
}
