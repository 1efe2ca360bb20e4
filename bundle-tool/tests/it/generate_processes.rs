//! `generate bundle` beside other processes: at once, killed, and with what killed ones and others left in its output.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use atomic_files::DirectoryLock;
use rustix::process::Signal;

use crate::project::{Project, stderr};
use crate::support::send_signal;

/// How many objects of kind `ConfigMap` each input has.
const OBJECTS: usize = 30;

/// Returns manifests in which every object says `tag`.
fn manifests(tag: &str) -> String {
    let mut text = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: lake-operator, labels: {{tag: {tag}}}}}\n\
         spec: {{selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: a, image: 'quay.io/a/b:{tag}'}}]}}}}}}\n"
    );
    for index in 0..OBJECTS {
        text.push_str("---\napiVersion: v1\nkind: ConfigMap\n");
        text.extend([format!("metadata: {{name: c{index}}}\ndata: {{tag: {tag}}}\n")]);
    }
    text
}

/// Returns a project with the inputs `one` and `two`, and the bundle that is made from the first.
fn project() -> Project {
    const GENERATE: &[&str] =
        &["generate", "bundle", "--package", "lake-operator", "--version", "0.1.0", "--quiet", "--input-dir"];
    let (one, two) = (manifests("one"), manifests("two"));
    let project = Project::new(GENERATE, &[("one/all.yaml", &one), ("two/all.yaml", &two)]);
    project.run(&["one"]).success();
    project.write("bundle/README.md", "mine");
    project
}

/// Starts the tool with one of the inputs.
fn start(project: &Project, input: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args([
            "generate",
            "bundle",
            "--package",
            "lake-operator",
            "--version",
            "0.1.0",
            "--input-dir",
            input,
        ])
        .current_dir(project.path("."))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Asserts that the bundle is complete and made from one input, and returns which.
fn assert_whole(project: &Project) -> &'static str {
    let directory = project.path("bundle/manifests");
    let mut tags = Vec::new();
    for entry in fs::read_dir(&directory).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        tags.push(if text.contains("tag: one") { "one" } else { "two" });
    }
    assert_eq!(tags.len(), OBJECTS + 1);
    assert!(tags.iter().all(|tag| *tag == tags[0]), "the bundle is a mixture of two inputs: {tags:?}");
    assert_eq!(project.read("bundle/README.md"), "mine");
    tags[0]
}

#[test]
fn interrupted_process_ends_between_writes() {
    let project = project();
    let mut last = "one";
    for number in 0..8 {
        let next = if last == "one" { "two" } else { "one" };
        let mut child = start(&project, next);
        // Each run is interrupted when another file was renamed.
        let watched = project.path(&format!("bundle/manifests/c{number}_v1_configmap.yaml"));
        let tag = format!("tag: {next}");
        let mut ended = None;
        while !fs::read_to_string(&watched).unwrap_or_default().contains(&tag) {
            ended = child.try_wait().unwrap();
            assert!(ended.is_none_or(|status| status.success()), "generate bundle failed");
            thread::yield_now();
        }
        // On a busy machine, it may be complete before the test looks again.
        if ended.is_none() {
            send_signal(&child, Signal::INT);
        }
        child.wait().unwrap();
        last = assert_whole(&project);
        assert_eq!(last, next, "files had been renamed already");
    }
}

#[test]
fn two_processes_do_not_mix_their_bundles() {
    let project = project();
    for _ in 0..8 {
        let mut children = [start(&project, "one"), start(&project, "two")];
        for child in &mut children {
            assert!(child.wait().unwrap().success());
        }
        assert_whole(&project);
    }
}

#[test]
fn killed_process_leaves_a_bundle_that_the_next_one_completes_or_reverts() {
    const KILLS: u32 = 30;
    let project = project();
    let begin = Instant::now();
    assert!(start(&project, "two").wait().unwrap().success());
    let span = begin.elapsed() + Duration::from_millis(2);
    for round in 0..KILLS {
        let mut child = start(&project, if round % 2 == 0 { "one" } else { "two" });
        let begin = Instant::now();
        while begin.elapsed() < span * round / KILLS {
            thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // The next process reverts what the killed one had begun.
        drop(DirectoryLock::acquire(&project.path("bundle"), Duration::from_mins(1), |_| {}).unwrap());
        assert_whole(&project);
    }
    // The next run removes what the killed ones left.
    project.run(&["one"]).success();
    assert_eq!(assert_whole(&project), "one");
    for directory in [".", "bundle", "bundle/manifests", "bundle/metadata"] {
        for entry in fs::read_dir(project.path(directory)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.starts_with(".atomic-files-"), "{directory}/{name} is left");
        }
    }
}

