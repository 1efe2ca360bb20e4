//! `bundle-tool validate` over directories, layouts and archives: one verdict, whatever form a bundle has.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process;

use assert_cmd::Command;
use rustix::process::Signal;
use serde_json::Value;

use crate::project::{stderr, stdout};
use crate::support::{copy_bundle, git, send_signal};

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

fn json(assert: &assert_cmd::assert::Assert) -> Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

/// A copy of the valid bundle that tests may spoil.
fn bundle(dir: &Path) -> PathBuf {
    copy_bundle(dir.join("bundle"))
}

#[test]
fn findings_are_the_same_in_a_directory_a_layout_and_an_archive() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    fs::write(directory.join("manifests/job.yaml"), "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n")
        .unwrap();
    let directory = directory.to_str().unwrap();
    let layout = format!("oci:{}", dir.path().join("layout").display());
    let archive = format!("oci-archive:{}", dir.path().join("bundle.tar").display());
    for target in [&layout, &archive] {
        run(&["push", "bundle", directory, "registry.example.com/gizmo:v1", "--to", target, "--no-validate"])
            .success();
    }
    let answer = json(&run(&["validate", "--output", "json", directory, &layout, &archive]).code(1));
    let bundles = answer["bundles"].as_array().unwrap();
    assert_eq!(bundles.len(), 3);
    for bundle in bundles {
        assert_eq!(bundle["name"], "gizmo-operator.v1.2.0");
        assert_eq!(bundle["package"], "gizmo-operator");
        assert_eq!(bundle["passed"], false);
        assert_eq!(bundle["findings"][0]["rule"], "unsupported-kind");
        assert_eq!(bundle["findings"], bundles[0]["findings"]);
    }
}

#[test]
fn watched_bundle_is_validated_again_when_a_file_changes() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let mut child = process::Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(["validate", "--watch"])
        .arg(&directory)
        .stdout(process::Stdio::piped())
        .stderr(process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    // What is said until it waits again.
    let mut said = || {
        let lines = stderr.by_ref().map(Result::unwrap);
        lines.take_while(|line| line != "waiting for changes; press Ctrl-C to stop").collect::<Vec<_>>()
    };
    let mut waits = || assert_eq!(said(), [""; 0]);
    waits();
    let job = directory.join("manifests/job.yaml");
    // Moved there whole: a watcher may look between a file's creation and what is written then.
    let new = dir.path().join("job.yaml");
    fs::write(&new, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n").unwrap();
    fs::rename(&new, &job).unwrap();
    waits();
    fs::remove_file(&job).unwrap();
    waits();
    // What is beside the bundle belongs to it.
    fs::write(dir.path().join("bundle-tool.toml"), "").unwrap();
    waits();
    fs::write(dir.path().join("bundle.Dockerfile"), "FROM scratch\n").unwrap();
    waits();
    let away = dir.path().join("away");
    fs::rename(&directory, &away).unwrap();
    let problem = said().join("\n");
    assert!(problem.contains("failed to read "), "{problem}");
    fs::rename(&away, &directory).unwrap();
    assert_eq!(said(), [""; 0]);
    // As Ctrl-C ends it, which a shell ignores for what it runs in the background, these tests perhaps.
    send_signal(&child, Signal::TERM);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(15));
    let text = String::from_utf8(output.stdout).unwrap();
    let passed: Vec<_> = text.lines().filter(|line| line.starts_with("error[unsupported-kind]")).collect();
    assert_eq!(passed.len(), 1, "{text}");
    assert!(!text.contains('\x1b'), "{text}");

    let watch = |reference: &str| self::stderr(&run(&["validate", "--watch", reference]).code(2));
    let error = watch("quay.io/example/gizmo-bundle:v1.2.0");
    assert!(
        error.contains("cannot watch quay.io/example/gizmo-bundle:v1.2.0: expected a directory or a file")
    );
    assert!(watch("nowhere").contains("failed to read nowhere"));
}

#[test]
fn reports_name_the_options_that_help_against_an_unreadable_image() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let answer = json(&run(&["validate", "--output", "json", &format!("{address}/a:v1")]).code(2));
    let message = answer["unreadable"][0]["message"].as_str().unwrap();
    assert!(message.contains("plain HTTP") && message.contains("pass --plain-http"), "{message}");
}

