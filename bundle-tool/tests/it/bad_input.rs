//! Hostile bundles: each ends soon, with findings or with one message, whatever stands in it.
//!
//! `BAD_INPUT_BYTES` sets how large they are, for a run of the released program on 10 MB; the default is small enough
//! for a debug build.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

const TIMEOUT: Duration = Duration::from_mins(2);

fn bytes() -> usize {
    std::env::var("BAD_INPUT_BYTES").ok().and_then(|bytes| bytes.parse().ok()).unwrap_or(300_000)
}

/// Validates the valid bundle with one more file: it is neither accepted nor a crash.
fn refused(name: &str, file: &str, text: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let kept = std::env::var_os("BAD_INPUT_KEEP").map(|kept| Path::new(&kept).join(name));
    let directory = kept.unwrap_or_else(|| dir.path().join("bundle"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    for part in ["manifests", "metadata"] {
        fs::create_dir_all(directory.join(part)).unwrap();
        for entry in fs::read_dir(fixture.join(part)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), directory.join(part).join(entry.file_name())).unwrap();
        }
    }
    fs::write(directory.join("manifests").join(file), text).unwrap();
    let mut command = Command::cargo_bin("bundle-tool").unwrap();
    let output =
        command.args(["validate", "--output", "json"]).arg(&directory).timeout(TIMEOUT).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let start: String = errors.chars().take(2000).collect();
    assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {:?} {start}", output.status);
    assert!(!errors.contains("panicked"), "{name}: {start}");
    if output.status.code() == Some(1) {
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["bundles"][0]["passed"], false, "{name}");
    } else {
        assert_eq!(errors.lines().count(), 1, "{name}: {start}");
    }
}

fn refused_yaml(name: &str, text: &str) {
    refused(name, "bad.yaml", text.as_bytes());
}

/// A CRD with `spec` as a schema's `spec`.
fn crd(name: &str, spec: &Value) {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gizmos.gadgets.example.com"},
        "spec": {
            "group": "gadgets.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Gizmo", "plural": "gizmos"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": spec},
            }}}],
        },
    });
    refused(name, "gizmos.gadgets.example.com.crd.yaml", crd.to_string().as_bytes());
}

fn pattern(name: &str, pattern: &str) {
    let text = json!({"type": "string", "pattern": pattern, "default": "a".repeat(1000)});
    crd(name, &json!({"type": "object", "properties": {"a": text}}));
}

fn rule(name: &str, rule: &str) {
    let properties = json!({"s": {"type": "string"}, "l": {"type": "array", "items": {"type": "string"}}});
    let rules = json!([{"rule": rule}]);
    crd(name, &json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules}));
}

#[test]
fn aliases_that_explode() {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let below = format!("*a{},", level - 1).repeat(10);
        let _ = writeln!(text, "a{level}: &a{level} [{below}]");
    }
    refused_yaml("alias-bomb", &text);
    let mut text = String::from("a0: &a0 {x: y}\n");
    for level in 1..40 {
        let below = level - 1;
        let _ = writeln!(text, "a{level}: &a{level}\n  <<: [*a{below}, *a{below}]\n  b{level}: *a{below}");
    }
    refused_yaml("merge-bomb", &text);
    let keys: String = (0..bytes() / 20).map(|key| format!("  b{key}: *a\n")).collect();
    let long = "x".repeat(bytes() / 2);
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";
    refused_yaml("alias-text", &format!("{object}  a: &a {long}\n{keys}"));
    refused_yaml("alias-list", &format!("a: &a {}\nb: [{}]\n", "x".repeat(1000), "*a,".repeat(bytes() / 3)));
}

#[test]
fn nesting_without_end() {
    let depth = bytes() / 2;
    refused_yaml("flow-lists", &"[".repeat(depth * 2));
    refused_yaml("flow-maps", &"{a: ".repeat(depth / 2));
    refused_yaml("closed-lists", &format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth)));
    refused_yaml("block-lists", &"- ".repeat(depth));
    refused_yaml("block-keys", &"? ".repeat(depth));
    refused("json", "bad.json", format!("{{\"a\":{}", "[".repeat(depth * 2)).as_bytes());
    let json = format!("{{\"a\": \"\\ud83d\\ude00\", \"b\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
    refused("json-with-surrogates", "bad.json", json.as_bytes());
    let mut schema = json!({"type": "string"});
    for _ in 0..60 {
        schema = json!({"type": "array", "items": schema, "x-kubernetes-list-type": "x"});
    }
    crd("deep-schema", &schema);
}

#[test]
fn huge_scalars_and_lists() {
    let long = "x".repeat(bytes());
    refused_yaml("scalar", &long);
    refused_yaml("key", &format!("{long}: a\n"));
    refused_yaml("quoted", &format!("a: \"{long}\n"));
    refused_yaml("number", &format!("a: {}\n", "9".repeat(bytes())));
    refused_yaml("anchor", &format!("a: &{long} b\n"));
    refused_yaml("tag", &format!("a: !{long} b\n"));
    refused_yaml("comment", &format!("#{long}"));
    refused_yaml("maps", &format!("[{}]", "{a},".repeat(bytes() / 4)));
    refused_yaml("nulls", &format!("[{}]", "~,".repeat(bytes() / 2)));
    let keys: String = (0..bytes() / 10).map(|key| format!("k{key}: 1\n")).collect();
    refused_yaml("keys", &keys);
    refused_yaml("equal-keys", &"a: 1\n".repeat(bytes() / 5));
    refused_yaml("documents", &"---\na: 1\n".repeat(bytes() / 9));
    refused("zeros", "bad.yaml", &vec![0; bytes()]);
    refused("bytes", "bad.yaml", &vec![0xff; bytes()]);
    let object = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  A a: {long}\n");
    refused_yaml("config-map", &object);
}

