use crate::model::yaml::Path;
use crate::model::{Annotations, version};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-release-name",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a release, and its name is not `PACKAGE-vVERSION-RELEASE`.",
    why: "Newer versions of operator-framework/api refuse such a bundle.",
    help: "name the CSV after its package, version and release",
    source: "operator-framework/api v0.45, pkg/validation/internal/bundle.go (validateBundleName)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let package = context.bundle.annotations().and_then(|annotations| annotations.get(Annotations::PACKAGE));
    for csv in &context.csvs {
        let Some(release) = csv.typed.spec.release.as_str().filter(|release| !release.is_empty()) else {
            continue;
        };
        let Ok(version) = version::tolerant(&csv.typed.spec.version) else { continue };
        let expected = format!("{}-v{version}-{release}", package.unwrap_or_default());
        if csv.object.name() != expected {
            let message = format!("the name should be '{expected}'");
            reporter.field(&csv.object, &Path::ROOT.field("metadata.name"), message);
        }
    }
}
