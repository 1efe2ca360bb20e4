//! Versions and ranges: a range, and behind a line break a version.

#![no_main]

use libfuzzer_sys::fuzz_target;
use olm_model::version::{Range, strict, tolerant};

fuzz_target!(|input: &str| {
    let (range, version) = input.split_once('\n').unwrap_or((input, input));
    let (range, version) = (Range::parse(range), tolerant(version).or_else(|_| strict(version)));
    if let (Ok(range), Ok(version)) = (range, version) {
        let _ = range.contains(&version);
    }
});