#[test]
fn regular_expressions_that_explode() {
    pattern("long", &format!("{}(", "a|".repeat(bytes() / 2)));
    pattern("groups", &"(".repeat(bytes()));
    pattern("nested", &format!("{}a{}[", "(".repeat(500), ")*".repeat(500)));
    pattern("repeats", &format!("{}{}", "(".repeat(8), "a{1000}){1000}".repeat(8)));
    pattern("classes", &format!("{}[", r"[\pL\pN]".repeat(bytes() / 8)));
    pattern("slow", "(a*)*(a*)*(a*)*(a*)*b$");
}

#[test]
fn expressions_that_explode() {
    let half = bytes() / 2;
    rule("parentheses", &format!("{}true{}", "(".repeat(half), ")".repeat(half)));
    rule("not", &format!("{}true", "!".repeat(half * 2)));
    rule("lists", &"[".repeat(half * 2));
    rule("conditions", &"true ? true : ".repeat(half / 7));
    rule("and", &format!("{}1", "true && ".repeat(half / 4)));
    rule("plus", &format!("{}''", "self.s + ".repeat(half / 5)));
    rule("selects", &format!("self{}", ".s".repeat(half)));
    rule("text", &format!("'{}", "x".repeat(half * 2)));
    rule("number", &"9".repeat(half * 2));
    let nested =
        (0..24).fold("x".to_owned(), |inner, level| format!("[{inner}, {inner}].map(v{level}, v{level})"));
    if nested.len() < 20_000_000 {
        rule("doubled", &nested[..nested.len().min(bytes())]);
    }
    let nested = (0..40).fold("true".to_owned(), |inner, level| format!("self.l.all(v{level}, {inner})"));
    rule("nested-macros", &nested);
    let flat = (0..half / 30).map(|_| "self.l.all(a, a == 'b')").collect::<Vec<_>>().join(" && ");
    rule("flat-macros", &flat);
    let many: Vec<_> = (0..half / 50).map(|_| json!({"rule": "self.s.contains(self.s)"})).collect();
    crd(
        "many-rules",
        &json!({"type": "object", "properties": {"s": {"type": "string"}}, "x-kubernetes-validations": many}),
    );
}

/// Copies the valid bundle to `bad` in a directory, with a manifest that is not valid YAML.
fn with_invalid_manifest(directory: &Path) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    for name in ["good", "bad"] {
        for part in ["manifests", "metadata"] {
            let to = directory.join(name).join(part);
            fs::create_dir_all(&to).unwrap();
            for entry in fs::read_dir(fixture.join(part)).unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    }
    fs::write(directory.join("bad/manifests/role.yaml"), "kind: Role\nrules: [\n").unwrap();
    fs::create_dir(directory.join("catalog")).unwrap();
    let package = "schema: olm.package\nname: gizmo-operator\ndefaultChannel: stable\n";
    fs::write(directory.join("catalog/catalog.yaml"), package).unwrap();
    fs::create_dir_all(directory.join("repository/operators")).unwrap();
}

#[test]
fn commands_that_use_a_bundle_refuse_a_manifest_that_is_not_valid_yaml() {
    let dir = tempfile::tempdir().unwrap();
    with_invalid_manifest(dir.path());
    let image = "quay.io/example/gizmo-bundle:v1.2.0";
    let commands: [&[&str]; 12] = [
        &["diff", "good", "bad"],
        &["diff", "bad", "good"],
        &["render", "bad"],
        &["render", "good", "bad"],
        &["render", "manifests", "bad"],
        &["catalog", "add", "catalog", "bad", "--image", image],
        &["catalog", "migrate", "bad", "--output-dir", "migrated"],
        &["olm", "migrate", "./bad"],
        &["scorecard", "bad"],
        &["scorecard", "bad", "--list"],
        &["push", "bundle", "bad", "oci:image"],
        &["generate", "submission", "repository", "--bundle", "bad", "--reviewers", "ann"],
    ];
    for arguments in commands {
        let mut command = Command::cargo_bin("bundle-tool").unwrap();
        let output = command.current_dir(dir.path()).args(arguments).timeout(TIMEOUT).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        assert!(error.contains(": manifests/role.yaml:2:8: invalid YAML: "), "{arguments:?}: {error}");
    }
    let catalog = fs::read_to_string(dir.path().join("catalog/catalog.yaml")).unwrap();
    assert!(!catalog.contains("olm.bundle"), "{catalog}");
}

#[test]
fn opm_omits_a_manifest_that_is_not_valid_yaml() {
    let dir = tempfile::tempdir().unwrap();
    with_invalid_manifest(dir.path());
    let mut command = Command::cargo_bin("bundle-tool").unwrap();
    command.current_dir(dir.path()).args(["opm", "render", "bad"]).timeout(TIMEOUT).assert().success();
}

/// What the scanner of YAML takes for something of its own.
const PIECES: [&[u8]; 28] = [
    b"a",
    b": ",
    b"- ",
    b"? ",
    b"---",
    b"\n",
    b"\n  ",
    b" ",
    b"|",
    b">",
    b"\"",
    b"'",
    b"\\",
    b"&a",
    b"*a",
    b"!",
    b"!!str",
    b"!<",
    b"%",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"#",
    b"\xff\xfe",
    b"\0",
    "ä".as_bytes(),
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40_000) })]

    #[test]
    fn any_text_is_read_or_refused(pieces in vec(select(&PIECES[..]), 0..10)) {
        let parsed = kube_yaml::parse(&pieces.concat());
        prop_assert!(parsed.error.is_none_or(|error| !error.message.is_empty()));
    }
}
