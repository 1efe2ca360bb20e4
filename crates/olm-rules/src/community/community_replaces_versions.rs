use super::sources::REPLACES_AVAILABILITY;
use crate::prelude::*;
use olm_model::kubernetes;
use olm_model::openshift::{OPENSHIFT_VERSIONS, OpenShiftVersions};
use olm_model::submission::split_name;

pub(crate) static RULE: Rule = Rule {
    id: "community-replaces-versions",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The replaced bundle is for fewer OpenShift versions than this one.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific(
            "On the other OpenShift versions, the catalog does not have the bundle that this one replaces.",
        ),
    ],
    help: "select the OpenShift versions of the replaced bundle in the annotation `com.redhat.openshift.versions`",
    sources: REPLACES_AVAILABILITY,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(submission) = context.bundle.submission_without_catalog() else { return };
    let Some(annotations) = context.bundle.annotations() else { return };
    let own = context.bundle.openshift_versions().map(|(_, written)| written);
    for csv in &context.csvs {
        let replaced = split_name(&csv.typed.spec.replaces).map(|(_, version)| version);
        let sibling = submission
            .siblings
            .iter()
            .find(|sibling| sibling.parts().is_some_and(|(_, version)| Some(version) == replaced));
        let Some(theirs) = sibling.and_then(|sibling| sibling.openshift_versions.as_deref()) else {
            continue;
        };
        let Ok(theirs_selected) = theirs.parse::<OpenShiftVersions>() else { continue };
        // Without the annotation, a bundle is for all versions.
        let selects = |version| match own.map(str::parse::<OpenShiftVersions>) {
            Some(Ok(selected)) => selected.selects(version),
            Some(Err(_)) => false,
            None => true,
        };
        let missing: Vec<String> = kubernetes::openshift_versions()
            .iter()
            .filter(|(version, _)| selects(*version) && !theirs_selected.selects(*version))
            .map(|(version, _)| version.to_string())
            .collect();
        if !missing.is_empty() {
            let message = format!(
                "the replaced bundle is for `{theirs}`, which does not include OpenShift {}",
                missing.join(", ")
            );
            reporter.annotation(&annotations, OPENSHIFT_VERSIONS, message);
        }
    }
}
