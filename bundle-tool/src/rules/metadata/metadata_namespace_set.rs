use crate::model::Object;
use crate::model::bundle::is_installable;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-namespace-set",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object beside the CSV is given a namespace.",
    why: "operator-sdk refuses the bundle: OLM decides which namespace the objects go to, and overwrites what is written.",
    help: "remove metadata.namespace",
    source: "operator-sdk, internal/registry/validate.go (validateObject); k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor)",
    check: Check::Object(check),
};

fn check(object: &Object<'_>, reporter: &mut Reporter<'_>) {
    // OLM sets the CSV's, too, and nobody minds; crd-namespace-set speaks of CRDs.
    let validated_elsewhere = matches!(object.kind(), "ClusterServiceVersion" | "CustomResourceDefinition");
    if !validated_elsewhere && is_installable(object.kind()) && !object.namespace().is_empty() {
        let path = Path::ROOT.field("metadata.namespace");
        reporter.field(object, &path, format!("OLM chooses the namespace, not '{}'", object.namespace()));
    }
}
