use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "crd-scope-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The scope of a CRD is missing, or is neither `Namespaced` nor `Cluster`.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.scope to `Namespaced` or `Cluster`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateEnumStrings"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let scope = crd.string(&["scope"]);
    let message = match scope {
        "Namespaced" | "Cluster" => return,
        "" => "missing required field `spec.scope`: must be `Namespaced` or `Cluster`".to_owned(),
        _ => format!("unsupported scope `{scope}`: must be `Namespaced` or `Cluster`"),
    };
    let meant = ["Namespaced", "Cluster"].into_iter().find(|name| name.eq_ignore_ascii_case(scope));
    let set = |name: &str| {
        Fix::new(Safety::Safe, &Path::ROOT.field("spec.scope"), Change::SetString(name.to_owned()))
    };
    reporter.fix(meant.map(set));
    reporter.field(&crd.object, &Path::ROOT.field("spec.scope"), message);
}
