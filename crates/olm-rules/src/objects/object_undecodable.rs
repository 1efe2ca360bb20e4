use crate::prelude::*;
use crate::shared::scalars;

pub(crate) static RULE: Rule = Rule {
    id: "object-undecodable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A field of an object has a value of the wrong type.",
    impacts: &[Impact::ObjectRejected],
    help: "set the field to a value of the expected type; quote strings that look like numbers or booleans",
    sources: &[Source::file(Project::Apimachinery, "pkg/runtime/serializer/json/json.go").since("1.16")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable {
        reporter.fix(scalars::fix(object, error));
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