#[test]
fn unreadable_bundles_are_reported_and_the_others_are_validated() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let missing = dir.path().join("nowhere");
    let assert =
        run(&["validate", "--output", "json", missing.to_str().unwrap(), directory.to_str().unwrap()])
            .code(2);
    let answer = json(&assert);
    assert_eq!(answer["bundles"].as_array().unwrap().len(), 1);
    assert_eq!(answer["bundles"][0]["passed"], true);
    assert_eq!(answer["version"], 1);
    assert_eq!(answer["unreadable"][0]["path"], missing.to_str().unwrap());
    let message = stderr(&assert);
    let reason = format!("error: failed to read {}: no such file or directory;", missing.display());
    assert!(message.starts_with(&reason), "{message}");
    assert!(message.contains("; expected a bundle directory, `oci:DIR`,"), "{message}");
}

#[test]
fn suites_are_enabled_and_rules_ignored_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let annotations = directory.join("metadata/annotations.yaml");
    let text = fs::read_to_string(&annotations).unwrap().replace(": stable", ": alpha");
    fs::write(&annotations, text).unwrap();
    let directory = directory.to_str().unwrap();
    let found = |args: &[&str]| {
        let answer = json(&run(&[&["validate", "--output", "json", directory], args].concat()).success());
        let findings = answer["bundles"][0]["findings"].as_array().unwrap();
        findings.iter().filter(|finding| finding["ignored"].is_null()).count()
    };
    assert_eq!(found(&[]), 0);
    assert_eq!(found(&["--suite", "categories,good-practices"]), 1);
    assert_eq!(found(&["--suite", "good-practices", "--allow", "channel-unconventional"]), 0);
    assert_eq!(found(&["--select-optional", "name=good-practices"]), 1);
    assert_eq!(found(&["--select-optional", "suite=operatorframework"]), 1);
    assert_eq!(found(&["--profile", "operatorhub"]), 1);
    assert_eq!(found(&["--profile", "olmv1", "--watch-namespace", "gizmos"]), 1);
    run(&["validate", directory, "--profile", "community"]).code(1);
    run(&["validate", directory, "--profile", "certified"]).code(1);
    run(&["validate", directory, "--allow", "no-such-rule"]).code(2);
    run(&["validate", directory, "--suite", "no-such-suite"]).code(2);
}

#[test]
fn optional_validators_are_selected_with_flags_of_operator_sdk() {
    let list = stdout(&run(&["validate", "--list-optional"]).success());
    insta::assert_snapshot!("validate-list-optional", list);
    let error = |args: &[&str]| stderr(&run(&[&["validate", "."], args].concat()).code(2));
    let unknown = error(&["--select-optional", "name=multiarhc"]);
    assert!(unknown.contains("did you mean `multiarch`?"), "{unknown}");
    let unknown = error(&["--optional-values", "k8sversion=1.25"]);
    assert!(unknown.contains("did you mean `k8s-version`?"), "{unknown}");
    let invalid = error(&["--kube-version", "latest"]);
    assert!(invalid.contains("invalid Kubernetes version `latest`"), "{invalid}");
}

#[test]
fn community_validator_of_operator_sdk_limits_removed_apis() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let role = "apiVersion: rbac.authorization.k8s.io/v1beta1\nkind: Role\nmetadata: {name: gizmo}\n";
    let shown = directory.to_str().unwrap();
    let community = ["validate", shown, "--select-optional", "name=community", "--output", "json"];
    // The requirements of the community catalog are another suite.
    run(&community).success();
    fs::write(directory.join("manifests/role.yaml"), role).unwrap();
    let found = |args: &[&str]| {
        let answer = json(&run(&[&community[..], args].concat()));
        let findings = answer["bundles"][0]["findings"].as_array().unwrap();
        let of_rule = findings.iter().filter(|finding| finding["rule"] == "removed-api-openshift-unlimited");
        of_rule.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&[]).len(), 1);
    let dockerfile = dir.path().join("index.Dockerfile");
    fs::write(&dockerfile, "FROM scratch\nLABEL com.redhat.openshift.versions=v4.6-v4.10\n").unwrap();
    let value = format!("index-path={}", dockerfile.display());
    let messages = found(&["--optional-values", &value]);
    assert!(messages[1].contains("permits OpenShift 4.10"), "{messages:?}");
    let error =
        stderr(&run(&[&community[..], &["--optional-values", "index-path=nowhere"]].concat()).code(2));
    assert!(error.contains("failed to read nowhere, which --optional-values names"), "{error}");
}

