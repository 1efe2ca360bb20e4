//! File-based catalogs: what is read can be written and read again.

#![no_main]

use std::fs;

use libfuzzer_sys::fuzz_target;
use olm_model::disk;

fuzz_target!(|bytes: &[u8]| {
    let Ok(directory) = tempfile::tempdir() else { return };
    let file = directory.path().join("catalog.yaml");
    if fs::write(&file, bytes).is_err() {
        return;
    }
    let Ok(catalog) = disk::catalog::read(directory.path()) else { return };
    let mut text = Vec::new();
    if catalog.write_json(&mut text).is_err() || fs::write(&file, &text).is_err() {
        return;
    }
    let again = disk::catalog::read(directory.path()).expect("what was written can be read");
    let mut second = Vec::new();
    again.write_json(&mut second).expect("what was read can be written");
    assert_eq!(String::from_utf8(text), String::from_utf8(second));
});
