//! Commands of opm.

use super::*;

/// Returns whether everything that a line reports is printable.
fn is_printable(run: &Run) -> bool {
    let is_raw = |char: char| kube_yaml::text::is_escaped(char) && char != '\n';
    !run.stdout.contains(is_raw) && !run.stderr.contains(is_raw)
}

#[test]
fn names_in_catalogs_are_escaped() {
    let sandbox = Sandbox::new();
    let escape = "sed -i 's/name: lightspeed-operator.v1.1.0$/name: \"\\\\e[31m\\\\u202elightspeed-operator.v1.1.0\"/' catalog/index.yaml; ";
    for (name, line) in [
        ("esc-validate", "opm validate catalog"),
        ("esc-channels", "opm alpha list bundles catalog lightspeed-operator"),
        ("esc-graph", "opm alpha render-graph catalog"),
    ] {
        let run = sandbox.run(name, &format!("{escape}{line}"));
        assert!(is_printable(&run), "{name}: {:?} {:?}", run.stdout, run.stderr);
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains("u{202e}"),
            "{name}: {} {}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn outputs_of_opm_are_checked_before_the_first_is_written() {
    const ADD: &str = "opm index add --bundles localhost:5107/gitops-operator-bundle:v1 --generate";
    const PRUNE: &str = "opm index prune -f localhost:5107/cat:v1 -p a --generate";
    let sandbox = Sandbox::new();
    let exists =
        |name: &str, path: &str| sandbox.directory.path().join("runs").join(name).join(path).exists();
    for (name, line, message, unwritten) in [
        (
            "out-empty",
            "opm index add --bundles '' --generate --out-dockerfile no/such/x",
            "the index would be empty",
            "no",
        ),
        ("out-parent", &*format!("{ADD} -d no/such/x"), "failed to write no/such/x", "no"),
        ("out-directory", &format!("mkdir d; {PRUNE} -d d"), "failed to write d", "index"),
        (
            "out-bundle",
            "mkdir bundle.Dockerfile; opm alpha bundle generate -d manifests -p a -c b",
            "failed to write bundle.Dockerfile",
            "metadata",
        ),
        (
            "out-index",
            &format!("touch index; {PRUNE}"),
            "failed to write the catalog to index",
            "index.Dockerfile",
        ),
        (
            "out-full",
            &format!("mkdir index; touch index/x; {PRUNE}"),
            "cannot write the catalog to index, because the directory is not empty",
            "index.Dockerfile",
        ),
        ("out-newline", &format!("{ADD} -i 'a\nRUN evil'"), "invalid base image", "index"),
    ] {
        let run = sandbox.run(name, line);
        assert_eq!(run.status, Some(1), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
        assert!(!exists(name, unwritten), "{name}");
    }
    let line = format!("echo mine > index.Dockerfile; {PRUNE}");
    let run = sandbox.run("out-replaced", &line);
    assert!(
        check(
            "out-replaced",
            &run,
            0,
            &[
                "!level=warning msg=\"index.Dockerfile already exists and will be overwritten\"",
                "+index.Dockerfile FROM "
            ]
        )
        .is_empty(),
        "{}",
        run.stderr
    );
}

#[test]
fn templates_of_json_have_their_keys_in_alphabetical_order() {
    let sandbox = Sandbox::new();
    let line = "opm migrate catalog migrated && \
                opm alpha convert-template basic migrated/lightspeed-operator/catalog.json";
    let run = sandbox.run("convert-json", line);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let template: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    for entry in template["entries"].as_array().unwrap() {
        let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
        let is_bundle = entry["schema"] == "olm.bundle";
        assert!(keys.is_sorted() || is_bundle, "{keys:?}");
    }
}
