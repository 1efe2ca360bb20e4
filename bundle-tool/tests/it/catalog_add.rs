//! `bundle-tool catalog add`: where it writes, what it leaves unchanged, and what it rejects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::push::Registry;
use crate::support::run;

const BUNDLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle");

/// Copies the fixture with another name and version of the CSV, and edits it.
fn bundle(directory: &Path, version: &str, edit: impl Fn(String) -> String) -> PathBuf {
    let bundle = directory.join(format!("bundle-{version}"));
    for part in ["manifests", "metadata"] {
        fs::create_dir_all(bundle.join(part)).unwrap();
        for entry in fs::read_dir(Path::new(BUNDLE).join(part)).unwrap() {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            let text = text
                .replace("name: gizmo-operator.v1.2.0", &format!("name: gizmo-operator.v{version}"))
                .replace("version: 1.2.0", &format!("version: {version}"));
            fs::write(bundle.join(part).join(entry.file_name()), edit(text)).unwrap();
        }
    }
    bundle
}

/// The files below a directory with what they hold.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn add<'a>(bundle: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["catalog", "add", "catalog", bundle, "--image", "quay.io/example/gizmo-bundle:v1"];
    first.into_iter().chain(more.iter().copied()).collect()
}

#[test]
fn a_package_name_never_becomes_a_path_outside_the_catalog() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("victim")).unwrap();
    fs::create_dir_all(dir.path().join("catalog")).unwrap();
    fs::write(dir.path().join("victim/catalog.yaml"), "schema: x\n").unwrap();
    let absolute = dir.path().join("victim").display().to_string();
    for name in ["../victim", "../../x", &absolute, "a/b", "Op_X", "."] {
        let package =
            |text: String| text.replace("package.v1: gizmo-operator", &format!("package.v1: {name}"));
        let bundle = bundle(dir.path(), "1.2.0", package);
        let before = files(dir.path());
        for more in [&[][..], &["--no-validate"]] {
            let output = run(dir.path(), &add(bundle.to_str().unwrap(), more));
            assert_eq!(output.status, Some(2), "{name}: {}", output.stderr);
            assert!(output.stderr.contains(&format!("invalid package name `{name}`")), "{}", output.stderr);
        }
        assert_eq!(files(dir.path()), before, "{name}");
    }
}

const CHANNEL: &str = "# Keep me\nschema: olm.channel\nname: stable\npackage: gizmo-operator\nteam: gadgets\nentries:\n- name: gizmo-operator.v1.2.0\n---\n# Other\nschema:   vendor.note\n";

#[test]
fn the_blobs_of_a_package_are_changed_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = dir.path().join("catalog");
    assert_eq!(
        run(dir.path(), &add(BUNDLE, &["--channels", "stable", "--default-channel", "stable"])).status,
        Some(0)
    );
    let made = fs::read_to_string(catalog.join("gizmo-operator/catalog.yaml")).unwrap();
    let documents: Vec<&str> = made.split("---\n").filter(|document| !document.is_empty()).collect();
    assert_eq!(documents.len(), 3, "{made}");
    // The package in JSON, the channel with a comment and a field of its own in another file, the bundle in a third.
    fs::remove_dir_all(&catalog).unwrap();
    for directory in ["packages", "channels"] {
        fs::create_dir_all(catalog.join(directory)).unwrap();
    }
    let package = "{\"schema\": \"olm.package\", \"name\": \"gizmo-operator\", \"defaultChannel\": \"stable\", \"x\": 1}";
    fs::write(catalog.join("packages/index.json"), package).unwrap();
    let bundle_at = documents.iter().position(|document| document.contains("olm.bundle\n")).unwrap();
    fs::write(catalog.join("channels/stable.yml"), CHANNEL).unwrap();
    fs::write(catalog.join("bundles"), documents[bundle_at]).unwrap();
    let second = bundle(dir.path(), "1.3.0", |text| {
        text.replace("  version: 1.3.0", "  version: 1.3.0\n  replaces: gizmo-operator.v1.2.0")
    });
    let output = run(dir.path(), &add(second.to_str().unwrap(), &["--channels", "stable"]));
    assert!(output.status == Some(0), "{}", output.stderr);
    let after = files(&catalog);
    assert_eq!(after.keys().collect::<Vec<_>>(), ["bundles", "channels/stable.yml", "packages/index.json"]);
    assert_eq!(after["bundles"], documents[bundle_at]);
    let channel = &after["channels/stable.yml"];
    let added =
        "- name: gizmo-operator.v1.2.0\n- name: gizmo-operator.v1.3.0\n  replaces: gizmo-operator.v1.2.0\n";
    assert_eq!(*channel, CHANNEL.replace("- name: gizmo-operator.v1.2.0\n", added));
    let package = &after["packages/index.json"];
    assert!(package.contains("\"x\": 1") && package.matches("olm.package\"").count() == 2, "{package}");
    assert!(package.contains("\"name\": \"gizmo-operator.v1.3.0\""), "{package}");
    // Once more: nothing changes.
    let output = run(dir.path(), &add(second.to_str().unwrap(), &["--channels", "stable"]));
    assert!(output.status == Some(0), "{}", output.stderr);
    assert_eq!(files(&catalog), after);
}

