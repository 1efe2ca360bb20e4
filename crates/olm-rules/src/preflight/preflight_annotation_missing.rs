use super::features;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "preflight-annotation-missing",
    suite: Suite::Preflight,
    severity: Severity::Error,
    what: "The CSV does not have one of the annotations that declare features: disconnected, fips-compliant, proxy-aware, tls-profiles, token-auth-aws, token-auth-azure and token-auth-gcp.",
    impacts: &[Impact::PreflightFails("RequiredAnnotations")],
    help: "set the annotation to `\"true\"` or `\"false\"`",
    sources: features::SOURCES,
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let annotations = root.field("metadata.annotations");
    for key in features::REQUIRED {
        if csv.typed.metadata.annotations.as_ref().is_none_or(|all| !all.contains_key(key)) {
            reporter.field(&csv.object, &annotations.key(key), format!("missing annotation `{key}`"));
        }
    }
}
