use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-skips-itself",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV skips itself, or what it replaces.",
    why: "A catalogue that is built from it has an entry that no upgrade can reach.",
    help: "take the name out of spec.skips",
    source: "operator-registry, alpha/model (channel heads)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let skips = root.field("spec.skips");
    for (index, skipped) in csv.typed.spec.skips.iter().enumerate() {
        if skipped == csv.object.name() {
            reporter.field(&csv.object, &skips.index(index), "the CSV skips itself");
        }
    }
}
