use crate::model::crd::{Keyword, Keywords};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Place, Reporter, Rule, SchemaNode};

pub(super) static RULE: Rule = Rule {
    id: "schema-type-unsupported",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The type of a schema is none that Kubernetes knows.",
    why: "The API server refuses the CRD.",
    help: "use one of array, boolean, integer, number, object and string; nullable: true allows null",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (specStandardValidatorV3)",
    check: Check::Schema(Keywords::of(&[Keyword::Type]), check),
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let kind = node.schema.kind();
    if node.place == Place::Skeleton && !kind.is_empty() && !TYPES.contains(&kind) {
        reporter.keyword(node, Keyword::Type, format!("'{kind}' is no type"));
    }
}
