//! Verdicts by version of Kubernetes and OpenShift: `validate --kube-version`, `--openshift`, the range that a bundle claims, `fix`, and
//! `support`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Run, copy_bundle, run};

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

/// A copy of the valid bundle with replaced texts.
fn changed(dir: &Path, changes: &[(&str, &str, &str)]) -> PathBuf {
    let bundle = copy_bundle(dir.join("bundle"));
    for (file, from, to) in changes {
        let path = bundle.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        fs::write(path, text.replacen(from, to, 1)).unwrap();
    }
    bundle
}

/// A rule that Kubernetes accepts in new CRDs since 1.34.
const SEMVER: (&str, &str, &str) = (
    CRD,
    "color: {type: string,",
    "color: {x-kubernetes-validations: [{rule: 'isSemver(self) || true', message: x}], type: string,",
);

fn validate(bundle: &Path, arguments: &[&str]) -> Run {
    run(bundle.parent().unwrap(), &[&["validate", "bundle", "--no-config"], arguments].concat())
}

/// The errors of a bundle as JSON, for the versions that arguments name.
fn errors(bundle: &Path, arguments: &[&str]) -> Vec<Value> {
    let report = validate(bundle, &[&["--output", "json"], arguments].concat());
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    let findings = report["bundles"][0]["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["severity"] == "error").cloned().collect()
}

#[test]
fn one_finding_names_the_versions_that_reject_the_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let annotation =
        (ANNOTATIONS, "annotations:\n", "annotations:\n  com.redhat.openshift.versions: v4.14\n");
    let bundle = changed(dir.path(), &[SEMVER, annotation]);
    let text = validate(&bundle, &[]);
    assert_eq!(text.status, Some(1), "{}", text.stderr);
    insta::assert_snapshot!("finding-of-some-versions", text.stdout);
    let found = errors(&bundle, &[]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["versions"]["kubernetes"], serde_json::json!(["1.30", "1.31", "1.32", "1.33"]));
    assert_eq!(found[0]["versions"]["openshift"], serde_json::json!(["4.17", "4.18", "4.19", "4.20"]));
    let sarif: Value = serde_json::from_str(&validate(&bundle, &["--output", "sarif"]).stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let result = results.iter().find(|result| result["level"] == "error").unwrap();
    assert_eq!(result["properties"]["versions"]["kubernetes"][3], "1.33");
}

#[test]
fn versions_are_those_of_the_arguments_or_those_that_the_bundle_claims() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[SEMVER]);
    let count = |arguments: &[&str]| errors(&bundle, arguments).len();
    for (arguments, expected) in [
        (&["--kube-version", "1.33"][..], 1),
        (&["--kube-version", "v1.33.4"], 1),
        (&["--kube-version", "1.34"], 0),
        (&["--kube-version", "1.33..1.35"], 1),
        (&["--kube-version", "1.34.."], 0),
        (&["--openshift", "4.20"], 1),
        (&["--openshift", "4.21..4.22"], 0),
        (&["--optional-values", "k8s-version=1.33"], 1),
    ] {
        assert_eq!(count(arguments), expected, "{arguments:?}");
    }
    let claimed = |name: &str, changes: &[(&str, &str, &str)]| {
        let bundle = changed(&dir.path().join(name), &[&[SEMVER], changes].concat());
        errors(&bundle, &[]).len()
    };
    let minimum = |version: &'static str| (CSV, "minKubeVersion: 1.27.0", version);
    assert_eq!(claimed("newer", &[minimum("minKubeVersion: 1.34.0")]), 0);
    assert_eq!(claimed("older", &[minimum("minKubeVersion: 1.33.0")]), 1);
    let openshift = |value: &'static str| (ANNOTATIONS, "annotations:\n", value);
    assert_eq!(claimed("from", &[openshift("annotations:\n  com.redhat.openshift.versions: v4.21\n")]), 0);
    assert_eq!(
        claimed("until", &[openshift("annotations:\n  com.redhat.openshift.versions: v4.17-v4.18\n")]),
        1
    );
    // Without a claim, the versions that are supported upstream count, and older ones are information.
    assert_eq!(claimed("nothing", &[minimum("maturity: alpha")]), 0);
    let nothing = dir.path().join("nothing/bundle");
    let verbose = validate(&nothing, &["--verbose", "--allow", "min-kube-version-missing"]).stdout;
    assert!(
        verbose.contains(
            "rejected by Kubernetes 1.30 to 1.33 (OpenShift 4.17 to 4.20), which the bundle does not claim"
        ),
        "{verbose}"
    );
}

