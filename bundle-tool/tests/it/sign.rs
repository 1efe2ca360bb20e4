//! `push` for several platforms, with metadata and a signature; `verify`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::push::{BUNDLE, Registry, failure, run, stdout};
use crate::support::git;

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

pub(crate) fn keys(directory: &Path) {
    fs::write(directory.join("cosign.key"), PRIVATE).unwrap();
    fs::write(directory.join("cosign.pub"), PUBLIC).unwrap();
}

#[test]
fn pushed_bundle_is_signed_and_verified() {
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
    assert!(String::from_utf8(unsigned.stderr).unwrap().contains(" is not signed"));

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
fn key_is_read_from_a_pipe() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    keys(directory);
    let registry = Registry::start(directory);
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    stdout(&run(directory, &["push", "bundle", BUNDLE, &name, "--plain-http", "--sign", "cosign.key"]));
    // What `--key <(…)` of a shell passes.
    let verify = |key: &str| {
        let tool = env!("CARGO_BIN_EXE_bundle-tool");
        let line = format!("{key} | {tool} verify {name} --plain-http --key /dev/fd/0");
        Command::new("sh").args(["-c", &line]).current_dir(directory).output().unwrap()
    };
    assert!(stdout(&verify("cat cosign.pub")).contains("docker-manifest-digest"));
    let error = failure(&verify("yes"));
    assert!(error.contains("/dev/fd/0") && error.contains("limit"), "{error}");
}

#[test]
fn signatures_are_copied_with_their_images() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    keys(directory);
    let registry = Registry::start(directory);
    let name = |repository: &str| format!("{}/{repository}:v1", registry.address);
    let push = ["push", "bundle", BUNDLE, &name("a/app"), "--plain-http", "--sign", "cosign.key"];
    stdout(&run(directory, &push));
    let copy = |from: &str, to: &str, more: &[&str]| {
        stdout(&run(directory, &[&["copy", from, to, "--plain-http"], more].concat()));
    };
    let verify = |image: &str| run(directory, &["verify", image, "--key", "cosign.pub", "--plain-http"]);
    copy(&name("a/app"), &name("b/app"), &[]);
    // Both forms of signatures.
    assert_eq!(stdout(&verify(&name("b/app"))).lines().count(), 2);
    copy(&name("a/app"), "oci:layout", &[]);
    copy(&format!("oci:layout:{}", name("a/app")), &name("c/app"), &[]);
    assert_eq!(stdout(&verify(&name("c/app"))).lines().count(), 2);
    copy(&name("a/app"), &name("d/app"), &["--no-referrers"]);
    let output = verify(&name("d/app"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.ends_with(" is not signed\n"), "{error}");
    // A key where a certificate is expected.
    let keyless = [
        "verify",
        &name("a/app"),
        "--plain-http",
        "--certificate-identity",
        "a@example.com",
        "--certificate-oidc-issuer",
        "https://example.com",
        "--trusted-root",
        "root.json",
    ];
    fs::write(directory.join("root.json"), "{}").unwrap();
    let error = failure(&run(directory, &keyless));
    assert!(error.contains("root.json: it contains no certificate authority"), "{error}");
}

#[test]
fn bill_of_materials_is_attached() {
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
    // Some editors begin a file with a byte order mark.
    fs::write(directory.join("Cargo.lock"), format!("\u{feff}{lock}")).unwrap();
    fs::write(directory.join("sbom.json"), "\u{feff}{\"bomFormat\": \"CycloneDX\"}").unwrap();
    for sbom in ["Cargo.lock", "sbom.json"] {
        stdout(&push(sbom));
    }
    let text = stdout(&run(directory, &["inspect", &name, "--plain-http"]));
    assert_eq!(text.matches("SBOM (SPDX)").count(), 1, "{text}");
    assert_eq!(text.matches("SBOM (CycloneDX)").count(), 1, "{text}");
}

