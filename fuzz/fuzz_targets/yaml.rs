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
    assert!(yaml::readers_agree(text));
    let _ = spans::spans(text);
});
