use crate::prelude::*;
use kube_yaml::Value;
use olm_model::crd::{Additional, Keyword, Schema};
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "crd-selectable-field-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A selectable field is not a string, boolean or integer of the schema, is duplicated, or is one of more than eight.",
    impacts: &[Impact::CrdRejected],
    help: "list at most eight different fields of the schema in selectableFields, such as `.spec.color`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceSelectableFields"],
    )
    .since("1.31")],
    check: Check::Crd(check),
};

const MAX_FIELDS: usize = 8;

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    // The API server of 1.30 drops the field, but operator-sdk rejects it whatever the version.
    let versions = Path::ROOT.field("spec.versions");
    if disagree(crd) {
        let message =
            "schemas and selectable fields must either both be the same in all versions, or both differ";
        reporter.field(&crd.object, &versions, message);
        return;
    }
    for (index, version) in crd.versions.iter().enumerate() {
        let Some(schema) = version.schema else { continue };
        let item = versions.index(index);
        let list = item.field("selectableFields");
        let mut seen = BTreeSet::new();
        let count = fields(version).count();
        if count > 100 * MAX_FIELDS {
            reporter.field(
                &crd.object,
                &list,
                format!("{count} selectable fields exceed the limit of {MAX_FIELDS}"),
            );
            continue;
        }
        for (index, field) in fields(version).enumerate() {
            let text = field.get("jsonPath").and_then(Value::as_str).unwrap_or_default();
            let problem = match resolve(schema, text) {
                Err(problem) => problem,
                Ok(()) if !seen.insert(text) => format!("duplicate selectable field `{text}`"),
                Ok(()) => continue,
            };
            reporter.field(&crd.object, &list.index(index).field("jsonPath"), problem);
        }
        if seen.len() > MAX_FIELDS {
            reporter.field(
                &crd.object,
                &list,
                format!("{} selectable fields exceed the limit of {MAX_FIELDS}", seen.len()),
            );
        }
    }
}

fn fields<'b>(version: &Version<'b>) -> impl Iterator<Item = Value<'b>> {
    version.value.get("selectableFields").into_iter().flat_map(Value::items)
}

/// Returns whether fields and schemas are not hoisted together: the API server moves what is the same in all versions to
/// the top before validation.
fn disagree(crd: &Crd<'_>) -> bool {
    let paths = |version: &Version<'_>| -> Vec<String> {
        fields(version)
            .map(|field| field.get("jsonPath").and_then(Value::as_str).unwrap_or_default().to_owned())
            .collect()
    };
    let paths: Vec<_> = crd.versions.iter().map(paths).collect();
    let any = paths.iter().any(|paths| !paths.is_empty());
    any && paths.windows(2).all(|pair| pair[0] == pair[1]) != crd.has_one_schema()
}

fn resolve(root: Value<'_>, path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Err("missing required field `jsonPath`".to_owned());
    }
    let invalid = |why: &str| format!("invalid JSON path `{path}`: {why}");
    let Some(names) = path.strip_prefix('.') else { return Err(invalid("must start with a dot")) };
    if path.contains(['[', ']']) {
        return Err(invalid("must not contain brackets"));
    }
    let mut here = Some(Schema::read(root));
    for name in names.split('.') {
        let next = here.and_then(|schema| {
            if schema.fills(Keyword::Properties) {
                return schema.property(name).map(|value| Some(Schema::read(value)));
            }
            match schema.additional() {
                Additional::Schema(value) => Some(Some(Schema::read(value))),
                Additional::Boolean(_) => Some(None),
                Additional::Unset => None,
            }
        });
        here = next.ok_or_else(|| invalid("not found in the schema"))?;
    }
    if names == "metadata" || names.starts_with("metadata.") {
        return Err(invalid("must not be in `metadata`"));
    }
    match here.map_or("", |schema| schema.kind()) {
        "string" | "boolean" | "integer" => Ok(()),
        _ => Err(invalid("must be of type string, boolean or integer")),
    }
}
