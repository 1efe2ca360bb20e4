//! Which module may import which: the tables in `src/lib.rs` and `src/rules/mod.rs`, held against every path in the
//! sources, however it is written; and no cycle of modules in any crate of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of the crate may import besides itself.
const MODULES: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("read", &["model"]),
    ("report", &["model"]),
    ("rules", &["model", "report"]),
    ("generate", &["model"]),
    ("catalog", &["model", "report"]),
    ("decode", &["read", "catalog"]),
    ("cluster", &["model"]),
    ("diff", &["model", "rules"]),
    ("manifests", &["model"]),
    ("fix", &["model", "read", "report"]),
    ("lsp", &["model", "read", "report", "rules", "catalog", "fix"]),
    ("scaffold", &["model", "read", "report"]),
    ("provenance", &[]),
    ("sbom", &[]),
    ("scorecard", &["model", "report", "rules"]),
    ("serve", &["model", "read", "report", "catalog", "decode"]),
    (
        "cli",
        &[
            "model",
            "read",
            "report",
            "rules",
            "generate",
            "catalog",
            "decode",
            "cluster",
            "diff",
            "manifests",
            "fix",
            "lsp",
            "scaffold",
            "provenance",
            "sbom",
            "scorecard",
            "serve",
        ],
    ),
];

/// What the modules of `rules` may import from `rules`. Those that are not listed are the directories of rules.
const RULES: &[(&str, &[&str])] = &[
    ("subjects", &[]),
    ("reporter", &["subjects"]),
    ("errors", &["reporter"]),
    ("ignores", &["rule"]),
    ("examples", &[]),
    ("rule", &["subjects", "reporter", "errors", "examples"]),
    ("prelude", &["subjects", "reporter", "errors", "rule"]),
    ("kubernetes", &["errors"]),
    ("openapi", &["subjects", "kubernetes"]),
    ("shared", &["prelude"]),
    ("walk", &["subjects", "reporter", "rule"]),
];

/// What a directory of rules may import from `rules`.
const DIRECTORY_OF_RULES: &[&str] =
    &["prelude", "rule", "subjects", "reporter", "kubernetes", "openapi", "shared"];

/// The path of a module below the crate's root: `["rules", "csv"]`.
type Module = Vec<String>;

/// The modules of a crate, with what each imports and in which line.
#[derive(Default)]
struct Modules(BTreeMap<Module, BTreeMap<Module, usize>>);

impl Modules {
    /// Reads all sources below a directory; `lib.rs` is the root.
    fn read(root: &Path) -> Self {
        let mut sources = BTreeMap::new();
        collect(root, &mut Vec::new(), &mut sources);
        Self::of(&sources)
    }

    fn of(sources: &BTreeMap<Module, String>) -> Self {
        let names: BTreeSet<Module> = sources.keys().cloned().collect();
        let imports = |module: &Module, source: &str| {
            let mut imports = BTreeMap::new();
            // A module declares its children, so that a child that imports from its parent closes a cycle.
            for child in
                names.iter().filter(|name| name.split_last().is_some_and(|(_, parent)| parent == module))
            {
                imports.insert(child.clone(), 1);
            }
            for (path, line) in paths(source) {
                if let Some(target) = resolve(module, &path, &names) {
                    imports.entry(target).or_insert(line);
                }
            }
            imports
        };
        Self(sources.iter().map(|(module, source)| (module.clone(), imports(module, source))).collect())
    }

    /// All imports, without those of the root.
    fn imports(&self) -> impl Iterator<Item = (&Module, &Module, usize)> {
        self.0
            .iter()
            .filter(|(from, _)| !from.is_empty())
            .flat_map(|(from, imports)| imports.iter().map(move |(to, line)| (from, to, *line)))
    }

    /// Returns a cycle of modules, if there is one.
    fn cycle(&self) -> Option<Vec<String>> {
        let mut done = BTreeSet::new();
        self.0.keys().find_map(|module| self.cycle_from(module, &mut Vec::new(), &mut done))
    }

