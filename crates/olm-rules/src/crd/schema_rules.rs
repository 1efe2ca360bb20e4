//! The CEL rules of a schema, `x-kubernetes-validations`: one rule for each of their fields.

use kubernetes_cel::{Field, Step};

use crate::prelude::*;
use olm_model::crd::Keyword;

pub(crate) static RULES: [Rule; 7] = [
    rule(
        "schema-rule-field-path-invalid",
        &[validation("1.28")],
        "The `fieldPath` of a validation rule does not lead to a field of the schema.",
        "set fieldPath to a path relative to the schema of the rule, such as `.spec.size` or `.labels['a.b']`",
        |schema, reporter| check(schema, Field::FieldPath, reporter),
    ),
    rule(
        "schema-rule-invalid",
        &[validation("1.25"), COMPILATION],
        "A rule of `x-kubernetes-validations` is not a CEL expression of type boolean, or uses something that the schema does not declare.",
        "correct the expression: `self` is the value that the schema of the rule describes",
        |schema, reporter| check(schema, Field::Rule, reporter),
    ),
    rule(
        "schema-rule-message-expression-invalid",
        &[validation("1.27")],
        "The `messageExpression` of a validation rule is not a CEL expression of type string.",
        "correct the expression: `self` is the value that the schema of the rule describes",
        |schema, reporter| check(schema, Field::MessageExpression, reporter),
    ),
    rule(
        "schema-rule-message-invalid",
        &[validation("1.25")],
        "The message of a validation rule is empty, contains line breaks, or is missing for a rule of several lines.",
        "set message to a single line",
        |schema, reporter| check(schema, Field::Message, reporter),
    ),
    rule(
        "schema-rule-optional-old-self-unused",
        &[validation("1.30")],
        "A validation rule sets `optionalOldSelf`, but does not use `oldSelf`.",
        "remove optionalOldSelf, or use `oldSelf` in the rule",
        |schema, reporter| check(schema, Field::OptionalOldSelf, reporter),
    ),
    rule(
        "schema-rule-reason-unknown",
        &[validation("1.28")],
        "The `reason` of a validation rule is not supported.",
        "set reason to `FieldValueDuplicate`, `FieldValueForbidden`, `FieldValueInvalid` or `FieldValueRequired`",
        |schema, reporter| check(schema, Field::Reason, reporter),
    ),
    rule(
        "schema-rules-too-expensive",
        &[validation("1.25"), COMPILATION],
        "The estimated cost of all validation rules of a schema exceeds the limit of the API server.",
        "set maxItems, maxProperties and maxLength on the lists, maps and strings that the rules use, or simplify the rules",
        |schema, reporter| check(schema, Field::Schema, reporter),
    ),
];

/// The validation of the fields of a rule.
const fn validation(since: &'static str) -> Source {
    Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["ValidateCustomResourceDefinitionOpenAPISchema"],
    )
    .since(since)
}

/// The types and the costs of expressions.
const COMPILATION: Source =
    Source::file(Project::ApiextensionsApiserver, "pkg/apis/apiextensions/validation/cel_validation.go")
        .since("1.25");

const fn rule(
    id: &'static str,
    sources: &'static [Source],
    what: &'static str,
    help: &'static str,
    check: fn(&ValidSchema<'_, '_>, &mut Reporter<'_>),
) -> Rule {
    Rule {
        id,
        suite: Suite::Bundle,
        severity: Severity::Error,
        what,
        impacts: &[Impact::CrdRejected],
        help,
        sources,
        check: Check::ValidSchema(check),
    }
}

/// Reports the problems with one field of the schema's CEL rules, at their positions in the file.
fn check(schema: &ValidSchema<'_, '_>, wanted: Field, reporter: &mut Reporter<'_>) {
    let object = &schema.crd.object;
    for problem in schema
        .rule_problems()
        .into_iter()
        .flat_map(|report| &report.problems)
        .filter(|problem| problem.field == wanted)
    {
        let message = problem.message.as_str();
        at(&schema.path, &problem.path, &mut |path| {
            let rules = path.field(Keyword::XValidations.name());
            match (problem.rule, problem.field) {
                (Some(index), Field::Schema) => {
                    reporter.field(object, &rules.index(index), message);
                }
                (Some(index), field) => {
                    let rule = rules.index(index);
                    let path = rule.field(field.name());
                    match problem.position {
                        Some((line, column)) => {
                            let text = object.root.at_path(&path).map_or("", |value| value.text());
                            reporter.within(object, &path, offset(text, line, column), message);
                        }
                        None => reporter.field(object, &path, message),
                    }
                }
                (None, _) => reporter.field(object, path, message),
            }
        });
    }
}

/// Returns the byte of a text at a line and column, in characters from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let line = text.get(before..).unwrap_or_default();
    before + line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(at, _)| at)
}

/// Calls `then` with the path that `steps` lead to.
fn at(path: &Path<'_>, steps: &[Step], then: &mut dyn FnMut(&Path<'_>)) {
    let Some((first, rest)) = steps.split_first() else { return then(path) };
    match first {
        Step::Property(name) => {
            let properties = path.field("properties");
            at(&properties.key(name), rest, then);
        }
        Step::Items => at(&path.field("items"), rest, then),
        Step::AdditionalProperties => at(&path.field("additionalProperties"), rest, then),
        // A step that this program does not know: the schema reached so far is the closest place.
        _ => then(path),
    }
}