#[test]
fn a_placeholder_of_an_icon_is_not_added() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = bundle(dir.path(), "1.2.0", |text| {
        text.lines()
            .map(|line| match line.split_once("base64data:") {
                Some((before, _)) => format!("{before}base64data: \"\"\n"),
                None => format!("{line}\n"),
            })
            .collect()
    });
    assert!(
        fs::read_dir(bundle.join("manifests"))
            .unwrap()
            .any(|entry| { fs::read_to_string(entry.unwrap().path()).unwrap().contains("base64data: \"\"") })
    );
    let output = run(dir.path(), &add(bundle.to_str().unwrap(), &[]));
    assert!(output.status == Some(0), "{}", output.stderr);
    assert_eq!(output.stderr, "added gizmo-operator.v1.2.0 to catalog (channels: stable)\n");
    let catalog = &files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"];
    assert!(!catalog.contains("base64data"), "{catalog}");
}

#[test]
fn an_invalid_catalog_is_written_only_without_validation() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        run(dir.path(), &add(BUNDLE, &["--channels", "stable", "--default-channel", "stable"])).status,
        Some(0)
    );
    let before = files(&dir.path().join("catalog"));
    let second = bundle(dir.path(), "1.3.0", |text| text);
    let second = second.to_str().unwrap();
    let invalid: [(&[&str], &str); 2] = [
        (&["--channels", "stable"], "channel-heads-several"),
        (&["--channels", "fast", "--image", "quay.io/Example/gizmo"], "bundle-image-invalid"),
    ];
    for (more, rule) in invalid {
        let arguments: Vec<&str> = if more.contains(&"--image") {
            [&["catalog", "add", "catalog", second][..], more].concat()
        } else {
            add(second, more)
        };
        let output = run(dir.path(), &arguments);
        assert_eq!(output.status, Some(1), "{}", output.stderr);
        assert!(output.stderr.contains(&format!("error[{rule}]")), "{}", output.stderr);
        assert_eq!(files(&dir.path().join("catalog")), before, "{rule}");
    }
    for name in ["", "a b", "a\tb"] {
        let output = run(dir.path(), &add(second, &["--channels", name]));
        assert_eq!(output.status, Some(2), "{}", output.stderr);
        assert!(output.stderr.contains("invalid channel name"), "{}", output.stderr);
        assert_eq!(files(&dir.path().join("catalog")), before, "{name}");
    }
    let output = run(dir.path(), &add(second, &["--channels", "stable", "--no-validate"]));
    assert!(output.status == Some(0), "{}", output.stderr);
    assert!(
        files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"].contains("gizmo-operator.v1.3.0")
    );
}

#[test]
fn two_processes_at_once_lose_no_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let bundles: Vec<PathBuf> =
        (0..4).map(|number| bundle(dir.path(), &format!("1.{number}.0"), |text| text)).collect();
    let channels: Vec<String> = (0..4).map(|number| format!("c{number}")).collect();
    std::thread::scope(|scope| {
        for (bundle, channel) in bundles.iter().zip(&channels) {
            let directory = dir.path();
            scope.spawn(move || {
                let channels = ["--channels", channel, "--default-channel", channel];
                let output = run(directory, &add(bundle.to_str().unwrap(), &channels));
                assert!(output.status == Some(0), "{}", output.stderr);
            });
        }
    });
    let output = run(dir.path(), &["catalog", "validate", "catalog"]);
    let text = output.stdout;
    assert!(text.contains("1 package, 4 channels, 4 bundles, passed"), "{text}");
}

