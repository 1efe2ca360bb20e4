use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "crd-conversion-strategy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The conversion strategy of a CRD is missing, or is neither `None` nor `Webhook`.",
    impacts: &[Impact::CrdRejected],
    help: "set spec.conversion.strategy to `None` or `Webhook`",
    sources: &[Source::symbols(
        Project::ApiextensionsApiserver,
        "pkg/apis/apiextensions/validation/validation.go",
        &["validateCustomResourceConversion"],
    )
    .since("1.16")],
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let Some(conversion) = crd.spec.get("conversion").filter(|conversion| !conversion.is_null()) else {
        return;
    };
    let strategy = conversion.get("strategy").and_then(Value::as_str).unwrap_or_default();
    let message = match strategy {
        "None" | "Webhook" => return,
        "" => "missing required field `strategy`: must be `None` or `Webhook`".to_owned(),
        _ => format!("unsupported strategy `{strategy}`: must be `None` or `Webhook`"),
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.conversion.strategy"), message);
}
