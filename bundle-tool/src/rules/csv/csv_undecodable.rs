use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-undecodable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A value in the CSV does not fit its field: text where a number belongs, a number where text belongs, an unreadable quantity.",
    why: "OLM reads the CSV into typed structures and stops at such a value: the bundle cannot be unpacked or the CSV not be created.",
    help: "write a value of the type that is asked for; quote text that looks like a number or a boolean",
    source: "operator-framework/api, pkg/operators/v1alpha1/clusterserviceversion_types.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable_csvs {
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