/// The attached statements of an image, by the digests of their manifests.
pub(crate) fn statements(directory: &Path, name: &str) -> BTreeMap<String, Value> {
    let description: Value = serde_json::from_str(&stdout(&run(
        directory,
        &["inspect", name, "--plain-http", "--output", "json"],
    )))
    .unwrap();
    let (repository, _) = name.rsplit_once(':').unwrap();
    let referrers = description["referrers"].as_array().unwrap().iter();
    let provenance = referrers.filter(|referrer| referrer["kind"] == "SLSA provenance");
    provenance
        .map(|referrer| {
            assert_eq!(referrer["artifactType"], "application/vnd.in-toto+json");
            let digest = referrer["digest"].as_str().unwrap();
            let layout = format!("oci:copied-{}", &digest[7..19]);
            stdout(&run(directory, &["copy", &format!("{repository}@{digest}"), &layout, "--plain-http"]));
            let blobs = directory.join(layout.strip_prefix("oci:").unwrap()).join("blobs/sha256");
            let documents =
                fs::read_dir(blobs).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
            let mut documents = documents.filter_map(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
            let statement = documents.find(|document| document["_type"] == "https://in-toto.io/Statement/v1");
            (digest.to_owned(), statement.unwrap())
        })
        .collect()
}

#[test]
fn provenance_names_the_revision_and_is_reproducible() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    for clone in ["one", "two"] {
        let clone = directory.join(clone);
        fs::create_dir(&clone).unwrap();
        crate::support::copy_bundle(clone.join("bundle"));
        git(&clone, &["init", "--quiet"]);
        git(
            &clone,
            &["remote", "add", "origin", "https://alice:hunter2@example.com/org/gizmo.git?token=hunter2"],
        );
        git(&clone, &["add", "."]);
        git(&clone, &["commit", "--quiet", "--message", "first"]);
    }
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    let push = |bundle: &str| {
        crate::push::tool(directory)
            .args(["push", "bundle", bundle, &name, "--plain-http", "--no-validate", "--provenance"])
            // As in a hook of another repository.
            .env("GIT_DIR", directory.join("other/.git"))
            // Nothing above the directory counts.
            .env("GIT_CEILING_DIRECTORIES", directory)
            .output()
            .unwrap()
    };
    let printed = stdout(&push("one/bundle"));
    assert_eq!(stdout(&push("two/bundle")), printed);
    let found = statements(directory, &name);
    assert_eq!(found.len(), 1, "the same input gives the same provenance: {found:?}");
    let statement = found.values().next().unwrap();
    assert!(!statement.to_string().contains("hunter2"), "{statement}");
    let digest = printed.trim_end().split_once("@sha256:").unwrap().1;
    assert_eq!(statement["subject"][0]["digest"]["sha256"], digest);
    let definition = &statement["predicate"]["buildDefinition"];
    assert_eq!(definition["externalParameters"], json!({"command": "push bundle", "path": "bundle/"}));
    let source = &definition["resolvedDependencies"][0];
    assert_eq!(source["uri"], "git+https://example.com/org/gizmo.git");
    assert_eq!(source["digest"]["gitCommit"].as_str().unwrap().len(), 40);
    assert_eq!(source["annotations"], Value::Null);

    fs::write(directory.join("two/bundle/tests.txt"), "changed").unwrap();
    stdout(&push("two/bundle"));
    let all = statements(directory, &name);
    let modified = all.iter().find(|(digest, _)| !found.contains_key(*digest)).unwrap().1;
    let source = &modified["predicate"]["buildDefinition"]["resolvedDependencies"][0];
    assert_eq!(source["annotations"]["modified"], true);

    // Whatever git is told about a file, it is in the image.
    fs::write(directory.join("two/.git/info/exclude"), "tests.txt\n").unwrap();
    for (name, file) in [("ignored", "tests.txt"), ("assumed", "metadata/annotations.yaml")] {
        if name == "assumed" {
            fs::remove_file(directory.join("two/bundle/tests.txt")).unwrap();
            git(&directory.join("two"), &["update-index", "--assume-unchanged", &format!("bundle/{file}")]);
        }
        let image = format!("{}/{name}:v1", registry.address);
        let tool = &mut crate::push::tool(directory);
        let arguments =
            ["push", "bundle", "two/bundle", &image, "--plain-http", "--no-validate", "--provenance"];
        stdout(&tool.args(arguments).output().unwrap());
        let all = statements(directory, &image);
        let definition = &all.values().next().unwrap()["predicate"]["buildDefinition"];
        assert_eq!(definition["resolvedDependencies"][0]["annotations"]["modified"], true, "{name}");
    }

    // Outside of a repository, and if git cannot compare the files, the source is unknown.
    crate::support::copy_bundle(directory.join("plain"));
    fs::write(directory.join("one/.git/index"), "damaged").unwrap();
    for (bundle, reason) in [("plain", "not a git repository"), ("one/bundle", "git status failed: ")] {
        let output = push(bundle);
        let warning = String::from_utf8(output.stderr).unwrap();
        let expected =
            format!("warning: the provenance does not include the source revision of {bundle}: {reason}");
        assert!(output.status.success() && warning.starts_with(&expected), "{warning}");
    }
    let all = statements(directory, &name);
    let unknown =
        |statement: &&Value| statement["predicate"]["buildDefinition"]["resolvedDependencies"] == json!([]);
    assert_eq!(all.values().filter(unknown).count(), 1, "two statements that are the same: {all:?}");
}

