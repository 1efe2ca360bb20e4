//! `push image --base`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::annotations::{annotations, manifest};
use crate::push::{Registry, failure, run, stdout};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An index for two platforms in the layout `base`, with settings to inherit. Returns its digest.
fn base(directory: &Path) -> String {
    for name in ["amd64", "arm64", "lib"] {
        fs::write(directory.join(name), name).unwrap();
    }
    fs::write(directory.join("run"), "#!/bin/sh\n").unwrap();
    let arguments = [
        "push",
        "image",
        "quay.io/example/base:v1",
        "lib=/lib/lib",
        "--platform",
        "linux/amd64=amd64,linux/arm64=arm64",
        "--entrypoint",
        "/bin/base --verbose",
        "--user",
        "1000",
        "--workdir",
        "/srv",
        "--env",
        "A=1",
        "--env",
        "B=1",
        "--label",
        "l=base",
        "--annotation",
        "not.inherited=1",
        "--to",
        "oci:base",
    ];
    digest(&stdout(&run(directory, &arguments)))
}

fn digest(printed: &str) -> String {
    printed.trim_end().split_once('@').unwrap().1.to_owned()
}

/// The digests of the layers of an image in a layout, and its configuration.
fn image(layout: &Path, digest: &str) -> (Vec<Value>, Value) {
    let found = manifest(layout, digest);
    let layers = found["layers"].as_array().unwrap().iter().map(|layer| layer["digest"].clone()).collect();
    (layers, manifest(layout, found["config"]["digest"].as_str().unwrap()))
}

/// The digest of the image for a platform in an index.
fn listed(layout: &Path, index: &str, architecture: &str) -> String {
    let index = manifest(layout, index);
    let mut images = index["manifests"].as_array().unwrap().iter();
    let found = images.find(|image| image["platform"]["architecture"] == architecture).unwrap();
    found["digest"].as_str().unwrap().to_owned()
}

