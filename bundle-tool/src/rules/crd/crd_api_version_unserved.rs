use crate::model::Object;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-api-version-unserved",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A CustomResourceDefinition is written in an API version other than `apiextensions.k8s.io/v1`.",
    why: "Kubernetes has served no other version since 1.22: neither kubectl nor OLM can create the CRD.",
    help: "write the CRD in apiextensions.k8s.io/v1",
    source: "Kubernetes deprecation guide, v1.22 (CustomResourceDefinition)",
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    let version = object.api_version();
    if object.kind() == "CustomResourceDefinition" && version != "apiextensions.k8s.io/v1" {
        let message = format!("'{version}' is no API version of CustomResourceDefinitions that is served");
        reporter.field(object, &Path::ROOT.field("apiVersion"), message);
    }
}