    fn cycle_from<'m>(
        &'m self,
        module: &'m Module,
        open: &mut Vec<&'m Module>,
        done: &mut BTreeSet<&'m Module>,
    ) -> Option<Vec<String>> {
        if let Some(start) = open.iter().position(|other| *other == module) {
            let name = |module: &&Module| match module.as_slice() {
                [] => "crate".to_owned(),
                names => names.join("::"),
            };
            return Some(open[start..].iter().chain([&module]).map(name).collect());
        }
        if done.contains(module) {
            return None;
        }
        open.push(module);
        let imports = self.0.get(module);
        let found =
            imports.and_then(|imports| imports.keys().find_map(|next| self.cycle_from(next, open, done)));
        open.pop();
        done.insert(module);
        found
    }
}

fn collect(directory: &Path, module: &mut Module, sources: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            module.push(stem);
            collect(&path, module, sources);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !matches!(stem.as_str(), "main" | "tests")
        {
            let own = (stem != "mod" && stem != "lib").then_some(stem);
            let name = module.iter().cloned().chain(own).collect();
            sources.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// A word, `::`, or a single character of the code, and its line.
type Token<'s> = (&'s str, usize);

/// Splits code into tokens, without comments, strings and characters.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let prefix = usize::from(rest.starts_with("br")) + 1;
        let raw = rest
            .strip_prefix("br")
            .or(rest.strip_prefix('r'))
            .map(|text| text.trim_start_matches('#'))
            .filter(|text| text.starts_with('"'));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(text) = raw {
            let hashes = rest.len() - text.len() - prefix;
            let end = format!("\"{}", "#".repeat(hashes));
            prefix + hashes + 1 + text[1..].find(&end).unwrap() + end.len()
        } else if first == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            1 + end.unwrap() + 1
        } else if let Some(text) = rest.strip_prefix('\'') {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some('\\'), Some(escaped)) => {
                    1 + 1 + escaped.len_utf8() + text[1 + escaped.len_utf8()..].find('\'').unwrap() + 1
                }
                (Some(char), Some('\'')) => 1 + char.len_utf8() + 1,
                // A lifetime.
                _ => 1,
            }
        } else if word > 0 {
            tokens.push((&rest[..word], line));
            word
        } else {
            let length = if rest.starts_with("::") { 2 } else { first.len_utf8() };
            if !first.is_whitespace() {
                tokens.push((&rest[..length], line));
            }
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// Returns all paths in a source with their lines: every leaf of a `use`, and every `a::b` elsewhere. Tests are skipped:
/// they may import anything.
fn paths(source: &str) -> Vec<(Vec<&str>, usize)> {
    let tokens = tokens(source);
    let token = |at: usize| tokens.get(at).map_or("", |(text, _)| *text);
    let is_word = |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let line = tokens[at].1;
        let is_test = || {
            ["cfg", "(", "test", ")", "]"]
                .iter()
                .rev()
                .zip((0..at).rev())
                .all(|(text, at)| token(at) == *text)
        };
        if token(at) == "mod" && token(at + 2) == "{" && is_test() {
            let mut depth = 0;
            loop {
                depth += i32::from(token(at) == "{") - i32::from(token(at) == "}");
                at += 1;
                if at >= tokens.len() || (depth == 0 && token(at - 1) == "}") {
                    break;
                }
            }
        } else if token(at) == "use" && token(at + 1) != "<" {
            at = tree(&tokens, at + 1, &[], &mut paths);
        } else if token(at) == "in" && token(at.wrapping_sub(1)) == "(" {
            // `pub(in crate::rules)` imports nothing.
            while token(at) != ")" {
                at += 1;
            }
        } else if is_word(token(at))
            && token(at + 1) == "::"
            && !matches!(token(at.wrapping_sub(1)), "::" | "$")
        {
            let mut path = vec![token(at)];
            while token(at + 1) == "::" && is_word(token(at + 2)) {
                path.push(token(at + 2));
                at += 2;
            }
            paths.push((path, line));
            at += 1;
        } else {
            at += 1;
        }
    }
    paths
}

