use super::schema::{self, Schema};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-ci-invalid",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`ci.yaml` does not match its schema: `reviewers`, `updateGraph`, `merge`, `cert_project_id` or `fbc` has a wrong value, or a catalog mapping lacks a field.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific(
            "The pipeline reads the operator's reviewers, update graph and catalogs from this file.",
        ),
    ],
    help: "fix the field in ci.yaml",
    sources: &[Source::file(Project::OperatorPipelines, "operatorcert/schemas/ci-schema.json")],
    check: Check::Bundle(check),
};

/// An entry of `fbc.catalog_mapping`. The documentation of the pipeline misspells `catalog_names`.
static MAPPING: Schema = Schema::Map(
    &[
        ("template_name", true, Schema::String),
        ("type", true, Schema::OneOf(&["olm.template.basic", "olm.semver"])),
        ("catalog_names", true, Schema::List(&Schema::String, true, true)),
    ],
    true,
);

static CONFIG: Schema = Schema::Map(
    &[
        ("updateGraph", false, Schema::OneOf(&["replaces-mode", "semver-mode"])),
        ("reviewers", false, Schema::List(&Schema::String, true, false)),
        ("merge", false, Schema::Boolean),
        ("cert_project_id", false, Schema::String),
        (
            "fbc",
            false,
            Schema::Map(
                &[
                    ("enabled", false, Schema::Boolean),
                    (
                        "version_promotion_strategy",
                        false,
                        Schema::OneOf(&["review-needed", "always", "never"]),
                    ),
                    ("catalog_mapping", false, Schema::List(&MAPPING, false, false)),
                ],
                false,
            ),
        ),
    ],
    true,
);

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if let Some(file) = context.bundle.submission.as_ref().and_then(|submission| submission.ci.as_ref()) {
        schema::check(file, &CONFIG, reporter);
    }
}