#[test]
fn provenance_names_files_programs_and_the_base_by_digest() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = Registry::start(directory);
    for (name, text) in [("amd64", "one"), ("arm64", "two"), ("LICENSE", "Apache-2.0")] {
        fs::write(directory.join(name), text).unwrap();
    }
    let name = |name: &str| format!("{}/{name}:v1", registry.address);
    let push = |arguments: &[&str]| {
        let output = run(directory, &[arguments, &["--plain-http", "--provenance"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let platforms = "linux/amd64=amd64,linux/arm64=arm64";
    let operator = name("operator");
    let entrypoint = ["--platform", platforms, "--entrypoint", "/manager"];
    push(&[&["push", "image", &operator, "LICENSE=/LICENSE"][..], &entrypoint].concat());
    let found = statements(directory, &operator);
    let statement = found.values().next().unwrap();
    assert_eq!(statement["subject"].as_array().unwrap().len(), 3, "the index and its images");
    let sha256 = |text: &str| oci_images::layout::sha256(text.as_bytes()).to_string();
    let expected = json!({
        "command": "push image",
        "entrypoint": ["/manager"],
        "files": {"LICENSE": sha256("Apache-2.0")},
        "programs": {"linux/amd64": sha256("one"), "linux/arm64": sha256("two")},
    });
    assert_eq!(statement["predicate"]["buildDefinition"]["externalParameters"], expected);

    let base = name("base");
    push(&["push", "image", &base, "LICENSE=/bin/opm", "--entrypoint", "/bin/opm"]);
    let catalog_file = r#"{"schema": "olm.package", "name": "gizmo", "defaultChannel": "stable"}"#;
    fs::create_dir(directory.join("catalog")).unwrap();
    fs::write(directory.join("catalog/c.json"), catalog_file).unwrap();
    for platform in [None, Some("linux/amd64")] {
        // Both images have the same digest: in one repository, both statements would be about it.
        let catalog = name(platform.map_or("catalog", |_| "catalog-amd64"));
        let arguments = ["push", "catalog", "catalog", &catalog, "--base", &base, "--no-validate"];
        let platform_arguments = platform.map(|platform| ["--platform", platform]);
        push(&[&arguments[..], platform_arguments.as_ref().map_or(&[], |both| &both[..])].concat());
        let found = statements(directory, &catalog);
        let definition = &found.values().next().unwrap()["predicate"]["buildDefinition"];
        let parameters = &definition["externalParameters"];
        assert_eq!(parameters["base"]["uri"], format!("docker://{base}"));
        assert_eq!(parameters["platform"].as_str(), platform);
        assert_eq!(definition["resolvedDependencies"][0], parameters["base"]);
    }
}

#[test]
fn contradictory_arguments_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    for place in ["oci:x", "oci-archive:x.tar", "docker-archive:x.tar"] {
        let error = failure(&run(directory, &["push", "bundle", BUNDLE, place]));
        let expected = format!("pass a name such as registry.example.com/name:tag, and --to {place}");
        assert!(error.contains(&expected), "{error}");
    }
    let files = ["--to", "oci:x", "--digest-file", "out", "--metadata-file", "./out"];
    let error = failure(&run(directory, &[&["push", "bundle", BUNDLE, "x/a:v1"][..], &files].concat()));
    assert!(error.contains("--digest-file and --metadata-file are the same file: ./out"), "{error}");
    assert_eq!(fs::read_dir(directory).unwrap().count(), 0);
}

#[test]
fn image_for_several_platforms_is_one_index() {
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

#[test]
fn files_are_signed_and_verified() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    keys(directory);
    fs::write(directory.join("SHA256SUMS"), "abc  archive.tar.gz\n").unwrap();
    stdout(&run(directory, &["attest", "sign", "SHA256SUMS", "--key", "cosign.key"]));
    let verify = ["verify", "SHA256SUMS", "--signature", "SHA256SUMS.sig", "--key", "cosign.pub"];
    assert_eq!(stdout(&run(directory, &verify)), "");
    // What `cosign sign-blob` printed for another content is not a signature of this one.
    fs::write(directory.join("SHA256SUMS"), "abd  archive.tar.gz\n").unwrap();
    let changed = run(directory, &verify);
    assert_eq!(changed.status.code(), Some(1));
    insta::assert_snapshot!(String::from_utf8(changed.stderr).unwrap(), @"error: SHA256SUMS.sig is not a signature of SHA256SUMS with this key: the file was changed, or another key signed it
");
    // Nothing is signed if one file is missing.
    fs::remove_file(directory.join("SHA256SUMS.sig")).unwrap();
    let missing = run(directory, &["attest", "sign", "SHA256SUMS", "nosuch", "--key", "cosign.key"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(!directory.join("SHA256SUMS.sig").exists());
}

#[test]
fn provenance_names_files_with_their_digests_and_the_revision() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    git(directory, &["init", "--quiet"]);
    git(directory, &["remote", "add", "origin", "https://user:secret@example.com/org/gizmo.git"]);
    fs::write(directory.join("a.tar.gz"), "one").unwrap();
    git(directory, &["add", "."]);
    git(directory, &["commit", "--quiet", "--message", "one"]);
    let printed = stdout(&run(directory, &["attest", "provenance", "./a.tar.gz"]));
    let statement: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        statement["subject"],
        json!([{
            "name": "a.tar.gz",
            "digest": {"sha256": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"}
        }])
    );
    let source = &statement["predicate"]["buildDefinition"]["resolvedDependencies"][0];
    assert_eq!(source["uri"], "git+https://example.com/org/gizmo.git");
    let twice = run(directory, &["attest", "provenance", "a.tar.gz", "./a.tar.gz"]);
    assert_eq!(
        failure(&twice).lines().next(),
        Some(
            "error: two files have the name `a.tar.gz`, and provenance names files without their directories"
        )
    );
}

#[test]
fn bill_of_materials_lists_the_packages_of_a_lock_file() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let lock = "version = 4\n[[package]]\nname = \"gizmo\"\nversion = \"1.0.0\"\n";
    fs::write(directory.join("Cargo.lock"), lock).unwrap();
    let printed = stdout(&run(directory, &["attest", "sbom", "--name", "gizmo-1.0.0"]));
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["name"], "gizmo-1.0.0");
    assert_eq!(document["packages"][0]["name"], "gizmo");
    fs::write(directory.join("Cargo.lock"), "nonsense").unwrap();
    assert_eq!(run(directory, &["attest", "sbom"]).status.code(), Some(2));
}

#[test]
fn policy_decides_which_images_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let directory = dir.path();
    let registry = Registry::start(directory);
    keys(directory);
    fs::write(directory.join("manager"), "a program").unwrap();
    let push = |name: &str, more: &[&str]| {
        let image = format!("{}/{name}", registry.address);
        let push = ["push", "image", &image, "manager=/manager", "--plain-http"];
        stdout(&run(directory, &[&push[..], more].concat()));
        image
    };
    let signed = push("org/signed:v1", &["--sign", "cosign.key"]);
    let unsigned = push("org/unsigned:v1", &[]);
    let policy = |requirement: serde_json::Value| {
        let registry = &registry.address;
        let policy = serde_json::json!({
            "default": [{ "type": "reject" }],
            "transports": { "docker": { format!("{registry}/org"): [requirement] } },
        });
        fs::write(directory.join("policy.json"), policy.to_string()).unwrap();
    };
    let copy = |image: &str, to: &str| {
        run(directory, &["copy", image, to, "--plain-http", "--signature-policy", "policy.json"])
    };
    let repository = serde_json::json!({ "type": "matchRepository" });
    let by_key = serde_json::json!({
        "type": "sigstoreSigned", "keyPath": directory.join("cosign.pub"), "signedIdentity": repository,
    });
    let rejected = |image: &str, reason: &str| {
        let error = failure(&copy(image, "oci:rejected"));
        let expected = format!("{image} is rejected by the signature policy policy.json: {reason}");
        assert!(error.contains(&expected), "{error}");
        assert!(!directory.join("rejected").exists());
    };
    policy(by_key.clone());
    stdout(&copy(&signed, "oci:copied"));
    // The image has the name that it has without a policy.
    stdout(&run(directory, &["inspect", &format!("oci:copied:{signed}")]));
    rejected(&unsigned, "it is not signed");
    rejected(&push("other/app:v1", &[]), "the policy rejects all images of this scope");
    let mirror = ["mirror", &signed, &unsigned, "--to", "oci:mirror", "--plain-http"];
    let output = run(directory, &[&mirror[..], &["--signature-policy", "policy.json"]].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("it is not signed"), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(&signed));

    let mut exact = by_key.clone();
    exact.as_object_mut().unwrap().remove("signedIdentity");
    policy(exact);
    let name = signed.strip_suffix(":v1").unwrap();
    rejected(
        &signed,
        &format!("it is signed as `{name}`, which the signedIdentity of the policy does not accept"),
    );
    let other = rcgen::KeyPair::generate().unwrap();
    fs::write(directory.join("other.pub"), other.public_key_pem()).unwrap();
    let mut foreign = by_key;
    foreign["keyPath"] = serde_json::json!(directory.join("other.pub"));
    policy(foreign);
    rejected(&signed, "it is signed with another key");
    policy(serde_json::json!({ "type": "signedBy", "keyType": "GPGKeys", "keyPath": "/x" }));
    rejected(&signed, "the policy requires `signedBy`, which is not supported");
    policy(serde_json::json!({ "type": "insecureAcceptAnything" }));
    stdout(&copy(&unsigned, "oci:accepted"));
}
