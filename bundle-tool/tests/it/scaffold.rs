//! `bundle-tool init`, `create`, `edit` and `update` as a user runs them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;
use operator_scaffold::{Record, record, vendor};
use proptest::prelude::*;

/// A directory that a project is scaffolded into.
struct Directory {
    parent: tempfile::TempDir,
}

const TICKET: &[&str] = &["--group", "travel", "--kind", "FlightTicket"];

impl Directory {
    fn new() -> Self {
        let directory = Self { parent: tempfile::tempdir().unwrap() };
        fs::create_dir(directory.root()).unwrap();
        directory
    }

    /// A project without APIs.
    fn project() -> Self {
        let directory = Self::new();
        directory.ok(&["init", "--domain", "example.com"]);
        directory
    }

    /// A project with the kind `FlightTicket`, which runs an image.
    fn ticket() -> Self {
        let directory = Self::project();
        directory.create_api(&["--version", "v1alpha1", "--image", "docker.io/library/nginx:1.29"]);
        directory
    }

    fn root(&self) -> PathBuf {
        self.parent.path().join("flight-operator")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}:\n{text}");
        self.write(name, &text.replace(from, to));
    }

    fn tool(&self, arguments: &[&str]) -> Command {
        let mut tool = Command::cargo_bin("bundle-tool").unwrap();
        tool.current_dir(self.root()).args(arguments);
        tool
    }

    /// Runs the tool, which must exit with `status`; returns standard error.
    fn run(&self, status: i32, arguments: &[&str]) -> String {
        let assert = self.tool(arguments).assert();
        let text = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
        assert_eq!(assert.get_output().status.code(), Some(status), "{arguments:?}: {text}");
        text
    }

    fn ok(&self, arguments: &[&str]) -> String {
        self.run(0, arguments)
    }

    fn create_api(&self, arguments: &[&str]) -> String {
        self.ok(&[&["create", "api"], TICKET, arguments].concat())
    }

    /// All files but those of git, by their paths.
    fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut found);
        found
    }

    fn git(&self, arguments: &[&str]) {
        let status = Process::new("git")
            .arg("-C")
            .arg(self.root())
            .args(["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .stdout(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    fn check_format(&self) {
        let mut rustfmt = Process::new("rustfmt");
        rustfmt.current_dir(self.root()).args([
            "--edition=2024",
            "--check",
            "--color=never",
            "src/lib.rs",
            "src/main.rs",
        ]);
        for name in self.files().keys().filter(|name| name.starts_with("tests/")) {
            rustfmt.arg(name);
        }
        let output = rustfmt.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "all"]);
    }

    /// Makes the project one that an older version of the tool scaffolded: `from` was `to` in a file of the scaffold.
    fn older(&self, name: &str, from: &str, to: &str) {
        let mut record = Record::parse(&self.read(record::FILE)).unwrap();
        let file = record.files.values_mut().find(|file| file.path == name).unwrap();
        assert!(file.text.contains(from), "{name} has no {from:?}");
        let text = file.text.replace(from, to);
        if self.read(name) == file.text {
            self.write(name, &text);
        }
        file.text = text;
        self.write(record::FILE, &record.emit());
    }
}