#[test]
fn removed_apis_depend_on_the_given_version() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let csv = directory.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    let resources = "      version: v1\n      resources: [{kind: PodDisruptionBudget, version: policy/v1beta1, name: x}]\n";
    fs::write(
        &csv,
        text.replacen("      version: v1\n", resources, 1).replace("  minKubeVersion: 1.27.0\n", ""),
    )
    .unwrap();
    let directory = directory.to_str().unwrap();
    let severity = |args: &[&str]| {
        let suite = [
            "validate",
            "--output",
            "json",
            directory,
            "--suite",
            "deprecated-apis",
            "--allow",
            "min-kube-version-missing",
        ];
        let assert = run(&[&suite, args].concat());
        let answer: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        let findings = answer["bundles"][0]["findings"].as_array().unwrap();
        let is_removed = |finding: &&Value| finding["rule"].as_str().unwrap().starts_with("removed-api");
        findings.iter().find(is_removed).unwrap()["severity"].as_str().unwrap().to_owned()
    };
    assert_eq!(severity(&[]), "warning");
    assert_eq!(severity(&["--kube-version", "1.24"]), "warning");
    assert_eq!(severity(&["--kube-version", "1.25"]), "error");
    assert_eq!(severity(&["--optional-values", "k8s-version=v1.30"]), "error");
}

#[test]
fn submission_is_validated_in_its_repository() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let git = |args: &[&str]| {
        let names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        let status =
            std::process::Command::new("git").arg("-C").arg(root).args(names).args(args).output().unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    };
    let operator = root.join("operators/gizmo-operator");
    let add = |version: &str| {
        fs::create_dir_all(&operator).unwrap();
        let copy = bundle(&operator);
        fs::rename(copy, operator.join(version)).unwrap();
    };
    let findings = |args: &[&str]| -> Vec<String> {
        let path = operator.join("1.2.0").to_str().unwrap().to_owned();
        let all = [&["validate", &path, "--suite", "community", "--output", "json"], args].concat();
        let answer: Value = serde_json::from_slice(&run(&all).get_output().stdout).unwrap();
        let found =
            answer["bundles"].as_array().unwrap().iter().flat_map(|one| one["findings"].as_array().unwrap());
        let repository =
            ["community-ci", "community-version-d", "community-update", "community-name", "pull-request"];
        let rule = |finding: &Value| finding["rule"].as_str().unwrap().to_owned();
        found.map(rule).filter(|rule| repository.iter().any(|prefix| rule.starts_with(prefix))).collect()
    };
    git(&["init", "-q", "-b", "main"]);
    add("1.1.0");
    fs::write(operator.join("ci.yaml"), "reviewers: [me]\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "next"]);
    add("1.2.0");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "two"]);
    assert_eq!(findings(&["--base-commit", "main"]), ["community-update-graph-missing"]);
    fs::write(operator.join("ci.yaml"), "updateGraph: semver\n").unwrap();
    fs::write(operator.join("1.1.0/metadata/notes.yaml"), "a: 1\n").unwrap();
    fs::write(root.join("README.md"), "# Catalog\n").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "three"]);
    let wanted = ["pull-request-foreign-file", "pull-request-bundle-modified", "community-ci-invalid"];
    assert_eq!(findings(&["--base-commit", "main"]), wanted);
    git(&["rm", "-qr", "operators/gizmo-operator/1.1.0"]);
    git(&["commit", "-qm", "four"]);
    let found = findings(&["--base-commit", "main"]);
    assert!(found.contains(&"pull-request-mixed".to_owned()), "{found:?}");
    assert!(found.contains(&"pull-request-bundle-deleted".to_owned()), "{found:?}");
    let path = operator.to_str().unwrap();
    let error = stderr(&run(&["validate", path, "--base-commit", "main"]).code(2));
    assert!(error.contains("--base-commit requires the suite `community`"), "{error}");
    let error = stderr(&run(&["validate", path, "--base-commit", "nowhere"]).code(2));
    assert!(error.contains("unknown base `nowhere`: expected a branch or a commit"), "{error}");
    let error = stderr(
        &run(&["validate", "quay.io/a/b:v1", "--base-commit", "main", "--suite", "community"]).code(2),
    );
    assert!(
        error.contains("--base-commit requires a directory in a git repository, found `quay.io/a/b:v1`"),
        "{error}"
    );
    git(&["checkout", "-q", "--orphan", "other"]);
    let error = stderr(&run(&["validate", path, "--base-commit", "main", "--suite", "community"]).code(2));
    assert!(error.contains("has no commit to compare with `main`") && !error.contains("fatal"), "{error}");
    git(&["commit", "-qm", "five"]);
    let error = stderr(&run(&["validate", path, "--base-commit", "main"]).code(2));
    assert!(error.contains("`main` and HEAD have no common ancestor; in a shallow clone, run"), "{error}");
}

