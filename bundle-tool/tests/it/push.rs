//! `push` and `registry serve` as a user runs them.

// Helpers of tests fail as tests do.
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;

use crate::support::send_signal;

pub(crate) const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");

/// The tool, without the environment variables that it reads.
pub(crate) fn tool(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundle-tool"));
    for name in
        ["SOURCE_DATE_EPOCH", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DOCKER_CONFIG"]
    {
        command.env_remove(name);
    }
    command.env("HOME", directory).current_dir(directory);
    command
}

pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Output {
    tool(directory).args(arguments).output().unwrap()
}

pub(crate) fn stdout(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(error, "", "standard error is quiet where it is no terminal");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The error of a run that exits with status 2.
pub(crate) fn failure(output: &Output) -> String {
    let error = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty(), "a failed run printed something");
    error
}

/// `registry serve`, until it is dropped.
pub(crate) struct Registry {
    child: Child,
    pub(crate) address: String,
}

impl Registry {
    pub(crate) fn start(directory: &Path) -> Self {
        Self::start_with(directory, &[])
    }

    pub(crate) fn start_with(directory: &Path, arguments: &[&str]) -> Self {
        let mut child = tool(directory)
            .args(["registry", "serve", "--address", "127.0.0.1:0", "--dir", "registry"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim_end().to_owned() }
    }

    /// Asks it to stop and waits for it.
    pub(crate) fn stop(mut self) -> Option<i32> {
        send_signal(&self.child, Signal::TERM);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn bundle_is_pushed_and_rendered() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::start(dir.path());
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    let arguments = ["push", "bundle", BUNDLE, &name, "--plain-http", "--digest-file", "digest"];
    let first = stdout(&run(dir.path(), &arguments));
    let digest = fs::read_to_string(dir.path().join("digest")).unwrap();
    assert_eq!(first, format!("{}/gizmo-bundle@{digest}\n", registry.address));
    assert_eq!(stdout(&run(dir.path(), &arguments)), first);

    let from_image =
        stdout(&run(dir.path(), &["render", first.trim_end(), "--image", "x/y:z", "--plain-http"]));
    let from_directory = stdout(&run(dir.path(), &["render", BUNDLE, "--image", "x/y:z"]));
    assert_eq!(from_image, from_directory);
    assert_eq!(registry.stop(), Some(0), "it ends well when it is asked to");
}

#[test]
fn layouts_and_archives_hold_the_same_image() {
    let dir = tempfile::tempdir().unwrap();
    let name = "registry.example.com/gizmo-bundle:v1";
    let to = |target: &str| stdout(&run(dir.path(), &["push", "bundle", BUNDLE, name, "--to", target]));
    let digest = to("oci:layout");
    assert_eq!(to("oci-archive:bundle.tar"), digest);
    assert!(digest.starts_with("registry.example.com/gizmo-bundle@sha256:"), "{digest}");
    let render = |reference: &str| stdout(&run(dir.path(), &["render", reference, "--image", "x/y:z"]));
    let directory = render(BUNDLE);
    for reference in
        ["oci:layout", "oci:layout:v1", "oci-archive:bundle.tar", &format!("oci-archive:bundle.tar:{name}")]
    {
        assert_eq!(render(reference), directory, "{reference}");
    }
    let error = failure(&run(dir.path(), &["render", "oci:layout:v2"]));
    assert!(error.contains("layout") && error.contains(name), "{error}");
}

#[test]
fn labels_equal_the_annotations() {
    let dir = tempfile::tempdir().unwrap();
    stdout(&run(dir.path(), &["push", "bundle", BUNDLE, "a/b:v1", "--to", "oci:layout"]));
    let configs: Vec<serde_json::Value> = files(&dir.path().join("layout/blobs"))
        .iter()
        .filter_map(|path| serde_json::from_slice(&fs::read(path).unwrap()).ok())
        .filter(|document: &serde_json::Value| document["rootfs"].is_object())
        .collect();
    let [config] = configs.as_slice() else { panic!("there is one configuration: {configs:?}") };
    let text = fs::read_to_string(Path::new(BUNDLE).join("metadata/annotations.yaml")).unwrap();
    let annotations: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.trim().split_once(": "))
        .map(|(key, value)| (key, value.trim_matches(['"', '\''])))
        .collect();
    let labels = config["config"]["Labels"].as_object().unwrap();
    assert_eq!(labels.len(), annotations.len());
    for (key, value) in annotations {
        assert_eq!(labels[key], value, "{key}");
    }
}

#[test]
fn push_is_reproducible() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("elsewhere/copy");
    fs::create_dir_all(copy.join("manifests")).unwrap();
    fs::create_dir_all(copy.join("metadata")).unwrap();
    // Written again, in another order, with other times and modes.
    let mut originals = files(Path::new(BUNDLE));
    originals.sort();
    originals.reverse();
    for original in originals {
        let target = copy.join(original.strip_prefix(BUNDLE).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(&target, fs::read(&original).unwrap()).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let here =
        stdout(&run(dir.path(), &["push", "bundle", BUNDLE, "x.example.com/a/b:v1", "--to", "oci:one"]));
    let script = format!(
        "umask 077; exec {} push bundle {} x.example.com/a/b:v1 --to oci-archive:two.tar",
        env!("CARGO_BIN_EXE_bundle-tool"),
        copy.display()
    );
    let there = Command::new("sh")
        .args(["-c", &script])
        .env("TZ", "Asia/Seoul")
        .env("LC_ALL", "C")
        .env_remove("SOURCE_DATE_EPOCH")
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(stdout(&there), here);

    let dated = |epoch: &str| {
        let arguments = ["push", "bundle", BUNDLE, "x.example.com/a/b:v1", "--to", "oci:dated"];
        tool(dir.path()).env("SOURCE_DATE_EPOCH", epoch).args(arguments).output().unwrap()
    };
    assert_ne!(stdout(&dated("1700000000")), here);
    assert_eq!(stdout(&dated("0")), here);
    assert!(failure(&dated("yesterday")).contains("SOURCE_DATE_EPOCH"));
}

#[test]
fn image_is_built_from_files() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("data")).unwrap();
    fs::write(dir.path().join("data/a.txt"), "text").unwrap();
    fs::write(dir.path().join("run"), "#!/bin/sh\n").unwrap();
    let arguments = [
        "push",
        "image",
        "x.example.com/op:v1",
        "run=/run",
        "data=/data",
        "--entrypoint",
        "/run --fast",
        "--user",
        "65532:65532",
        "--env",
        "A=b=c",
        "--label",
        "l=m",
        "--platform",
        "linux/arm64",
        "--to",
        "oci:out",
    ];
    stdout(&run(dir.path(), &arguments));
    let config: serde_json::Value = files(&dir.path().join("out/blobs"))
        .iter()
        .filter_map(|path| serde_json::from_slice(&fs::read(path).unwrap()).ok())
        .find(|document: &serde_json::Value| document["rootfs"].is_object())
        .unwrap();
    assert_eq!((&config["os"], &config["architecture"]), (&"linux".into(), &"arm64".into()));
    assert_eq!(
        config["config"],
        serde_json::json!({
            "Entrypoint": ["/run", "--fast"],
            "Env": ["A=b=c"],
            "Labels": { "l": "m" },
            "User": "65532:65532",
        })
    );
}

/// A valid catalog.
const CATALOG: &str = r#"
{"schema": "olm.package", "name": "gizmo", "defaultChannel": "stable"}
{"schema": "olm.channel", "name": "stable", "package": "gizmo", "entries": [{"name": "gizmo.v1.0.0"}]}
{"schema": "olm.bundle", "name": "gizmo.v1.0.0", "package": "gizmo", "image": "quay.io/example/gizmo:v1.0.0",
 "properties": [{"type": "olm.package", "value": {"packageName": "gizmo", "version": "1.0.0"}}]}
"#;

#[test]
fn invalid_catalog_or_bundle_is_pushed_only_without_validation() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("catalog")).unwrap();
    fs::write(dir.path().join("catalog/c.json"), CATALOG.replace("stable\"}", "alpha\"}")).unwrap();
    fs::create_dir_all(dir.path().join("bundle")).unwrap();
    for part in ["manifests", "metadata"] {
        fs::create_dir_all(dir.path().join("bundle").join(part)).unwrap();
        for file in files(&Path::new(BUNDLE).join(part)) {
            fs::copy(&file, dir.path().join("bundle").join(part).join(file.file_name().unwrap())).unwrap();
        }
    }
    let csv = files(&dir.path().join("bundle/manifests"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains("clusterserviceversion"))
        .unwrap();
    fs::copy(&csv, dir.path().join("bundle/manifests/second.clusterserviceversion.yaml")).unwrap();
    for (what, rule) in [("catalog", "default-channel-unknown"), ("bundle", "csv-several")] {
        let mut push = vec!["push", what, what, "x/a:v1", "--to", "oci:out"];
        if what == "catalog" {
            push.push("--data-only");
        }
        let output = run(dir.path(), &push);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(output.stdout.is_empty() && !dir.path().join("out").exists(), "{what} was written");
        assert!(error.contains(&format!("error[{rule}]")), "{error}");
        assert!(error.contains("pass --no-validate to push it anyway\n"), "{error}");
        stdout(&run(dir.path(), &[&push[..], &["--no-validate"]].concat()));
        fs::remove_dir_all(dir.path().join("out")).unwrap();
    }
}

