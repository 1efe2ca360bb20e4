use crate::model::yaml::{Kind, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "dependencies-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` has `dependencies` or `properties` that are no list of maps, or a list that another file has already.",
    why: "operator-sdk and opm ignore them without a word: the operator is installed without what it needs.",
    help: "write a list of entries with `type` and `value`, in one file",
    source: "operator-registry, pkg/registry/parse.go (addMetadata)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let decodes = |item: Value<'_>| match item.kind() {
        Kind::Null => true,
        Kind::Object => {
            !item.get("type").is_some_and(|kind| matches!(kind.kind(), Kind::Array | Kind::Object))
        }
        _ => false,
    };
    for key in ["dependencies", "properties"] {
        let used = context.bundle.metadata_list(key).map(|(file, _)| file.path.as_str());
        for file in context.bundle.files.iter().filter(|file| file.is_metadata()) {
            let Some(list) = file.document().and_then(|tree| tree.root().get(key)) else { continue };
            let message = match list.kind() {
                Kind::Null => continue,
                Kind::Array if list.is_empty() => continue,
                Kind::Array if used != Some(file.path.as_str()) => {
                    format!("nobody reads these {key}: {} has some", used.unwrap_or_default())
                }
                Kind::Array if list.items().all(decodes) => continue,
                Kind::Array => format!("the {key} are no list of maps"),
                kind => format!("the {key} are {kind}, where a list belongs"),
            };
            reporter.at(file, key, list.position(), message);
        }
    }
}
