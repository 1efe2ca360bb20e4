use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};
use olm_model::report::suggest::unknown;

pub(crate) static RULE: Rule = Rule {
    id: "schema-type-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The type of a schema is not one that CRDs support.",
    impacts: &[Impact::CrdRejected],
    help: "set type to `array`, `boolean`, `integer`, `number`, `object` or `string`; `nullable: true` allows null",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["specStandardValidatorV3"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Type]), check),
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let kind = node.schema.kind();
    if node.place == StructuralPosition::Skeleton && !kind.is_empty() && !TYPES.contains(&kind) {
        reporter.keyword(node, Keyword::Type, unknown("type", kind, &TYPES));
    }
}
