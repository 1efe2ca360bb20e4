use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-elsewhere",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The annotations name a directory other than `metadata/` for the metadata.",
    impacts: &[Impact::Specific(
        "Tools read `metadata/` regardless; tools that trust the label of the image do not find the metadata.",
    )],
    help: "set the annotation to `metadata/`",
    sources: &[Source::file(Project::OperatorRegistry, "docs/design/operator-bundle.md").since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(directory) = annotations.get(Annotations::METADATA) else { return };
    if directory.trim_end_matches('/') != "metadata" {
        let message = format!("unexpected metadata directory `{directory}`: should be `metadata/`");
        reporter.fix_annotation(&annotations, Safety::Safe, Annotations::METADATA, "metadata/");
        reporter.annotation(&annotations, Annotations::METADATA, message);
    }
}
