use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;
use crate::shared::media_types;

pub(crate) static RULE: Rule = Rule {
    id: "community-icon-invalid",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The CSV has no icon, or one that is not base64 data of a PNG, JPEG, GIF or SVG image.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The catalog shows the icon beside the operator's name."),
    ],
    help: "add an icon with base64data and mediatype `image/svg+xml`, `image/png`, `image/jpeg` or `image/gif`",
    sources: REQUIRED_FIELDS,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    if csv.typed.spec.icon.is_empty() {
        return reporter.field(&csv.object, &list, "missing icon");
    }
    for (index, icon) in csv.typed.spec.icon.iter().enumerate() {
        let entry = list.index(index);
        let data: String = icon.base64data.split_ascii_whitespace().collect();
        // icon-not-base64 reports data that is not base64.
        if data.len() < 4 {
            reporter.field(&csv.object, &entry.field("base64data"), "missing image data");
        }
        if !media_types::is_supported(&icon.mediatype) {
            reporter.field(&csv.object, &entry.field("mediatype"), media_types::unsupported(&icon.mediatype));
        }
    }
}
