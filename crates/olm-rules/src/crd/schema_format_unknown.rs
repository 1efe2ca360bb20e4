use crate::openapi;
use crate::prelude::*;
use olm_model::crd::{Keyword, Keywords};
use olm_model::report::suggest::did_you_mean;

pub(crate) static RULE: Rule = Rule {
    id: "schema-format-unknown",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "Kubernetes does not validate the format of a string.",
    impacts: &[Impact::Specific("The API server accepts the format with a warning and never validates it.")],
    help: "use a format that Kubernetes validates, or a pattern",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/validation/formats.go").since("1.34")
    ],
    check: Check::Schema(Keywords::new(&[Keyword::Format]), check),
};

fn check(node: &SchemaNode<'_, '_>, reporter: &mut Reporter<'_>) {
    let format = node.schema.string(Keyword::Format);
    if node.schema.kind() == "string" && !format.is_empty() && !openapi::is_checked(format) {
        reporter.keyword(
            node,
            Keyword::Format,
            format!("unknown format `{format}`{}", did_you_mean(format, openapi::format_names())),
        );
    }
}