#[test]
fn foreign_repository_runs_no_program() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("a repository");
    let operator = root.join("operators/gizmo-operator");
    let git = |args: &[&str]| {
        let names = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
        let output =
            std::process::Command::new("git").arg("-C").arg(&root).args(names).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    fs::create_dir_all(&operator).unwrap();
    fs::rename(bundle(&operator), operator.join("1.1.0")).unwrap();
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    git(&["checkout", "-qb", "next"]);
    fs::rename(operator.join("1.1.0"), operator.join("1.2.0")).unwrap();
    fs::create_dir_all(root.join("catalogs/v4/gizmo-operator")).unwrap();
    fs::write(root.join("catalogs/v4/gizmo-operator/catalog.yaml"), "schema: olm.bundle\n").unwrap();
    // Names that could be taken for commits.
    fs::write(root.join("HEAD"), "").unwrap();
    fs::write(root.join("main"), "").unwrap();
    git(&["add", "-A"]);
    git(&["commit", "-qm", "two"]);
    let path = operator.join("1.2.0").to_str().unwrap().to_owned();
    let validate = || {
        run(&[
            "validate",
            &path,
            "--base-commit",
            "refs/heads/main",
            "--suite",
            "community",
            "--output",
            "json",
        ])
    };

    let marker = dir.path().join("marker");
    let program = format!("touch '{}'; false", marker.display());
    for key in ["core.fsmonitor", "diff.external", "core.sshCommand", "diff.x.textconv", "diff.x.command"] {
        git(&["config", key, &program]);
    }
    fs::write(root.join(".git/info/attributes"), "* diff=x\n").unwrap();
    let _ = fs::remove_file(&marker);
    let answer: Value = serde_json::from_slice(&validate().code(1).get_output().stdout).unwrap();
    assert!(answer["bundles"][0]["findings"].to_string().contains("pull-request-mixed"), "{answer}");
    assert!(!marker.exists());

    // A partial clone fetches what it lacks with a program of its configuration.
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", root.to_str().unwrap()),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", &program),
    ] {
        git(&["config", key, value]);
    }
    let object = git(&["rev-parse", "refs/heads/next:catalogs/v4/gizmo-operator/catalog.yaml"]);
    fs::remove_file(root.join(".git/objects").join(&object[..2]).join(&object[2..])).unwrap();
    let _ = fs::remove_file(&marker);
    let error = stderr(&validate().code(2));
    assert!(error.contains("in a partial clone, fetch all objects first"), "{error}");
    assert!(!marker.exists());

    // Files of a bundle that make its directory look like a repository.
    let inner = operator.join("1.2.0");
    fs::write(inner.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir_all(inner.join("objects")).unwrap();
    fs::create_dir_all(inner.join("refs")).unwrap();
    fs::write(inner.join("config"), format!("[core]\nworktree = .\nfsmonitor = {program:?}\n")).unwrap();
    let error = stderr(&validate().code(2));
    assert!(error.contains("safe.bareRepository"), "{error}");
    assert!(!marker.exists());
}

