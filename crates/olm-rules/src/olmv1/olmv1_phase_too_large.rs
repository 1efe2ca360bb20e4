use std::collections::BTreeMap;

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-phase-too-large",
    suite: Suite::Olmv1,
    severity: Severity::Warning,
    what: "The bundle has more than 50 objects of kinds that OLM v1 applies in one phase.",
    impacts: &[Impact::Specific(
        "A `ClusterObjectSet` holds at most 50 objects in a phase: OLM v1 cannot apply the bundle with the feature gate `BoxcutterRuntime`, which is off by default.",
    )],
    help: "merge objects, or split the operator",
    sources: &[
        Source::symbols(
            Project::OperatorController,
            "api/v1/clusterobjectset_types.go",
            &["ClusterObjectSetPhase"],
        )
        .since("1.8"),
        Source::symbols(
            Project::OperatorController,
            "internal/operator-controller/applier/phase.go",
            &["determinePhase"],
        )
        .since("1.6"),
    ],
    check: Check::Bundle(check),
};

/// Maximum number of objects in a phase.
const MAX: usize = 50;

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in &context.objects {
        *counts.entry(phase(object.kind())).or_default() += 1;
    }
    for csv in &context.csvs {
        let strategy = &csv.typed.spec.install.spec;
        // A role and a binding for each, and the Deployments.
        let permissions = strategy.permissions.len() + strategy.cluster_permissions.len();
        *counts.entry("roles").or_default() += permissions;
        *counts.entry("bindings").or_default() += permissions;
        *counts.entry("deploy").or_default() += strategy.deployments.len();
    }
    counts.remove("none");
    for (phase, count) in counts.into_iter().filter(|(_, count)| *count > MAX) {
        reporter.bundle(format!("{count} objects in the phase `{phase}` exceed the limit of {MAX}"));
    }
}

/// Returns the phase in which objects of a kind are applied.
fn phase(kind: &str) -> &'static str {
    match kind {
        // Replaced by what it describes.
        "ClusterServiceVersion" => "none",
        "NetworkPolicy" | "PodDisruptionBudget" | "PriorityClass" => "policies",
        "ServiceAccount" => "identity",
        "Secret" | "ConfigMap" => "configuration",
        "CustomResourceDefinition" => "crds",
        "ClusterRole" | "Role" => "roles",
        "ClusterRoleBinding" | "RoleBinding" => "bindings",
        "Service" => "infrastructure",
        "VerticalPodAutoscaler" => "scaling",
        "PrometheusRule" | "ServiceMonitor" | "PodMonitor" | "ConsoleYAMLSample" | "ConsoleQuickStart"
        | "ConsoleCLIDownload" | "ConsoleLink" | "ConsolePlugin" => "publish",
        _ => "deploy",
    }
}
