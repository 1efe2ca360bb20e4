use super::sources::{RESTRICTED_NETWORK, RESTRICTED_NETWORK_IGNORED};
use crate::prelude::*;
use crate::shared::images;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-variable-missing",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "No container of the install strategy has an environment variable `RELATED_IMAGE_…`.",
    impacts: &[RESTRICTED_NETWORK_IGNORED],
    help: "pass the images of operands to the operator in environment variables that begin with `RELATED_IMAGE_`",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let mut found = false;
    csv.each_pod_template(|pod| {
        pod.each_container(|container, _, _| {
            found |= container
                .env
                .iter()
                .flatten()
                .any(|variable| variable.name.starts_with(images::VARIABLE_PREFIX));
        });
    });
    if !found {
        let path = Path::ROOT.field("spec.install.spec.deployments");
        reporter.field(&csv.object, &path, "no environment variable begins with `RELATED_IMAGE_`");
    }
}
