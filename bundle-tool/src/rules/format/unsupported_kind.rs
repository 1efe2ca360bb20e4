use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "unsupported-kind",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` holds an object of a kind that OLM does not install from a bundle, or an object without kind.",
    why: "OLM refuses the bundle: it only creates the kinds that it knows to upgrade and delete safely.",
    help: "take the object out; a Deployment belongs into the CSV's install strategy, others are the operator's to create",
    source: "operator-registry v1.59, pkg/lib/bundle/supported_resources.go; operator-lifecycle-manager, pkg/controller/operators/catalog/supportedresources.go",
    check: Check::Bundle(check),
};

/// The kinds that OLM creates from a bundle, whatever their group.
const SUPPORTED: [&str; 21] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "ClusterServiceVersion",
    "ConfigMap",
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsolePlugin",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "CustomResourceDefinition",
    "NetworkPolicy",
    "PodDisruptionBudget",
    "PriorityClass",
    "PrometheusRule",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for object in &context.objects {
        match object.kind() {
            "" => reporter.field(object, &root, "the object has no kind"),
            kind if SUPPORTED.binary_search(&kind).is_err() => {
                reporter.field(object, &root.field("kind"), format!("a bundle cannot hold a {kind}"));
            }
            _ => {}
        }
    }
}
