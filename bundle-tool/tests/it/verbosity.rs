//! `--quiet` and `--verbose`.

use crate::push::{BUNDLE, Registry, failure, run, stdout};

#[test]
fn requests_are_printed_with_verbose_and_nothing_but_results_with_quiet() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    let target = format!("{}/example/gizmo-bundle:v1", registry.address);
    let push = ["push", "bundle", BUNDLE, &target, "--plain-http"];
    let pushed = run(directory, &[&push[..], &["--verbose"]].concat());
    let said = String::from_utf8_lossy(&pushed.stderr).into_owned();
    assert!(pushed.status.success(), "{said}");
    let put = format!("PUT http://{}/v2/example/gizmo-bundle/manifests/", registry.address);
    let line = said.lines().find(|line| line.starts_with(&put)).unwrap_or_else(|| panic!("{said}"));
    assert!(line.contains(": 201 Created after "), "{line}");
    assert!(!said.contains('?'), "the queries of addresses are secret: {said}");

    let quiet = run(directory, &[&push[..], &["--quiet"]].concat());
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    assert!(stdout(&quiet).contains("@sha256:"));
    let copied =
        run(directory, &["generate", "manifests", "--package", "a", "--kustomize-dir", "base", "-q"]);
    let said = String::from_utf8_lossy(&copied.stderr).into_owned();
    assert!(said.lines().all(|line| line.starts_with("warning: ")) && !said.is_empty(), "{said}");
    let both = failure(&run(directory, &["validate", BUNDLE, "--quiet", "--verbose"]));
    assert!(both.contains("cannot be used with"), "{both}");
}
