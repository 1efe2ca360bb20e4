use crate::model::yaml::{Kind, Path};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The install strategy has no Deployment.",
    why: "OLM calls the CSV a success and runs nothing.",
    help: "add the operator's Deployment",
    source: "operator-lifecycle-manager, pkg/controller/install/deployment.go",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let written = csv.object.root.dig(&["spec", "install", "spec", "deployments"]);
    if written.is_some_and(|list| list.kind() == Kind::Array && list.is_empty()) {
        let message = "the install strategy has no Deployment";
        reporter.field(&csv.object, &Path::ROOT.field("spec.install.spec.deployments"), message);
    }
}
