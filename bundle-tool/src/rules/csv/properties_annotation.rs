use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "properties-annotation",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has the annotation `olm.properties`.",
    why: "It is an older form of metadata/properties.yaml, which operator-sdk warns of.",
    help: "move the properties into metadata/properties.yaml",
    source: "operator-framework/api, pkg/validation/internal/annotations.go (ValidateAnnotationNames)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const KEY: &str = "olm.properties";
    if csv.typed.metadata.annotations.iter().any(|annotations| annotations.contains_key(KEY)) {
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        reporter.field(&csv.object, &annotations.key(KEY), "properties belong into metadata/properties.yaml");
    }
}
