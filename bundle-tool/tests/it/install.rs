//! `packaging/install.sh`: what it installs, and that it installs nothing that does not have its checksum.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sha2::{Digest as _, Sha256};

use crate::push::run;
use crate::sign;
use crate::support::utf8;

/// What the archives of these tests contain.
const PROGRAM: &str = "#!/bin/sh\necho bundle-tool 1.2.3\n";

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/install.sh")
}

/// Writes a release with an archive for each platform, and returns whether this machine can download it.
fn release(directory: &Path) -> bool {
    fs::write(directory.join("bundle-tool"), PROGRAM).unwrap();
    fs::set_permissions(directory.join("bundle-tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut sums = String::new();
    for platform in
        ["linux-amd64", "linux-arm64", "linux-ppc64le", "linux-s390x", "darwin-amd64", "darwin-arm64"]
    {
        let name = format!("bundle-tool-{platform}.tar.gz");
        let status =
            Command::new("tar").current_dir(directory).args(["-czf", &name, "bundle-tool"]).status().unwrap();
        assert!(status.success());
        let digest = Sha256::digest(fs::read(directory.join(&name)).unwrap());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(sums, "{digest}  {name}");
    }
    fs::write(directory.join("SHA256SUMS"), sums).unwrap();
    if Command::new("curl").arg("--version").output().is_err() {
        test_support::skip("curl is not installed");
        return false;
    }
    true
}

fn install(release: &Path, arguments: &[&str]) -> Output {
    Command::new("sh")
        .arg(script())
        .args(arguments)
        .env("BUNDLE_TOOL_RELEASE", format!("file://{}", release.display()))
        .output()
        .unwrap()
}

#[test]
fn release_is_installed_and_replaces_an_older_one() {
    let directory = tempfile::tempdir().unwrap();
    if !release(directory.path()) {
        return;
    }
    let target = directory.path().join("a directory/bin");
    for _ in 0..2 {
        let output = install(directory.path(), &["--to", target.to_str().unwrap()]);
        assert!(output.status.success(), "{}", utf8(&output.stderr));
        assert!(
            utf8(&output.stdout).starts_with("bundle-tool 1.2.3\ninstalled "),
            "{}",
            utf8(&output.stdout)
        );
        let names: Vec<_> = fs::read_dir(&target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["bundle-tool"]);
        fs::write(target.join("bundle-tool"), "old").unwrap();
    }
}

#[test]
fn archive_with_another_checksum_is_not_installed() {
    let directory = tempfile::tempdir().unwrap();
    if !release(directory.path()) {
        return;
    }
    let sums = fs::read_to_string(directory.path().join("SHA256SUMS")).unwrap();
    let target = directory.path().join("bin");
    let cases = [
        (sums.replace(['0', '1', '2', '3'], "f"), "the checksum of"),
        ("0000  other.tar.gz\n".to_owned(), "has no checksum of"),
    ];
    for (sums, expected) in cases {
        fs::write(directory.path().join("SHA256SUMS"), sums).unwrap();
        let output = install(directory.path(), &["--to", target.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(utf8(&output.stderr).contains(expected), "{}", utf8(&output.stderr));
        assert!(!target.exists());
    }
    fs::remove_file(directory.path().join("SHA256SUMS")).unwrap();
    let output = install(directory.path(), &["--to", target.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("failed to download"), "{}", utf8(&output.stderr));
}

#[test]
fn arguments_are_checked_before_anything_is_downloaded() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["--to"][..], &["--nosuch"], &["v1.2.3"]] {
        let output = install(directory.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(utf8(&output.stderr).starts_with("error: "), "{}", utf8(&output.stderr));
    }
    let output = Command::new("sh").arg(script()).env_remove("BUNDLE_TOOL_RELEASE").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(utf8(&output.stderr).contains("belongs to no release"), "{}", utf8(&output.stderr));
}

/// Packs a release of the program under test, which a script calls, as it is large. `keys` are the private and the public key.
fn pack(directory: &Path, target: &Path, keys: Option<[&str; 2]>) -> Output {
    let program = directory.join("program");
    fs::write(&program, format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_bundle-tool"))).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/release"));
    match keys {
        Some(keys) => {
            let [private, public] = keys.map(|name| directory.join(name));
            command.env("SIGNING_KEY", private).env("PUBLIC_KEY", public).env("COSIGN_PASSWORD", "")
        }
        None => command.env_remove("SIGNING_KEY"),
    };
    command
        .arg(target)
        .arg(format!("x86_64-unknown-linux-musl={}", program.display()))
        .env("REPOSITORY", "https://forge.example.com/org/bundle-tool/")
        .env("SOURCE_DATE_EPOCH", "1700000000")
        // Nothing is released yet.
        .env("NOTES_SECTION", "Unreleased")
        .env_remove("IMAGE")
        .output()
        .unwrap()
}

#[test]
fn release_is_reproducible_complete_and_installed_by_its_script() {
    let directory = tempfile::tempdir().unwrap();
    let files = |target: &Path| -> BTreeMap<String, Vec<u8>> {
        let output = pack(directory.path(), target, None);
        assert!(output.status.success(), "{}", utf8(&output.stderr));
        let files = fs::read_dir(target).unwrap().map(|entry| entry.unwrap());
        files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
    };
    let release = directory.path().join("release");
    let first = files(&release);
    let second = files(&directory.path().join("again"));
    let different: Vec<_> = first.iter().filter(|(name, bytes)| second.get(*name) != Some(bytes)).collect();
    assert!(
        different.is_empty() && first.len() == second.len(),
        "{:?}",
        different.iter().map(|(name, _)| name)
    );

    let archive = "bundle-tool-linux-amd64.tar.gz";
    let digest: String = Sha256::digest(&first[archive]).iter().map(|byte| format!("{byte:02x}")).collect();
    let url = format!(
        "https://forge.example.com/org/bundle-tool/releases/download/v{}/{archive}",
        env!("CARGO_PKG_VERSION")
    );
    for name in ["bundle-tool.rb", "krew.yaml"] {
        let file = utf8(&first[name]);
        assert!(file.contains(&digest) && file.contains(&url), "{name}: {file}");
        // Other platforms were not built.
        assert!(!file.contains("darwin") && !file.contains("arm64"), "{name}: {file}");
    }
    for name in ["bundle-tool.rb", "krew.yaml", "aqua.yaml", "install.sh"] {
        assert!(
            !utf8(&first[name]).contains("@REPOSITORY@") && !utf8(&first[name]).contains("@VERSION@"),
            "{name}"
        );
    }
    for name in
        ["SHA256SUMS", "bundle-tool-image.tar", "bundle-tool.spdx.json", "notes.md", "provenance.json"]
    {
        assert!(first.contains_key(name), "{name} is missing");
    }
    let sums = utf8(&first["SHA256SUMS"]);
    let sums: Vec<_> = sums.lines().filter_map(|line| line.split_once("  ")).collect();
    let own = |name: &str| Sha256::digest(&first[name]).iter().map(|byte| format!("{byte:02x}")).collect();
    let expected: Vec<(String, &str)> = first.keys().map(|name| (own(name), name.as_str())).collect();
    let expected: Vec<_> = expected.iter().map(|(digest, name)| (digest.as_str(), *name)).collect();
    let expected: Vec<_> = expected.into_iter().filter(|(_, name)| *name != "SHA256SUMS").collect();
    assert_eq!(sums, expected);
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        let target = directory.path().join("bin");
        let output = Command::new("sh")
            .arg(release.join("install.sh"))
            .args(["--to", target.to_str().unwrap()])
            .env("BUNDLE_TOOL_RELEASE", format!("file://{}", release.display()))
            .output()
            .unwrap();
        // Without curl, the tests above are skipped and listed.
        if Command::new("curl").arg("--version").output().is_ok() {
            let expected = format!("bundle-tool {}\n", env!("CARGO_PKG_VERSION"));
            assert!(utf8(&output.stdout).starts_with(&expected), "{}", utf8(&output.stderr));
        }
    }
}

#[test]
fn signed_release_is_verified_with_the_public_key_that_users_have() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    sign::keys(directory);
    fs::write(directory.join("other.pub"), rcgen::KeyPair::generate().unwrap().public_key_pem()).unwrap();
    let release = directory.join("release");
    for (public, expected) in [
        ("nosuch.pub", "does not exist: commit the public key of SIGNING_KEY there"),
        ("other.pub", "other.pub is not the public key of SIGNING_KEY"),
    ] {
        let output = pack(directory, &release, Some(["cosign.key", public]));
        assert_eq!(output.status.code(), Some(2), "{public}");
        assert!(utf8(&output.stderr).contains(expected), "{}", utf8(&output.stderr));
        assert!(!release.exists(), "{public}");
    }
    let output = pack(directory, &release, Some(["cosign.key", "cosign.pub"]));
    assert!(output.status.success(), "{}", utf8(&output.stderr));
    for file in ["SHA256SUMS", "provenance.json"] {
        let arguments = ["verify", file, "--signature", &format!("{file}.sig"), "--key", "../cosign.pub"];
        assert!(run(&release, &arguments).status.success(), "{file}");
    }
}

#[test]
fn release_without_a_repository_or_a_program_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let release = |program: &str, repository: &str| {
        let output = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/release"))
            .arg(directory.path().join("release"))
            .arg(program)
            .env("REPOSITORY", repository)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!directory.path().join("release").exists());
        utf8(&output.stderr)
    };
    insta::assert_snapshot!(release("x86_64-unknown-linux-musl=/bin/sh", ""), @"error: REPOSITORY is not set, and Cargo.toml names none: set it to the URL of the repository
");
    let url = "https://forge.example.com/org/bundle-tool";
    insta::assert_snapshot!(release("x86_64-unknown-linux-musl=/nosuch", url), @"error: /nosuch does not exist: packaging/build x86_64-unknown-linux-musl builds it
");
    insta::assert_snapshot!(release("x86_64-unknown-linux-musl=/bin/false", url), @"error: none of the programs prints `bundle-tool 0.0.1` here
");
}