#[test]
fn index_image_has_a_label_for_its_catalog() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("catalog/gizmo")).unwrap();
    fs::write(dir.path().join("catalog/gizmo/catalog.json"), CATALOG).unwrap();
    fs::write(dir.path().join("opm"), "#!/bin/sh\n").unwrap();
    stdout(&run(
        dir.path(),
        &["push", "image", "opm:v1", "opm=/bin/opm", "--entrypoint", "/bin/opm", "--to", "oci:base"],
    ));
    stdout(&run(dir.path(), &["push", "catalog", "catalog", "data:v1", "--data-only", "--to", "oci:data"]));
    stdout(&run(
        dir.path(),
        &["push", "catalog", "catalog", "index:v1", "--base", "oci:base", "--to", "oci:index"],
    ));
    let on_base = ["push", "catalog", "catalog", "x/a:v1", "--base", "oci:base", "--to", "oci:x"];
    let error = failure(&run(dir.path(), &[&on_base[..], &["--platform", "linux/s390x"]].concat()));
    assert!(
        error.contains("oci:base contains no image for linux/s390x; found: linux/amd64")
            && error.lines().count() == 1,
        "{error}"
    );
    assert!(!dir.path().join("x").exists());
    for layout in ["data", "index"] {
        let rendered = stdout(&run(dir.path(), &["render", &format!("oci:{layout}")]));
        let mut rendered = serde_json::Deserializer::from_str(&rendered).into_iter::<serde_json::Value>();
        assert_eq!(rendered.next().unwrap().unwrap()["name"], "gizmo", "{layout}");
    }
    let documents: Vec<String> = files(&dir.path().join("index/blobs"))
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    let config = documents.iter().find(|text| text.contains("rootfs")).unwrap();
    assert!(config.contains(r#""Cmd":["serve","/configs"],"Entrypoint":["/bin/opm"]"#), "{config}");
    assert!(config.contains(r#""operators.operatorframework.io.index.configs.v1":"/configs""#), "{config}");
    let manifest = documents.iter().find(|text| text.contains("schemaVersion")).unwrap();
    assert_eq!(manifest.matches("layer.v1.tar+gzip").count(), 2, "{manifest}");
}

#[test]
fn catalog_serves_itself_from_an_image_from_scratch() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("catalog/gizmo")).unwrap();
    fs::write(dir.path().join("catalog/gizmo/catalog.json"), CATALOG).unwrap();
    // A static program; the debug build of the tool would take long to compress.
    let mut program = vec![0x7f, b'E', b'L', b'F', 2, 1];
    program.resize(64, 0);
    program[18] = 183;
    fs::write(dir.path().join("bundle-tool"), &program).unwrap();
    let push = ["push", "catalog", "catalog", "x/a:v1", "--server-binary", "bundle-tool", "--to"];
    let pushed = stdout(&run(dir.path(), &[&push[..], &["oci:a"]].concat()));
    assert_eq!(pushed, stdout(&run(dir.path(), &[&push[..], &["oci:b"]].concat())));
    let documents: Vec<serde_json::Value> = files(&dir.path().join("a/blobs"))
        .iter()
        .filter_map(|path| serde_json::from_slice(&fs::read(path).unwrap()).ok())
        .collect();
    let config = documents.iter().find(|document| document.get("rootfs").is_some()).unwrap();
    assert_eq!(config["architecture"], "arm64");
    let expected = serde_json::json!({
        "Cmd": ["serve", "/configs", "--cache-dir", "/cache"],
        "Entrypoint": ["/bin/bundle-tool"],
        "Env": ["PATH=/bin"],
        "Labels": {"operators.operatorframework.io.index.configs.v1": "/configs"},
        "User": "65532:65532",
    });
    assert_eq!(config["config"], expected);
    let manifest = documents.iter().find(|document| document.get("layers").is_some()).unwrap();
    let list = |layer: usize| {
        let digest = manifest["layers"][layer]["digest"].as_str().unwrap().replace(':', "/");
        let archive = dir.path().join("a/blobs").join(digest);
        let output = Command::new("tar").arg("-tvzf").arg(archive).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let name = |line: &str| line.split_whitespace().skip(5).collect::<Vec<_>>().join(" ");
        text.lines().map(name).collect::<Vec<_>>()
    };
    let links = ["bin/grpc_health_probe -> bundle-tool", "bin/opm -> bundle-tool"];
    assert_eq!(list(0), ["bin/", "bin/bundle-tool", links[0], links[1]]);
    assert_eq!(
        list(1),
        ["cache/", "cache/catalog.index", "configs/", "configs/gizmo/", "configs/gizmo/catalog.json"]
    );
    let rendered = stdout(&run(dir.path(), &["render", "oci:a"]));
    assert!(rendered.contains("gizmo.v1.0.0"), "{rendered}");

    // Programs that would not start in the image.
    program[32] = 64;
    program[54] = 56;
    program[56] = 1;
    program.extend([3, 0, 0, 0]);
    program.resize(120, 0);
    fs::write(dir.path().join("dynamic"), &program).unwrap();
    fs::write(dir.path().join("script"), "#!/bin/sh\n").unwrap();
    for (arguments, expected) in [
        (&["--server-binary", "dynamic"][..], "dynamic is dynamically linked"),
        (&["--server-binary", "script"], "script is not a Linux program"),
        (&["--server-binary", "nothing"], "nothing"),
        (&["--server-binary", "bundle-tool", "--platform", "linux/amd64"], "targets linux/arm64"),
    ] {
        let push = ["push", "catalog", "catalog", "x/a:v1", "--to", "oci:c"];
        let error = failure(&run(dir.path(), &[&push[..], arguments].concat()));
        assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        assert!(!dir.path().join("c").exists());
    }
}

#[test]
fn errors_are_reported_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("broken/manifests")).unwrap();
    fs::create_dir_all(path("broken/metadata")).unwrap();
    fs::write(path("broken/manifests/a.yaml"), "a: [").unwrap();
    fs::write(path("broken/metadata/annotations.yaml"), "annotations: {}").unwrap();
    fs::create_dir(path("empty")).unwrap();
    fs::write(path("file"), "").unwrap();
    fs::write(path("bad-auth.json"), "{").unwrap();
    let to = ["--to", "oci:out"];
    let cases: [(&[&str], &[&str]); 13] = [
        (&["push", "bundle", "no-such-directory", "x/a:v1", to[0], to[1]], &["no-such-directory"]),
        (&["push", "bundle", "empty", "x/a:v1", to[0], to[1]], &["empty", "annotations.yaml"]),
        (&["push", "bundle", "broken", "x/a:v1", to[0], to[1]], &["manifests/a.yaml:"]),
        (&["push", "bundle", BUNDLE, "x/A:v1", to[0], to[1]], &["x/A:v1"]),
        (&["push", "bundle", BUNDLE, "x/a:v1", "--to", "oci:file"], &["file: expected a directory"]),
        (&["push", "bundle", BUNDLE, "x/a:v1", "--to", "oci:broken"], &["broken"]),
        (&["push", "bundle", BUNDLE, "x/a:v1", "--to", "oci-archive:/dev/full"], &["/dev/full"]),
        (&["push", "bundle", BUNDLE, "127.0.0.1:1/a:v1", "--plain-http"], &["127.0.0.1:1", "refused"]),
        (&["push", "bundle", BUNDLE, "127.0.0.1:1/a:v1", "--ca-file", "file"], &["file", "certificate"]),
        (&["push", "image", "x/a:v1", "no-such-file=/a", to[0], to[1]], &["no-such-file"]),
        (&["push", "image", "x/a:v1", "file=/../a", to[0], to[1]], &["/../a"]),
        (&["push", "image", "x/a:v1", "file=/a", "broken=/a", to[0], to[1]], &["a/"]),
        (&["push", "catalog", "empty", "x/a:v1", to[0], to[1]], &["empty"]),
    ];
    let before = files(dir.path());
    for (arguments, expected) in cases {
        let error = failure(&run(dir.path(), arguments));
        for text in expected {
            assert!(error.contains(text), "{arguments:?}: {error}");
        }
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        assert_eq!(files(dir.path()), before, "{arguments:?} left something");
    }
    let push = ["push", "bundle", BUNDLE, "127.0.0.1:1/a:v1", "--plain-http"];
    let output = tool(dir.path()).env("REGISTRY_AUTH_FILE", "bad-auth.json").args(push).output().unwrap();
    assert!(failure(&output).contains("bad-auth.json"));
}