#[test]
fn objects_are_validated_as_each_version_does() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[]);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: 1st}\nspec: {ports: [{port: 80}]}\n";
    fs::write(bundle.join("manifests/service.yaml"), service).unwrap();
    assert_eq!(errors(&bundle, &["--kube-version", "1.35"])[0]["rule"], "metadata-name-invalid");
    assert!(errors(&bundle, &["--kube-version", "1.36"]).is_empty());
    let policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: x}\n\
                  spec: {podSelector: {}, egress: [{to: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}\n";
    fs::write(bundle.join("manifests/service.yaml"), policy).unwrap();
    assert!(errors(&bundle, &["--kube-version", "1.35"]).is_empty());
    assert_eq!(errors(&bundle, &["--kube-version", "1.36"])[0]["rule"], "network-policy-peer-invalid");
}

#[test]
fn pods_are_validated_as_each_version_does() {
    let dir = tempfile::tempdir().unwrap();
    let policy = "- {name: second, image: 'quay.io/example/a:1', restartPolicy: Always}";
    let spread = "- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, \
                  labelSelector: {matchLabels: {a: b}}, matchLabelKeys: [a]}";
    let volume = "- {name: '', image: {reference: 'quay.io/example/a:1'}}";
    for (list, item, until, rule) in [
        ("              containers:\n", policy, 34, "pod-restart-rule-invalid"),
        ("              topologySpreadConstraints:\n", spread, 34, "pod-topology-spread-invalid"),
        ("              volumes:\n", volume, 31, "pod-volume-name-invalid"),
    ] {
        let bundle =
            changed(&dir.path().join(rule), &[(CSV, list, &format!("{list}              {item}\n"))]);
        for minor in 30..=34 {
            let found = errors(&bundle, &["--kube-version", &format!("1.{minor}")]);
            let rules: Vec<_> = found.iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
            let expected = if minor < until { vec![rule] } else { vec![] };
            assert_eq!(rules, expected, "1.{minor}");
        }
    }
}

#[test]
fn unsafe_fix_raises_the_minimum_version() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[SEMVER]);
    let fixed = run(dir.path(), &["fix", "bundle", "--unsafe-fixes", "--no-config"]);
    assert_eq!(fixed.status, Some(0), "{}", fixed.stderr);
    let csv = fs::read_to_string(bundle.join(CSV)).unwrap();
    assert!(csv.contains("minKubeVersion: 1.34.0"), "{csv}");
    assert!(errors(&bundle, &[]).is_empty());
}

