use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "hub-icon-invalid",
    suite: Suite::OperatorHubV2,
    severity: Severity::Error,
    what: "The operator has several icons, or one without data or without a media type that OperatorHub shows.",
    why: "OperatorHub refuses it.",
    help: "keep one icon with base64data and a mediatype: image/svg+xml, image/png, image/jpeg or image/gif",
    source: "operator-framework/api, pkg/validation/internal/operatorhub.go (checkSpecIcon)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const SHOWN: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/svg+xml"];
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    let icons = &csv.typed.spec.icon;
    if icons.len() > 1 {
        reporter.field(&csv.object, &list.index(1), "there is more than one icon");
    }
    let Some(icon) = icons.first() else { return };
    let entry = list.index(0);
    if icon.base64data.is_empty() && icon.mediatype.is_empty() {
        return reporter.field(&csv.object, &entry, "the icon has neither data nor a media type");
    }
    if icon.base64data.is_empty() {
        reporter.field(&csv.object, &entry.field("base64data"), "the icon has no data");
    }
    if !SHOWN.contains(&icon.mediatype.as_str()) {
        let message = match icon.mediatype.as_str() {
            "" => "the icon has no media type".to_owned(),
            other => format!("OperatorHub shows no icon of type '{other}'"),
        };
        reporter.field(&csv.object, &entry.field("mediatype"), message);
    }
}
