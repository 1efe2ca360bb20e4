//! `push` for several platforms, with metadata and a signature; `verify`.

use std::fs;
use std::path::Path;

use crate::push::{BUNDLE, Registry, failure, run, stdout};

/// A pair of keys for these tests.
const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgtZ9DLmYib/BAfEYG
dRhfhqB9QGrVRoBWiO752jmyeWKhRANCAAQ4wI10VNDrhSfFVrEJknGqMkcPf7XZ
ZqLV0Z+Zg1DJh/bcQMgYSogbQ37JwwEjlxTDuds1kDZznHkb7KXKk+lh
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEOMCNdFTQ64UnxVaxCZJxqjJHD3+1
2Wai1dGfmYNQyYf23EDIGEqIG0N+ycMBI5cUw7nbNZA2c5x5G+ylypPpYQ==
-----END PUBLIC KEY-----
";

fn keys(directory: &Path) {
    fs::write(directory.join("cosign.key"), PRIVATE).unwrap();
    fs::write(directory.join("cosign.pub"), PUBLIC).unwrap();
}

#[test]
fn a_pushed_bundle_is_signed_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    keys(directory);
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    let verify = ["verify", &name, "--key", "cosign.pub", "--plain-http"];
    let push = ["push", "bundle", BUNDLE, &name, "--plain-http"];
    stdout(&run(directory, &push));
    let unsigned = run(directory, &verify);
    assert_eq!(unsigned.status.code(), Some(1));
    assert!(String::from_utf8(unsigned.stderr).unwrap().contains("no valid signature of sha256:"));

    let mut sign = push.to_vec();
    sign.extend(["--sign", "cosign.key"]);
    let by_digest = stdout(&run(directory, &sign));
    let payload = stdout(&run(directory, &verify));
    let digest = by_digest.trim_end().split_once('@').unwrap().1;
    assert!(payload.contains(&format!(r#""docker-manifest-digest":"{digest}""#)), "{payload}");
    let text = stdout(&run(directory, &["inspect", &name, "--plain-http"]));
    assert!(text.contains("cosign signatures"), "{text}");

    // Nothing is pushed with a key that cannot be read.
    let other = format!("{}/other:v1", registry.address);
    let error =
        failure(&run(directory, &["push", "bundle", BUNDLE, &other, "--plain-http", "--sign", "cosign.pub"]));
    assert!(error.contains("cosign.pub") && error.contains("private key"), "{error}");
    let error = failure(&run(directory, &["inspect", &other, "--plain-http"]));
    assert!(error.contains("image not found"), "{error}");
}

#[test]
fn a_bill_of_materials_is_attached() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let lock = "[[package]]\nname = \"manager\"\nversion = \"1.0.0\"\n";
    fs::write(directory.join("Cargo.lock"), lock).unwrap();
    fs::write(directory.join("sbom.json"), r#"{"bomFormat": "CycloneDX"}"#).unwrap();
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    let push =
        |sbom: &str| run(directory, &["push", "bundle", BUNDLE, &name, "--plain-http", "--sbom", sbom]);
    // Nothing is pushed with a file of another form.
    let error = failure(&push("no.json"));
    assert!(error.contains("no.json"), "{error}");
    let error = failure(&push(&format!("{BUNDLE}/metadata/annotations.yaml")));
    assert!(error.contains("expected SPDX or CycloneDX in JSON, or a Cargo.lock"), "{error}");
    failure(&run(directory, &["inspect", &name, "--plain-http"]));

    for sbom in ["Cargo.lock", "Cargo.lock", "sbom.json"] {
        stdout(&push(sbom));
    }
    let text = stdout(&run(directory, &["inspect", &name, "--plain-http"]));
    assert_eq!(text.matches("application/spdx+json").count(), 1, "{text}");
    assert_eq!(text.matches("application/vnd.cyclonedx+json").count(), 1, "{text}");
}

#[test]
fn an_image_for_several_platforms_is_one_index() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for (name, text) in [("amd64", "one"), ("arm64", "two"), ("LICENSE", "Apache-2.0")] {
        fs::write(directory.join(name), text).unwrap();
    }
    let name = "quay.io/example/operator:v1";
    let push = |to: &str| {
        let arguments = [
            "push",
            "image",
            name,
            "LICENSE=/licenses/",
            "--platform",
            "linux/amd64=amd64,linux/arm64=arm64",
            "--entrypoint",
            "/manager",
            "--to",
            to,
            "--metadata-file",
            "metadata.json",
        ];
        stdout(&run(directory, &arguments))
    };
    let printed = push("oci:one");
    assert_eq!(push("oci:two"), printed, "the same files give the same index");
    let digest = printed.trim_end().split_once('@').unwrap().1;
    let metadata: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("metadata.json")).unwrap()).unwrap();
    assert_eq!(metadata["containerimage.digest"], digest);
    assert_eq!(metadata["containerimage.descriptor"]["mediaType"], "application/vnd.oci.image.index.v1+json");
    assert_eq!(metadata["image.name"], name);

    let arguments = ["inspect", "oci:one", "--platform", "linux/arm64", "--output", "json", "--files"];
    let inspected: serde_json::Value = serde_json::from_str(&stdout(&run(directory, &arguments))).unwrap();
    let platforms: Vec<_> = inspected["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|image| image["platform"].as_str().unwrap())
        .collect();
    assert_eq!(platforms, ["linux/amd64", "linux/arm64"]);
    assert_eq!((&inspected["platform"], &inspected["digest"]), (&"linux/arm64".into(), &digest.into()));
    let error = failure(&run(directory, &["inspect", "oci:one", "--platform", "linux/s390x"]));
    assert!(error.contains("found: linux/amd64, linux/arm64"), "{error}");

    let arguments = ["push", "image", name, "--platform", "linux/amd64=amd64", "--to", "oci:x"];
    assert!(failure(&run(directory, &arguments)).contains("--entrypoint"));
    let arguments =
        ["push", "image", name, "--platform", "linux/amd64=none", "--entrypoint", "/m", "--to", "oci:x"];
    assert!(failure(&run(directory, &arguments)).contains("none"));
    assert!(!directory.join("x").exists());
}
