use super::sources::VERSION_CONSTRAINTS;
use crate::prelude::*;
use olm_model::openshift::OPENSHIFT_VERSIONS;

pub(crate) static RULE: Rule = Rule {
    id: "community-versions-undeclared",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The CSV has a `spec.minKubeVersion`, but `metadata/annotations.yaml` does not have the annotation `com.redhat.openshift.versions`.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific(
            "Without the annotation, the bundle is also published to OpenShift versions whose Kubernetes is too old for it.",
        ),
    ],
    help: "set the annotation to the OpenShift versions whose Kubernetes is recent enough, such as `v4.14` for 1.27",
    sources: VERSION_CONSTRAINTS,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if context.bundle.uses_catalog() {
        return;
    }
    let Some(annotations) = context.bundle.annotations() else { return };
    let has_minimum = context.csvs.iter().any(|csv| !csv.typed.spec.min_kube_version.is_empty());
    if has_minimum && context.bundle.openshift_versions().is_none() {
        let message = format!("missing annotation `{OPENSHIFT_VERSIONS}`: spec.minKubeVersion is set");
        reporter.annotation(&annotations, OPENSHIFT_VERSIONS, message);
    }
}
