//! CONTRIBUTING.md says where things go: what it names is there.

use std::path::Path;

#[test]
fn every_path_exists() {
    let text = include_str!("../../../CONTRIBUTING.md");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_path = |text: &&str| {
        let last = text.rsplit('/').next().unwrap_or_default();
        text.contains('/')
            && (last.is_empty() || last.contains('.'))
            && text.chars().all(|char| char.is_ascii_alphanumeric() || "/._-".contains(char))
    };
    // Paths below the tool or its sources are shortened.
    let exists = |path: &str| {
        ["", "bundle-tool", "bundle-tool/src"].iter().any(|base| root.join(base).join(path).exists())
    };
    let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(paths.len() > 40, "{paths:?}");
    let missing: Vec<&str> = paths.into_iter().filter(|path| !exists(path)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
