use super::operator_names::{self, Published};
use super::sources::OPERATOR_NAME;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-names-inconsistent",
    suite: Suite::Community,
    severity: Severity::Warning,
    what: "The other bundles of the operator have different package names, or different operator names in the names of their CSVs.",
    impacts: &[Impact::Specific("The pipeline of the OpenShift community catalog warns about it.")],
    help: "use one name in new bundles",
    sources: OPERATOR_NAME,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (what, _, others) in operator_names::published(context) {
        if let Published::Several(names) = others {
            reporter.bundle(format!("the other bundles have different {what}s: `{}`", names.join("`, `")));
        }
    }
}
