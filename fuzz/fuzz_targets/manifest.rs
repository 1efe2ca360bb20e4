//! Indexes and manifests of an OCI layout: the first line is the index, the rest a blob that it may name.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use oci_images::layout::{Contents, Platform, open_directory, sha256};

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = tempfile::tempdir() else { return };
    let split = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (index, blob) = (&bytes[..split], &bytes[(split + 1).min(bytes.len())..]);
    let blobs = directory.path().join("blobs/sha256");
    let digest = sha256(blob).to_string();
    // So that an index can name the blob without knowing its digest.
    let index = String::from_utf8_lossy(index)
        .replace("DIGEST", &digest)
        .replace("\"SIZE\"", &blob.len().to_string());
    let name = digest.trim_start_matches("sha256:").to_owned();
    let written = fs::create_dir_all(&blobs)
        .and_then(|()| fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#))
        .and_then(|()| fs::write(directory.path().join("index.json"), index))
        .and_then(|()| fs::write(blobs.join(name), blob));
    if written.is_err() {
        return;
    }
    let Ok(layout) = open_directory(directory.path()) else { return };
    let _ = layout.artifact(None, &oci_images::layout::Wanted::All);
    if let Ok(image) = layout.image(None, &Platform::default()) {
        let _ = Contents::read(&image);
    }
});