#[test]
fn keys_in_another_case_are_found_as_by_opm() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("catalog")).unwrap();
    let before = "Schema: olm.package\nNAME: gizmo-operator\nDefaultChannel: stable\n---\nschema: olm.channel\nName: stable\nPackage: gizmo-operator\nEntries:\n- Name: gizmo-operator.v1.1.0\n---\nSCHEMA: olm.bundle\nname: gizmo-operator.v1.1.0\npackage: gizmo-operator\nImage: quay.io/a/b:v1\nProperties:\n- Type: olm.package\n  value: {packageName: gizmo-operator, version: 1.1.0}\n";
    fs::write(dir.path().join("catalog/catalog.yaml"), before).unwrap();
    let second = bundle(dir.path(), "1.3.0", |text| {
        text.replace("  version: 1.3.0", "  version: 1.3.0\n  replaces: gizmo-operator.v1.1.0")
    });
    let output = run(dir.path(), &add(second.to_str().unwrap(), &["--channels", "stable"]));
    assert!(output.status == Some(0), "{}", output.stderr);
    let after = files(&dir.path().join("catalog"));
    assert_eq!(after.len(), 1, "{after:?}");
    let text = &after["catalog.yaml"];
    assert_eq!(text.to_lowercase().matches("schema: olm.package\n").count(), 1, "{text}");
    assert_eq!(text.to_lowercase().matches("schema: olm.channel\n").count(), 1, "{text}");
    // And rendered as opm does.
    let output = run(dir.path(), &["render", "catalog", "--output", "yaml"]);
    let rendered = output.stdout;
    assert!(
        rendered.contains("defaultChannel: stable\n") && rendered.contains("\nname: stable\n"),
        "{rendered}"
    );
    assert!(rendered.contains("image: quay.io/a/b:v1\nname: gizmo-operator.v1.1.0\n"), "{rendered}");
}

#[test]
fn a_bundle_takes_its_place_among_the_versions() {
    let dir = tempfile::tempdir().unwrap();
    for version in ["1.0.0", "1.2.0", "1.1.0"] {
        let bundle = bundle(dir.path(), version, |text| text);
        let more = ["--channels", "stable", "--default-channel", "stable", "--edges", "semver"];
        let output = run(dir.path(), &add(bundle.to_str().unwrap(), &more));
        assert!(output.status == Some(0), "{version}: {}", output.stderr);
    }
    let text = files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"].clone();
    let entries = "entries:\n- name: gizmo-operator.v1.0.0\n- name: gizmo-operator.v1.2.0\n  replaces: gizmo-operator.v1.1.0\n- name: gizmo-operator.v1.1.0\n  replaces: gizmo-operator.v1.0.0\n";
    assert!(text.contains(entries), "{text}");
}

#[test]
fn only_the_newest_bundle_changes_the_default_channel() {
    let dir = tempfile::tempdir().unwrap();
    let of_stream = |version: &str, channel: &str| {
        bundle(dir.path(), version, |text| {
            text.lines()
                .map(|line| match line.split_once(".v1: ") {
                    Some((key, _)) if key.ends_with(".channels") || key.ends_with(".channel.default") => {
                        format!("{key}.v1: {channel}\n")
                    }
                    _ => format!("{line}\n"),
                })
                .collect()
        })
    };
    let default = || {
        let text = &files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"];
        let line = text.lines().find_map(|line| line.strip_prefix("defaultChannel: "));
        line.unwrap().to_owned()
    };
    for (version, channel, more, expected) in [
        ("1.0.0", "stable-v1", &[][..], "stable-v1"),
        ("2.0.0", "stable-v2", &[], "stable-v2"),
        // A later patch of an older version.
        ("1.0.1", "stable-v1", &["--edges", "semver"], "stable-v2"),
        ("1.0.2", "stable-v1", &["--edges", "semver", "--default-channel", "stable-v1"], "stable-v1"),
        ("2.0.1", "stable-v2", &["--edges", "semver"], "stable-v2"),
    ] {
        let bundle = of_stream(version, channel);
        let output = run(dir.path(), &add(bundle.to_str().unwrap(), more));
        assert_eq!(output.status, Some(0), "{version}: {}", output.stderr);
        assert_eq!(default(), expected, "{version}");
    }
}

