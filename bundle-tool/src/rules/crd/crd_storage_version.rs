use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule, Version};

pub(super) static RULE: Rule = Rule {
    id: "crd-storage-version",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "Not exactly one version of a CRD is marked as the one that is stored.",
    why: "The API server refuses the CRD.",
    help: "set storage: true for one version and storage: false for all others",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceDefinitionSpec)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let stored: Vec<_> =
        crd.versions.iter().filter(|version| version.flag("storage")).map(Version::name).collect();
    if crd.versions.is_empty() || stored.len() == 1 {
        return;
    }
    let message = if stored.is_empty() {
        "no version is marked with storage: true".to_owned()
    } else {
        format!("several versions are marked with storage: true: {}", stored.join(", "))
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.versions"), message);
}
