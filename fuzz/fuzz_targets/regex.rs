//! Go's regular expressions: a pattern, and behind a line break a text.

#![no_main]

use kubernetes_cel::go_regex::GoRegex;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (pattern, text) = input.split_once('\n').unwrap_or((input, ""));
    if let Ok(regex) = GoRegex::parse(pattern) {
        let _ = regex.is_match(text);
    }
});
