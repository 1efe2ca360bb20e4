use crate::prelude::*;
use olm_model::openshift::{OPENSHIFT_VERSIONS, OpenShiftVersions};

pub(crate) static RULE: Rule = Rule {
    id: "openshift-versions-invalid",
    suite: Suite::Openshift,
    severity: Severity::Error,
    what: "The annotation `com.redhat.openshift.versions` is not a minimum version (`v4.14`), a single version (`=v4.14`) or a range (`v4.12-v4.16`).",
    impacts: &[Impact::PipelineRejects, Impact::PreflightFails("ValidateOperatorBundle")],
    help: "set the annotation to `v4.14`, `=v4.14` or `v4.12-v4.16`",
    sources: &[
        Source::symbols(
            Project::OperatorPipelines,
            "operatorcert/static_tests/community/bundle.py",
            &["check_api_version_constraints"],
        ),
        Source::symbols(Project::Preflight, "internal/bundle/bundle.go", &["targetVersion"]).since("1.5"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some((annotations, written)) = context.bundle.openshift_versions() else { return };
    if let Err(message) = written.parse::<OpenShiftVersions>() {
        reporter.annotation(
            &annotations,
            OPENSHIFT_VERSIONS,
            format!("invalid OpenShift versions `{written}`: {message}"),
        );
    }
}