/// Reads a tree of `use` from a token on, and returns the token behind it.
fn tree<'s>(
    tokens: &[Token<'s>],
    mut at: usize,
    before: &[&'s str],
    paths: &mut Vec<(Vec<&'s str>, usize)>,
) -> usize {
    let mut path = before.to_vec();
    loop {
        let (text, line) = tokens[at];
        match text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at].0 != "}" {
                    at = tree(tokens, at, &path, paths);
                    match tokens[at].0 {
                        "," => at += 1,
                        end => assert_eq!(end, "}", "line {}: a `use` that was not understood", tokens[at].1),
                    }
                }
                return at + 1;
            }
            "," | "}" | ";" => {
                paths.push((path, line));
                return at;
            }
            "as" => at += 2,
            name => {
                path.push(name);
                at += 1;
            }
        }
    }
}

/// Returns the module of this crate that a path in `module` leads to: the deepest one on its way.
fn resolve(module: &Module, path: &[&str], modules: &BTreeSet<Module>) -> Option<Module> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()? {
        &"crate" => {
            base.clear();
            rest = &rest[1..];
        }
        &("super" | "self") => {
            while let Some((first, others)) =
                rest.split_first().filter(|(first, _)| matches!(**first, "super" | "self"))
            {
                if *first == "super" {
                    base.pop();
                }
                rest = others;
            }
        }
        first => {
            base.push((*first).to_owned());
            if !modules.contains(&base) {
                return None;
            }
            base.pop();
        }
    }
    for name in rest {
        base.push((*name).to_owned());
        if !modules.contains(&base) {
            base.pop();
            break;
        }
    }
    (base != *module).then_some(base)
}

fn sources() -> Modules {
    Modules::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// Returns the imports that a table does not allow, between the modules directly below `parent`.
fn forbidden(
    modules: &Modules,
    parent: &[&str],
    table: &[(&str, &[&str])],
    others: Option<&[&str]>,
) -> Vec<String> {
    let below = |module: &Module| {
        let rest = module
            .strip_prefix(parent.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().as_slice())?;
        rest.first().cloned()
    };
    let mut wrong = Vec::new();
    for (from, to, line) in modules.imports() {
        let (Some(source), Some(target)) = (below(from), below(to)) else { continue };
        let allowed = table.iter().find(|(name, _)| *name == source).map(|(_, allowed)| *allowed).or(others);
        match allowed {
            None => wrong.push(format!("{source} is not in the table of directions")),
            Some(allowed) if source != target && !allowed.contains(&target.as_str()) => {
                wrong.push(format!("{}:{line}: {source} may not import {}", from.join("::"), to.join("::")));
            }
            Some(_) => {}
        }
    }
    wrong
}

#[test]
fn data_flows_one_way() {
    let wrong = forbidden(&sources(), &[], MODULES, None);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the modules of the table in `lib.rs`, with what it lets them import.
fn documented(lib: &str) -> BTreeMap<String, BTreeSet<String>> {
    let rows: Vec<(String, &str)> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("//! | [`")?.strip_suffix(" |"))
        .map(|row| (row.split('`').next().unwrap().to_owned(), row.rsplit('|').next().unwrap().trim()))
        .collect();
    let names: Vec<String> = rows.iter().map(|(name, _)| name.clone()).collect();
    rows.into_iter()
        .map(|(name, allowed)| {
            let allowed = match allowed {
                "nothing" => BTreeSet::new(),
                "all" => names.iter().filter(|other| **other != name).cloned().collect(),
                list => list.split(", ").map(|module| module.trim_matches('`').to_owned()).collect(),
            };
            (name, allowed)
        })
        .collect()
}

#[test]
fn the_tables_list_the_modules_and_imports_that_exist() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let table: BTreeMap<String, BTreeSet<String>> = MODULES
        .iter()
        .map(|(name, allowed)| ((*name).to_owned(), allowed.iter().map(|name| (*name).to_owned()).collect()))
        .collect();
    assert_eq!(documented(&lib), table);
    let declared: BTreeSet<&str> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    assert_eq!(table.keys().map(String::as_str).collect::<BTreeSet<_>>(), declared);
    let modules = sources();
    for (parent, table) in [(None, MODULES), (Some("rules"), RULES)] {
        let depth = usize::from(parent.is_some());
        for (name, allowed) in table {
            let is = |module: &Module, name: &str| {
                module.first().map(String::as_str).filter(|_| depth == 1) == parent
                    && module.get(depth).is_some_and(|part| part == name)
            };
            assert!(modules.0.keys().any(|module| is(module, name)), "there is no module {name}");
            for other in *allowed {
                let is_used = modules.imports().any(|(from, to, _)| is(from, name) && is(to, other));
                assert!(is_used, "{name} may import {other}, but does not");
            }
        }
    }
}