#[test]
fn files_are_a_layer_on_the_base_for_the_platform() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base_digest = base(directory);
    let (layout, out) = (directory.join("base"), directory.join("out"));
    // What is for other platforms is not read: a mirror may lack it.
    let amd64 = listed(&layout, &base_digest, "amd64");
    let arm64 = listed(&layout, &base_digest, "arm64");
    fs::remove_file(layout.join("blobs").join(amd64.replace(':', "/"))).unwrap();

    let push = ["push", "image", "x/a:v1", "run=/bin/run", "--base", "oci:base", "--platform", "linux/arm64"];
    let printed = stdout(&run(directory, &[&push[..], &["--to", "oci:out"]].concat()));
    assert_eq!(stdout(&run(directory, &[&push[..], &["--to", "oci-archive:out.tar"]].concat())), printed);
    let (base_layers, base_config) = image(&layout, &arm64);
    let (layers, config) = image(&out, &digest(&printed));
    assert_eq!((layers.len(), &layers[..1]), (2, &base_layers[..]));
    assert_eq!(config["config"], base_config["config"]);
    assert_eq!(config["architecture"], "arm64");
    assert_eq!(config["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
    let expected = json!({"org.opencontainers.image.base.digest": base_digest});
    assert_eq!(annotations(&out, &printed), expected, "the path of a layout is not recorded");

    let own = [
        "--entrypoint",
        "/bin/run",
        "--workdir",
        "/",
        "--env",
        "B=2",
        "--label",
        "m=1",
        "--annotation",
        "org.opencontainers.image.base.digest=",
        "--to",
        "oci:out",
    ];
    let printed = stdout(&run(directory, &[&push[..], &own].concat()));
    let expected = json!({
        "Entrypoint": ["/bin/run"],
        "Env": ["A=1", "B=2"],
        "Labels": {"l": "base", "m": "1"},
        "User": "1000",
        "WorkingDir": "/",
    });
    assert_eq!(image(&out, &digest(&printed)).1["config"], expected);
    assert_eq!(annotations(&out, &printed), Value::Null);
}

#[test]
fn a_base_in_a_registry_is_recorded_and_never_copied_twice() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base_digest = base(directory);
    let registry = Registry::start(directory);
    let base_name = format!("{}/base:v1", registry.address);
    stdout(&run(directory, &["copy", "oci:base", &base_name, "--plain-http"]));
    let name = format!("{}/operator:v1", registry.address);
    let platforms = ["--platform", "linux/amd64=amd64,linux/arm64=arm64", "--entrypoint", "/bin/run"];
    let push = ["push", "image", &name, "--base", &base_name, "--plain-http"];
    let output = run(directory, &[&push[..], &platforms, &["--provenance"]].concat());
    let warning = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && warning.contains("not a git repository"), "{warning}");
    let pushed = String::from_utf8(output.stdout).unwrap();
    let written = stdout(&run(directory, &[&push[..], &platforms, &["--to", "oci:out"]].concat()));
    assert_eq!(written, pushed, "the layers of the base come from its repository");
    let out = directory.join("out");
    let expected = json!({
        "org.opencontainers.image.base.digest": base_digest,
        "org.opencontainers.image.base.name": base_name,
    });
    assert_eq!(annotations(&out, &pushed), expected);
    let layout = directory.join("base");
    for architecture in ["amd64", "arm64"] {
        let built = listed(&out, &digest(&pushed), architecture);
        let (layers, config) = image(&out, &built);
        let (base_layers, _) = image(&layout, &listed(&layout, &base_digest, architecture));
        assert_eq!((&layers[..1], config["architecture"].as_str()), (&base_layers[..], Some(architecture)));
    }
    // The copy is complete without the base.
    stdout(&run(directory, &["copy", &name, "oci:copied", "--plain-http"]));

    let statements = crate::sign::statements(directory, &name);
    let definition = &statements.values().next().unwrap()["predicate"]["buildDefinition"];
    let base = &definition["externalParameters"]["base"];
    assert_eq!(base["uri"], format!("docker://{base_name}"));
    assert_eq!(format!("sha256:{}", base["digest"]["sha256"].as_str().unwrap()), base_digest);
    let bases = definition["resolvedDependencies"].as_array().unwrap().iter();
    let found: Vec<String> = bases
        .filter(|dependency| dependency["name"] == "base")
        .map(|dependency| format!("sha256:{}", dependency["digest"]["sha256"].as_str().unwrap()))
        .collect();
    assert_eq!(found, ["amd64", "arm64"].map(|name| listed(&layout, &base_digest, name)));
}

/// Writes a document to a layout and returns its descriptor.
fn write(layout: &Path, media_type: &str, document: &Value) -> Value {
    let bytes = document.to_string();
    let digest = oci_images::layout::sha256(bytes.as_bytes()).to_string();
    fs::write(layout.join("blobs").join(digest.replace(':', "/")), &bytes).unwrap();
    json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
}

/// Makes a descriptor the only image of a layout.
fn lead_to(layout: &Path, descriptor: &Value) {
    let index = json!({"schemaVersion": 2, "manifests": [descriptor]}).to_string();
    fs::write(layout.join("index.json"), index).unwrap();
}

