use super::entries;
use crate::prelude::*;
use kube_yaml::Kind;
use olm_model::version::Range;

pub(crate) static RULE: Rule = Rule {
    id: "property-required-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A property of type `olm.package.required` or `olm.gvk.required` cannot be decoded, or has an invalid version range.",
    impacts: &[Impact::ResolutionFails],
    help: "set value to `{packageName: etcd, versionRange: '>=1.0.0'}` or `{group: …, version: …, kind: …}`",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/registry/resolver/resolver.go",
        &["legacyPredicateParsers"],
    )
    .since("0.19")],
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
            format!("invalid value: expected a map, found {}", value.kind())
        } else if let Some(key) = texts.iter().copied().find(|key| wrong(key)) {
            format!("invalid `{key}`: expected a string")
        } else if entry.kind == "olm.package.required"
            && let Err(error) = Range::parse(entry.string("versionRange"))
        {
            format!("invalid version range `{}`: {error}", entry.string("versionRange"))
        } else {
            continue;
        };
        entry.at("value", |path, position| reporter.at(entry.file, path, position, message));
    }
}
