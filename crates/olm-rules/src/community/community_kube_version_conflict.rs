use super::sources::VERSION_CONSTRAINTS;
use crate::prelude::*;
use olm_model::openshift::{OPENSHIFT_VERSIONS, OpenShiftVersions};
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "community-kube-version-conflict",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The annotation `com.redhat.openshift.versions` selects an OpenShift version whose Kubernetes is older than `spec.minKubeVersion`.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific(
            "The bundle would be published to OpenShift versions on which OLM does not install it.",
        ),
    ],
    help: "raise the first OpenShift version of the annotation, or lower spec.minKubeVersion",
    sources: VERSION_CONSTRAINTS,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if context.bundle.uses_catalog() {
        return;
    }
    let Some((annotations, written)) = context.bundle.openshift_versions() else { return };
    let Ok(selected) = written.parse::<OpenShiftVersions>() else { return };
    for csv in &context.csvs {
        let Ok(minimum) = version::tolerant(&csv.typed.spec.min_kube_version) else { continue };
        let older = selected.older_than(minimum.minor + u64::from(minimum.patch > 0));
        if !older.is_empty() {
            let message = format!(
                "spec.minKubeVersion {minimum} is newer than the Kubernetes version of OpenShift {}",
                older.join(", ")
            );
            reporter.annotation(&annotations, OPENSHIFT_VERSIONS, message);
        }
    }
}
