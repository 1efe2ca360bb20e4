use crate::prelude::*;
use olm_model::{Annotations, version};

pub(crate) static RULE: Rule = Rule {
    id: "csv-release-name",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has a release, but its name is not `<package>-v<version>-<release>`.",
    impacts: &[Impact::Specific("operator-framework/api v0.45 and later reject the bundle.")],
    help: "set metadata.name to `<package>-v<version>-<release>`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateBundleName"],
    )
    .since("0.37")],
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
            let message = format!("unexpected name `{}`: should be `{expected}`", csv.object.name());
            reporter.field(&csv.object, &Path::ROOT.field("metadata.name"), message);
        }
    }
}
