use super::entries::{self, Entry};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-dependency-unsupported",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The bundle depends on a package, an API or a constraint.",
    impacts: &[
        Impact::OlmV1Rejects,
        Impact::Specific(
            "Its resolver does not install dependencies, and does not consider bundles that have any.",
        ),
    ],
    help: "remove the dependency, and document that it must be installed first",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/resolve/validation.go",
        &["NoDependencyValidation"],
    )
    .since("0.10")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for entry in entries::dependencies(context.bundle) {
        if ["olm.package", "olm.gvk", "olm.constraint"].contains(&entry.kind) {
            let message = message("dependency", &entry);
            entry.at("type", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
    for entry in entries::properties(context.bundle) {
        if ["olm.package.required", "olm.gvk.required", "olm.constraint"].contains(&entry.kind) {
            let message = message("property", &entry);
            entry.at("type", |path, position| reporter.at(entry.file, path, position, message));
        }
    }
    for csv in &context.csvs {
        let required = &csv.typed.spec.customresourcedefinitions.required;
        let root = Path::ROOT;
        let list = root.field("spec.customresourcedefinitions.required");
        for (index, crd) in required.iter().enumerate() {
            let message = format!("unsupported dependency on the API `{}`", crd.name);
            reporter.field(&csv.object, &list.index(index), message);
        }
    }
}

/// Returns the message for a dependency or a property, with what it depends on as far as its value says so.
fn message(what: &str, entry: &Entry<'_>) -> String {
    let of = |key: &str| Some(entry.string(key)).filter(|text| !text.is_empty());
    let package = of("packageName");
    let api = of("group").zip(of("version")).zip(of("kind"));
    match (package, api) {
        (Some(package), _) => {
            format!("unsupported {what} `{}`: requires the package `{package}`", entry.kind)
        }
        (None, Some(((group, version), kind))) => {
            format!("unsupported {what} `{}`: requires the API `{kind}` of {group}/{version}", entry.kind)
        }
        (None, None) => format!("unsupported {what} of type `{}`", entry.kind),
    }
}
