//! Fixes: of a manifest, annotations or a Dockerfile, by the first byte. What was valid stays valid.

#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use olm_model::fix;
use olm_model::read::{bundle, dockerfile};
use olm_model::report::Suite;
use olm_rules::Selection;

const ANNOTATIONS: &str =
    include_str!("../../crates/olm-rules/tests/fixtures/bundle/metadata/annotations.yaml");
const DOCKERFILE: &str = "bundle.Dockerfile";
/// How often what was fixed is validated again.
const MAX_ROUNDS: usize = 10;

fuzz_target!(|input: &str| {
    let mut chars = input.chars();
    let name = match chars.next() {
        Some('d') => DOCKERFILE,
        Some('a') => "metadata/annotations.yaml",
        Some(_) => "manifests/a.yaml",
        None => return,
    };
    let mut text = chars.as_str().to_owned();
    let selection = Selection { suites: Suite::ALL.to_vec(), ..Selection::default() };
    for _ in 0..MAX_ROUNDS {
        let mut files =
            BTreeMap::from([("metadata/annotations.yaml".to_owned(), ANNOTATIONS.as_bytes().to_vec())]);
        files.insert(name.to_owned(), text.as_bytes().to_vec());
        let mut bundle = bundle::files("bundle", &files);
        bundle.dockerfile =
            files.get(DOCKERFILE).and_then(|bytes| dockerfile::parse(DOCKERFILE, bytes.clone()));
        let findings = olm_rules::validate(&bundle, &selection).findings;
        let findings = findings.iter().filter(|finding| finding.file.as_deref() == Some(name));
        let fixes: Vec<_> = findings.filter_map(|finding| finding.fix.as_deref()).collect();
        let (new, applied) = fix::apply(&text, &fixes);
        if applied.is_empty() {
            return;
        }
        if name != DOCKERFILE && kube_yaml::parse(text.as_bytes()).error.is_none() {
            assert_eq!(kube_yaml::parse(new.as_bytes()).error, None);
        }
        text = new;
    }
});