#[test]
fn registry_listens_on_loopback_only() {
    let dir = tempfile::tempdir().unwrap();
    let error =
        failure(&run(dir.path(), &["registry", "serve", "--address", "0.0.0.0:0", "--dir", "registry"]));
    assert!(error.contains("--listen-anywhere"), "{error}");
    assert!(!dir.path().join("registry").exists());
}

#[test]
fn commands_end_at_their_timeouts() {
    let dir = tempfile::tempdir().unwrap();
    // Connections are accepted by the system; nobody reads what arrives.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("{}/a:v1", silent.local_addr().unwrap());
    for arguments in [&["render", &name][..], &["push", "bundle", BUNDLE, &name]] {
        for (flags, expected) in [
            (&["--timeout", "1s"][..], "total timeout of 1 s; set a longer --timeout"),
            (&["--idle-timeout", "1s", "--timeout", "1m"], "within 1 s; check the network"),
        ] {
            let output = tool(dir.path()).args(arguments).arg("--plain-http").args(flags).output().unwrap();
            let error = failure(&output);
            assert!(error.contains(expected), "{arguments:?} {flags:?}: {error}");
            assert!(
                error.contains(&format!("`GET http://{}/v2/`", name.trim_end_matches("/a:v1"))),
                "{error}"
            );
        }
    }
    let error = failure(&run(dir.path(), &["render", &name, "--timeout", "soon"]));
    assert!(error.contains("such as 90s"), "{error}");
}

