//! `bundle-tool diff`: what people and programs read of an upgrade.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

use crate::support::{Run, run};

/// Two versions of the fixture bundle: the new one tightens the CRD, drops an install mode and asks for more.
fn versions(directory: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    for version in ["old", "new"] {
        for part in ["manifests", "metadata"] {
            fs::create_dir_all(directory.join(version).join(part)).unwrap();
            for entry in fs::read_dir(fixture.join(part)).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), directory.join(version).join(part).join(entry.file_name())).unwrap();
            }
        }
    }
    let crd = directory.join("new/manifests/gizmos.gadgets.example.com.crd.yaml");
    replace(&crd, &[("minimum: 1, maximum: 5", "minimum: 1, maximum: 3")]);
    let csv = directory.join("new/manifests/gizmo-operator.clusterserviceversion.yaml");
    replace(
        &csv,
        &[
            ("{type: AllNamespaces, supported: true}", "{type: AllNamespaces, supported: false}"),
            ("minKubeVersion: 1.27.0", "minKubeVersion: 1.28.0"),
        ],
    );
}

fn replace(path: &Path, changes: &[(&str, &str)]) {
    let mut text = fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{} contains no {from}", path.display());
        text = text.replacen(from, to, 1);
    }
    fs::write(path, text).unwrap();
}

fn diff(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.current_dir(directory).arg("diff").args(arguments).args(["old", "new"]);
    command
}

#[test]
fn diff_prints_text_markdown_and_json() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    for format in ["text", "markdown", "json"] {
        let output = diff(scratch.path(), &["--output", format]).assert().code(1).get_output().clone();
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots/diff");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(format, String::from_utf8(output.stdout).unwrap()));
    }
}

#[test]
fn bundle_does_not_differ_from_itself() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    fs::remove_dir_all(scratch.path().join("new")).unwrap();
    fs::rename(scratch.path().join("old"), scratch.path().join("new")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    command.current_dir(scratch.path()).args(["diff", "--all-crd-changes", "new", "new"]).assert().code(0);
}

#[test]
fn plain_manifests_are_compared_as_well() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    for version in ["old", "new"] {
        fs::rename(scratch.path().join(version).join("manifests"), scratch.path().join("crds")).unwrap();
        fs::remove_dir_all(scratch.path().join(version)).unwrap();
        fs::rename(scratch.path().join("crds"), scratch.path().join(version)).unwrap();
    }
    diff(scratch.path(), &["--all-crd-changes"]).assert().code(1);
}

#[test]
fn diff_rejects_what_is_not_a_bundle() {
    let scratch = tempfile::tempdir().unwrap();
    for version in ["old", "new"] {
        fs::create_dir(scratch.path().join(version)).unwrap();
    }
    let output = diff(scratch.path(), &[]).assert().code(2).get_output().clone();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("old contains neither a ClusterServiceVersion nor"), "{message}");
}

/// Two versions of a CRD: the new one limits the size, has no color any more, requires a shape, which has a default, and compares
/// fields.
fn stricter(directory: &Path) {
    for (version, properties) in [
        ("old", "size: {type: integer}, color: {type: string}"),
        (
            "new",
            "size: {type: integer, maximum: 5, x-kubernetes-validations: [{rule: self != 4}]}, \
             shape: {type: string, default: round}",
        ),
    ] {
        let required = if version == "new" { "required: [shape], " } else { "" };
        let crd = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gizmos.example.com}}\n\
             spec:\n  group: example.com\n  names: {{kind: Gizmo, plural: gizmos}}\n  scope: Namespaced\n  versions:\n  \
             - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema: {{type: object, properties: \
             {{spec: {{type: object, {required}properties: {{{properties}}}}}}}}}\n"
        );
        fs::create_dir_all(directory.join(version)).unwrap();
        fs::write(directory.join(version).join("crd.yaml"), crd).unwrap();
    }
}

