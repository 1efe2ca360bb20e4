use super::default::site;
use crate::openapi;
use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};

pub(crate) static RULE: Rule = Rule {
    id: "schema-default-unknown-field",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A default contains a field that its schema does not declare.",
    impacts: &[Impact::CrdRejected],
    help: "declare the field in the schema, remove it from the default, or set `x-kubernetes-preserve-unknown-fields: true`",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/schema/defaulting/validation.go")
            .since("1.16"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/schema/pruning/algorithm.go")
            .since("1.16"),
    ],
    check: Check::Schema(Keywords::new(&[Keyword::Default]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(default) = site(node).filter(|_| !node.in_meta) else { return };
    let resource = node.is_resource();
    if let Some(field) = openapi::unknown_field(default, node.schema, resource, &Path::ROOT) {
        let message = format!("unknown field `{field}` in the default: not declared by its schema");
        reporter.keyword(node, Keyword::Default, message);
    }
}
