//! Names of images and places: what is read can be written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use oci_images::location::ImageLocation;
use oci_images::reference::Reference;
use oci_images::registry::Repository;

fuzz_target!(|text: &str| {
    if let Ok(reference) = text.parse::<Reference>() {
        assert_eq!(reference.to_string().parse(), Ok(reference));
    }
    let _ = Repository::parse(text);
    let _ = text.parse::<ImageLocation>();
    let _ = ImageLocation::detect(text);
});
