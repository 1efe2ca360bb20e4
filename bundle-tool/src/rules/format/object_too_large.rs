use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "object-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object of the bundle is larger than the 1.5 MiB that etcd takes in one request.",
    why: "The API server cannot store it: the install plan fails.",
    help: "shorten the descriptions in the schema, or split the object",
    source: "etcd, the server's default for the size of a request",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().filter(|file| super::too_large(file)) {
        reporter
            .path(&file.path, format!("the object takes more than {} bytes as JSON", super::MAX_OBJECT_SIZE));
    }
}
