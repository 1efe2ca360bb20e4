use crate::prelude::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub(crate) static RULE: Rule = Rule {
    id: "icon-not-base64",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The data of an icon is not base64.",
    impacts: &[Impact::Specific(
        "Consoles do not show the icon, and `opm` rejects a catalog whose `olm.package` has it.",
    )],
    help: "set base64data to the output of `base64 -w0 ICON`",
    sources: &[Source::file(Project::OperatorRegistry, "alpha/declcfg/declcfg.go").since("1.19")],
    check: Check::Csv(check),
};

/// Returns the base64 in a data URL.
fn of_data_url(text: &str) -> Option<&str> {
    let (media_type, data) = text.trim().strip_prefix("data:")?.split_once(',')?;
    (media_type.ends_with(";base64") && STANDARD.decode(data).is_ok()).then_some(data)
}

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    for (index, icon) in csv.typed.spec.icon.iter().enumerate() {
        let mut data = icon.base64data.clone();
        // Go skips line breaks.
        data.retain(|c| c != '\n' && c != '\r');
        if STANDARD.decode(data).is_err() {
            let entry = list.index(index);
            let path = entry.field("base64data");
            if let Some(data) = of_data_url(&icon.base64data) {
                reporter.help("remove `data:` and what follows it up to the comma");
                reporter.fix(Fix::new(Safety::Safe, &path, Change::SetString(data.to_owned())));
                reporter.field(&csv.object, &path, "the icon's data is a data URL, not base64");
            } else {
                reporter.field(&csv.object, &path, "the icon's data is not base64");
            }
        }
    }
}
