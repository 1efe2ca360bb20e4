use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "properties-annotation",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has the annotation `olm.properties`.",
    impacts: &[Impact::Specific(
        "The annotation is an older form of metadata/properties.yaml, and operator-sdk warns about it.",
    )],
    help: "move the properties to metadata/properties.yaml",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/annotations.go",
        &["ValidateAnnotationNames"],
    )
    .since("0.14")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const KEY: &str = "olm.properties";
    if csv.typed.metadata.annotations.iter().any(|annotations| annotations.contains_key(KEY)) {
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        reporter.field(
            &csv.object,
            &annotations.key(KEY),
            "deprecated annotation `olm.properties`: use metadata/properties.yaml",
        );
    }
}