fn collect(root: &Path, directory: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with(".git") {
                collect(root, &path, found);
            }
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The files one after the other, for a snapshot, without the copy of the runtime.
fn shown(files: &BTreeMap<String, String>, wanted: impl Fn(&str) -> bool) -> String {
    let files = files.iter().filter(|(name, _)| !is_vendored(name) && wanted(name));
    files.map(|(name, text)| format!("=== {name}\n{text}\n")).collect()
}

fn is_vendored(name: &str) -> bool {
    Path::new(name).starts_with(vendor::DIRECTORY)
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/scaffold");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_project_whose_kind_runs_an_image() {
    let directory = Directory::new();
    directory.ok(&[
        "init",
        "--domain",
        "example.com",
        "--repo",
        "github.com/example/flights",
        "--owner",
        "Example \"Air\"",
    ]);
    directory.create_api(&[
        "--version",
        "v1alpha1",
        "--image",
        "docker.io/library/nginx:1.29",
        "--image-container-command",
        "nginx,-g,daemon off;",
        "--image-container-port=8080",
        "--run-as-user=1001",
    ]);
    snapshot("image", &shown(&directory.files(), |name| !["LICENSE", record::FILE].contains(&name)));
}

#[test]
fn a_project_with_several_groups_versions_and_webhooks() {
    let directory = Directory::project();
    directory.create_api(&["--version", "v1alpha1"]);
    directory.create_api(&["--version", "v1"]);
    directory.ok(&[
        &[
            "create",
            "webhook",
            "--version",
            "v1",
            "--defaulting",
            "--programmatic-validation",
            "--conversion",
        ],
        TICKET,
    ]
    .concat());
    directory.ok(&["edit", "--multigroup"]);
    directory.ok(&[
        "create",
        "api",
        "--group",
        "hotel",
        "--version",
        "v1beta1",
        "--kind",
        "Room",
        "--namespaced=false",
        "--plural",
        "chambers",
    ]);
    let files = directory.files();
    let list: String =
        files.keys().filter(|name| !is_vendored(name)).map(|name| format!("{name}\n")).collect();
    let wanted = |name: &str| name.starts_with("src/") || name.starts_with("tests/") || name == "PROJECT";
    snapshot("groups", &format!("{list}\n{}", shown(&files, wanted)));
}

#[test]
fn the_copy_of_the_runtime_follows_unless_it_was_edited() {
    let directory = Directory::project();
    let written = directory.files();
    let copied: Vec<_> = written.keys().filter(|name| is_vendored(name)).collect();
    assert!(copied.iter().any(|name| *name == "runtime/operator-runtime/src/lib.rs"), "{copied:?}");
    assert!(
        written["Cargo.toml"].contains("path = \"runtime/operator-runtime\""),
        "{}",
        written["Cargo.toml"]
    );
    // As an earlier version of the tool would have written it.
    let (old, edited) = ("runtime/atomic-files/README.md", "runtime/operator-runtime/README.md");
    directory.edit(record::FILE, &vendor::digest(written[old].as_bytes()), &vendor::digest(b"# Old\n"));
    directory.write(old, "# Old\n");
    directory.write(edited, "# Mine\n");
    fs::remove_file(directory.root().join("runtime/atomic-files/src/lib.rs")).unwrap();
    let said = directory.ok(&["update"]);
    assert!(said.contains("write runtime (2 files)"), "{said}");
    let mut expected = written.clone();
    expected.insert(edited.to_owned(), "# Mine\n".to_owned());
    assert_eq!(directory.files(), expected);
    // An edited file that the tool would replace is left, and named.
    directory.edit(record::FILE, &vendor::digest(written[edited].as_bytes()), &vendor::digest(b"# Older\n"));
    let said = directory.run(1, &["update", "--quiet"]);
    assert_eq!(
        said,
        format!(
            "warning: you have edited 1 file of the copy of operator-runtime, so it is older than the rest ({edited}): delete it, \
             run `bundle-tool update`, and make your change again\n"
        )
    );
    fs::remove_file(directory.root().join(edited)).unwrap();
    directory.ok(&["update"]);
    assert_eq!(directory.files(), written);
}

#[test]
fn a_copy_that_is_no_longer_used_is_removed() {
    let directory = Directory::project();
    directory.git(&["init", "--quiet"]);
    directory.commit();
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");
    directory.edit("PROJECT", "runtime: vendored", "runtime: {path: ../nothing}");
    let before = directory.files();
    let error = directory.run(2, &["update"]);
    assert!(error.contains("nothing/Cargo.toml is not the manifest of operator-runtime"), "{error}");
    assert_eq!(directory.files(), before);
    directory.edit("PROJECT", "../nothing", &format!("{crates}/operator-runtime"));
    let said = directory.ok(&["update"]);
    assert!(said.contains(" remove runtime ("), "{said}");
    assert!(!directory.files().keys().any(|name| is_vendored(name)));
    directory.ok(&["update"]);
}

#[test]
fn the_runtime_can_be_a_checkout_and_a_copy_again() {
    let directory = Directory::project();
    let before = directory.files();
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/operator-runtime");
    let error = directory.run(2, &["edit", "--runtime-path=../nothing"]);
    assert!(error.starts_with("error: invalid --runtime-path"), "{error}");
    assert_eq!(directory.files(), before);
    let said = directory.ok(&["edit", "--runtime-path", checkout]);
    assert!(said.contains(" remove runtime ("), "{said}");
    let files = directory.files();
    assert!(!files.keys().any(|name| is_vendored(name)));
    assert!(files["Cargo.toml"].contains(&format!("path = \"{checkout}\"")), "{}", files["Cargo.toml"]);
    let said = directory.ok(&["edit", "--runtime-path", checkout]);
    assert_eq!(said, "note: the project already has these settings\n");
    directory.ok(&["edit", "--vendor-runtime"]);
    assert_eq!(directory.files(), before);
}

#[test]
fn records_that_name_files_of_others_are_rejected() {
    let digest = vendor::digest(b"ref: refs/heads/main\n");
    for (line, expected) in [
        (format!("  .git/HEAD: {digest}\n"), "stay in the project"),
        (format!("  src/main.rs: {digest}\n"), "must be in runtime"),
        (format!("  runtime/../src/main.rs: {digest}\n"), "stay in the project"),
        (format!("  \"runtime/\\e[31m\": {digest}\n"), "stay in the project"),
        ("  runtime/a: nonsense\n".to_owned(), "64 hexadecimal digits"),
    ] {
        let directory = Directory::project();
        directory.edit(record::FILE, "vendored:\n", &format!("vendored:\n{line}"));
        let before = directory.files();
        let error = directory.run(2, &["update"]);
        assert!(error.contains(expected) && !error.contains('\u{1b}'), "{line}: {error}");
        assert_eq!(directory.files(), before);
    }
}

#[test]
fn the_order_of_the_commands_does_not_matter() {
    let one = Directory::project();
    one.create_api(&["--version", "v1"]);
    one.ok(&["edit", "--multigroup"]);
    let two = Directory::project();
    two.ok(&["edit", "--multigroup"]);
    two.create_api(&["--version", "v1"]);
    assert_eq!(one.files(), two.files());
    one.ok(&["edit", "--multigroup=false"]);
    let three = Directory::project();
    three.create_api(&["--version", "v1"]);
    assert_eq!(one.files(), three.files());
}

#[test]
fn bad_input_is_one_clear_error_and_changes_nothing() {
    let init = |arguments: &[&str]| {
        let directory = Directory::new();
        (directory, [&["init"], arguments].concat().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let create = |what: &str, arguments: &[&str]| {
        let directory = Directory::ticket();
        (
            directory,
            [&["create", what], arguments].concat().iter().map(ToString::to_string).collect::<Vec<_>>(),
        )
    };
    let file = |name: &str, arguments: &[&str]| {
        let (directory, arguments) = init(arguments);
        directory.write(name, "mine\n");
        (directory, arguments)
    };
    let project = |from: &str, to: &str| {
        let (directory, arguments) = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
        directory.edit("PROJECT", from, to);
        (directory, arguments)
    };
    let domain = "--domain=example.com";
    let cases = [
        ("no domain", init(&[])),
        ("reserved domain", init(&["--domain=apps.k8s.io"])),
        ("upper-case domain", init(&["--domain=Example.com"])),
        ("reserved namespace", init(&[domain, "--project-name=kube-flights"])),
        ("Rust keyword as name", init(&[domain, "--project-name=crate"])),
        ("crate as name", init(&[domain, "--project-name=serde"])),
        ("name with a blank", init(&[domain, "--project-name=flight operator"])),
        ("name that is too long", init(&[domain, "--project-name=flight-operator-of-all-airlines"])),
        ("unknown plugin", init(&[domain, "--plugins=go/v4"])),
        ("misspelled plugin", init(&[domain, "--plugins=rust/v1,manifest/v2"])),
        ("plugin of an API", init(&[domain, "--plugins=deploy-image/v1"])),
        ("other PROJECT version", init(&[domain, "--project-version=2"])),
        ("owner with a line break", init(&[domain, "--owner=a\nb"])),
        ("no runtime", init(&[domain, "--runtime-path=../nothing"])),
        ("directory that is not empty", file("main.go", &[domain])),
        ("hidden file in the way", file(".gitignore", &[domain])),
        (
            "no project",
            (Directory::new(), ["create", "api", "--version=v1", "--kind=A"].map(str::to_owned).to_vec()),
        ),
        ("API that exists", create("api", &["--group=travel", "--version=v1alpha1", "--kind=FlightTicket"])),
        (
            "version that goes backwards",
            create("api", &["--group=travel", "--version=v1alpha0", "--kind=FlightTicket"]),
        ),
        ("earlier version", {
            let (directory, _) = create("api", &[]);
            directory.create_api(&["--version", "v1"]);
            (
                directory,
                ["create", "api", "--group=travel", "--version=v1beta1", "--kind=FlightTicket"]
                    .map(str::to_owned)
                    .to_vec(),
            )
        }),
        ("invalid version", create("api", &["--group=travel", "--version=1.0", "--kind=Seat"])),
        ("Rust keyword as kind", create("api", &["--group=travel", "--version=v1", "--kind=Match"])),
        ("Rust type as kind", create("api", &["--group=travel", "--version=v1", "--kind=Option"])),
        ("kind of every group", create("api", &["--group=travel", "--version=v1", "--kind=Status"])),
        ("list kind", create("api", &["--group=travel", "--version=v1", "--kind=FlightList"])),
        ("kind in lower case", create("api", &["--group=travel", "--version=v1", "--kind=seat"])),
        ("version as kind", create("api", &["--group=travel", "--version=v1", "--kind=V1"])),
        (
            "plural of another kind",
            create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--plural=flighttickets"]),
        ),
        ("second group", create("api", &["--group=hotel", "--version=v1", "--kind=Room"])),
        ("group in upper case", create("api", &["--group=Hotel", "--version=v1", "--kind=Room"])),
        (
            "other scope",
            create("api", &["--group=travel", "--version=v1", "--kind=FlightTicket", "--namespaced=false"]),
        ),
        (
            "image of a cluster kind",
            create(
                "api",
                &["--group=travel", "--version=v1", "--kind=Seat", "--namespaced=false", "--image=a"],
            ),
        ),
        ("invalid image", create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--image=a b"])),
        (
            "port without image",
            create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--image-container-port=80"]),
        ),
        (
            "port 0",
            create(
                "api",
                &["--group=travel", "--version=v1", "--kind=Seat", "--image=a", "--image-container-port=0"],
            ),
        ),
        (
            "root",
            create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--image=a", "--run-as-user=0"]),
        ),
        (
            "plugin without image",
            create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--plugins=deploy-image/v1"]),
        ),
        (
            "controller that exists",
            create(
                "api",
                &["--group=travel", "--version=v1alpha1", "--kind=FlightTicket", "--resource=false"],
            ),
        ),
        (
            "controller of no API",
            create("api", &["--group=travel", "--version=v1", "--kind=Seat", "--resource=false"]),
        ),
        ("file in the way", {
            let case = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
            case.0.write("src/controller/seat.rs", "mine\n");
            case
        }),
        ("file instead of a directory", {
            let case = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
            case.0.write("src/api/v1", "mine\n");
            case
        }),
        ("no webhook", create("webhook", &["--group=travel", "--version=v1alpha1", "--kind=FlightTicket"])),
        (
            "webhook of no API",
            create("webhook", &["--group=travel", "--version=v1", "--kind=FlightTicket", "--defaulting"]),
        ),
        (
            "nothing to convert",
            create(
                "webhook",
                &["--group=travel", "--version=v1alpha1", "--kind=FlightTicket", "--conversion"],
            ),
        ),
        ("nothing to edit", (Directory::ticket(), vec!["edit".to_owned()])),
        ("project of another tool", project("rust.bundle-tool/v1\n", "go.kubebuilder.io/v4\n")),
        ("unknown field in PROJECT", project("projectName", "projectname")),
        ("PROJECT that is not YAML", project("domain: example.com", "domain: [")),
        ("reserved kind in PROJECT", project("kind: FlightTicket", "kind: Option")),
        ("no record", {
            let case = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
            fs::remove_file(case.0.path(record::FILE)).unwrap();
            case
        }),
        ("record of a newer version", {
            let case = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
            case.0.edit(record::FILE, concat!("version: ", env!("CARGO_PKG_VERSION")), "version: 99.0.0");
            case
        }),
        ("record that leads out of the project", {
            let case = create("api", &["--group=travel", "--version=v1", "--kind=Seat"]);
            case.0.edit(record::FILE, "path: Makefile", "path: ../Makefile");
            case
        }),
    ];
    let mut text = String::new();
    for (name, (directory, arguments)) in cases {
        let before = directory.files();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let error = directory.run(2, &arguments);
        assert_eq!(directory.files(), before, "{name} changed files");
        let error = error.replace(directory.parent.path().to_str().unwrap(), "TMP");
        text.extend([name, ":\n  ", &error.trim_end().replace('\n', "\n  "), "\n"]);
    }
    snapshot("bad-input", &text);
}

#[test]
fn without_cargo_nothing_is_written() {
    let directory = Directory::new();
    let run = |more: &[&str]| {
        let mut tool = directory.tool(&[&["init", "--domain", "example.com"], more].concat());
        tool.env("PATH", directory.parent.path()).assert()
    };
    let assert = run(&[]).code(2);
    let error = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(error.starts_with("error: cargo was not found: install Rust from https://rustup.rs"), "{error}");
    assert!(directory.files().is_empty());
    let old = directory.parent.path().join("cargo");
    // Written by a child: the kernel runs no file that a thread's new child still has open for writing.
    let write = r#"printf '#!/bin/sh\necho cargo 1.80.1\n' > "$0" && chmod +x "$0""#;
    assert!(std::process::Command::new("sh").args(["-c", write]).arg(&old).status().unwrap().success());
    let assert = run(&[]).code(2);
    let error = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(error.starts_with("error: cargo 1.80.1 is too old"), "{error}");
    assert!(directory.files().is_empty());
    run(&["--skip-cargo-version-check"]).success();
}

#[test]
fn edits_that_are_not_committed_are_protected() {
    let directory = Directory::ticket();
    directory.git(&["init", "--quiet"]);
    // What the tool itself wrote needs no commit.
    directory.create_api(&["--version", "v1beta1"]);
    directory.ok(&["update"]);
    directory.commit();
    directory.edit("src/lib.rs", "Operator::new(IDENTITY)", "Operator::new(IDENTITY) // mine");
    let before = directory.files();
    let webhook = [&["create", "webhook", "--version=v1beta1", "--defaulting"], TICKET].concat();
    for arguments in [&webhook[..], &["update"], &["edit", "--multigroup"]] {
        let error = directory.run(2, arguments);
        assert!(
            error.starts_with(
                "error: src/lib.rs has uncommitted changes; commit or stash them, or pass --allow-dirty"
            ),
            "{error}"
        );
        assert_eq!(directory.files(), before);
    }
    directory.ok(&[&webhook[..], &["--allow-dirty"]].concat());
    assert!(directory.read("src/lib.rs").contains("// mine"));
    directory.commit();
    directory.write("notes.txt", "mine\n");
    let error = directory.run(2, &["update"]);
    assert!(error.starts_with("error: notes.txt has uncommitted changes"), "{error}");
    directory.commit();
    directory.ok(&["update"]);
}

#[test]
fn versions_share_their_fields_until_a_webhook_converts() {
    let directory = Directory::ticket();
    directory.edit("src/api/v1alpha1/flight_ticket.rs", "range(min = 1)", "range(min = 1, max = 10)");
    directory.create_api(&["--version", "v1"]);
    let stored = directory.read("src/api/v1/flight_ticket.rs");
    assert!(stored.contains("max = 10") && stored.contains("version = \"v1\""), "{stored}");
    assert!(!directory.path("src/api/v1alpha1").exists());
    assert!(directory.read("src/lib.rs").contains(".also_served(\"v1alpha1\")"));
    directory.ok(&[&["create", "webhook", "--version=v1", "--conversion"], TICKET].concat());
    let old = directory.read("src/api/v1alpha1/flight_ticket.rs");
    assert!(old.contains("max = 10") && old.contains("version = \"v1alpha1\""), "{old}");
    assert_eq!(directory.read("src/api/v1/flight_ticket.rs"), stored);
    assert!(directory.path("src/api/v1alpha1/flight_ticket_conversion.rs").exists());
    // A third one: the version that was stored gets types of its own.
    directory.create_api(&["--version", "v2"]);
    assert!(directory.read("src/api/v1/flight_ticket.rs").contains("max = 10"));
    assert!(directory.read("src/api/v2/flight_ticket.rs").contains("max = 10"));
    assert!(directory.read("src/api/v1alpha1/flight_ticket_conversion.rs").contains("travel.example.com/v2"));
    assert_eq!(directory.ok(&["update"]), "the scaffold is up to date\n");
}

/// rustfmt changes nothing in what the scaffold writes, whatever the length of the names.
#[test]
fn what_is_written_is_formatted() {
    for (group, kind) in [
        ("a", "B"),
        ("travel", "FlightTicket"),
        ("networking", "LoadBalancer"),
        ("infrastructure", "MachineDeployment"),
        ("infrastructure", "ServiceMeshControlPlane"),
        ("operators", "ClusterServiceVersionTemplate"),
        ("gateway", "Http2Route"),
    ] {
        let directory = Directory::project();
        let api = |version: &str, more: &[&str]| {
            directory
                .ok(&[&["create", "api", "--group", group, "--kind", kind, "--version", version], more]
                    .concat());
            directory.check_format();
        };
        api(
            "v1alpha1",
            &[
                "--image=a/b:1",
                "--image-container-port=80",
                "--image-container-command=a,b",
                "--run-as-user=1",
            ],
        );
        api("v1", &[]);
        let plain = ["create", "api", "--version=v1", "--kind=Plain", "--group", group];
        directory.ok(&plain);
        directory.ok(&["create", "api", "--version=v1", "--kind=HttpRoute", "--group", group]);
        let webhook = ["create", "webhook", "--version=v1", "--kind", kind, "--group", group];
        directory.ok(&[&webhook[..], &["--defaulting"]].concat());
        directory.check_format();
        directory.ok(&[&webhook[..], &["--conversion", "--programmatic-validation"]].concat());
        directory.ok(&["edit", "--multigroup"]);
        directory.check_format();
    }
}

#[test]
fn edited_files_move_with_their_group() {
    let directory = Directory::ticket();
    directory.edit("src/controller/flight_ticket.rs", "//! What", "//! Mine.\n//! What");
    directory.write("src/controller/helper.rs", "// mine\n");
    let output = directory.ok(&["edit", "--multigroup"]);
    assert!(output.contains("merge src/controller/travel/flight_ticket.rs"), "{output}");
    assert!(directory.read("src/controller/travel/flight_ticket.rs").starts_with("//! Mine.\n"));
    assert!(!directory.path("src/controller/flight_ticket.rs").exists());
    assert_eq!(directory.read("src/controller/helper.rs"), "// mine\n");
}

#[test]
fn an_update_merges_a_newer_scaffold_and_keeps_edits() {
    let directory = Directory::ticket();
    let fresh = directory.files();
    let output = directory.ok(&["update"]);
    assert_eq!(output, "the scaffold is up to date\n");
    // The older scaffold had another comment in the Makefile, another test and a file less.
    directory.older("Makefile", "DELETE_TIMEOUT ?= 2m", "DELETE_TIMEOUT ?= 1m");
    directory.older("src/main.rs", "all of it is in the library", "all is in the library");
    directory.edit("Makefile", "CHANNELS ?= alpha\n", "CHANNELS ?= stable\n");
    directory.edit("README.md", "## Release", "## Mine\n\n## Release");
    fs::remove_file(directory.path("olm/icon.svg")).unwrap();
    directory.ok(&["update"]);
    let files = directory.files();
    assert_eq!(files["src/main.rs"], fresh["src/main.rs"]);
    let makefile = &files["Makefile"];
    assert!(
        makefile.contains("DELETE_TIMEOUT ?= 2m") && makefile.contains("CHANNELS ?= stable"),
        "{makefile}"
    );
    assert!(files["README.md"].contains("## Mine"));
    assert!(!files.contains_key("olm/icon.svg"));
    assert_eq!(files[record::FILE], fresh[record::FILE]);
}

#[test]
fn conflicts_of_an_update_are_marked_and_lose_nothing() {
    let directory = Directory::ticket();
    directory.older("Makefile", "DELETE_TIMEOUT ?= 2m", "DELETE_TIMEOUT ?= 1m");
    directory.edit("Makefile", "DELETE_TIMEOUT ?= 1m", "DELETE_TIMEOUT ?= 9m");
    let output = directory.run(1, &["update"]);
    assert!(
        output.contains("conflict Makefile")
            && output.contains("warning: 1 file was merged with conflicts (Makefile)"),
        "{output}"
    );
    let text = directory.read("Makefile");
    for part in ["<<<<<<<", "DELETE_TIMEOUT ?= 9m\n", "=======\n", "DELETE_TIMEOUT ?= 2m\n", ">>>>>>>"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    // The next update leaves what is marked alone.
    assert_eq!(directory.ok(&["update"]), "the scaffold is up to date\n");
    assert_eq!(directory.read("Makefile"), text);
}

/// Files of the scaffold that the example does not have: the repository around it has one for all.
const IN_THE_REPOSITORY: [&str; 7] = [
    ".cargo/config.toml",
    ".github/workflows/ci.yml",
    ".gitignore",
    "LICENSE",
    "Makefile",
    "README.md",
    "bundle-tool.toml",
];

#[test]
fn the_example_is_todays_scaffold_with_changes() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../operator");
    let directory = Directory::new();
    let mut files = BTreeMap::new();
    collect(&example, &example, &mut files);
    for (name, text) in &files {
        directory.write(name, text);
    }
    let said = directory.ok(&["update"]);
    assert_eq!(directory.files(), files, "run `bundle-tool update --project-dir operator`: {said}");
    assert!(said.contains("the scaffold is up to date"), "{said}");

    let record = Record::parse(&directory.read(record::FILE)).unwrap();
    let missing = record.files.values().map(|file| file.path.as_str());
    let missing: Vec<_> = missing.filter(|path| !files.contains_key(*path)).collect();
    assert_eq!(missing, IN_THE_REPOSITORY);
    let sources = |name: &str| name.starts_with("src/");
    let (mut written, mut kept) = (0, 0);
    for (name, text) in files.iter().filter(|(name, _)| sources(name)) {
        let scaffolded = record.files.values().find(|file| file.path == *name);
        let patch = diffy::create_patch(scaffolded.map_or("", |file| &file.text), text);
        let lines = patch.hunks().iter().flat_map(diffy::Hunk::lines);
        let added = lines.filter(|line| matches!(line, diffy::Line::Insert(_))).count();
        written += added;
        kept += text.lines().count() - added;
    }
    eprintln!("{written} lines of src/ are not the scaffold's, {kept} are");
    assert!(written < MAX_WRITTEN, "{written} lines were written for the example");
}

/// The maximum number of lines of the example's sources that are not the scaffold's.
const MAX_WRITTEN: usize = 400;

/// A part of the files that a command wrote was restored, as by `git restore`: at least PROJECT and the record.
#[test]
fn command_can_be_repeated_after_its_files_were_restored_in_part() {
    for command in
        [&["create", "api", "--group=travel", "--version=v1", "--kind=Seat"][..], &["edit", "--multigroup"]]
    {
        let directory = Directory::ticket();
        directory.edit("src/controller/flight_ticket.rs", "//! What", "//! Mine.\n//! What");
        let before = directory.files();
        directory.ok(command);
        let after = directory.files();
        // New files are written first, then others are replaced, then removed.
        let is_last = |name: &&String| ["PROJECT", ".scaffold.yaml"].contains(&name.as_str());
        let (replaced, created): (Vec<_>, Vec<_>) =
            after.keys().filter(|name| !is_last(name)).partition(|name| before.contains_key(*name));
        let written: Vec<_> = created.into_iter().chain(replaced).collect();
        let removed: Vec<_> = before.keys().filter(|name| !after.contains_key(*name)).collect();
        let steps = written.len() + removed.len();
        for step in (0..=steps).step_by(3).chain([written.len(), steps]) {
            fs::remove_dir_all(directory.root()).unwrap();
            for (name, text) in &before {
                directory.write(name, text);
            }
            for name in written.iter().take(step) {
                directory.write(name, &after[*name]);
            }
            for name in removed.iter().take(step.saturating_sub(written.len())) {
                fs::remove_file(directory.path(name)).unwrap();
            }
            directory.ok(command);
            assert!(directory.files() == after, "{command:?} after {step} of {steps} steps");
        }
    }
    let directory = Directory::project();
    let after = directory.files();
    for name in ["PROJECT", ".scaffold.yaml", "src/main.rs", "Cargo.toml"] {
        fs::remove_file(directory.path(name)).unwrap();
    }
    directory.ok(&["init", "--domain", "example.com"]);
    assert!(directory.files() == after);
}

#[test]
fn two_kinds_never_have_the_same_file() {
    let directory = Directory::project();
    let before = directory.files();
    let create = ["create", "api", "--group=a", "--version=v1", "--kind=ControlPlane"];
    let error = directory.run(2, &create);
    assert!(error.contains("the scaffold would write tests/control_plane.rs twice"), "{error}");
    assert_eq!(directory.files(), before);
}

#[test]
fn comments_in_project_and_unresolved_conflicts_are_protected() {
    let directory = Directory::ticket();
    directory.git(&["init", "--quiet"]);
    directory.commit();
    let project = directory.read("PROJECT") + "# mine\n";
    directory.write("PROJECT", &project);
    let seat = ["create", "api", "--group=travel", "--version=v1", "--kind=Seat"];
    let error = directory.run(2, &seat);
    assert!(error.contains("PROJECT has uncommitted changes"), "{error}");
    assert_eq!(directory.read("PROJECT"), project);
    directory.git(&["checkout", "-q", "PROJECT"]);
    let marked = "<<<<<<< ours\n//! Mine.\n=======\n//! Theirs.\n>>>>>>> theirs\n";
    directory.write("src/lib.rs", &format!("{marked}{}", directory.read("src/lib.rs")));
    let error = directory.run(2, &[&seat[..], &["--allow-dirty"]].concat());
    assert!(error.contains("src/lib.rs has conflicts from an earlier merge"), "{error}");
}

#[test]
fn two_processes_can_create_at_once() {
    let directory = Directory::project();
    let children: Vec<_> = ["Seat", "Meal", "Gate"]
        .iter()
        .map(|kind| {
            Process::new(assert_cmd::cargo::cargo_bin("bundle-tool"))
                .current_dir(directory.root())
                .args(["create", "api", "--group=travel", "--version=v1", "--quiet", "--kind", kind])
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let project = directory.read("PROJECT");
    for kind in ["Seat", "Meal", "Gate"] {
        assert!(project.contains(&format!("kind: {kind}\n")), "{project}");
        assert!(directory.read("src/lib.rs").contains(&format!("{kind}Controller")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A project that was not edited is after an update what a new one is, whatever the older scaffold was.
    #[test]
    fn an_update_of_an_unedited_project_is_a_fresh_scaffold(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..3), 1..20)) {
        let directory = Directory::ticket();
        let fresh = directory.files();
        let mut record = Record::parse(&fresh[record::FILE]).unwrap();
        for (file, line, change) in changes {
            let ids: Vec<String> = record.files.keys().cloned().collect();
            let file = record.files.get_mut(file.get(&ids)).unwrap();
            let mut lines: Vec<&str> = file.text.split_inclusive('\n').collect();
            if lines.is_empty() { continue; }
            let at = line.index(lines.len());
            match change {
                0 => { lines.remove(at); }
                1 => lines.insert(at, "older\n"),
                _ => lines[at] = "other\n",
            }
            file.text = lines.concat();
            directory.write(&file.path, &file.text);
        }
        directory.write(record::FILE, &record.emit());
        directory.ok(&["update"]);
        prop_assert_eq!(directory.files(), fresh);
    }
}

/// Packages an operator of these files, whose bundle must be valid; returns its CSV and what was written.
fn adopt(name: &str, files: &[(&str, &str)], make: &[&str]) -> (String, Vec<String>) {
    let directory = Directory::new();
    for (path, text) in files {
        directory.write(path, text);
    }
    let before = directory.files();
    directory.ok(&["init", "--from", "."]);
    let after = directory.files();
    let unchanged = before.iter().all(|(path, text)| after.get(path) == Some(text));
    assert!(unchanged, "a file of the operator was changed");
    let written = after.keys().filter(|path| !before.contains_key(*path)).cloned().collect();
    let tool = assert_cmd::cargo::cargo_bin("bundle-tool");
    let output = Process::new("make")
        .current_dir(directory.root())
        .args(["-f", "Makefile.bundle", "bundle"])
        .arg(format!("BUNDLE_TOOL={}", tool.display()))
        .args(make)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (directory.read(&format!("bundle/manifests/{name}.clusterserviceversion.yaml")), written)
}

const LAKE_CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  names: {kind: Lake, plural: lakes, singular: lake, listKind: LakeList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
";
const LAKE_DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: lake-operator}
spec:
  selector: {matchLabels: {app: lake}}
  template:
    metadata: {labels: {app: lake}}
    spec:
      serviceAccountName: lake-operator
      containers: [{name: manager, image: 'quay.io/example/lake:v1'}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: lake-operator}
";

#[test]
fn existing_operators_are_packaged_without_changing_them() {
    let base = |name: &str| {
        ["clusterserviceversion", "generated"]
            .map(|kind| format!("config/manifests/bases/{name}.{kind}.yaml"))
            .to_vec()
    };
    let own = |name: &str| [vec!["Makefile.bundle".to_owned(), "PROJECT".to_owned()], base(name)].concat();
    // kube-rs, with manifests in a directory.
    let cargo = "[package]\nname = \"lake-operator\"\nversion = \"0.1.0\"\ndescription = \"Digs lakes\"\n";
    let files =
        [("Cargo.toml", cargo), ("yaml/crd.yaml", LAKE_CRD), ("yaml/deployment.yaml", LAKE_DEPLOYMENT)];
    let (csv, written) = adopt("lake-operator", &files, &[]);
    assert!(csv.contains("description: Digs lakes") && csv.contains("kind: Lake\n"), "{csv}");
    assert_eq!(written, own("lake-operator"));
    // Java, whose build writes the manifests.
    let files = [
        ("pom.xml", "<project/>"),
        ("target/kubernetes/lakes-v1.yml", LAKE_CRD),
        ("target/kubernetes/kubernetes.yml", LAKE_DEPLOYMENT),
    ];
    let (csv, written) = adopt("flight-operator", &files, &[]);
    assert!(csv.contains("name: flight-operator.v0.0.1"), "{csv}");
    assert_eq!(written, own("flight-operator"));
    // A Helm chart: what `helm template` prints stands in for helm.
    let files = [
        ("chart/Chart.yaml", "apiVersion: v2\nname: lake-chart\nversion: 1.0.0\n"),
        ("chart/crds/lake.yaml", LAKE_CRD),
        ("chart/templates/deployment.yaml", LAKE_DEPLOYMENT),
    ];
    let print = "MANIFESTS=(cat chart/crds/lake.yaml; echo ---; cat chart/templates/deployment.yaml)";
    let (csv, written) = adopt("lake-chart", &files, &[print]);
    assert!(csv.contains("kind: Lake\n"), "{csv}");
    assert_eq!(written, own("lake-chart"));
    // Go, with PROJECT and a base of its own.
    let base = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: lake-operator.v0.0.0}\nspec:\n  displayName: Mine\n  install: {strategy: deployment}\n  installModes: [{type: AllNamespaces, supported: true}]\n";
    let files = [
        (
            "PROJECT",
            "version: \"3\"\nprojectName: lake-operator\nlayout: [go.kubebuilder.io/v4]\ndomain: example.com\n",
        ),
        ("config/manifests/kustomization.yaml", "resources: [../default]\n"),
        ("config/manifests/bases/lake-operator.clusterserviceversion.yaml", base),
        ("config/crd/bases/lakes.yaml", LAKE_CRD),
        ("deployment.yaml", LAKE_DEPLOYMENT),
    ];
    let (csv, written) = adopt(
        "lake-operator",
        &files,
        &["MANIFESTS=(cat config/crd/bases/lakes.yaml; echo ---; cat deployment.yaml)"],
    );
    assert!(csv.contains("displayName: Mine"), "{csv}");
    assert_eq!(written, ["Makefile.bundle"]);
}

#[test]
fn init_from_says_what_it_guesses() {
    let directory = Directory::new();
    directory.write("deploy/a.yaml", LAKE_DEPLOYMENT);
    directory.write("PROJECT", "version: \"3\"\nprojectName: lake-operator\n");
    directory.write("Makefile", "VERSION ?= 3.1\n");
    let annotations = "annotations:\n  operators.operatorframework.io.bundle.package.v1: lake-operator\n";
    directory.write("bundle/metadata/annotations.yaml", annotations);
    let csv = "kind: ClusterServiceVersion\nmetadata: {name: lake-operator.v1.2.3}\nspec: {version: 1.2.3}\n";
    directory.write("bundle/manifests/csv.yaml", csv);
    let said = directory.run(0, &["init", "--from", "."]);
    for line in [
        "note: VERSION is 3.1.0, from `3.1` in Makefile\n",
        "note: CHANNELS is alpha because no channels were found in the Makefile or a bundle\n",
        "note: rename bundle/manifests/csv.yaml to bundle/manifests/lake-operator.clusterserviceversion.yaml first, ",
    ] {
        assert!(said.contains(line), "{line:?} is not in {said}");
    }
}

#[test]
fn bad_input_of_init_from_changes_nothing() {
    let directory = Directory::new();
    directory.write("src/main.go", "package main\n");
    let error = directory.run(2, &["init", "--from", "."]);
    assert!(error.starts_with("error: .: no operator was found: expected a kustomization"), "{error}");
    assert_eq!(directory.files().len(), 1);
    directory.write("deploy/a.yaml", LAKE_DEPLOYMENT);
    directory.write("Makefile.bundle", "mine\n");
    let before = directory.files();
    let error = directory.run(2, &["init", "--from", "."]);
    assert!(error.contains("Makefile.bundle already exists"), "{error}");
    let error = directory.run(2, &["init", "--from", ".", "--project-name", "kube-lake"]);
    assert!(error.contains("pass --project-name: invalid project name `kube-lake`"), "{error}");
    let error = directory.run(2, &["init", "--from", "nothing"]);
    assert!(error.contains("nothing is not a directory"), "{error}");
    assert_eq!(directory.files(), before);
}
