use crate::prelude::*;
use kube_yaml::{Kind, Value};
use olm_model::report::suggest::nearest;

pub(crate) static RULE: Rule = Rule {
    id: "dependencies-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` has `dependencies` or `properties` that are not a list of maps, that another file also has, or whose key is misspelled.",
    impacts: &[Impact::Specific(
        "operator-sdk and opm ignore the list without an error, and OLM installs the operator without its dependencies.",
    )],
    help: "write one list of entries with `type` and `value`, in one file",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/parse.go", &["addMetadata"]).since("1.18")
    ],
    check: Check::Bundle(check),
};

/// What is read of a file in `metadata/` besides annotations.
const KEYS: [&str; 2] = ["dependencies", "properties"];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let decodes = |item: Value<'_>| match item.kind() {
        Kind::Null => true,
        Kind::Object => {
            !item.get("type").is_some_and(|kind| matches!(kind.kind(), Kind::Array | Kind::Object))
        }
        _ => false,
    };
    for key in KEYS {
        let used = context.bundle.metadata_list(key).map(|(file, _)| file.path.as_str());
        for file in context.bundle.files.iter().filter(|file| file.is_metadata()) {
            let Some(list) = file.document().and_then(|tree| tree.root().get(key)) else { continue };
            let message = match list.kind() {
                Kind::Null => continue,
                Kind::Array if list.is_empty() => continue,
                Kind::Array if used != Some(file.path.as_str()) => {
                    format!("unused {key}: {} also has {key}", used.unwrap_or_default())
                }
                Kind::Array if list.items().all(decodes) => continue,
                Kind::Array => format!("invalid {key}: expected a list of maps"),
                kind => format!("invalid {key}: expected a list, found {kind}"),
            };
            reporter.at(file, key, list.position(), message);
        }
    }
    for file in context.bundle.files.iter().filter(|file| file.is_metadata()) {
        let Some(root) = file.document().map(kube_yaml::Tree::root) else { continue };
        let named = KEYS.into_iter().find(|key| file.name().starts_with(key));
        if let (Kind::Array, Some(key)) = (root.kind(), named) {
            let message = format!("invalid file: expected a map with `{key}`, found a list");
            reporter.place(file, root.position(), message);
        }
        for (key, value) in root.entries() {
            let Some(meant) = misspelled(key.text()).filter(|_| value.kind() == Kind::Array) else {
                continue;
            };
            let change = Change::Rename(meant.to_owned());
            reporter.fix(Fix::at(Safety::Unsafe, key.position(), key.text(), change));
            let message = format!("unused key `{}`: did you mean `{meant}`?", key.text());
            reporter.at(file, key.text(), key.position(), message);
        }
    }
}

/// Returns the key that another key is likely to stand for.
fn misspelled(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    let meant = match key.as_str() {
        "dependency" => "dependencies",
        "property" => "properties",
        key => nearest(key, KEYS)?,
    };
    KEYS.into_iter().find(|known| *known == meant && key != *known)
}
