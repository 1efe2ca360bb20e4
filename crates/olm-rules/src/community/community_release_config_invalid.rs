use super::schema::{self, Schema};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-release-config-invalid",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`release-config.yaml` does not match its schema: an unknown field, a template without name or channels, or a list with duplicates.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline reads from this file to which channels it adds the bundle."),
    ],
    help: "fix the field in release-config.yaml",
    sources: &[Source::file(Project::OperatorPipelines, "operatorcert/schemas/release-config-schema.json")],
    check: Check::Bundle(check),
};

static TEMPLATE: Schema = Schema::Map(
    &[
        ("template_name", true, Schema::String),
        ("channels", true, Schema::List(&Schema::String, true, true)),
        ("defaultChannel", false, Schema::String),
        ("replaces", false, Schema::String),
        ("skips", false, Schema::List(&Schema::String, true, true)),
        ("skipRange", false, Schema::String),
    ],
    true,
);

static RELEASE: Schema = Schema::Map(
    &[("merge", false, Schema::Boolean), ("catalog_templates", true, Schema::List(&TEMPLATE, true, true))],
    false,
);

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if let Some(file) = context.bundle.submission.as_ref().and_then(|submission| submission.release.as_ref())
    {
        schema::check(file, &RELEASE, reporter);
    }
}
