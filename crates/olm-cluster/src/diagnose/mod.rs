//! Why an installation does not go on: a pure function of observed objects.

mod catalog;
mod csv;
mod environment;
mod message;
mod pod;
mod problem;
mod resolution;
mod scheduling;
pub(crate) mod v1;

use super::snapshot::Snapshot;

pub use environment::olm;
pub(crate) use environment::targets;
pub(crate) use message::explain_message;
pub use problem::{Diagnosis, Log, Scope, deletion, object, shortened};
pub(crate) use problem::{UNPACK_LABEL, deployment_of};
pub(crate) use scheduling::{AUTOSCALERS, is_unschedulable};

/// Returns what is wrong, causes first. A problem that only follows from others is omitted.
#[must_use]
pub fn problems(snapshot: &Snapshot, scope: &Scope) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    environment::namespaces(snapshot, scope, &mut found);
    environment::operator_groups(snapshot, scope, &mut found);
    pod::pods(snapshot, scope, &mut found);
    pod::deployments(snapshot, scope, &mut found);
    catalog::catalogs(snapshot, scope, &mut found);
    resolution::subscriptions(snapshot, scope, &mut found);
    resolution::plans(snapshot, scope, &mut found);
    csv::csvs(snapshot, scope, &mut found);
    v1::catalogs(snapshot, scope, &mut found);
    v1::extensions_not_installed(snapshot, scope, &mut found);
    olm(snapshot, &mut found);
    if found.iter().any(|problem| !problem.symptom) {
        found.retain(|problem| !problem.symptom);
    }
    found
}

/// Returns what is wrong with the pods in scope.
#[must_use]
pub(crate) fn pod_problems(snapshot: &Snapshot, scope: &Scope) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    pod::pods(snapshot, scope, &mut found);
    found
}

#[cfg(test)]
mod tests;