#[test]
fn a_base_that_cannot_be_used_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let base_digest = base(directory);
    let layout = directory.join("base");
    let arm64 = listed(&layout, &base_digest, "arm64");
    let push = |arguments: &[&str]| {
        let all = [&["push", "image", "x/a:v1", "run=/run", "--to", "oci:out"][..], arguments].concat();
        let error = failure(&run(directory, &all));
        assert!(!directory.join("out").exists(), "something was written");
        assert_eq!(error.lines().count(), 1, "{error}");
        error
    };
    for (arguments, expected) in [
        (
            &["--base", "oci:none"][..],
            "failed to read the base image oci:none: failed to read none/index.json",
        ),
        (&["--base", "oci:"], "expected a path after `oci:`"),
        (&["--base", "x/A:v1"], "x/A:v1"),
        (
            &["--base", "127.0.0.1:1/base:v1", "--plain-http"],
            "failed to read the base image 127.0.0.1:1/base:v1",
        ),
        (&["--base", "oci:base:v2"], "found no image `v2`"),
        (
            &["--base", "oci:base", "--platform", "linux/s390x"],
            "oci:base contains no image for linux/s390x; found: linux/amd64, linux/arm64",
        ),
        (
            &["--base", "oci:base", "--platform", "windows/amd64"],
            "oci:base contains no image for windows/amd64; found: linux/amd64, linux/arm64",
        ),
    ] {
        let error = push(arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }

    let amd64 = ["--base", "oci:base"];
    let index_of = |descriptors: &[Value]| {
        write(&layout, INDEX, &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors}))
    };
    // One image, for another platform.
    let single = json!({"mediaType": MANIFEST, "digest": arm64, "size": manifest_size(&layout, &arm64)});
    lead_to(&layout, &single);
    assert!(push(&amd64).contains("contains no image for linux/amd64; found: linux/arm64"));
    // Indexes of indexes: without the platform, and too deep.
    let mut nested = index_of(&[index_of(std::slice::from_ref(&single))]);
    lead_to(&layout, &nested);
    assert!(push(&amd64).contains("contains no image for linux/amd64; found: linux/arm64"));
    for _ in 0..4 {
        nested = index_of(&[nested]);
    }
    lead_to(&layout, &nested);
    assert!(push(&amd64).contains("the depth of nested indexes exceeds the limit of 4"));
    lead_to(&layout, &index_of(&[]));
    assert!(push(&amd64).contains("contains no image for linux/amd64; found: no image"));
    // A manifest of 5 MiB, one with too many layers, and configurations that are not one.
    let large = json!({"schemaVersion": 2, "manifests": [], "annotations": {"a": "a".repeat(5 << 20)}});
    lead_to(&layout, &write(&layout, INDEX, &large));
    assert!(push(&amd64).contains("exceeds the limit of 4194304"), "{}", push(&amd64));
    let ids = |count: usize| vec![format!("sha256:{}", "a".repeat(64)); count];
    let image_of = |config: &Value, layers: usize| {
        let config = write(&layout, "application/vnd.oci.image.config.v1+json", config);
        let layer = json!({"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": ids(1)[0], "size": 1});
        let layers = vec![layer; layers];
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers});
        lead_to(&layout, &write(&layout, MANIFEST, &manifest));
        push(&amd64)
    };
    let rootfs = |count| json!({"type": "layers", "diff_ids": ids(count)});
    let config = |count: usize| json!({"os": "linux", "architecture": "amd64", "rootfs": rootfs(count)});
    for (found, expected) in [
        (image_of(&config(1000), 1000), "the number of layers"),
        (image_of(&config(999), 998), "it lists 999 layers, but its manifest lists 998"),
        (image_of(&json!({"os": "linux"}), 0), "is not a valid image configuration"),
        (
            image_of(&json!([null, null, "amd64", "linux", null, null, null, null, rootfs(0), null]), 0),
            "expected an object",
        ),
        // The layer is not in the layout.
        (image_of(&config(1), 1), "aaaa"),
    ] {
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

fn manifest_size(layout: &Path, digest: &str) -> u64 {
    fs::metadata(layout.join("blobs").join(digest.replace(':', "/"))).unwrap().len()
}

#[test]
fn a_working_directory_is_an_absolute_path() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    fs::write(directory.join("run"), "#!/bin/sh\n").unwrap();
    let push = ["push", "image", "x/a:v1", "run=/run", "--to", "oci:out", "--workdir"];
    for wrong in ["app", "./app", ""] {
        let error = failure(&run(directory, &[&push[..], &[wrong]].concat()));
        assert!(error.contains("expected an absolute path, such as /app"), "{error}");
    }
    assert!(!directory.join("out").exists());
    let printed = stdout(&run(directory, &[&push[..], &["/app"]].concat()));
    let (_, config) = image(&directory.join("out"), &digest(&printed));
    assert_eq!(config["config"], json!({"WorkingDir": "/app"}));
}
