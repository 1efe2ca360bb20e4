use crate::prelude::*;
use olm_model::openshift::OPENSHIFT_VERSIONS;

pub(crate) static RULE: Rule = Rule {
    id: "openshift-versions-missing",
    suite: Suite::Openshift,
    severity: Severity::Warning,
    what: "`metadata/annotations.yaml` does not have the annotation `com.redhat.openshift.versions`.",
    impacts: &[Impact::Specific(
        "The catalogs of all OpenShift versions offer the operator, including versions that it does not support.",
    )],
    help: "set the annotation to the minimum version, such as `v4.14`, or to a range",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/utils.py",
        &["get_ocp_supported_versions"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    if context.bundle.openshift_versions().is_none() {
        reporter.annotation(
            &annotations,
            OPENSHIFT_VERSIONS,
            format!("missing annotation `{OPENSHIFT_VERSIONS}`"),
        );
    }
}
