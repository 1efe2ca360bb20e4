use std::collections::BTreeSet;

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "deployment-duplicate",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "Two Deployments of the install strategy have the same name.",
    impacts: &[Impact::Specific("OLM applies both in turn, and only the last one remains.")],
    help: "give each Deployment a unique name, or remove one",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/install/deployment.go",
        &["installDeployments"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let deployments = &csv.typed.spec.install.spec.deployments;
    let mut seen = BTreeSet::new();
    for (index, deployment) in deployments.iter().enumerate() {
        if !seen.insert(&deployment.name) {
            let entry = list.index(index);
            let message = format!("duplicate Deployment `{}`", deployment.name);
            reporter.field(&csv.object, &entry.field("name"), message);
        }
    }
}