#[test]
fn existing_objects_are_validated_against_both_versions() {
    let scratch = tempfile::tempdir().unwrap();
    stricter(scratch.path());
    let gizmo = |name: &str, spec: &str| {
        format!(
            "- {{apiVersion: example.com/v1, kind: Gizmo, metadata: {{name: {name}, namespace: a}}, spec: {spec}}}\n"
        )
    };
    let objects = "apiVersion: v1\nkind: List\nitems:\n".to_owned()
        + &gizmo("small", "{size: 1}")
        + &gizmo("large", "{size: 9}")
        + &gizmo("four", "{size: 4}")
        + &gizmo("red", "{size: 2, color: red}")
        + &gizmo("wrong", "{size: big}")
        + "- {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}\n";
    fs::write(scratch.path().join("objects.yaml"), &objects).unwrap();
    let json = ["--objects", "objects.yaml", "--output", "json"];
    let output = diff(scratch.path(), &json).assert().code(1).get_output().clone();
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let broken = |object: &str, problem: &str| serde_json::json!({"object": format!("Gizmo `a/{object}`"), "crd": "gizmos.example.com", "problem": problem});
    assert_eq!(
        found["objects"],
        serde_json::json!({
            "checked": 5, "invalidBefore": 1, "foreign": 1, "unverified": 0,
            "broken": [
                broken("large", "spec.size: must be at most 5"),
                broken("four", "spec.size: breaks rule 1 of `x-kubernetes-validations`"),
                broken("red", "spec.color is dropped"),
            ],
        })
    );
    let output = diff(scratch.path(), &["--objects", "-"]).write_stdin(objects).assert().code(1);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(text.contains("\nexisting objects\n  Gizmo `a/large`: spec.size: "), "{text}");
    assert!(text.ends_with(", 3 of 5 existing objects broken (1 invalid before)\n"), "{text}");
    for (content, expected) in [
        ("", "error: objects.yaml contains no objects\n"),
        ("- 1", "error: objects.yaml contains a value that is not a Kubernetes object: `[1]` has no kind\n"),
        (
            "{kind: List, items: [{a: b}]}",
            "error: objects.yaml contains a value that is not a Kubernetes object: `{\"a\":\"b\"}` has no kind\n",
        ),
    ] {
        fs::write(scratch.path().join("objects.yaml"), content).unwrap();
        let output = diff(scratch.path(), &json).assert().code(2).get_output().clone();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
    }
    // What `kubectl get` prints where there are none.
    fs::write(scratch.path().join("objects.yaml"), "{apiVersion: v1, kind: List, items: []}").unwrap();
    let output = diff(scratch.path(), &["--objects", "objects.yaml"]).assert().code(1);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(text.ends_with(", 0 of 0 existing objects broken\n"), "{text}");
}

#[test]
fn names_of_existing_objects_cannot_forge_output() {
    let scratch = tempfile::tempdir().unwrap();
    stricter(scratch.path());
    // The kind is no list, so its items are not objects of their own.
    let object = r#"{"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": {"name": "a\u001b[31m\n0 broken"},
                     "spec": {"size": 9}, "items": [{}]}"#;
    for format in ["text", "markdown"] {
        let output = diff(scratch.path(), &["--objects", "-", "--output", format])
            .write_stdin(object)
            .assert()
            .code(1);
        let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(text.contains(r"Gizmo `a\u{1b}[31m\n0 broken`: spec.size: "), "{text}");
        assert!(text.contains("1 of 1 existing object broken"), "{text}");
    }
}

#[test]
fn existing_objects_that_are_too_expensive_are_counted() {
    let scratch = tempfile::tempdir().unwrap();
    stricter(scratch.path());
    let path = scratch.path().join("new/crd.yaml");
    let list = format!(
        "list: {{type: array, items: {{type: object, properties: {{text: {{type: string, default: {}}}}}}}}}, ",
        "x".repeat(1 << 10)
    );
    let crd = fs::read_to_string(&path).unwrap();
    fs::write(&path, crd.replace("properties: {spec:", &format!("properties: {{{list}spec:"))).unwrap();
    let object = |items: usize| {
        format!(
            "---\n{{apiVersion: example.com/v1, kind: Gizmo, metadata: {{name: a}}, spec: {{size: 9}}, list: [{}]}}\n",
            "{}, ".repeat(items)
        )
    };
    let objects = object(10_000) + &object(1);
    let output = diff(scratch.path(), &["--objects", "-"]).write_stdin(objects).assert().code(1);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(
        text.ends_with(
            ", 1 of 1 existing object broken, 1 more not validated: the cost limit was exceeded\n"
        ),
        "{text}"
    );
}

