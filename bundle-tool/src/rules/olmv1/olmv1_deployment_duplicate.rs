use std::collections::HashSet;

use crate::model::yaml::Path;
use crate::report::{Impact, Project, Severity, Source, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "olmv1-deployment-duplicate",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "Two Deployments of the install strategy have the same name.",
    impacts: &[Impact::OlmV1Rejects],
    help: "give each Deployment a unique name, or remove one",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/rukpak/render/registryv1/validators/validator.go",
        &["CheckDeploymentSpecUniqueness"],
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let mut seen = HashSet::new();
    for (index, deployment) in csv.typed.spec.install.spec.deployments.iter().enumerate() {
        if !seen.insert(&deployment.name) {
            let message = format!("duplicate Deployment `{}`", deployment.name);
            reporter.field(&csv.object, &list.index(index).field("name"), message);
        }
    }
}
