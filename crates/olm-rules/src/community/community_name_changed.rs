use super::operator_names::{self, Published};
use super::sources::OPERATOR_NAME;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "community-name-changed",
    suite: Suite::Community,
    severity: Severity::Error,
    what: "The package name, or the operator name in the CSV's name, differs from that of all other bundles of the operator.",
    impacts: &[
        Impact::PipelineRejects,
        Impact::Specific(
            "Otherwise, the bundles do not belong to one package, and OLM cannot upgrade between them.",
        ),
    ],
    help: "use the name of the other bundles",
    sources: OPERATOR_NAME,
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (what, mine, others) in operator_names::published(context) {
        if let Published::One(other) = others
            && other != mine
        {
            reporter.bundle(format!("{what} `{mine}` differs from `{other}` in the other bundles"));
        }
    }
}
