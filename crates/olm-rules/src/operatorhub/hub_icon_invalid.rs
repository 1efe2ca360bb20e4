use crate::prelude::*;
use crate::shared::media_types;

pub(crate) static RULE: Rule = Rule {
    id: "hub-icon-invalid",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The CSV has several icons, or one without data or with an unsupported media type.",
    impacts: &[Impact::SubmissionRejected],
    help: "keep one icon with base64data, and set mediatype to `image/svg+xml`, `image/png`, `image/jpeg` or `image/gif`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/operatorhub.go",
        &["checkSpecIcon"],
    )
    .since("0.4")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    let icons = &csv.typed.spec.icon;
    if icons.len() > 1 {
        reporter.field(&csv.object, &list.index(1), "unexpected second icon: only one is supported");
    }
    let Some(icon) = icons.first() else { return };
    let entry = list.index(0);
    if icon.base64data.is_empty() && icon.mediatype.is_empty() {
        return reporter.field(&csv.object, &entry, "missing required fields `base64data` and `mediatype`");
    }
    if icon.base64data.is_empty() {
        reporter.field(&csv.object, &entry.field("base64data"), "missing required field `base64data`");
    }
    if !media_types::is_supported(&icon.mediatype) {
        let message = match icon.mediatype.as_str() {
            "" => "missing required field `mediatype`".to_owned(),
            other => media_types::unsupported(other),
        };
        reporter.field(&csv.object, &entry.field("mediatype"), message);
    }
}
