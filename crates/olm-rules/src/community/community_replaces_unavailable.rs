use super::sources::REPLACES_AVAILABILITY;
use crate::prelude::*;
use olm_model::report::suggest::did_you_mean;
use olm_model::submission::split_name;

pub(crate) static RULE: Rule = Rule {
    id: "community-replaces-unavailable",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`spec.replaces` names the bundle's own version, or one that is not among the operator's bundles.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("Without the replaced bundle, the catalog has no upgrade path to this one."),
    ],
    help: "set spec.replaces to the CSV of another bundle in the operator's directory",
    sources: REPLACES_AVAILABILITY,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = context.bundle.submission_without_catalog() else { return };
    for csv in &context.csvs {
        let replaces = csv.typed.spec.replaces.as_str();
        // csv-replaces-itself reports the CSV's own name.
        if replaces.is_empty() || replaces == csv.object.name() {
            continue;
        }
        let version = split_name(replaces).map(|(_, version)| version);
        let own = split_name(csv.object.name()).map(|(_, version)| version);
        let mut siblings = submission.siblings.iter().filter_map(|sibling| sibling.parts());
        let message = if version.is_some() && version == own {
            format!("`{replaces}` has the same version as this bundle")
        } else if !siblings.any(|(_, known)| Some(known) == version) {
            let near =
                did_you_mean(replaces, submission.siblings.iter().map(|sibling| sibling.name.as_str()));
            format!("`{replaces}` is not in the directory of the operator{near}")
        } else {
            continue;
        };
        reporter.field(&csv.object, &Path::ROOT.field("spec.replaces"), message);
    }
}
