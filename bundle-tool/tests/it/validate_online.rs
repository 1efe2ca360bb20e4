//! `validate --online`: what registries answer about the images of bundles.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::push::{BUNDLE, Registry, run, stdout};
use crate::support::copy_bundle;

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const IMAGE: &str = "registry.example.com/gizmo-operator:1.2.0";

/// A copy of the valid bundle whose images are in another registry, with these changes of its CSV.
fn bundle(directory: &Path, name: &str, registry: &str, changes: &[(&str, &str)]) {
    let bundle = copy_bundle(directory.join(name));
    let path = bundle.join(CSV);
    let mut csv = fs::read_to_string(&path).unwrap().replace("registry.example.com", registry);
    for (from, to) in changes {
        assert!(csv.contains(from), "{from}");
        csv = csv.replacen(from, to, 1);
    }
    fs::write(path, csv).unwrap();
}

/// A registry with the image of the operator, for linux/amd64 alone.
fn published(directory: &Path) -> Registry {
    let registry = Registry::start(directory);
    fs::write(directory.join("manager"), "a program").unwrap();
    let image = format!("{}/gizmo-operator:1.2.0", registry.address);
    stdout(&run(directory, &["push", "image", &image, "manager=/manager", "--plain-http"]));
    registry
}

fn findings(output: &Output) -> Vec<(String, String)> {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bundles = document["bundles"].as_array().unwrap();
    let findings = bundles.iter().flat_map(|bundle| bundle["findings"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    findings.map(|finding| (text(&finding["rule"]), text(&finding["message"]))).collect()
}

fn error(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn registries_are_queried_for_images_and_platforms() {
    let dir = tempfile::tempdir().unwrap();
    let registry = published(dir.path());
    let address = &registry.address;
    bundle(dir.path(), "good", address, &[]);
    stdout(&run(dir.path(), &["validate", "good", "--online", "--plain-http"]));

    let arm = "  annotations:\n    alm-examples";
    let labels = format!("  labels: {{operatorframework.io/arch.arm64: supported}}\n{arm}");
    let related = format!(
        "  relatedImages: [{{name: gizmo, image: \"{address}/gizmo:1\"}}]\n  displayName: Gizmo Operator"
    );
    bundle(dir.path(), "bad", address, &[(arm, &labels), ("  displayName: Gizmo Operator", &related)]);
    let validate = ["validate", "bad", "--suite", "multiarch", "--plain-http", "--output", "json"];
    let output = run(dir.path(), &[&validate[..], &["--online"]].concat());
    assert_eq!((output.status.code(), error(&output)), (Some(1), ""));
    let found: BTreeMap<_, _> = findings(&output).into_iter().collect();
    let missing = format!("the registry does not have the image `{address}/gizmo:1`");
    assert_eq!(found["related-image-not-found"], missing);
    let platform = format!("image `{address}/gizmo-operator:1.2.0` has no manifest for linux/arm64");
    assert_eq!(found["multiarch-image-platform-missing"], platform);
    // Nothing is asked without the option.
    let offline: BTreeMap<_, _> = findings(&run(dir.path(), &validate)).into_iter().collect();
    assert!(!offline.contains_key("related-image-not-found"), "{offline:?}");
    assert!(!offline.contains_key("multiarch-image-platform-missing"), "{offline:?}");
}

#[test]
fn unreachable_registry_is_not_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let registry = published(dir.path());
    // Nobody listens on the port of tcpmux.
    let closed = "127.0.0.1:1";
    let related = format!(
        "  relatedImages: [{{name: a, image: \"{closed}/a:1\"}}, {{name: b, image: \"{closed}/b:1\"}}]\n  displayName"
    );
    bundle(dir.path(), "mixed", &registry.address, &[("  displayName", &related)]);
    let arguments = ["validate", "--online", "--plain-http", "--output", "json"];
    let output = run(dir.path(), &[&arguments[..], &["mixed"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert_eq!(error(&output), "");
    let found = findings(&output);
    let [(rule, first), (_, second)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(rule, "image-not-checked");
    let reason = format!("could not be looked up: failed to connect to the registry {closed}");
    for (message, name) in [(first, "a:1"), (second, "b:1")] {
        assert!(message.starts_with(&format!("image `{closed}/{name}` {reason}")), "{message}");
    }
    let denied = run(dir.path(), &[&arguments[..], &["mixed", "--deny", "image-not-checked"]].concat());
    assert_eq!(denied.status.code(), Some(1), "{}", error(&denied));

    bundle(dir.path(), "unknown", closed, &[]);
    let output = run(dir.path(), &[&arguments[..], &["unknown"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert_eq!(findings(&output)[0].0, "image-not-checked");
    assert_eq!(
        error(&output),
        "error: no image could be looked up: no registry responded; check the network and the login, or omit --online\n"
    );
}

#[test]
fn wrong_configuration_is_one_error() {
    let dir = tempfile::tempdir().unwrap();
    let registry = published(dir.path());
    bundle(dir.path(), "bundle", &registry.address, &[]);
    let output = run(dir.path(), &["validate", "bundle", "--online", "--ca-file", "missing.crt"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert!(error(&output).starts_with("error: failed to read certificates from missing.crt: "));
    assert_eq!(error(&output).lines().count(), 1, "{}", error(&output));
}

#[test]
fn incomplete_lookup_fails() {
    let dir = tempfile::tempdir().unwrap();
    let registry = published(dir.path());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let related = format!(
        "  relatedImages: [{{name: gizmo, image: \"{}/gizmo:1\"}}]\n  displayName: Gizmo Operator",
        silent.local_addr().unwrap()
    );
    bundle(dir.path(), "bundle", &registry.address, &[("  displayName: Gizmo Operator", &related)]);
    let output = run(dir.path(), &["validate", "bundle", "--online", "--plain-http", "--timeout", "2s"]);
    assert_eq!(output.status.code(), Some(2), "{}", error(&output));
    assert!(
        error(&output)
            .contains("timed out after 2 s, and not all images were looked up; set a longer --timeout"),
        "{}",
        error(&output)
    );
}

/// Answers every request but that for the version of the API with 404, and keeps the paths.
fn counting_registry() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let paths = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&paths);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                while let Some(request) = lines.next() {
                    if lines.by_ref().all(|line| !line.is_empty()) {
                        return;
                    }
                    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                    let status = if path == "/v2/" { "200 OK" } else { "404 Not Found" };
                    kept.lock().unwrap().push(path);
                    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\n{{}}");
                }
            });
        }
    });
    (address, paths)
}

#[test]
fn images_are_looked_up_once() {
    let dir = tempfile::tempdir().unwrap();
    let (address, paths) = counting_registry();
    for name in ["one", "two", "three"] {
        bundle(dir.path(), name, &address, &[]);
    }
    let output =
        run(dir.path(), &["validate", "one", "two", "three", "--online", "--plain-http", "--output", "json"]);
    assert_eq!((output.status.code(), error(&output)), (Some(1), ""));
    let message = IMAGE.replace("registry.example.com", &address);
    let message = format!("the registry does not have the image `{message}`");
    assert_eq!(findings(&output), vec![("image-not-found".to_owned(), message); 3]);
    let paths = paths.lock().unwrap();
    let manifests: Vec<_> = paths.iter().filter(|path| path.contains("/manifests/")).collect();
    assert_eq!(manifests, ["/v2/gizmo-operator/manifests/1.2.0"], "{paths:?}");
}

#[test]
fn bundle_image_is_validated_online() {
    let dir = tempfile::tempdir().unwrap();
    let registry = published(dir.path());
    let name = format!("{}/gizmo-bundle:v1", registry.address);
    stdout(&run(dir.path(), &["push", "bundle", BUNDLE, &name, "--plain-http"]));
    let (address, _) = counting_registry();
    let mirrors = format!(
        "[[registry]]\nprefix = \"registry.example.com\"\nlocation = \"{address}\"\ninsecure = true\n"
    );
    fs::create_dir_all(dir.path().join(".config/containers")).unwrap();
    fs::write(dir.path().join(".config/containers/registries.conf"), mirrors).unwrap();
    let output = run(dir.path(), &["validate", &name, "--online", "--plain-http", "--output", "json"]);
    assert_eq!((output.status.code(), error(&output)), (Some(1), ""));
    assert_eq!(findings(&output)[0].0, "image-not-found");
}
