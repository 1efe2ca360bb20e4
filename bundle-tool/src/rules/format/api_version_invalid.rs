use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "api-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object in `manifests/` has an `apiVersion` that is not VERSION or GROUP/VERSION, or none where only OpenShift, Prometheus or an autoscaler know its kind.",
    why: "Nobody can tell what the object is: operator-sdk refuses the bundle, or the install plan fails.",
    help: "write the API version of the object's kind",
    source: "k8s.io/apimachinery, pkg/runtime/schema/group_version.go (ParseGroupVersion)",
    check: Check::Bundle(check),
};

/// The kinds of other groups than Kubernetes' own; for those, object-version-unserved knows the version.
const OTHERS: [&str; 8] = [
    "ConsoleCLIDownload",
    "ConsoleLink",
    "ConsolePlugin",
    "ConsoleQuickStart",
    "ConsoleYAMLSample",
    "PrometheusRule",
    "ServiceMonitor",
    "VerticalPodAutoscaler",
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for object in &context.objects {
        let version = object.api_version();
        let message = if version.matches('/').count() > 1 {
            format!("'{version}' is no API version")
        } else if (version.is_empty() || version.ends_with('/')) && OTHERS.contains(&object.kind()) {
            "the object has no API version".to_owned()
        } else {
            continue;
        };
        reporter.field(object, &Path::ROOT.field("apiVersion"), message);
    }
}
