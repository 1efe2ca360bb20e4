use super::features;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "preflight-annotation-invalid",
    suite: Suite::Preflight,
    severity: Severity::Error,
    what: "An annotation that declares a feature is neither `\"true\"` nor `\"false\"`.",
    impacts: &[Impact::PreflightFails("RequiredAnnotations")],
    help: "set the annotation to `\"true\"` or `\"false\"`",
    sources: features::SOURCES,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let annotations = root.field("metadata.annotations");
    for key in features::REQUIRED.into_iter().chain(features::OPTIONAL) {
        let value = csv.typed.metadata.annotations.as_ref().and_then(|all| all.get(key));
        if let Some(value) = value.filter(|value| !matches!(value.as_str(), "true" | "false")) {
            let message = format!("invalid value `{value}`: must be `true` or `false`");
            let meant = ["true", "false"].into_iter().find(|name| name.eq_ignore_ascii_case(value.trim()));
            let set = |name: &str| {
                Fix::new(Safety::Safe, &annotations.key(key), Change::SetString(name.to_owned()))
            };
            reporter.fix(meant.map(set));
            reporter.field(&csv.object, &annotations.key(key), message);
        }
    }
}
