use super::entries;
use crate::model::version::Range;
use crate::model::yaml::Kind;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "property-required-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A property of type olm.package.required or olm.gvk.required cannot be read, or its range is none.",
    why: "OLM's resolver stops at it: nothing in the namespace can be installed or upgraded any more.",
    help: "write {packageName: etcd, versionRange: '>=1.0.0'} or {group: …, version: …, kind: …}",
    source: "operator-lifecycle-manager, pkg/controller/registry/resolver/resolver.go (legacyPredicateParsers)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::properties(context.bundle) {
        let texts: &[&str] = match entry.kind {
            "olm.package.required" => &["packageName", "versionRange"],
            "olm.gvk.required" => &["group", "version", "kind"],
            "olm.label.required" => &["label"],
            _ => continue,
        };
        let Some(value) = entry.value else { continue };
        let wrong = |key: &&str| {
            entries::get(value, key).is_some_and(|value| !matches!(value.kind(), Kind::String | Kind::Null))
        };
        let message = if value.kind() != Kind::Object {
            format!("the value is {}, where a map belongs", value.kind())
        } else if let Some(key) = texts.iter().copied().find(|key| wrong(key)) {
            format!("'{key}' is no text; quote it")
        } else if entry.kind == "olm.package.required"
            && let Err(error) = Range::parse(entry.text("versionRange"))
        {
            format!("'{}' is no range of versions: {error}", entry.text("versionRange"))
        } else {
            continue;
        };
        entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
    }
}
