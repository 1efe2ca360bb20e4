//! YAML: any bytes are read, and what was read can be written and read again. The reader of usual YAML finds what libyaml does.

#![no_main]

use kube_yaml::emit;
use kube_yaml::spans;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let parsed = kube_yaml::parse(text);
    for document in &parsed.documents {
        let value = document.root().to_json();
        let written = kube_yaml::parse(emit(&value).as_bytes());
        assert_eq!(written.error, None);
        assert_eq!(written.documents.first().map(|tree| tree.root().to_json()), Some(value));
    }
    assert!(kube_yaml::readers_agree(text));
    let _ = spans::spans(text);
});
