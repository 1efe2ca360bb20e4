use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Crd, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "crd-conversion-strategy-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The conversion of a CRD has a strategy other than `None` and `Webhook`, or none.",
    why: "The API server refuses the CRD.",
    help: "set spec.conversion.strategy to None or Webhook",
    source: "apiextensions-apiserver, pkg/apis/apiextensions/validation/validation.go (validateCustomResourceConversion)",
    check: Check::Crd(check),
};

fn check(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let Some(conversion) = crd.spec.get("conversion").filter(|conversion| !conversion.is_null()) else {
        return;
    };
    let strategy = conversion.get("strategy").and_then(Value::as_str).unwrap_or_default();
    let message = match strategy {
        "None" | "Webhook" => return,
        "" => "the conversion has no strategy".to_owned(),
        _ => format!("'{strategy}' is no strategy for conversion"),
    };
    reporter.field(&crd.object, &Path::ROOT.field("spec.conversion.strategy"), message);
}
