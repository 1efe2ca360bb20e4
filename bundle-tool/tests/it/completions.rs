//! `bundle-tool completions` and `bundle-tool man`.

use std::fs;

use assert_cmd::Command;

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]).success();
        let script = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(script.contains("validate") && script.contains("output-file"), "{shell}: {script}");
    }
    let script = run(&["completions", "bash"]).success().get_output().stdout.clone();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("completions");
    std::fs::write(&file, script).unwrap();
    Command::new("bash").arg("-n").arg(&file).assert().success();
}

#[test]
fn man_writes_a_page_for_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man1");
    run(&["man", "--output-dir", pages.to_str().unwrap()]).success();
    for name in ["bundle-tool", "bundle-tool-validate", "bundle-tool-push-image"] {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(".SH NAME"), "{page}");
    }
    let validate = std::fs::read_to_string(pages.join("bundle-tool-validate.1")).unwrap();
    assert!(validate.contains("Examples"), "{validate}");
}

#[test]
fn man_requires_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = run(&["man", "--output-dir", file.to_str().unwrap()]).code(2).get_output().stderr.clone();
    let error = String::from_utf8(error).unwrap();
    assert!(error.ends_with("file is not a directory: pass a directory for the manual pages\n"), "{error}");
}

#[test]
fn man_that_cannot_write_a_page_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("pages");
    // Files of at most 4 blocks: some pages fit, others do not.
    let limited = format!("ulimit -f 4; exec {} man {}", env!("CARGO_BIN_EXE_bundle-tool"), pages.display());
    let output = std::process::Command::new("sh").args(["-c", &limited]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(
        output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("pages"),
        "{output:?}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
