//! Archives of images, and layers: what they contain is foreign data.

#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use oci_images::layout::{
    Blob, Image, Limits, MediaType, Platform, extract, list, open_archive, open_docker_archive,
};

fn files(layers: &[Blob]) {
    let _ = extract(layers, &["manifests".to_owned(), "metadata/".to_owned()], Limits::bundle());
    for layer in layers {
        let _ = list(layer);
    }
}

fn image(image: &Image) {
    files(image.layers());
}

fuzz_target!(|bytes: &[u8]| {
    for media_type in [MediaType::ImageLayer, MediaType::ImageLayerGzip, MediaType::ImageLayerZstd] {
        files(&[Blob::from_bytes(media_type, bytes.to_vec())]);
    }
    let Ok(mut file) = tempfile::NamedTempFile::new() else { return };
    if file.write_all(bytes).is_err() {
        return;
    }
    if let Ok(layout) = open_archive(file.path()) {
        let _ = layout.artifact(None, &oci_images::layout::Wanted::All);
        let _ = layout.image(None, &Platform::default()).map(|found| image(&found));
    }
    let _ = open_docker_archive(file.path(), None).map(|found| image(&found));
});
