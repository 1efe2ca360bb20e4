//! `bundle-tool generate bundle` as a user runs it.
use std::fs;

use crate::project::{Project, stderr, stdout};

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com, creationTimestamp: null}
spec:
  group: example.com
  names: {kind: Lake, plural: lakes}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: lake-operator, namespace: lakes, labels: {app: lake}}
spec:
  selector: {matchLabels: {app: lake}}
  template:
    metadata: {labels: {app: lake}}
    spec:
      serviceAccountName: lake-operator
      containers:
      - name: manager
        image: quay.io/example/lake:v1
        env:
        - {name: WATER_IMAGE, value: 'quay.io/example/water:v2'}
        - {name: WATCH_NAMESPACE, value: ''}
        - {name: DEPTH, value: 5}
";
const RBAC: &str = "apiVersion: v1
kind: ServiceAccount
metadata: {name: lake-operator, namespace: lakes}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lake-operator}
rules:
- {apiGroups: [example.com], resources: [lakes], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lake-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lake-operator}
subjects:
- {kind: ServiceAccount, name: lake-operator, namespace: lakes}
";
const SAMPLE: &str =
    "apiVersion: example.com/v1\nkind: Lake\nmetadata: {name: baikal}\nspec: {depth: 1642}\n";

const CSV: &str = "bundle/manifests/lake-operator.clusterserviceversion.yaml";

fn lake() -> Project {
    const GENERATE: &[&str] =
        &["generate", "bundle", "--input-dir", "in", "--package", "lake-operator", "--version", "0.1.0"];
    let files = [
        ("in/crd.yaml", CRD),
        ("in/manager/deployment.yaml", DEPLOYMENT),
        ("in/rbac.yaml", RBAC),
        ("in/sample.yaml", SAMPLE),
    ];
    Project::new(GENERATE, &files)
}

#[test]
fn every_object_goes_where_it_belongs() {
    let project = lake();
    project.run(&["--channels", "stable,beta", "--default-channel", "stable"]).success();
    let csv = project.read(CSV);
    for part in [
        "name: lake-operator.v0.1.0\n",
        "  version: 0.1.0\n",
        "    - kind: Lake\n      name: lakes.example.com\n      version: v1\n",
        "\"kind\": \"Lake\"",
        "        serviceAccountName: lake-operator\n",
        "                  value: \"5\"\n",
        "fieldPath: metadata.annotations['olm.targetNamespaces']\n",
        "  - image: quay.io/example/water:v2\n    name: water\n  - image: quay.io/example/lake:v1\n    name: manager\n",
    ] {
        assert!(csv.contains(part), "{part:?} is not in\n{csv}");
    }
    assert!(!project.read("bundle/manifests/example.com_lakes.yaml").contains("creationTimestamp"));
    assert!(project.read("bundle/metadata/annotations.yaml").contains("channels.v1: stable,beta\n"));
    let dockerfile = project.read("bundle.Dockerfile");
    assert!(dockerfile.contains("LABEL operators.operatorframework.io.bundle.channels.v1=stable,beta\n"));
    assert!(dockerfile.contains("COPY bundle/manifests /manifests/\n"));
    assert_eq!(fs::read_dir(project.path("bundle/manifests")).unwrap().count(), 2);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let project = lake();
    project.run(&[]).success();
    let first = project.files();
    project.run(&[]).success();
    assert_eq!(first, project.files());
    project.run(&["--check"]).success().stdout("");

    // A bundle that somebody else's clock dated is kept too.
    let csv = project.read(CSV);
    let dated = csv.lines().map(|line| {
        if line.starts_with("    createdAt: ") { "    createdAt: \"2020-01-01T00:00:00Z\"" } else { line }
    });
    let dated = dated.collect::<Vec<_>>().join("\n") + "\n";
    project.write(CSV, &dated);
    project.run(&[]).success();
    assert_eq!(project.read(CSV), dated);
}

