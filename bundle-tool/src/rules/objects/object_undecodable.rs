use crate::report::{Severity, Suite};
use crate::rules::{Check, Rule};
use crate::rules::{Context, Reporter};

pub(super) static RULE: Rule = Rule {
    id: "object-undecodable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object has a value of a type that its field does not take: a text for a number, a list for a map.",
    why: "Neither the API server nor OLM can read the object.",
    help: "give the field a value of its type; quote texts that look like numbers or booleans",
    source: "k8s.io/apimachinery, pkg/runtime/serializer/json/json.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable {
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