#[test]
fn fifos_do_not_block_a_push() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::start(dir.path());
    assert!(Command::new("mkfifo").arg("fifo").current_dir(dir.path()).status().unwrap().success());
    let name = format!("{}/a:v1", registry.address);
    let push = ["push", "bundle", BUNDLE, &name, "--plain-http"];
    for (flags, auth_file) in [
        (&["--ca-file", "fifo"][..], None),
        (&["--digest-file", "fifo"], None),
        (&[], Some("fifo")),
        (&[], Some("/dev/zero")),
    ] {
        let mut command = tool(dir.path());
        if let Some(file) = auth_file {
            command.env("REGISTRY_AUTH_FILE", file);
        }
        let error = failure(&command.args(push).args(flags).output().unwrap());
        assert!(error.contains(auth_file.unwrap_or("fifo")), "{flags:?}: {error}");
        assert!(error.matches("expected a regular file").count() <= 1, "{error}");
    }
    let error = failure(&run(dir.path(), &["render", &name, "--plain-http"]));
    assert!(error.contains("image not found"), "nothing was pushed: {error}");
}

#[test]
fn a_dockerfile_beside_the_bundle_that_does_not_copy_it_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bundle.Dockerfile"), "FROM scratch\nCOPY other/manifests /manifests/\n")
        .unwrap();
    let bundle = dir.path().join("gizmo");
    for part in ["manifests", "metadata"] {
        fs::create_dir_all(bundle.join(part)).unwrap();
        for entry in fs::read_dir(Path::new(BUNDLE).join(part)).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, bundle.join(part).join(path.file_name().unwrap())).unwrap();
        }
    }
    let to = format!("oci:{}", dir.path().join("layout").display());
    let arguments = ["push", "bundle", "gizmo", "quay.io/a/b:v1", "--no-validate", "--to", &to];
    let output = run(dir.path(), &arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{error}");
    let expected = "gizmo/../bundle.Dockerfile is ignored, because it does not copy files from gizmo";
    assert!(error.contains(expected), "{error}");
}