#[test]
fn the_time_changes_where_something_else_does() {
    let project = lake();
    project.run_at("1700000000", &[]).success();
    assert!(project.read(CSV).contains("createdAt: \"2023-11-14T22:13:20Z\""), "{}", project.read(CSV));
    project.run_at("1800000000", &[]).success();
    assert!(project.read(CSV).contains("createdAt: \"2023-11-14T22:13:20Z\""));
    project.run_at("1800000000", &["--replaces", "0.0.9"]).success();
    assert!(project.read(CSV).contains("createdAt: \"2027-01-15T08:00:00Z\""));
    assert!(project.read(CSV).contains("  replaces: lake-operator.v0.0.9\n"));
    project.run_at("soon", &[]).code(2);
}

#[test]
fn check_prints_the_difference_and_touches_nothing() {
    let project = lake();
    let missing = project.run(&["--check"]).code(1);
    assert!(stdout(&missing).contains("--- /dev/null"), "{}", stdout(&missing));
    assert!(!project.path("bundle").exists());
    project.run(&[]).success();
    let before = project.files();
    let changed =
        project.run(&["--check", "--replace-image", "quay.io/example/lake=quay.io/other/lake:v2"]).code(1);
    let diff = stdout(&changed);
    assert!(diff.contains("-                image: quay.io/example/lake:v1\n"), "{diff}");
    assert!(diff.contains("+                image: quay.io/other/lake:v2\n"), "{diff}");
    assert!(!diff.contains("createdAt"), "{diff}");
    assert_eq!(before, project.files());
}

#[test]
fn what_a_person_added_to_the_metadata_is_kept() {
    let project = lake();
    project.run(&["--channels", "stable"]).success();
    let annotations = project.read("bundle/metadata/annotations.yaml");
    let mine = format!(
        "{annotations}\n  # Where it may be installed\n  com.redhat.openshift.versions: v4.12-v4.20\n"
    );
    project.write("bundle/metadata/annotations.yaml", &mine);
    project.run(&[]).success();
    assert_eq!(project.read("bundle/metadata/annotations.yaml"), mine);
    assert!(project.read("bundle.Dockerfile").contains("LABEL com.redhat.openshift.versions=v4.12-v4.20\n"));
    project.run(&["--overwrite=false", "--channels", "other"]).success();
    assert_eq!(project.read("bundle/metadata/annotations.yaml"), mine);
}

#[test]
fn digests_come_from_the_lock_file() {
    let project = lake();
    let digest = |c: &str| format!("sha256:{}", c.repeat(64));
    let (lake, water) = (digest("a"), digest("b"));
    project.write(
        "bundle-tool.lock",
        &format!(
            "[[image]]\nname = \"quay.io/example/lake:v1\"\ndigest = \"{lake}\"\nplatforms = [\"linux/arm64\"]\n\
             [[image]]\nname = \"quay.io/example/water:v2\"\ndigest = \"{water}\"\n"
        ),
    );
    project.run(&["--use-image-digests"]).success();
    let csv = project.read(CSV);
    assert!(csv.contains(&format!("image: quay.io/example/lake@{lake}\n")), "{csv}");
    assert!(csv.contains(&format!("value: quay.io/example/water@{water}\n")), "{csv}");
    assert!(csv.contains("    operatorframework.io/arch.arm64: supported\n"), "{csv}");
    let lock = project.read("bundle-tool.lock");
    project.run(&["--use-image-digests", "--check"]).success();
    assert_eq!(lock, project.read("bundle-tool.lock"));
}