#[test]
fn extension_configuration_is_validated_against_the_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let config = dir.path().join("config.yaml");
    let validate = |text: &str| {
        fs::write(&config, text).unwrap();
        let paths = [directory.to_str().unwrap(), config.to_str().unwrap()];
        run(&[
            "validate",
            paths[0],
            "--suite",
            "olmv1",
            "--extension-config",
            paths[1],
            "--install-namespace",
            "operators",
        ])
    };
    validate("watchNamespace: gizmos\n").success();
    validate("").success();
    let assert = validate("watchNamespce: gizmos\n").code(1);
    assert!(stdout(&assert).contains("unknown field `watchNamespce`: did you mean `watchNamespace`?"));
    validate("- a\n").code(2);
    validate("a: [\n").code(2);
}

#[test]
fn unreadable_bundle_has_not_passed() {
    let dir = tempfile::tempdir().unwrap();
    let archive = format!("oci-archive:{}", dir.path().join("none.tar").display());
    let assert = run(&["validate", &archive]).code(2);
    assert_eq!(stdout(&assert), "1 bundle, 1 could not be read: 0 errors, 0 warnings\n");
    assert!(
        stderr(&run(&["validate", ""]).code(2)).starts_with("error: empty REF: expected a bundle directory")
    );
    let file = bundle(dir.path()).join("metadata/annotations.yaml");
    let message = stderr(&run(&["validate", file.to_str().unwrap()]).code(2));
    assert!(
        message.contains("annotations.yaml is not a directory; expected a bundle directory, a catalog, or"),
        "{message}"
    );
}

#[test]
fn rules_for_unread_input_cannot_be_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    fs::write(directory.join("manifests/x.yaml"), "a: [\n").unwrap();
    let directory = directory.to_str().unwrap();
    for rule in ["yaml-syntax", "csv-undecodable", "object-undecodable"] {
        let message = stderr(&run(&["validate", directory, "--allow", rule]).code(2));
        assert!(message.contains(&format!("rule `{rule}` cannot be ignored")), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_special_files_end_in_findings() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let manifests = directory.join("manifests");
    symlink(".", manifests.join("a")).unwrap();
    symlink(".", manifests.join("b")).unwrap();
    symlink("/dev/zero", manifests.join("zero.yaml")).unwrap();
    symlink("link.yaml", manifests.join("link.yaml")).unwrap();
    let fifo = manifests.join("fifo.yaml");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // A link in the root is no part of the bundle.
    symlink(".", directory.join("loop")).unwrap();
    symlink("../README.md", directory.join("README.md")).unwrap();
    let output = Command::cargo_bin("bundle-tool")
        .unwrap()
        .args(["validate", "--output", "json", directory.to_str().unwrap()])
        .timeout(std::time::Duration::from_mins(1))
        .assert()
        .code(1);
    let answer = json(&output);
    let found: Vec<_> = answer["bundles"][0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| (finding["file"].as_str().unwrap(), finding["message"].as_str().unwrap()))
        .collect();
    let expected = [
        ("manifests/a", "symbolic links to directories are not followed"),
        ("manifests/b", "symbolic links to directories are not followed"),
        ("manifests/fifo.yaml", "expected a regular file, found a FIFO"),
        ("manifests/link.yaml", "ymbolic link"),
        ("manifests/zero.yaml", "the symbolic link points outside the directory"),
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((file, message), (expected_file, reason)) in found.iter().zip(expected) {
        assert_eq!(*file, expected_file);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn file_names_cannot_forge_findings() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    fs::write(
        directory.join("manifests/a\x1b[31m\nerror[x]: b\r.yaml"),
        "kind: \"X\\n\\e[2Jy\"\napiVersion: v1\n",
    )
    .unwrap();
    let printed = stdout(&run(&["validate", directory.to_str().unwrap()]).code(1));
    assert!(printed.contains("manifests/a\\u{1b}[31m\\nerror[x]: b\\r.yaml"), "{printed}");
    assert!(!printed.contains(['\x1b', '\r']), "{printed}");
    assert!(!printed.lines().any(|line| line.starts_with("error[x]")), "{printed}");
    let missing = dir.path().join("none\x1b[31m\nerror: b");
    let message = stderr(&run(&["validate", missing.to_str().unwrap()]).code(2));
    assert_eq!(message.lines().count(), 1, "{message}");
    let message = stderr(&run(&["render", missing.to_str().unwrap()]).code(2));
    assert!(message.lines().count() == 1 && !message.contains('\x1b'), "{message}");
}

#[test]
fn position_in_an_example_is_that_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let csv = directory.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    let start = text.find("    alm-examples: |").unwrap();
    let end = start + text[start..].find("\n    capabilities").unwrap();
    let examples =
        "    alm-examples: |-\n      [\n        {\"kind\": \"Gizmo\",\n         \"spec\" 1}\n      ]";
    fs::write(&csv, [&text[..start], examples, &text[end..]].concat()).unwrap();
    let answer = json(&run(&["validate", "--output", "json", directory.to_str().unwrap()]).code(1));
    let findings = answer["bundles"][0]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["rule"] == "example-invalid").unwrap();
    let line = text[..start].lines().count() + 4;
    assert_eq!(
        (finding["line"].as_u64(), finding["column"].as_u64()),
        (Some(line as u64), Some(17)),
        "{finding}"
    );
    assert_eq!(finding["path"], "metadata.annotations[alm-examples]");
    assert_eq!(finding["message"], "invalid JSON: expected `:`");
}

#[cfg(unix)]
#[test]
fn exhausted_descriptors_are_an_error_not_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let program = assert_cmd::cargo::cargo_bin("bundle-tool");
    for command in ["validate", "render"] {
        let script = format!("ulimit -n 4; exec {} {command} {}", program.display(), directory.display());
        let assert = Command::new("sh").args(["-c", &script]).assert().code(2);
        assert!(stderr(&assert).contains("no file descriptors available"), "{}", stderr(&assert));
    }
}

