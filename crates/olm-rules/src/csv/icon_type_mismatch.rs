use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use olm_model::icon;

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "icon-type-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The data of an icon is not an image, or is an image of a different type than its media type declares.",
    impacts: &[Impact::Specific(
        "Consoles show a broken image: browsers decode the data as the media type says.",
    )],
    help: "set mediatype to the type of the image",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )
    .since("0.2")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    for (index, entry) in csv.typed.spec.icon.iter().enumerate() {
        let mut data = entry.base64data.clone();
        data.retain(|c| c != '\n' && c != '\r');
        // icon-not-base64 reports data that is not base64.
        let Ok(data) = STANDARD.decode(data) else { continue };
        let declared = entry.mediatype.as_str();
        let Some(found) = icon::media_type(&data) else {
            if is_known(declared) && !data.is_empty() {
                reporter.help("set base64data to the output of `base64 -w0 ICON` for an image of this type");
                let item = list.index(index);
                let message = format!("the data is not an image of media type `{declared}`");
                reporter.field(&csv.object, &item.field("base64data"), message);
            }
            continue;
        };
        // Other types are for the rules of catalogs.
        if is_known(declared) && declared != found {
            let item = list.index(index);
            let path = item.field("mediatype");
            reporter.fix(Fix::new(Safety::Safe, &path, Change::SetString(found.to_owned())));
            reporter.field(
                &csv.object,
                &path,
                format!("media type `{declared}` differs from the data, which is `{found}`"),
            );
        }
    }
}

fn is_known(media_type: &str) -> bool {
    ["image/gif", "image/jpeg", "image/png", "image/svg+xml", "image/webp"].contains(&media_type)
}
