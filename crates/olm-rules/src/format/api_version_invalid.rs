use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "api-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The `apiVersion` of an object is not `<version>` or `<group>/<version>`, or is missing for a kind that is not built into Kubernetes.",
    impacts: &[Impact::SdkRejects, Impact::InstallPlanFails],
    help: "set apiVersion to the API version of the kind",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/runtime/schema/group_version.go",
        &["ParseGroupVersion"],
    )
    .since("1.16")],
    check: Check::Bundle(check),
};

/// The kinds that are not built into Kubernetes; object-version-unserved validates the versions of the others.
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
            format!("invalid apiVersion `{version}`: expected `group/version` or `version`")
        } else if (version.is_empty() || version.ends_with('/')) && OTHERS.contains(&object.kind()) {
            "missing required field `apiVersion`".to_owned()
        } else {
            continue;
        };
        reporter.field(object, &Path::ROOT.field("apiVersion"), message);
    }
}
