//! Which module may import which: the table in `src/lib.rs`, held against every `use crate::…` and `crate::…` path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

fn allowed() -> BTreeMap<&'static str, &'static [&'static str]> {
    BTreeMap::from([
        ("model", &[][..]),
        ("read", &["model"]),
        ("report", &["model"]),
        ("rules", &["model", "report"]),
        ("generate", &["model"]),
        ("catalog", &["model", "report"]),
        ("cluster", &["model"]),
        ("diff", &["model"]),
        ("cli", &["model", "read", "report", "rules", "generate", "catalog", "cluster", "diff"]),
    ])
}

/// The local modules that a source names, with the line of each.
fn imports(source: &str) -> BTreeSet<(String, usize)> {
    let mut found = BTreeSet::new();
    for (number, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for (at, _) in code.match_indices("crate::") {
            // `pub(crate)::` does not exist, `$crate::` and `other_crate::` are no paths of ours.
            if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
                continue;
            }
            let rest = &code[at + "crate::".len()..];
            let names: Vec<String> = match rest.strip_prefix('{') {
                Some(group) => group.split([',', '}']).map(first_word).collect(),
                None => vec![first_word(rest)],
            };
            found.extend(names.into_iter().filter(|name| !name.is_empty()).map(|name| (name, number + 1)));
        }
    }
    found
}

fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn sources(directory: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn data_flows_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed = allowed();
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root).unwrap();
        let top = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if matches!(top, "lib" | "main") {
            continue;
        }
        let Some(may) = allowed.get(top) else {
            wrong.push(format!("{top} is not in the table of directions"));
            continue;
        };
        let source = fs::read_to_string(&file).unwrap();
        for (name, line) in imports(&source) {
            if name != top && !may.contains(&name.as_str()) {
                wrong.push(format!("src/{}:{line}: {top} may not import {name}", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_operator_and_the_tool_do_not_know_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (manifest, other) in
        [("operator/Cargo.toml", "bundle-tool"), ("bundle-tool/Cargo.toml", "memcached-operator")]
    {
        let text = fs::read_to_string(root.join(manifest)).unwrap();
        let dependencies = text.split("dependencies]").skip(1).collect::<String>();
        assert!(!dependencies.contains(other), "{manifest} depends on {other}");
    }
}

#[test]
fn imports_are_seen_in_groups_and_in_paths() {
    let source = "use crate::{model::Bundle, read};\nlet x = crate::rules::all(); // crate::cli\n";
    let names: Vec<_> = imports(source).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["model", "read", "rules"]);
}