#[test]
fn descriptors_and_sizes_are_compared() {
    let scratch = tempfile::tempdir().unwrap();
    for (version, descriptors) in [
        ("old", "{specDescriptors: [{path: size}, {path: color}], statusDescriptors: [{path: nodes}]}"),
        ("new", "{specDescriptors: [{path: size}], statusDescriptors: [{path: nodes}, {path: ready}]}"),
    ] {
        let owned = descriptors.replacen('{', "{name: gizmos.example.com, version: v1, kind: Gizmo, ", 1);
        let csv = format!(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {{name: gizmo.{version}}}\n\
             spec: {{customresourcedefinitions: {{owned: [{owned}]}}}}\n"
        );
        let manifests = scratch.path().join(version).join("manifests");
        fs::create_dir_all(&manifests).unwrap();
        fs::write(manifests.join("csv.yaml"), csv).unwrap();
        fs::write(manifests.join("text.yaml"), "#".repeat(if version == "new" { 2000 } else { 10 })).unwrap();
    }
    let output = diff(scratch.path(), &[]).assert().code(0).get_output().clone();
    insta::assert_snapshot!("diff-descriptors", String::from_utf8(output.stdout).unwrap());
}

/// A catalog whose channel permits upgrades between the bundles of a directory `bundles`, of which the last breaks the CRD.
fn catalog(directory: &Path) {
    let blobs = |name: &str, version: &str, edges: &str| {
        format!(
            "---\nschema: olm.bundle\nname: {name}\npackage: gizmo-operator\nimage: quay.io/example/a:{version}\n\
             properties: [{{type: olm.package, value: {{packageName: gizmo-operator, version: {version}}}}}]\n---\n\
             schema: olm.channel\nname: c{version}\npackage: gizmo-operator\nentries: [{{name: {name}{edges}}}]\n"
        )
    };
    let text = [
        "schema: olm.package\nname: gizmo-operator\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\n\
         package: gizmo-operator\nentries:\n- name: gizmo-operator.v1.0.0\n- {name: gizmo-operator.v1.1.0, replaces: \
         gizmo-operator.v1.0.0}\n- {name: gizmo-operator.v1.2.0, replaces: gizmo-operator.v1.1.0, skipRange: '<1.2.0'}\n"
            .to_owned(),
        blobs("gizmo-operator.v1.0.0", "1.0.0", ""),
        blobs("gizmo-operator.v1.1.0", "1.1.0", ""),
        blobs("gizmo-operator.v1.2.0", "1.2.0", ", replaces: gizmo-operator.v1.1.0"),
    ];
    fs::create_dir_all(directory.join("catalog")).unwrap();
    fs::write(directory.join("catalog/catalog.yaml"), text.concat()).unwrap();
    for (from, version) in [("old", "1.0.0"), ("old", "1.1.0"), ("new", "1.2.0")] {
        let to = directory.join("bundles").join(version);
        crate::support::copy(&directory.join(from), &to);
        let csv = to.join("manifests/gizmo-operator.clusterserviceversion.yaml");
        replace(
            &csv,
            &[
                ("name: gizmo-operator.v1.2.0", &format!("name: gizmo-operator.v{version}")),
                ("\n  version: 1.2.0", &format!("\n  version: {version}")),
            ],
        );
    }
}

fn tool(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Run { status, stdout, stderr } = run(directory, arguments);
    (status, stdout, stderr)
}

#[test]
fn upgrades_that_break_a_crd_are_found() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    catalog(scratch.path());
    let run = |arguments: &[&str]| tool(scratch.path(), arguments);
    let diff = ["diff", "--catalog", "catalog", "--bundles", "bundles"];
    let (code, out, err) = run(&diff);
    assert_eq!(code, Some(1), "{err}");
    insta::assert_snapshot!("diff-catalog", out);
    // Each edge that breaks is a finding, once, however many channels have it.
    let (code, out, err) = run(&["catalog", "validate", "catalog", "--bundles", "bundles"]);
    assert_eq!(code, Some(0), "{err}");
    insta::assert_snapshot!("catalog-validate-bundles", out);
    assert_eq!(out.matches("[channel-upgrade-breaks-crd]").count(), 2, "{out}");
    let (_, out, _) = run(&["catalog", "validate", "catalog"]);
    assert!(!out.contains("channel-upgrade-breaks-crd"), "{out}");
    // Without the edge that breaks, nothing does.
    let (code, out, _) = run(&[&diff[..], &["--channel", "c1.0.0"]].concat());
    assert_eq!(
        (code, out.as_str()),
        (Some(0), "upgrades that break a CRD: 0 of 0, in 0 packages; available bundles: 3 of 3\n")
    );
    let (_, out, _) = run(&[&diff[..], &["-o", "json", "--package", "gizmo-operator"]].concat());
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["compared"], 3);
    assert_eq!(found["upgrades"][0]["crds"][0]["breaking"][0]["check"], "maximum");
    // The manifests may also be in the catalog itself.
    let rendered = ["1.0.0", "1.1.0", "1.2.0"].map(|version| {
        let image = format!("quay.io/example/a:{version}");
        run(&["render", &format!("bundles/{version}"), "--image", &image, "--migrate-level", "none"]).1
    });
    let graph = fs::read_to_string(scratch.path().join("catalog/catalog.yaml")).unwrap();
    fs::create_dir(scratch.path().join("objects")).unwrap();
    let graph: Vec<&str> = graph.split("---\n").filter(|one| !one.contains("olm.bundle\n")).collect();
    fs::write(scratch.path().join("objects/graph.yaml"), graph.join("---\n")).unwrap();
    fs::write(scratch.path().join("objects/bundles.json"), rendered.concat()).unwrap();
    let (code, out, err) = run(&["diff", "--catalog", "objects"]);
    assert!(code == Some(1) && out.contains("upgrades that break a CRD: 2 of 3"), "{out}{err}");
}

