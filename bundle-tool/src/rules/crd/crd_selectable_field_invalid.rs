use crate::model::crd::{Additional, Keyword, Schema};
use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule, Version};
use std::collections::BTreeSet;

pub(super) static RULE: Rule = Rule {
    id: "crd-selectable-field-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A selectable field names no string, boolean or integer of the schema, or is there twice, or there are more than eight.",
    why: "The API server refuses the CRD.",
    help: "name fields of the schema like .spec.color, at most eight, without brackets, not in metadata",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (ValidateCustomResourceSelectableFields)",
    check: Check::Crd(check),
};

const MOST: usize = 8;

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let versions = Path::ROOT.field("spec.versions");
    if disagree(crd) {
        let message = "several versions have selectable fields, but either only their schemas or only their fields are \
                       the same; the API server takes them where both are the same, or both differ";
        reporter.field(&crd.object, &versions, message);
        return;
    }
    for (index, version) in crd.versions.iter().enumerate() {
        let Some(schema) = version.schema else { continue };
        let item = versions.index(index);
        let list = item.field("selectableFields");
        let mut seen = BTreeSet::new();
        let count = fields(version).count();
        if count > 100 * MOST {
            reporter.field(&crd.object, &list, format!("there are {count} fields; {MOST} are allowed"));
            continue;
        }
        for (index, field) in fields(version).enumerate() {
            let text = field.get("jsonPath").and_then(Value::as_str).unwrap_or_default();
            let problem = match resolve(schema, text) {
                Err(problem) => problem,
                Ok(()) if !seen.insert(text) => format!("'{text}' is there twice"),
                Ok(()) => continue,
            };
            reporter.field(&crd.object, &list.index(index).field("jsonPath"), problem);
        }
        if seen.len() > MOST {
            reporter.field(
                &crd.object,
                &list,
                format!("there are {} fields; {MOST} are allowed", seen.len()),
            );
        }
    }
}

fn fields<'b>(version: &Version<'b>) -> impl Iterator<Item = Value<'b>> {
    version.value.get("selectableFields").into_iter().flat_map(Value::items)
}

/// What is the same in all versions is taken out of them before it is judged; fields and schema must stay together.
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
        return Err("the field has no jsonPath".to_owned());
    }
    let invalid = |why: &str| format!("'{path}' {why}");
    let Some(names) = path.strip_prefix('.') else { return Err(invalid("does not begin with a dot")) };
    if path.contains(['[', ']']) {
        return Err(invalid("has brackets, which are not allowed here"));
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
        here = next.ok_or_else(|| invalid("names nothing in the schema"))?;
    }
    if names == "metadata" || names.starts_with("metadata.") {
        return Err(invalid("is in metadata, which cannot be selected by here"));
    }
    match here.map_or("", |schema| schema.kind()) {
        "string" | "boolean" | "integer" => Ok(()),
        _ => Err(invalid("is neither a string nor a boolean nor an integer")),
    }
}