#[test]
fn rules_import_subjects_and_nothing_imports_rules() {
    let modules = sources();
    let mut wrong = forbidden(&modules, &["rules"], RULES, Some(DIRECTORY_OF_RULES));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (from, to, line) in modules.imports() {
        let file = root.join(to.join("/")).with_extension("rs");
        let is_rule = to.len() == 3
            && to[0] == "rules"
            && fs::read_to_string(file).is_ok_and(|source| source.contains("pub(super) static RULE"));
        if is_rule && to[..to.len() - 1] != **from {
            wrong.push(format!("{}:{line}: imports the rule {}", from.join("::"), to.join("::")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the directories of the sources of all crates.
fn crates() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let libraries = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let others = ["bundle-tool", "operator", "e2e"].map(|name| root.join(name));
    libraries.chain(others).map(|directory| directory.join("src")).collect()
}

#[test]
fn no_modules_import_each_other() {
    assert!(sources().0.len() > 300, "{}", sources().0.len());
    let crates = crates();
    assert!(crates.len() >= 7, "{crates:?}");
    let cycles: Vec<_> = crates
        .iter()
        .filter_map(|root| {
            let modules = Modules::read(root);
            assert!(modules.0.len() > 1, "{} has no modules", root.display());
            modules.cycle().map(|cycle| format!("{}: {}", root.display(), cycle.join(" -> ")))
        })
        .collect();
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
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

/// Modules by their paths, with sources.
fn modules(sources: &[(&str, &str)]) -> Modules {
    let name = |path: &str| path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    Modules::of(&sources.iter().map(|(path, source)| (name(path), (*source).to_owned())).collect())
}

#[test]
fn imports_are_seen_however_they_are_written() {
    for source in [
        "use crate::b::C;",
        "use crate::{a::x, b};",
        "use crate::{\n    // b\n    a::x,\n    b::{\n        C,\n        D,\n    },\n};",
        "use crate::b as c;",
        "#[cfg(test)]\nmod tests {\n    fn f() {}\n}\nuse crate::b;",
        "pub use super::b::C;",
        "fn f() { crate::b::f() }",
        "fn f() { super\n        ::b\n        ::f() }",
        "fn f() -> char { let _ = r#\"\"\"#; let _ = \"\\\"\"; let _: &'static str; '\\''; super::b::C }",
    ] {
        let modules = modules(&[("", ""), ("a", source), ("b", ""), ("c", "")]);
        let found: Vec<_> = modules.imports().map(|(from, to, _)| format!("{} {}", from[0], to[0])).collect();
        assert_eq!(found, ["a b"], "{source}");
    }
    for source in [
        "// use crate::b;",
        "/// [`crate::b`]",
        "const A: &str = \"use crate::b;\";",
        "pub(in crate::b) fn f() {}",
        "use other::b::C;",
        "fn f() { other::b::f() }",
        "\n#[cfg(test)]\nmod tests { use crate::b; }",
    ] {
        let modules = modules(&[("", ""), ("a", source), ("b", "")]);
        assert_eq!(modules.imports().count(), 0, "{source}");
    }
}

#[test]
fn cycles_are_found() {
    let cycle = |sources: &[(&str, &str)]| modules(sources).cycle().map(|cycle| cycle.join(" "));
    assert_eq!(cycle(&[("a", "use super::b;"), ("b", "use super::c;"), ("c", "")]), None);
    let three =
        [("a", "use crate::b::X;"), ("b", "use crate::{c::Y, d};"), ("c", "use super::a;"), ("d", "")];
    assert_eq!(cycle(&three), Some("a b c a".to_owned()));
    assert_eq!(cycle(&[("a", ""), ("a::b", "use super::X;")]), Some("a a::b a".to_owned()));
    assert_eq!(cycle(&[("a", ""), ("a::b", "use super::c::X;"), ("a::c", "")]), None);
}
