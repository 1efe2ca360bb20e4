use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::webhook_client;
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-group-protected",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CRD is in a group of Kubernetes' own, `k8s.io` or `kubernetes.io`, without saying that it was approved.",
    why: "The API server refuses the CRD.",
    help: "use a group of your own; an approved API names its approval in the annotation api-approved.kubernetes.io",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateAPIApproval), pkg/apihelpers/helpers.go",
    check: Check::Crd(check),
};

const ANNOTATION: &str = "api-approved.kubernetes.io";

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let group = crd.text(&["group"]);
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    if !protected {
        return;
    }
    let annotation = crd.object.root.dig(&["metadata", "annotations", ANNOTATION]);
    let approval = annotation.and_then(Value::as_str).unwrap_or_default();
    let message = if approval.is_empty() {
        format!("the group '{group}' is Kubernetes' own: the CRD needs the annotation {ANNOTATION}")
    } else if approval.starts_with("unapproved") || webhook_client::is_absolute_url(approval) {
        return;
    } else {
        format!("the annotation {ANNOTATION} is '{approval}'; it must be a URL, or begin with 'unapproved'")
    };
    let annotations = Path::ROOT.field("metadata.annotations");
    reporter.field(&crd.object, &annotations.key(ANNOTATION), message);
}
