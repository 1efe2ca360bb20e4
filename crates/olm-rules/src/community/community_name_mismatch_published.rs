use super::operator_names;
use super::sources::OPERATOR_NAME;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-name-mismatch-published",
    suite: Suite::Community,
    severity: Severity::Warning,
    what: "In a bundle of a published operator, the package name differs from the operator name in the CSV's name, or from the name of the operator's directory.",
    impacts: &[Impact::Specific(
        "The pipeline of the OpenShift community catalog warns about it, and rejects it in the first bundle of an operator.",
    )],
    help: "use one name for the package, the CSV (`NAME.vVERSION`) and the directory",
    sources: OPERATOR_NAME,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    operator_names::report_mismatch(context, false, reporter);
}
