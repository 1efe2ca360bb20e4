use crate::kubernetes::webhook_client;
use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "crd-group-protected",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD is in a group that is reserved for Kubernetes, `k8s.io` or `kubernetes.io`, and has no approval annotation.",
    impacts: &[Impact::CrdRejected],
    help: "move the CRD to a group of your own, or set the annotation api-approved.kubernetes.io to the URL of the approval",
    sources: &[
        Source::symbols(
            Project::ApiextensionsApiserver,
            "pkg/apis/apiextensions/validation/validation.go",
            &["validateAPIApproval"],
        )
        .since("1.16"),
        Source::file(Project::ApiextensionsApiserver, "pkg/apihelpers/helpers.go").since("1.16"),
    ],
    check: Check::Crd(check),
};

const ANNOTATION: &str = "api-approved.kubernetes.io";

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let group = crd.string(&["group"]);
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    if !protected {
        return;
    }
    let annotation = crd.object.root.dig(&["metadata", "annotations", ANNOTATION]);
    let approval = annotation.and_then(Value::as_str).unwrap_or_default();
    let message = if approval.is_empty() {
        format!("missing annotation `{ANNOTATION}`: the group `{group}` is reserved for Kubernetes")
    } else if approval.starts_with("unapproved") || webhook_client::is_absolute_url(approval) {
        return;
    } else {
        format!(
            "invalid value `{approval}` of the annotation `{ANNOTATION}`: must be a URL or start with `unapproved`"
        )
    };
    let annotations = Path::ROOT.field("metadata.annotations");
    reporter.field(&crd.object, &annotations.key(ANNOTATION), message);
}
