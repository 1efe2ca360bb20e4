//! YAML: any bytes are read, and what was read can be written and read again. The reader of usual YAML finds what libyaml does.

#![no_main]

use bundle_tool::model::yaml::emit;
use bundle_tool::read::{spans, yaml};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let parsed = yaml::parse(text);
    for document in &parsed.documents {
        let value = document.root().to_json();
        let written = yaml::parse(emit(&value).as_bytes());
        assert_eq!(written.error, None);
        assert_eq!(written.documents.first().map(|tree| tree.root().to_json()), Some(value));
    }
    if parsed.error.is_none() && text.ends_with(b"\n") {
        // The end of a document, which changes nothing but that libyaml reads the text.
        let by_libyaml = yaml::parse(&[text, b"...\n"].concat());
        let values = |parsed: &yaml::Parsed| -> Vec<_> {
            parsed.documents.iter().map(|tree| (tree.root().position(), tree.root().to_json())).collect()
        };
        assert_eq!(by_libyaml.error, None);
        assert_eq!(values(&parsed), values(&by_libyaml));
    }
    let _ = spans::spans(text);
});