#[test]
fn omitted_objects_are_reported() {
    let project = lake();
    project.write("in/job.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\n");
    project.write("in/values.yaml", "depth: 3\n");
    project.write("in/rbac2.yaml", &RBAC.replace("lake-operator", "stranger"));
    let run = project.run(&["--explain"]).success();
    let (table, notes) = (stdout(&run), stderr(&run));
    assert!(
        table.contains("Job once") && table.contains("omitted: OLM does not support Job in a bundle"),
        "{table}"
    );
    assert!(table.contains("it has no kind"), "{table}");
    assert!(notes.contains("warning: in/job.yaml:1:1: Job once was omitted"), "{notes}");
    assert!(notes.contains("pass --extra-service-accounts=stranger"), "{notes}");
    assert_eq!(table.lines().count(), 11, "{table}");

    fs::remove_dir_all(project.path("bundle")).unwrap();
    let strict = project.run(&["--strict"]).code(1);
    assert!(stderr(&strict).contains("nothing was written"));
    assert!(!project.path("bundle").exists());
}

#[test]
fn permissions_that_are_dropped_fail_if_strict() {
    let project = lake();
    project.write(
        "in/rbac.yaml",
        &RBAC.replace("kind: ClusterRole, name: lake-operator", "kind: ClusterRole, name: cluster-admin"),
    );
    let notes = stderr(&project.run(&[]).success());
    assert!(
        notes.contains("binds service account `lake-operator` to ClusterRole `cluster-admin`"),
        "{notes}"
    );
    fs::remove_dir_all(project.path("bundle")).unwrap();
    let strict = project.run(&["--strict"]).code(1);
    assert!(stderr(&strict).contains("nothing was written"), "{}", stderr(&strict));
    assert!(!project.path("bundle").exists());
}

#[test]
fn bad_input_is_reported_and_nothing_is_written() {
    let long =
        DEPLOYMENT.replace("lake-operator, namespace", "lake-operator, annotations: {a: b}, namespace");
    let csv = |name: &str| {
        format!(
            "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {{name: {name}}}\n"
        )
    };
    let two = format!("{}---\n{}", csv("lake-operator.v1.0.0"), csv("lake-operator.v2.0.0"));
    let cases: [(&str, &str, &[&str], &str); 11] = [
        ("in/x.yaml", "a: [\n", &[], "in/x.yaml:1:4: invalid YAML"),
        (
            "in/x.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}'\n",
            &[],
            "in/x.yaml:4:9: the name `{{ .Release.Name }}` contains a template expression without a value",
        ),
        (
            "in/z.yaml",
            &long,
            &[],
            "in/z.yaml:1:1: duplicate Deployment `lake-operator`: the first is at in/manager",
        ),
        ("in/manager/deployment.yaml", "# none\n", &[], "no Deployment found in the input"),
        ("in/x.yaml", "", &["--version=1.0"], "invalid --version `1.0`: expected a semantic version"),
        ("in/x.yaml", &two, &[], "duplicate ClusterServiceVersion of the package"),
        (
            "in/d.yaml",
            "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: 3}\n",
            &[],
            "in/d.yaml:4:15: Service s: spec.ports: expected a list, found an integer",
        ),
        ("bundle/main.rs", "fn main() {}\n", &[], "bundle is not a bundle: it contains main.rs"),
        (
            "in/x.yaml",
            "",
            &["--default-channel", "none"],
            "the default channel `none` is not one of the channels",
        ),
        (
            "in/x.yaml",
            "",
            &["--channels", ",, ,"],
            "invalid --channels `,, ,`: expected the names of channels",
        ),
        ("in/x.yaml", "", &["--replaces", "0.1.0"], "contains lake-operator.v0.1.0 itself"),
    ];
    for (file, text, arguments, message) in cases {
        let project = lake();
        project.write(file, text);
        let before = project.files();
        let mut command = project.tool();
        command.args(["generate", "bundle", "--input-dir", "in", "--package", "lake-operator"]);
        if !arguments.iter().any(|argument| argument.starts_with("--version")) {
            command.args(["--version", "0.1.0"]);
        }
        let error = stderr(&command.args(arguments).assert().code(2));
        assert!(error.contains(message), "{message:?} is not in {error}");
        let reason = error.trim_end().rsplit(": ").next().unwrap_or_default();
        let words = reason.split(" at line").next().unwrap_or_default();
        assert_eq!(error.matches(words).count(), 1, "said more than once: {error}");
        assert_eq!(before, project.files(), "{message}");
    }
}