#[test]
fn several_bundles_are_added_or_none() {
    let dir = tempfile::tempdir().unwrap();
    let bundles: Vec<String> = ["1.1.0", "1.0.0", "1.2.0"]
        .iter()
        .map(|version| bundle(dir.path(), version, |text| text).display().to_string())
        .collect();
    let [second, first, third] = [0, 1, 2].map(|index| bundles[index].as_str());
    let add = |references: &[&str], more: &[&str]| {
        run(dir.path(), &[&["catalog", "add", "catalog"], references, &["--edges", "semver"], more].concat())
    };
    let images = ["--image", "quay.io/a/b:2", "--image", "quay.io/a/b:1", "--image", "quay.io/a/b:3"];
    // Two bundles and one image, one bundle twice, one that is missing, one that does not fit: nothing is written.
    for (references, images, message) in [
        (&[second, first][..], &images[..2], "expected 2, found 1"),
        (&[second], &images[..4], "expected 1, found 2"),
        (&[second, first, second], &images, "bundle `gizmo-operator.v1.1.0` is given twice"),
        (&[second, first, "nowhere"], &images, "failed to add nowhere: "),
        (&[second, first, "oci:nowhere"], &images, "failed to add oci:nowhere: "),
        (&[], &[], "<BUNDLE>"),
    ] {
        let output = add(references, images);
        assert_eq!(output.status, Some(2), "{message}: {}", output.stderr);
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
        assert!(!dir.path().join("catalog").exists(), "{message}");
    }
    // The default channel is created by the last of them.
    let other =
        bundle(dir.path(), "2.0.0", |text| text.replace("channels.v1: stable", "channels.v1: candidate"));
    let channels = ["--channel", "stable", "--default-channel", "stable"];
    let output = add(&[second, first, third], &[&images[..], &channels, &["--quiet"]].concat());
    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    let text = files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"].clone();
    let entries = "entries:\n- name: gizmo-operator.v1.0.0\n- name: gizmo-operator.v1.1.0\n  replaces: gizmo-operator.v1.0.0\n- name: gizmo-operator.v1.2.0\n  replaces: gizmo-operator.v1.1.0\n";
    assert!(text.contains(entries), "{text}");
    for (image, version) in [("1", "1.0.0"), ("2", "1.1.0"), ("3", "1.2.0")] {
        let blob = format!("image: quay.io/a/b:{image}\nname: gizmo-operator.v{version}\n");
        assert!(text.contains(&blob), "{blob}: {text}");
    }
    // The same as one after the other.
    for (reference, image) in [(first, "1"), (second, "2"), (third, "3")] {
        let image = format!("quay.io/a/b:{image}");
        let arguments = ["catalog", "add", "one-by-one", reference, "--image", &image, "--edges", "semver"];
        assert_eq!(run(dir.path(), &[&arguments[..], &channels].concat()).status, Some(0));
    }
    assert_eq!(files(&dir.path().join("catalog")), files(&dir.path().join("one-by-one")));
    // An invalid result: nothing is written.
    let before = files(&dir.path().join("catalog"));
    let other = other.to_str().unwrap();
    let output = add(&[other, third], &["--image", "quay.io/a/b:4", "--image", "quay.io/A/b:5"]);
    assert_eq!(output.status, Some(1), "{}", output.stderr);
    assert_eq!(files(&dir.path().join("catalog")), before);
}

#[test]
fn a_bundle_in_a_layout_needs_the_name_of_its_image() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["push", "bundle", BUNDLE, "quay.io/a/b:1", "--to", "oci:layout"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let output = run(dir.path(), &["catalog", "add", "catalog", "oci:layout"]);
    assert!(output.status == Some(2) && output.stderr.contains("expected 1, found 0"), "{}", output.stderr);
    let output = run(dir.path(), &["catalog", "add", "catalog", "oci:layout", "--image", "quay.io/a/b:1"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let output = run(dir.path(), &["catalog", "add", "from-directory", BUNDLE, "--image", "quay.io/a/b:1"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert_eq!(files(&dir.path().join("catalog")), files(&dir.path().join("from-directory")));
}

#[test]
fn a_bundle_in_a_registry_has_an_image_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry::start(dir.path());
    let image = format!("{}/gizmo-bundle:v1.2.0", registry.address);
    let output = run(dir.path(), &["push", "bundle", BUNDLE, &image, "--plain-http"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let second = bundle(dir.path(), "1.3.0", |text| {
        text.replace("  version: 1.3.0", "  version: 1.3.0\n  replaces: gizmo-operator.v1.2.0")
    });
    let second = second.to_str().unwrap();
    let arguments = ["catalog", "add", "catalog", second, &image, "--image", "quay.io/a/b:2", "--plain-http"];
    let output = run(dir.path(), &arguments);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let text = files(&dir.path().join("catalog"))["gizmo-operator/catalog.yaml"].clone();
    for (image, version) in [(image.as_str(), "1.2.0"), ("quay.io/a/b:2", "1.3.0")] {
        let blob = format!("image: {image}\nname: gizmo-operator.v{version}\n");
        assert!(text.contains(&blob), "{blob}: {text}");
    }
    // An image that is pulled from a mirror keeps the name that it is given.
    let arguments = ["catalog", "add", "other", &image, "--image", "quay.io/a/b:1", "--plain-http"];
    assert_eq!(run(dir.path(), &arguments).status, Some(0));
    let text = files(&dir.path().join("other"))["gizmo-operator/catalog.yaml"].clone();
    assert!(text.contains("image: quay.io/a/b:1\n") && !text.contains(&image), "{text}");
}
