use crate::prelude::*;
use kube_yaml::Kind;

pub(crate) static RULE: Rule = Rule {
    id: "deployment-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The install strategy has no Deployments.",
    impacts: &[Impact::Specific("The CSV succeeds, but no operator runs.")],
    help: "add the operator's Deployment to spec.install.spec.deployments",
    sources: &[
        Source::file(Project::OperatorLifecycleManager, "pkg/controller/install/deployment.go").since("0.14")
    ],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let written = csv.dig(&["spec", "install", "spec", "deployments"]);
    if written.is_some_and(|list| list.kind() == Kind::Array && list.is_empty()) {
        let message = "empty list of Deployments";
        reporter.field(&csv.object, &Path::ROOT.field("spec.install.spec.deployments"), message);
    }
}
