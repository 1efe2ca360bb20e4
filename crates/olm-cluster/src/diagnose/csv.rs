//! Problems of CSVs.

use serde_json::Value;

use super::environment::targets;
use super::message;
use super::problem::{self, Diagnosis, Scope, covers_csv, object, shortened};
use crate::kinds;
use crate::snapshot::{Snapshot, label, list, name_of, namespace_of, string, strings};

/// Reports CSVs that are not installed.
pub(crate) fn csvs(snapshot: &Snapshot, scope: &Scope, found: &mut Vec<Diagnosis>) {
    for csv in snapshot.objects(kinds::CSV) {
        if !label(csv, "olm.copiedFrom").is_empty() || !covers_csv(snapshot, scope, csv) {
            continue;
        }
        if !string(csv, "/metadata/deletionTimestamp").is_empty() {
            found.push(deletion(csv));
            continue;
        }
        let reason = string(csv, "/status/reason");
        match string(csv, "/status/phase") {
            "Failed" => found.push(failed(snapshot, csv, reason)),
            "Pending" if reason == "RequirementsNotMet" => found.push(requirements(snapshot, csv)),
            "Pending" | "InstallReady" | "Installing" if reason == "OperatorConditionNotUpgradeable" => found
                .push(
                    base("upgrade-not-allowed", csv, "the installed operator does not allow upgrades now")
                        .help("wait, or set spec.overrides of its OperatorCondition"),
                ),
            "Installing" => {
                let text = string(csv, "/status/message");
                if let Some((id, help)) = message::explain_message(text, namespace_of(csv)) {
                    let patience = message::patience(text, 6);
                    found.push(base(id, csv, &shortened(text)).help(help).patience(patience));
                }
            }
            _ => {}
        }
    }
}

fn base(id: &'static str, csv: &Value, text: &str) -> Diagnosis {
    Diagnosis::new(id, object(kinds::CSV, csv), format!("CSV `{}`: {text}", name_of(csv))).evidence(format!(
        "status: phase {}, {}: {}",
        string(csv, "/status/phase"),
        string(csv, "/status/reason"),
        shortened(string(csv, "/status/message"))
    ))
}

fn failed(snapshot: &Snapshot, csv: &Value, reason: &str) -> Diagnosis {
    let namespace = namespace_of(csv);
    let text = string(csv, "/status/message");
    let group = snapshot.within(kinds::OPERATOR_GROUP, namespace).next();
    let watched = group.map_or_else(|| "nothing".to_owned(), targets);
    match reason {
        "UnsupportedOperatorGroup" | "NoTargetNamespaces" => {
            let modes: Vec<_> = list(csv, "/spec/installModes")
                .iter()
                .filter(|mode| mode["supported"] == true)
                .map(|mode| format!("`{}`", string(mode, "/type")))
                .collect();
            base(
                "install-mode-unsupported",
                csv,
                &format!(
                    "the OperatorGroup selects {watched}, but the operator supports only {}",
                    modes.join(", ")
                ),
            )
            .help(format!("change spec.targetNamespaces of the OperatorGroup in namespace `{namespace}`"))
        }
        "NoOperatorGroup" => base("operator-group-missing", csv, "the namespace has no OperatorGroup")
            .help(format!("create an OperatorGroup in namespace `{namespace}`"))
            .patience(3),
        "TooManyOperatorGroups" => {
            base("operator-groups-conflict", csv, "the namespace has several OperatorGroups")
                .help(format!("delete all but one: kubectl get operatorgroups -n {namespace}"))
        }
        "InterOperatorGroupOwnerConflict" | "OwnerConflict" => base(
            "api-conflict",
            csv,
            "another operator that watches the same namespaces already provides one of its APIs",
        )
        .help("uninstall the other operator, or give the OperatorGroups separate namespaces"),
        "CannotModifyStaticOperatorGroupProvidedAPIs" => {
            base("operator-group-static", csv, "the OperatorGroup does not allow new APIs")
                .help("set spec.staticProvidedAPIs of the OperatorGroup to false")
        }
        "InvalidWebhookDescription" => base("webhook-invalid", csv, &shortened(text)).help(
            "fix spec.webhookdefinitions as the message requires: `bundle-tool validate` reports the entry",
        ),
        "InvalidInstallStrategy" | "InvalidInstallModes" | "InstallComponentFailedNoRetry" => {
            base("csv-invalid", csv, &shortened(text))
                .help("fix the CSV: `bundle-tool validate` reports the field")
        }
        _ => {
            let (id, help) = message::explain_message(text, namespace).unwrap_or_else(|| {
                (
                    "csv-failed",
                    format!("see its conditions: kubectl describe csv {} -n {namespace}", name_of(csv)),
                )
            });
            let problem = base(id, csv, &shortened(text)).help(help).patience(message::patience(text, 6));
            // Follows from the state of a deployment or its pods, if they have one to report.
            if id == "csv-failed" { problem.symptom().patience(20) } else { problem }
        }
    }
}

