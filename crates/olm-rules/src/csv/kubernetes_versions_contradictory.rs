use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "kubernetes-versions-contradictory",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "`spec.minKubeVersion`, the annotation `com.redhat.openshift.versions` and the property `olm.maxOpenShiftVersion` leave no version of Kubernetes that the bundle supports.",
    impacts: &[Impact::Specific("Catalogs offer the bundle to clusters that OLM does not install it on.")],
    help: "lower spec.minKubeVersion, or select later versions of OpenShift",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/community/bundle.py",
        &["check_api_version_constraints"],
    )],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    if let (Some(contradiction), Some(csv)) = (&context.claim.contradiction, context.csvs.first()) {
        reporter.field(&csv.object, &Path::ROOT.field("spec.minKubeVersion"), contradiction.as_str());
    }
}