#[test]
fn leftovers_are_neither_shipped_nor_validated() {
    let project = project();
    project.write("bundle/manifests/.atomic-files-1-2", "kind: [half a file");
    project.write("bundle/metadata/.atomic-files-old-x/a.yaml", "kind: [half a file");
    let before = ["validate", "bundle"].map(str::to_owned);
    let run = project.tool().args(before).assert();
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(!text.contains(".atomic-files-"), "{text}");
    project
        .tool()
        .args(["push", "bundle", "bundle", "example.com/a/b:v1", "--to", "oci:image"])
        .assert()
        .success();
    let image = fs::read_dir(project.path("image/blobs/sha256")).unwrap();
    let layers: Vec<u8> = image.flat_map(|blob| inflated(&blob.unwrap().path())).collect();
    assert!(!String::from_utf8_lossy(&layers).contains(".atomic-files-"));
    assert!(String::from_utf8_lossy(&layers).contains("annotations.yaml"));
}

/// Returns the bytes of a blob, decompressed if it is a layer.
fn inflated(path: &Path) -> Vec<u8> {
    use std::io::Read as _;
    let bytes = fs::read(path).unwrap();
    let mut out = Vec::new();
    match flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut out) {
        Ok(_) => out,
        Err(_) => bytes,
    }
}

#[test]
fn nothing_is_written_through_links_in_the_output() {
    for link in [
        "bundle/manifests/lake-operator.clusterserviceversion.yaml",
        "bundle/manifests/c0_v1_configmap.yaml",
        "bundle/metadata/annotations.yaml",
        "bundle.Dockerfile",
    ] {
        let project = project();
        project.write("victim", "victim\n");
        fs::remove_file(project.path(link)).unwrap();
        symlink(project.path("victim"), project.path(link)).unwrap();
        project.run(&["two"]);
        assert_eq!(project.read("victim"), "victim\n", "{link} was written through");
    }
    let project = project();
    fs::rename(project.path("bundle/manifests"), project.path("elsewhere")).unwrap();
    symlink("../elsewhere", project.path("bundle/manifests")).unwrap();
    let before = project.files();
    let error = stderr(&project.run(&["two"]).code(2));
    assert!(
        error.contains("bundle/manifests: it is a symbolic link; replace it with a directory"),
        "{error}"
    );
    assert_eq!(project.files(), before);
}

#[test]
fn a_file_size_limit_is_an_error_and_leaves_nothing() {
    let project = project();
    let before = project.files();
    let tool = env!("CARGO_BIN_EXE_bundle-tool");
    let script = format!(
        "ulimit -f 1; exec {tool} generate bundle --package lake-operator --version 0.2.0 --input-dir big"
    );
    let data = "x".repeat(5000);
    let big = manifests("two").replace("data: {tag: two}", &format!("data: {{tag: two, x: {data}}}"));
    project.write("big/all.yaml", &big);
    let output = Command::new("sh").args(["-c", &script]).current_dir(project.path(".")).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("ulimit -f"), "{output:?}");
    fs::remove_dir_all(project.path("big")).unwrap();
    assert_eq!(project.files(), before);
}

#[test]
fn many_files_are_written_with_few_descriptors() {
    let project = project();
    let many: String = (0..3000)
        .map(|index| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: many{index}}}\n"))
        .collect();
    project.write("many/all.yaml", &format!("{}{many}", manifests("many")));
    let tool = env!("CARGO_BIN_EXE_bundle-tool");
    let script = format!(
        "ulimit -n 64 && exec {tool} generate bundle --package lake-operator --version 0.2.0 --quiet --input-dir many"
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(project.path(".")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // Those of `manifests`, and the CSV.
    assert_eq!(fs::read_dir(project.path("bundle/manifests")).unwrap().count(), 3000 + OBJECTS + 1);
}

#[test]
fn a_file_size_limit_is_an_error_of_push_and_leaves_nothing() {
    let project = project();
    // Bytes that do not compress.
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(100_000)
    .collect();
    fs::write(project.path("program"), noise).unwrap();
    let before = project.files();
    let tool = env!("CARGO_BIN_EXE_bundle-tool");
    // 4 or 8 KiB: shells differ in the unit.
    for to in ["oci:image", "oci-archive:image.tar"] {
        let script =
            format!("ulimit -f 8 && exec {tool} push image example.com/a:v1 program=/program --to {to}");
        let output =
            Command::new("sh").args(["-c", &script]).current_dir(project.path(".")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{to}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("ulimit -f"), "{to}: {output:?}");
        assert_eq!(project.files(), before, "{to}");
    }
}
