use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-skips-itself",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV lists its own name in `spec.skips`.",
    impacts: &[Impact::Specific("A catalog that contains the bundle has an entry that no upgrade reaches.")],
    help: "remove the name from spec.skips",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "alpha/model/model.go", &["Channel.Head"]).since("1.19")
    ],
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
