use super::examples;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "example-annotations-both",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has both annotations `alm-examples` and `olm.examples`.",
    impacts: &[Impact::Specific("Only `alm-examples` is used.")],
    help: "remove the annotation olm.examples",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["validateExamplesAnnotations"],
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let has =
        |key: &str| csv.typed.metadata.annotations.iter().any(|annotations| annotations.contains_key(key));
    if has(examples::KEY) && has(examples::OTHER_KEY) {
        let root = Path::ROOT;
        let path = root.field("metadata.annotations");
        let remove = Fix::new(Safety::Unsafe, &path.key(examples::OTHER_KEY), Change::Remove);
        reporter.fix(remove);
        reporter.field(
            &csv.object,
            &path.key(examples::OTHER_KEY),
            "unused annotation `olm.examples`: the annotation `alm-examples` is also set",
        );
    }
}
