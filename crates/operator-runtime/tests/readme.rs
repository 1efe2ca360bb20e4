//! The README's example, which is `examples/greeting.rs`, as a program.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of the example: cargo builds examples beside the directory of the tests.
fn greeting() -> PathBuf {
    let deps = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    deps.parent().unwrap().join("examples/greeting")
}

#[test]
fn readme_shows_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let example = std::fs::read_to_string(root.join("examples/greeting.rs")).unwrap();
    let shown = readme.split("```rust,no_run\n").nth(1).unwrap().split("```").next().unwrap();
    let written = example.split_once("\n\n").unwrap().1;
    assert_eq!(written, shown, "the README and examples/greeting.rs differ");
}

#[test]
fn example_writes_its_manifests() {
    let output = Command::new(greeting()).args(["manifests", "--stdout"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    for kind in ["CustomResourceDefinition", "Deployment", "ClusterRole", "ServiceAccount"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    // What it declares as owned is what it may write.
    assert!(text.contains("- configmaps"), "{text}");
}