#[test]
fn invalid_versions_are_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[]);
    let mut messages = String::new();
    for arguments in [
        ["--kube-version", "latest"],
        ["--kube-version", "4.20"],
        ["--kube-version", "1.99"],
        ["--kube-version", "1.34..1.30"],
        ["--openshift", "4.99"],
        ["--openshift", "1.30"],
        ["--openshift", "4.20..4.17"],
    ] {
        let failed = validate(&bundle, &arguments);
        assert_eq!((failed.status, failed.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        messages.push_str(&failed.stderr);
    }
    insta::assert_snapshot!("invalid-versions", messages);
}

#[test]
fn matrix_shows_where_a_bundle_installs() {
    let dir = tempfile::tempdir().unwrap();
    let minimum = (CSV, "minKubeVersion: 1.27.0", "minKubeVersion: 1.31.0");
    let resources = (
        CSV,
        "      version: v1\n",
        "      version: v1\n      resources: [{kind: FlowSchema, version: flowcontrol.apiserver.k8s.io/v1beta3, name: x}]\n",
    );
    changed(dir.path(), &[SEMVER, minimum, resources]);
    let support = |arguments: &[&str]| run(dir.path(), &[&["support", "bundle"], arguments].concat());
    let text = support(&[]);
    assert_eq!(text.status, Some(1), "{}", text.stderr);
    insta::assert_snapshot!("support-text", text.stdout);
    insta::assert_snapshot!("support-markdown", support(&["--output", "markdown"]).stdout);
    insta::assert_snapshot!("support-html", support(&["--output", "html"]).stdout);
    let json: Value =
        serde_json::from_str(&support(&["--output", "json", "--openshift", "4.20..4.21"]).stdout).unwrap();
    let versions = &json["bundles"][0]["versions"];
    assert_eq!((&versions[0]["result"], &versions[1]["result"]), (&"rejected".into(), &"installs".into()));
    assert_eq!(versions[0]["reasons"][0]["rule"], "schema-rule-invalid");
    assert_eq!(support(&["--kube-version", "1.35"]).status, Some(0));
}

#[test]
fn matrix_names_invalid_declarations() {
    for (minimum, openshift, expected) in [
        ("1.36.0", "=v4.17", "  kubernetes-versions-contradictory: spec.minKubeVersion 1.36.0 is newer than"),
        ("1.99.0", "v4.14", "  min-kube-version-unknown: unknown Kubernetes version 1.99.0\n"),
        ("1.27.0", "v4.20-v4.12", "  openshift-versions-invalid: invalid OpenShift versions `v4.20-v4.12`"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let annotation = format!("annotations:\n  com.redhat.openshift.versions: {openshift}\n");
        let minimum = format!("minKubeVersion: {minimum}");
        changed(
            dir.path(),
            &[(ANNOTATIONS, "annotations:\n", &annotation), (CSV, "minKubeVersion: 1.27.0", &minimum)],
        );
        let matrix = run(dir.path(), &["support", "bundle"]);
        assert!(matrix.stdout.contains(expected), "{}{}", matrix.stdout, matrix.stderr);
    }
}

#[test]
fn matrix_shows_whole_messages() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[]);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], type: 'x; rejected by y'}\n";
    fs::write(bundle.join("manifests/service.yaml"), service).unwrap();
    let arguments = ["support", "bundle", "--output", "json", "--kube-version", "1.33"];
    let json: Value = serde_json::from_str(&run(dir.path(), &arguments).stdout).unwrap();
    let reasons = &json["bundles"][0]["versions"][0]["reasons"];
    let expected = "unsupported type `x; rejected by y`: must be `ClusterIP`, `NodePort`, `LoadBalancer` or `ExternalName`";
    assert_eq!(reasons[0]["message"], expected);
}

#[test]
fn html_of_the_matrix_is_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = changed(dir.path(), &[]);
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}], type: \"<b>'&\\e\"}\n";
    fs::write(bundle.join("manifests/service.yaml"), service).unwrap();
    let html = run(dir.path(), &["support", "bundle", "--output", "html"]).stdout;
    assert!(html.contains("unsupported type `&lt;b&gt;&#39;&amp;\\u{1b}`"), "{html}");
}

