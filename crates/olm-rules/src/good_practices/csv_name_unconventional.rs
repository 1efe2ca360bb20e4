use crate::prelude::*;
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "csv-name-unconventional",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "The CSV's name is not `<name>.v<major>.<minor>.<patch>`.",
    impacts: &[Impact::Specific("Tools and users read the version from the name.")],
    help: "name the CSV after the operator and its version, such as `memcached-operator.v0.0.1`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["checkBundleName"],
    )
    .since("0.8")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let name = csv.object.name();
    let mut parts = name.split(".v");
    let version = parts.next().and_then(|_| parts.next()).filter(|_| parts.next().is_none());
    if version.is_none_or(|version| version::strict(version).is_err()) && !name.is_empty() {
        let message = format!("unconventional name `{name}`: should be `<name>.v<major>.<minor>.<patch>`");
        reporter.field(&csv.object, &Path::ROOT.field("metadata.name"), message);
    }
}
