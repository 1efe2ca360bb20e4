use crate::prelude::*;
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "csv-version-not-strict",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "`spec.version` is valid for OLM, but not for catalogs: it begins with `v`, has spaces or leading zeros, or lacks a number.",
    impacts: &[Impact::Specific(
        "OLM accepts the version, but `opm` rejects every catalog that contains the bundle.",
    )],
    help: "write MAJOR.MINOR.PATCH, without `v`",
    sources: &[Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg_to_model.go").since("1.20")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let text = csv.typed.spec.version.as_str();
    if text.is_empty() || version::strict(text).is_ok() {
        return;
    }
    if let Ok(meant) = version::tolerant(text) {
        let message = format!("invalid version `{text}`: catalogs require `{meant}`");
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), message);
    }
}