#[test]
fn diff_reports_one_error_for_what_cannot_be_compared() {
    let scratch = tempfile::tempdir().unwrap();
    versions(scratch.path());
    catalog(scratch.path());
    fs::create_dir(scratch.path().join("empty")).unwrap();
    for (arguments, expected) in [
        (&["diff", "--catalog", "catalog"][..], "contains no manifests of its bundles"),
        (&["diff", "--catalog", "catalog", "--bundles", "empty"], "empty contains no bundles"),
        (&["diff", "--catalog", "catalog", "--bundles", "missing"], "failed to read missing"),
        (
            &["diff", "--catalog", "catalog", "--bundles", "bundles", "--channel", "x"],
            "channel `x` is not in the catalog",
        ),
        (&["diff", "--catalog", "catalog", "old", "new"], "cannot be used with"),
        (&["diff", "old"], "<NEW>"),
        (&["diff", "old", "new", "--bundles", "bundles"], "cannot be used with"),
        (&["catalog", "validate", "catalog", "--bundles", "empty"], "empty contains no bundles"),
    ] {
        let (code, out, err) = tool(scratch.path(), arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {err}");
        assert!(out.is_empty() && err.contains(expected), "{arguments:?}: {err}");
    }
}

#[test]
fn served_versions_with_a_conversion_webhook_of_the_csv_are_not_compared() {
    let scratch = tempfile::tempdir().unwrap();
    let version = |name: &str, second: &str, webhooks: &str| {
        let directory = scratch.path().join(name);
        fs::create_dir_all(&directory).unwrap();
        let schema = |kind: &str| {
            format!(
                "served: true, schema: {{openAPIV3Schema: {{type: object, properties: {{size: {{type: {kind}}}}}}}}}"
            )
        };
        let crd = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: gizmos.example.com}}\n\
             spec: {{scope: Namespaced, versions: [{{name: v1, storage: true, {}}}{second}]}}\n",
            schema("integer")
        );
        fs::write(directory.join("crd.yaml"), crd.replace("SCHEMA", &schema("string"))).unwrap();
        let csv = format!(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {{name: gizmo}}\n\
             spec: {{webhookdefinitions: [{webhooks}]}}\n"
        );
        fs::write(directory.join("csv.yaml"), csv).unwrap();
    };
    let webhook = "{type: ConversionWebhook, generateName: a, conversionCRDs: [gizmos.example.com]}";
    version("old", "", "");
    version("without", ", {name: v2, storage: false, SCHEMA}", "");
    version("with", ", {name: v2, storage: false, SCHEMA}", webhook);
    let (code, out, err) = tool(scratch.path(), &["diff", "old", "without"]);
    assert!(code == Some(1) && out.contains("v1 -> v2"), "{out}{err}");
    let (code, out, err) = tool(scratch.path(), &["diff", "old", "with"]);
    assert_eq!(code, Some(0), "{out}{err}");
    let (code, out, err) = tool(scratch.path(), &["diff", "--all-crd-changes", "old", "with"]);
    assert!(code == Some(1) && out.contains("v1 -> v2"), "the CRDs as they are written: {out}{err}");
}

#[test]
fn empty_catalog_has_no_upgrades() {
    let output = Command::cargo_bin("bundle-tool").unwrap().args(["diff", "--catalog", "-"]).assert().code(2);
    let error = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(error.ends_with("standard input is empty: expected a file-based catalog\n"), "{error}");
}

