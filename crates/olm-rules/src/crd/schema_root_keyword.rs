use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-root-keyword",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The root of a schema has a keyword that is not allowed there together with the status subresource.",
    impacts: &[Impact::CrdRejected],
    help: "move the keyword to the properties that it applies to, or use x-kubernetes-validations",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["allowedAtRootSchema"],
    )
    .since("1.16")],
    check: Check::Schema(FORBIDDEN, check),
};

const FORBIDDEN: Keywords = Keywords::new(&[
    Keyword::Enum,
    Keyword::AllOf,
    Keyword::OneOf,
    Keyword::AnyOf,
    Keyword::Not,
    Keyword::MaxProperties,
    Keyword::MinProperties,
    Keyword::Default,
    Keyword::XEmbeddedResource,
    Keyword::XIntOrString,
    Keyword::XListMapKeys,
    Keyword::XListType,
    Keyword::XMapType,
    Keyword::Definitions,
    Keyword::PatternProperties,
]);

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    if node.role != SchemaRole::Root || !node.crd.has_status(node.version) {
        return;
    }
    let schema = node.schema;
    for keyword in schema.present().iter() {
        let set = match keyword {
            Keyword::XEmbeddedResource | Keyword::XIntOrString => schema.flag(keyword),
            // If they are not empty, another rule rejects them everywhere.
            Keyword::Definitions | Keyword::PatternProperties => !schema.fills(keyword),
            _ => Keywords::new(&[keyword]).meets(FORBIDDEN),
        };
        if set {
            let message = format!(
                "`{}` is not allowed at the root of a schema with a status subresource",
                keyword.name()
            );
            reporter.keyword(node, keyword, message);
        }
    }
}