#[test]
fn own_output_among_the_manifests_is_skipped() {
    let project = lake();
    fs::rename(project.path("in"), project.path("config")).unwrap();
    project.write("Cargo.toml", "[package]\nname = \"lake-operator\"\nversion = \"0.1.0\"\n");
    project.tool().args(["generate", "manifests", "--crds-dir", "config"]).assert().success();
    for (directory, skipped) in [
        ("config", "bases/lake-operator.generated.yaml"),
        (".", "bundle: it is output"),
        (".", "bundle: it is output"),
    ] {
        let mut command = project.tool();
        command.args(["generate", "bundle", "--input-dir", directory]);
        let error = stderr(&command.assert().success());
        assert!(error.contains("note: skipped ") && error.contains(skipped), "{error}");
        assert!(error.contains("note: using version 0.1.0 from Cargo.toml\n"), "{error}");
        assert!(project.read(CSV).contains("  name: lake-operator.v0.1.0\n"));
        assert_eq!(fs::read_dir(project.path("bundle/manifests")).unwrap().count(), 2);
    }
}

#[test]
fn package_and_version_come_from_cargo_toml_if_nothing_else_says_them() {
    let project = lake();
    project.write("Cargo.toml", "[package]\nname = \"a-lake\"\nversion = \"1.2.3\"\n");
    let run = project.tool().args(["generate", "bundle", "--input-dir", "in"]).assert().success();
    let error = stderr(&run);
    assert!(error.contains("note: using package name `a-lake` from Cargo.toml\n"), "{error}");
    assert!(
        error.contains("note: using version 1.2.3 from Cargo.toml\na-lake.v1.2.3 in bundle: "),
        "{error}"
    );
    fs::remove_file(project.path("Cargo.toml")).unwrap();
    let mut command = project.tool();
    let run =
        command.args(["generate", "bundle", "--input-dir", "in", "--package", "a-lake"]).assert().success();
    assert!(stderr(&run).contains("note: using version 0.0.0 because none was found; pass --version\n"));
}

#[test]
fn a_package_name_that_no_catalog_accepts_is_an_error() {
    for name in ["Op_X", "", "a\nb", "../x", "a.b"] {
        for command in [&["generate", "bundle", "--input-dir", "in"][..], &["generate", "manifests"]] {
            let project = lake();
            let before = project.files();
            let run = project.tool().args(command).args(["--package", name]).assert().code(2);
            let error = stderr(&run);
            let says = format!("invalid package name `{}`: must consist of", name.escape_debug());
            assert!(error.contains(&says), "{error}");
            assert_eq!(before, project.files());
        }
    }
}

#[test]
fn control_characters_of_manifests_are_escaped_in_messages() {
    let project = lake();
    project.write("in/x.yaml", "{apiVersion: v1, kind: \"Pod\\e[2J\", metadata: {name: \"a\\nerror: b\"}}\n");
    let run = project.run(&["--explain"]).success();
    for text in [stderr(&run), stdout(&run)] {
        assert!(text.contains("Pod\\u{1b}[2J a\\nerror: b"), "{text}");
    }
}

#[test]
fn manifests_come_from_standard_input_too() {
    let project = lake();
    let all = [CRD, DEPLOYMENT, RBAC, SAMPLE].join("---\n");
    let run = project
        .tool()
        .args(["generate", "bundle", "--package", "lake-operator", "--version", "0.1.0", "--stdout"])
        .write_stdin(all)
        .assert()
        .success();
    let printed = stdout(&run);
    assert!(printed.starts_with("---\napiVersion: operators.coreos.com/v1alpha1\n"), "{printed}");
    assert!(printed.contains("\n---\napiVersion: apiextensions.k8s.io/v1\n"), "{printed}");
    assert!(!project.path("bundle").exists());
}
