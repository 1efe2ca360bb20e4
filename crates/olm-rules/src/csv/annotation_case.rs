use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-case",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An annotation of the CSV that OLM reads has the wrong case.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM does not find the annotation.")],
    help: "rename the annotation",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/annotations.go",
        &["ValidateAnnotationNames"],
    )
    .since("0.7")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const NAMES: [&str; 5] = [
        "olm.operatorGroup",
        "olm.operatorNamespace",
        "olm.targetNamespaces",
        "olm.providedAPIs",
        "olm.skipRange",
    ];
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    for key in csv.typed.metadata.annotations.iter().flat_map(|annotations| annotations.keys()) {
        let meant = NAMES.iter().find(|name| name.eq_ignore_ascii_case(key));
        if let Some(name) = meant.filter(|name| *name != key) {
            let rename = Change::Rename((*name).to_owned());
            reporter.fix(Fix::new(Safety::Safe, &path.key(key), rename));
            reporter.field(
                &csv.object,
                &path.key(key),
                format!("unknown annotation `{key}`: did you mean `{name}`?"),
            );
        }
    }
}
