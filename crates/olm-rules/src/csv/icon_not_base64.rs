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

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.icon");
    for (index, icon) in csv.typed.spec.icon.iter().enumerate() {
        let mut data = icon.base64data.clone();
        // Go skips line breaks.
        data.retain(|c| c != '\n' && c != '\r');
        if STANDARD.decode(data).is_err() {
            let entry = list.index(index);
            reporter.field(&csv.object, &entry.field("base64data"), "the icon's data is not base64");
        }
    }
}
