use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-replaces-itself",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The CSV's `spec.replaces` is its own name.",
    impacts: &[
        Impact::CsvPending,
        Impact::Specific("OLM waits for the replaced CSV, which is the CSV itself."),
    ],
    help: "set spec.replaces to the name of the previous CSV, or remove it",
    sources: &[Source::symbols(
        Project::OperatorLifecycleManager,
        "pkg/controller/operators/olm/operator.go",
        &["transitionCSVState"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let spec = &csv.typed.spec;
    let root = Path::ROOT;
    if !spec.replaces.is_empty() && spec.replaces == csv.object.name() {
        reporter.field(&csv.object, &root.field("spec.replaces"), "the CSV must not replace itself");
    }
}