/// A CSV with one Deployment, whose selector, replicas and edges are given.
fn csv(name: &str, app: &str, replicas: u32, edges: &str) -> String {
    format!(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {{name: {name}}}\n\
         spec:\n  version: 1.0.0{edges}\n  install:\n    strategy: deployment\n    spec:\n      deployments:\n      \
         - name: gizmo\n        spec:\n          replicas: {replicas}\n          \
         selector: {{matchLabels: {{app: {app}}}}}\n          template:\n            \
         metadata: {{labels: {{app: {app}}}}}\n            spec: {{containers: [{{name: manager, image: a}}]}}\n"
    )
}

/// A CRD whose versions are written as `NAME: {served, storage}`.
fn crd(plural: &str, versions: &[(&str, bool, bool)]) -> String {
    let versions: String = versions
        .iter()
        .map(|(name, served, storage)| {
            format!(
                "  - {{name: {name}, served: {served}, storage: {storage}, schema: {{openAPIV3Schema: {{type: object}}}}}}\n"
            )
        })
        .collect();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: A{plural}, plural: {plural}}}\n  scope: Namespaced\n  versions:\n{versions}"
    )
}

/// Writes the manifests of both versions, and compares them.
fn compared(old: &[(&str, &str)], new: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let scratch = tempfile::tempdir().unwrap();
    for (version, files) in [("old", old), ("new", new)] {
        for (path, text) in files {
            let path = scratch.path().join(version).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    tool(scratch.path(), &[&["diff"][..], arguments, &["old", "new"]].concat())
}

#[test]
fn changed_selector_of_a_deployment_breaks_the_upgrade() {
    let (old, new) = (csv("gizmo.v1", "a", 1, ""), csv("gizmo.v1", "b", 2, ""));
    let path = "manifests/csv.yaml";
    for strict in [&[][..], &["--all-crd-changes"]] {
        let (code, out, err) = compared(&[(path, &old)], &[(path, &new)], strict);
        assert_eq!(code, Some(1), "{out}{err}");
        assert!(out.contains("Deployment `gizmo`: spec.selector: "), "{out}");
        assert!(out.contains("give the Deployment a new name"), "{out}");
        assert!(out.contains("`gizmo`: spec.replicas: 1 -> 2"), "{out}");
        assert!(out.ends_with("1 immutable field changed\n"), "{out}");
    }
}

#[test]
fn changed_role_of_a_binding_breaks_the_upgrade() {
    let binding = |role: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: gizmo}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {role}}}\n"
        )
    };
    let csv = csv("gizmo.v1", "a", 1, "");
    let files =
        |binding: &str| [("manifests/csv.yaml", csv.clone()), ("manifests/binding.yaml", binding.to_owned())];
    let (old, new) = (files(&binding("view")), files(&binding("edit")));
    let old: Vec<_> = old.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let new: Vec<_> = new.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let (code, out, err) = compared(&old, &new, &[]);
    assert!(code == Some(1) && out.contains("ClusterRoleBinding `gizmo`: roleRef: "), "{out}{err}");
}