#[test]
fn matrix_of_a_catalog_shows_what_its_bundles_declare() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = dir.path().join("catalog");
    fs::create_dir(&catalog).unwrap();
    let bundle = |version: &str, minimum: &str, last: &str| {
        format!(
            "---\nschema: olm.bundle\nname: gizmo.v{version}\npackage: gizmo\nimage: example.com/gizmo:v{version}\nproperties:\n\
             - {{type: olm.package, value: {{packageName: gizmo, version: {version}}}}}\n\
             - {{type: olm.csv.metadata, value: {{minKubeVersion: {minimum}}}}}\n\
             - {{type: olm.maxOpenShiftVersion, value: \"{last}\"}}\n"
        )
    };
    let package = "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\npackage: gizmo\n\
                   entries: [{name: gizmo.v1.0.0}, {name: gizmo.v2.0.0, replaces: gizmo.v1.0.0}]\n";
    let text = [package, &bundle("1.0.0", "1.25.0", "4.19"), &bundle("2.0.0", "1.33.0", "4.23")].concat();
    fs::write(catalog.join("catalog.yaml"), text).unwrap();
    let matrix = run(dir.path(), &["support", "catalog"]);
    assert_eq!(matrix.status, Some(0), "{}", matrix.stderr);
    insta::assert_snapshot!("support-catalog", matrix.stdout);
}

#[test]
fn verbose_version_lists_what_the_rules_reproduce() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [["--version", "--verbose"], ["--verbose", "--version"]] {
        let version = run(dir.path(), &arguments);
        assert_eq!(version.status, Some(0), "{}", version.stderr);
        insta::assert_snapshot!("verbose-version", version.stdout);
    }
}

#[test]
fn matrix_of_contradictory_declarations_has_no_version() {
    let dir = tempfile::tempdir().unwrap();
    let annotation =
        (ANNOTATIONS, "annotations:\n", "annotations:\n  com.redhat.openshift.versions: =v4.18\n");
    let minimum = (CSV, "minKubeVersion: 1.27.0", "minKubeVersion: 1.34.0");
    let bundle = changed(dir.path(), &[annotation, minimum]);
    let matrix = run(bundle.parent().unwrap(), &["support", "bundle", "--output", "json"]);
    let matrix: Value = serde_json::from_str(&matrix.stdout).unwrap();
    let rows = matrix["bundles"][0]["versions"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["result"] == "excluded"), "{rows:#?}");
    let found = validate(&bundle, &["--suite", "all"]).stdout;
    let expected = "spec.minKubeVersion 1.34.0 is newer than every version of Kubernetes in `com.redhat.openshift.versions: =v4.18`";
    assert!(found.contains(expected), "{found}");
    let maximum = bundle.join("metadata/properties.yaml");
    fs::write(maximum, "properties: [{type: olm.maxOpenShiftVersion, value: '4.17'}]\n").unwrap();
    let found = validate(&bundle, &["--suite", "all"]).stdout;
    let expected = "`com.redhat.openshift.versions: =v4.18` and `olm.maxOpenShiftVersion: 4.17` select no common version of OpenShift";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn numbers_are_of_the_type_of_their_schema_since_1_36() {
    let dir = tempfile::tempdir().unwrap();
    for (schema, is_rejected) in [
        ("type: integer, minimum: 1.5, default: 10", true),
        ("type: integer, minimum: 1, default: 10", false),
        ("type: integer, format: int32, default: 2147483648", true),
        ("type: integer, format: int64, default: 2147483648", false),
        ("type: integer, format: int32, maximum: 1.0e+10, default: 1", true),
        ("type: number, format: float, default: 1.0e+39", true),
        ("type: number, format: double, default: 1.0e+39", false),
        ("type: number, multipleOf: 0.5, default: 1.5", false),
    ] {
        let changes = [(
            CRD,
            "color: {type: string,",
            format!("ratio: {{{schema}}}\n              color: {{type: string,"),
        )];
        let changes = changes.each_ref().map(|(file, from, to)| (*file, *from, to.as_str()));
        let bundle = changed(&dir.path().join(schema.replace([':', ' ', ','], "")), &changes);
        let count = |version| errors(&bundle, &["--kube-version", version]).len();
        assert_eq!(count("1.35"), 0, "{schema}");
        assert_eq!(count("1.36"), usize::from(is_rejected), "{schema}");
    }
}
