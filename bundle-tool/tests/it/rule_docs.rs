//! `docs/rules.md` is up to date, and the commands that document rules print them.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn run(args: &[&str]) -> assert_cmd::assert::Assert {
    Command::cargo_bin("bundle-tool").unwrap().args(args).assert()
}

fn stdout(assert: &assert_cmd::assert::Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

#[test]
fn the_page_of_rules_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules.md");
    let written = fs::read_to_string(&page).unwrap_or_default();
    let generated = stdout(&run(&["rules", "--output", "markdown"]).success());
    assert!(
        written == generated,
        "docs/rules.md is out of date; update it with `bundle-tool rules --output markdown > docs/rules.md`"
    );
}

#[test]
fn a_rule_is_explained_and_an_unknown_one_gets_a_suggestion() {
    let text = stdout(&run(&["explain", "owned-crd-missing"]).success());
    assert!(text.starts_with("owned-crd-missing: error of the suite bundle\n"), "{text}");
    let error = run(&["explain", "owned-crd-mising"]).code(2);
    let message = String::from_utf8(error.get_output().stderr.clone()).unwrap();
    assert!(message.contains("did you mean `owned-crd-missing`?"), "{message}");
}

#[test]
fn rules_are_listed_by_suite() {
    let text = stdout(&run(&["rules", "--suite", "categories"]).success());
    assert_eq!(text, "category-unknown  error    categories\n");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&run(&["rules", "-o", "json"]).success())).unwrap();
    assert!(json.as_array().unwrap().len() > 100);
}
