use crate::prelude::*;
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "csv-version-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`spec.version` is not a semantic version.",
    impacts: &[Impact::UnpackFails, Impact::Specific("OLM cannot decode the CSV.")],
    help: "set spec.version to `<major>.<minor>.<patch>`",
    sources: &[Source::file(Project::OperatorFrameworkApi, "pkg/lib/version/version.go").since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    if let Some(value) = csv.dig(&["spec", "version"])
        && let Err(error) = version::tolerant(&csv.typed.spec.version)
    {
        let message = format!("invalid version `{}`: {error}", value.text());
        reporter.field(&csv.object, &Path::ROOT.field("spec.version"), message);
    }
}
