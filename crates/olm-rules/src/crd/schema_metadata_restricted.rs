use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "schema-metadata-restricted",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The schema of a resource's `metadata` has a keyword other than `type`, `default` and `properties`, or restricts a field other than `name` and `generateName`.",
    impacts: &[Impact::CrdRejected],
    help: "set the schema of metadata to `{type: object}`, with at most name and generateName as properties",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apiserver/schema/validation.go",
        &["validateStructuralMetadataInvariants"],
    )
    .since("1.16")],
    check: Check::Schema(Keywords::new(&[Keyword::Properties]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let Some(metadata) = node.schema.property("metadata") else { return };
    if node.role != SchemaRole::Root {
        return;
    }
    let schema = Schema::read(metadata);
    let mut free = Keywords::new(&[Keyword::Type, Keyword::Default]);
    if schema.properties().all(|(key, _)| matches!(key.text(), "name" | "generateName")) {
        free.insert(Keywords::new(&[Keyword::Properties]));
    }
    let restricted = schema.structural().without(free);
    let Some(first) = restricted.iter().next() else { return };
    let properties = node.path.field("properties");
    let path = properties.key("metadata");
    let message = format!(
        "unexpected `{}`: only `name` and `generateName` of `metadata` can be restricted",
        first.name()
    );
    reporter.field(&node.crd.object, &path.field(first.name()), message);
}
