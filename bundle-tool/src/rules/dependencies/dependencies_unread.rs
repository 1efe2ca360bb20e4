use crate::model::yaml::{Kind, Value};
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "dependencies-unread",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file in `metadata/` has `dependencies` or `properties` that are not a list of maps, or that another file also has.",
    impacts: &[Impact::Specific(
        "operator-sdk and opm ignore the list without an error, and OLM installs the operator without its dependencies.",
    )],
    help: "write one list of entries with `type` and `value`, in one file",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/parse.go", &["addMetadata"]).since("1.18")
    ],
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
                    format!("unused {key}: {} also has {key}", used.unwrap_or_default())
                }
                Kind::Array if list.items().all(decodes) => continue,
                Kind::Array => format!("invalid {key}: expected a list of maps"),
                kind => format!("invalid {key}: expected a list, found {kind}"),
            };
            reporter.at(file, key, list.position(), message);
        }
    }
}