#[test]
fn versions_that_are_no_longer_served_break_clients() {
    let old = crd("gizmos", &[("v1alpha1", true, false), ("v1beta1", true, false), ("v1", true, true)]);
    let new = crd("gizmos", &[("v1beta1", false, false), ("v1", true, true)]);
    let (code, out, err) = compared(&[("crd.yaml", &old)], &[("crd.yaml", &new)], &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("served version removed: v1alpha1 (requests for it fail)"), "{out}");
    assert!(out.contains("version no longer served: v1beta1 (requests for it fail)"), "{out}");
    // OLM v1 does not check it.
    let (code, out, _) = compared(&[("crd.yaml", &old)], &[("crd.yaml", &new)], &["--all-crd-changes"]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn stored_versions_apply_to_the_crds_that_have_them() {
    let both = crd("gizmos", &[("v1alpha1", true, false), ("v1", true, true)]);
    let (one, other) = (crd("gizmos", &[("v1", true, true)]), crd("widgets", &[("v1", true, true)]));
    let old = [("a.yaml", both.as_str()), ("b.yaml", other.as_str())];
    let new = [("a.yaml", one.as_str()), ("b.yaml", other.as_str())];
    let (code, out, err) = compared(&old, &new, &["--stored-versions", "v1alpha1,v1"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert_eq!(out.matches("stored version removed: v1alpha1").count(), 1, "{out}");
    assert!(!out.contains("widgets"), "{out}");
    // Two CRDs have the version: in which one objects are stored in it is not known.
    let widgets = crd("widgets", &[("v1alpha1", true, false), ("v1", true, true)]);
    let both = [("a.yaml", both.as_str()), ("b.yaml", widgets.as_str())];
    let (code, out, err) = compared(&both, &new, &["--stored-versions", "v1alpha1,v1"]);
    assert!(code == Some(2) && out.is_empty(), "{out}{err}");
    assert!(err.contains("name the CRD, as in `gizmos.example.com=v1alpha1`"), "{err}");
    let (code, out, err) = compared(&both, &new, &["--stored-versions", "gizmos.example.com=v1alpha1"]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert_eq!(out.matches("stored version removed: v1alpha1").count(), 1, "{out}");
    assert_eq!(out.matches("served version removed: v1alpha1").count(), 1, "{out}");
    let (code, _, err) = compared(&old, &new, &["--stored-versions", "v2"]);
    assert_eq!(
        (code, err.as_str()),
        (Some(2), "error: --stored-versions: no CRD of the old version has `v2`\n")
    );
}

#[test]
fn added_dependencies_are_listed_and_break() {
    let csv = csv("gizmo.v1", "a", 1, "");
    let old = [("manifests/csv.yaml", csv.as_str())];
    let dependencies = "dependencies:\n- {type: olm.package, value: {packageName: etcd, version: '>=1.0.0'}}\n\
                        - {type: olm.gvk, value: {group: example.com, version: v1, kind: Widget}}\n";
    let properties = "properties:\n- {type: olm.package.required, value: {packageName: redis, versionRange: '<2.0.0'}}\n\
                      - {type: olm.gvk, value: {group: example.com, version: v1, kind: Provided}}\n";
    let new =
        [old[0], ("metadata/dependencies.yaml", dependencies), ("metadata/properties.yaml", properties)];
    let (code, out, err) = compared(&old, &new, &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    let expected = "\ndependencies\n  + API example.com/v1 Widget\n  + package `etcd` >=1.0.0\n  + package `redis` <2.0.0\n";
    assert!(out.contains(expected), "{out}");
    assert!(out.ends_with(", 3 dependencies added\n"), "{out}");
    // An operator that depends on less can always be upgraded.
    assert_eq!(compared(&new, &old, &[]).0, Some(0));
}

#[test]
fn package_channels_and_maximum_openshift_version_are_compared() {
    let csv = csv("gizmo.v1", "a", 1, "");
    let annotations = |package: &str, channels: &str| {
        format!(
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: {package}\n  \
             operators.operatorframework.io.bundle.channels.v1: {channels}\n"
        )
    };
    let (annotations, fast) = (annotations("gizmo", "stable"), annotations("gizmo", "stable,fast"));
    let properties = "properties:\n- {type: olm.maxOpenShiftVersion, value: \"4.20\"}\n";
    let old = [("manifests/csv.yaml", csv.as_str()), ("metadata/annotations.yaml", annotations.as_str())];
    let new =
        [old[0], ("metadata/annotations.yaml", fast.as_str()), ("metadata/properties.yaml", properties)];
    let (code, out, err) = compared(&old, &new, &[]);
    assert_eq!(code, Some(0), "{out}{err}");
    let expected = "\ncatalog metadata\n  + channel `fast`\n  + maximum OpenShift version 4.20\n";
    assert!(out.contains(expected), "{out}");
    let renamed = fast.replace("gizmo", "widget");
    let (code, out, err) = compared(&old, &[old[0], ("metadata/annotations.yaml", renamed.as_str())], &[]);
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(out.contains("\npackage\n  `gizmo` -> `widget` (OLM treats it as another operator"), "{out}");
    assert!(out.ends_with(", package changed\n"), "{out}");
}

#[test]
fn missing_upgrade_edge_is_shown() {
    let old = csv("gizmo.v1", "a", 1, "");
    let path = "manifests/csv.yaml";
    for (edges, is_missing) in [
        ("", false),
        ("\n  replaces: gizmo.v1", false),
        ("\n  replaces: gizmo.v0\n  skips: [gizmo.v1]", false),
        ("\n  replaces: gizmo.v0", true),
    ] {
        let new = csv("gizmo.v2", "a", 1, edges);
        let (code, out, err) = compared(&[(path, &old)], &[(path, &new)], &[]);
        assert_eq!(code, Some(0), "{out}{err}");
        assert_eq!(out.contains("\nupgrade edge\n"), is_missing, "{edges}: {out}");
    }
}
