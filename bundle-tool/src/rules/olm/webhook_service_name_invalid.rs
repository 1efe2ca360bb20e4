use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "webhook-service-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A Deployment that serves a webhook or an API has a name of which OLM cannot make the name of its Service.",
    why: "OLM puts `-service` behind the name, and a Service's name has at most 63 characters, begins with a letter and holds no dot: the install strategy fails.",
    help: "shorten the Deployment's name to 55 characters, begin it with a letter and use '-' for '.'",
    source: "operator-lifecycle-manager, pkg/controller/install/certresources.go (ServiceName)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    let spec = &csv.typed.spec;
    for (index, deployment) in spec.install.spec.deployments.iter().enumerate() {
        let name = deployment.name.as_str();
        let serves = spec.webhookdefinitions.iter().any(|webhook| webhook.deployment_name == name)
            || spec.apiservicedefinitions.owned.iter().any(|service| service.deployment_name == name);
        let letter = name.starts_with(|first: char| first.is_ascii_lowercase());
        if serves && !name.is_empty() && (name.len() > 55 || name.contains('.') || !letter) {
            let entry = list.index(index);
            let message = format!("'{name}-service' cannot be the name of a Service");
            reporter.field(&csv.object, &entry.field("name"), message);
        }
    }
}
