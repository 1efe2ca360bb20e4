//! Checks of the Deployments of an install strategy that rules for OLM v0 and for OLM v1 share.

use crate::prelude::*;
use olm_model::report::suggest::did_you_mean;

/// Maximum number of names that a misspelled one is compared with.
const MAX_CANDIDATES: usize = 100;

/// Reports Deployments with the name of an earlier one.
pub(crate) fn report_duplicates(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.install.spec.deployments");
    for (index, name) in csv.duplicate_deployments() {
        let message = format!("duplicate Deployment `{name}`");
        reporter.field(&csv.object, &list.index(index).field("name"), message);
    }
}

/// Reports the items of the list at `path` whose `deploymentName` is not in the install strategy; `names` are the names of
/// all items.
pub(crate) fn report_unknown<'n>(
    csv: &Csv<'_>,
    path: &str,
    names: impl Iterator<Item = &'n String>,
    reporter: &mut Reporter<'_>,
) {
    let root = Path::ROOT;
    let list = root.field(path);
    let known = csv.deployment_names();
    for (index, name) in names.enumerate() {
        if known.contains(name.as_str()) || reporter.skip_if_full() {
            continue;
        }
        reporter.field(&csv.object, &list.index(index).field("deploymentName"), unknown(csv, name));
    }
}

/// Returns the message for the name of a Deployment that is not in the install strategy.
fn unknown(csv: &Csv<'_>, name: &str) -> String {
    if name.is_empty() {
        return "missing required field `deploymentName`".to_owned();
    }
    let deployments = &csv.typed.spec.install.spec.deployments;
    let names = deployments.iter().take(MAX_CANDIDATES).map(|deployment| deployment.name.as_str());
    format!("unknown Deployment `{name}`{}", did_you_mean(name, names))
}
