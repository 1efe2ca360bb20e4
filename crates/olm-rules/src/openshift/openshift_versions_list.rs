use crate::prelude::*;
use olm_model::openshift::{OPENSHIFT_VERSIONS, OpenShiftVersions};

pub(crate) static RULE: Rule = Rule {
    id: "openshift-versions-list",
    suite: Suite::Openshift,
    severity: Severity::Warning,
    what: "The annotation `com.redhat.openshift.versions` is a list other than `v4.5,v4.6`.",
    impacts: &[Impact::Specific(
        "A list stands for its lowest version and all later ones, and is only supported for `v4.5,v4.6`.",
    )],
    help: "set the annotation to the minimum version, or to a range",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/community/bundle.py",
        &["check_api_version_constraints"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some((annotations, written)) = context.bundle.openshift_versions() else { return };
    if let Ok(OpenShiftVersions::List(versions)) = written.parse()
        && !versions.iter().all(|version| matches!(version.number(), 5 | 6))
    {
        reporter.annotation(
            &annotations,
            OPENSHIFT_VERSIONS,
            format!("unsupported list of OpenShift versions `{written}`"),
        );
    }
}
