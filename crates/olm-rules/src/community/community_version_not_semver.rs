use super::sources::REQUIRED_FIELDS;
use crate::prelude::*;
use olm_model::version;

pub(crate) static RULE: Rule = Rule {
    id: "community-version-not-semver",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "`spec.version` is not a semantic version of three numbers.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The catalog orders the operator's versions by it."),
    ],
    help: "set spec.version to a semantic version, such as `1.2.0`",
    sources: REQUIRED_FIELDS,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let version = &csv.typed.spec.version;
    // csv-version-invalid reports what OLM cannot parse either.
    let is_invalid_for_olm = csv.dig(&["spec", "version"]).is_some() && version::tolerant(version).is_err();
    if !is_invalid_for_olm && let Err(error) = version::strict(version) {
        let message = format!("invalid version `{version}`: {error}");
        let path = Path::ROOT.field("spec.version");
        let set = |version: version::Version| {
            Fix::new(Safety::Unsafe, &path, Change::SetString(version.to_string()))
        };
        reporter.fix(version::tolerant(version).ok().map(set)).field(&csv.object, &path, message);
    }
}
