//! `bundle-tool validate` over directories, layouts and archives: one verdict, whatever form a bundle has.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

fn json(assert: &assert_cmd::assert::Assert) -> Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

/// A copy of the valid bundle that tests may spoil.
fn bundle(dir: &Path) -> PathBuf {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    let bundle = dir.join("bundle");
    for directory in ["manifests", "metadata"] {
        fs::create_dir_all(bundle.join(directory)).unwrap();
        for entry in fs::read_dir(fixture.join(directory)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), bundle.join(directory).join(entry.file_name())).unwrap();
        }
    }
    bundle
}

#[test]
fn a_bundle_has_the_same_findings_in_a_directory_a_layout_and_an_archive() {
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
    let reason = format!("error: failed to read directory {}: No such file or directory", missing.display());
    assert!(message.starts_with(&reason), "{message}");
    assert!(message.contains("; expected a bundle directory, `oci:DIR`,"), "{message}");
}

#[test]
fn suites_are_asked_by_name_and_rules_are_left_out_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let annotations = directory.join("metadata/annotations.yaml");
    let text = fs::read_to_string(&annotations).unwrap().replace(": stable", ": alpha");
    fs::write(&annotations, text).unwrap();
    let directory = directory.to_str().unwrap();
    let found = |args: &[&str]| {
        let answer = json(&run(&[&["validate", "--output", "json", directory], args].concat()).success());
        answer["bundles"][0]["findings"].as_array().unwrap().len()
    };
    assert_eq!(found(&[]), 0);
    assert_eq!(found(&["--suite", "categories,good-practices"]), 1);
    assert_eq!(found(&["--suite", "all", "--allow", "channel-unconventional"]), 0);
    run(&["validate", directory, "--allow", "no-such-rule"]).code(2);
    run(&["validate", directory, "--suite", "no-such-suite"]).code(2);
}

fn stderr(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_bundle_that_cannot_be_read_has_not_passed() {
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
        message.contains("annotations.yaml is not a directory; expected a bundle directory, or"),
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
        ("manifests/link.yaml", "os error 40"),
        ("manifests/zero.yaml", "expected a regular file, found a device"),
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
fn a_position_in_an_example_is_that_of_the_file() {
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
fn a_machine_that_cannot_read_is_an_error_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let program = assert_cmd::cargo::cargo_bin("bundle-tool");
    for command in ["validate", "render"] {
        let script = format!("ulimit -n 4; exec {} {command} {}", program.display(), directory.display());
        let assert = Command::new("sh").args(["-c", &script]).assert().code(2);
        assert!(stderr(&assert).contains("os error 24"), "{}", stderr(&assert));
    }
}

#[cfg(unix)]
#[test]
fn render_names_a_manifest_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let directory = bundle(dir.path());
    let csv = directory.join("manifests/gizmo-operator.clusterserviceversion.yaml");
    fs::remove_file(&csv).unwrap();
    std::os::unix::fs::symlink("/nowhere/csv.yaml", &csv).unwrap();
    let message = stderr(&run(&["render", directory.to_str().unwrap()]).code(2));
    assert!(message.contains("clusterserviceversion.yaml: No such file or directory"), "{message}");
}