#[cfg(unix)]
#[test]
fn render_names_the_unreadable_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let csv = directory.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    fs::remove_file(&csv).unwrap();
    std::os::unix::fs::symlink("/nowhere/csv.yaml", &csv).unwrap();
    let message = stderr(&run(&["render", directory.to_str().unwrap()]).code(2));
    assert!(message.contains("clusterserviceversion.yaml: no such file or directory"), "{message}");
}

#[test]
fn invalid_base_is_reported_before_fixes_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path());
    let csv = bundle.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    let text = fs::read_to_string(&csv).unwrap();
    let text = text.replace("minKubeVersion: 1.27.0", "minKubeVersion: v1.27.0");
    fs::write(&csv, &text).unwrap();
    git(dir.path(), &["init", "--quiet", "--initial-branch", "main"]);
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "--quiet", "--message", "first"]);
    let path = bundle.to_str().unwrap();
    for (arguments, message) in [
        (&["--base-commit", "nowhere", "--suite", "community"][..], "unknown base `nowhere`"),
        (&["--base-commit", "main"], "--base-commit requires the suite `community`"),
    ] {
        let error = stderr(&run(&[&["validate", path, "--fix"], arguments].concat()).code(2));
        assert!(error.contains(message), "{error}");
        assert_eq!(fs::read_to_string(&csv).unwrap(), text);
    }
}

#[test]
fn base_requires_a_git_repository() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let path = directory.to_str().unwrap();
    let error = Command::cargo_bin("bundle-tool")
        .unwrap()
        .args(["validate", path, "--base-commit", "main", "--suite", "community"])
        // Nothing above the directory counts.
        .env("GIT_CEILING_DIRECTORIES", dir.path())
        .assert()
        .code(2);
    let expected = format!(
        "error: {path} is not in a git repository, which --base-commit requires: run the command in a clone of the catalog's repository\n"
    );
    assert_eq!(stderr(&error), expected);
}

#[test]
fn fifo_is_not_a_manifest() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let status = process::Command::new("mkfifo").arg(directory.join("manifests/pipe.yaml")).status().unwrap();
    assert!(status.success());
    let answer = json(&run(&["validate", "--output", "json", directory.to_str().unwrap()]).code(1));
    let [finding] = answer["bundles"][0]["findings"].as_array().unwrap().as_slice() else {
        panic!("{answer}")
    };
    assert_eq!(finding["message"], "failed to read the file: expected a regular file, found a FIFO");
    assert_eq!(finding["help"], "replace it with a regular file that can be read, or remove it");
}
