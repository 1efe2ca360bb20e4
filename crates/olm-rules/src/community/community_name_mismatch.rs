use super::operator_names;
use super::sources::OPERATOR_NAME;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-name-mismatch",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "In the first bundle of an operator, the package name differs from the operator name in the CSV's name, or from the name of the operator's directory.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific("The pipeline finds the bundles of an operator by these names."),
    ],
    help: "use one name for the package, the CSV (`NAME.vVERSION`) and the directory",
    sources: OPERATOR_NAME,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    operator_names::report_mismatch(context, true, reporter);
}
