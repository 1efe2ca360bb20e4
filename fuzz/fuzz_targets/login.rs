//! Files with logins: every one is used or rejected.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use oci_images::registry::{Repository, Resolver};

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = tempfile::tempdir() else { return };
    let file = directory.path().join("auth.json");
    if fs::write(&file, bytes).is_err() {
        return;
    }
    let variable = |name: &str| (name == "REGISTRY_AUTH_FILE").then(|| file.clone().into());
    // No helper is in this directory, so that none is started.
    let resolver = Resolver::from_variables(variable).with_helpers_in(directory.path());
    for name in ["quay.io/a/b:v1", "docker.io/library/a", "localhost:5000/a"] {
        let Ok(reference) = Repository::parse(name) else { continue };
        let _ = resolver.resolve(&reference).map(|credentials| credentials.to_string());
        let _ = resolver.explain(&reference);
    }
});
