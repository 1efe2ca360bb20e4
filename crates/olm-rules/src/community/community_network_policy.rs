use crate::prelude::*;
use olm_model::Object;

pub(crate) static RULE: Rule = Rule {
    id: "community-network-policy",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The bundle contains a `NetworkPolicy` of `networking.k8s.io`.",
    impacts: &[Impact::PipelineRejects],
    help: "remove the NetworkPolicy for this catalog; OLM v0, OLM v1 and other catalogs accept it",
    sources: &[Source::symbols(
        Project::OperatorPipelines,
        "operatorcert/static_tests/common/bundle.py",
        &["check_network_policy_presence"],
    )],
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    if object.kind() == "NetworkPolicy" && object.group() == "networking.k8s.io" {
        reporter.field(object, &Path::ROOT.field("kind"), "unsupported kind `NetworkPolicy`");
    }
}