fn requirements(snapshot: &Snapshot, csv: &Value) -> Diagnosis {
    let mut problem = Diagnosis::new(
        "requirements-not-met",
        object(kinds::CSV, csv),
        format!("CSV `{}` is waiting for requirements that are not met", name_of(csv)),
    );
    let mut help = String::new();
    for entry in list(csv, "/status/requirementStatus") {
        let status = string(entry, "/status");
        if status == "Present" {
            continue;
        }
        let (kind, name) = (string(entry, "/kind"), string(entry, "/name"));
        let text = shortened(string(entry, "/message"));
        problem = problem.evidence(format!("{kind} `{name}`: {status}: {text}"));
        for dependent in list(entry, "/dependents").iter().filter(|one| one["status"] == "NotSatisfied") {
            problem = problem.evidence(format!(
                "{} of {kind} `{name}` is not satisfied: {}",
                string(dependent, "/kind"),
                shortened(string(dependent, "/message"))
            ));
        }
        if help.is_empty() {
            help = match kind {
                "CustomResourceDefinition" if status == "NotPresent" => {
                    format!(
                        "install the operator that owns CRD `{name}`, or add the CRD to the bundle if this operator owns it"
                    )
                }
                "CustomResourceDefinition" => {
                    format!(
                        "CRD `{name}` exists, but does not serve the version that the CSV names: compare both"
                    )
                }
                "ServiceAccount" => format!(
                    "check the service account `{name}` and its roles in namespace `{}`",
                    namespace_of(csv)
                ),
                "APIService" => format!("check the APIService `{name}`: kubectl describe apiservice {name}"),
                _ => format!("provide {kind} `{name}`"),
            };
        }
    }
    if let Some(first) = problem.evidence.first() {
        problem.message = format!("CSV `{}` is waiting for a requirement: {first}", name_of(csv));
    }
    // The rest of the plan may create them.
    let is_executed = snapshot.within(kinds::INSTALL_PLAN, namespace_of(csv)).any(|plan| {
        string(plan, "/status/phase") == "Installing"
            && strings(plan, "/spec/clusterServiceVersionNames").any(|name| name == name_of(csv))
    });
    problem.help(help).patience(if is_executed { message::TEMPORARY } else { 8 })
}

fn deletion(csv: &Value) -> Diagnosis {
    let message = problem::deletion(&format!("CSV `{}`", name_of(csv)), csv);
    let mut problem = Diagnosis::new("deletion-blocked", object(kinds::CSV, csv), message);
    for pending in list(csv, "/status/cleanup/pendingDeletion") {
        for instance in list(pending, "/instances") {
            problem = problem.evidence(format!(
                "{} `{}/{}` still exists",
                string(pending, "/kind"),
                string(instance, "/namespace"),
                string(instance, "/name")
            ));
        }
    }
    problem.help("delete the objects that still exist while the operator runs").patience(20)
}
