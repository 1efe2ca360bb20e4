use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-version-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has no `spec.version`.",
    why: "OLM takes it for 0.0.0: dependencies and ranges of versions do not find it.",
    help: "add spec.version",
    source: "operator-framework/api, pkg/lib/version/version.go",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if csv.object.root.dig(&["spec", "version"]).is_none() {
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), "the operator has no version");
    }
}
