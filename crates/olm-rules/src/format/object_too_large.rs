use super::size;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "object-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object of the bundle is larger than 1.5 MiB, the limit of etcd for a request.",
    impacts: &[Impact::ObjectRejected],
    help: "shorten the descriptions in the schema, or split the object",
    sources: &[
        Source::symbols(Project::Etcd, "server/embed/config.go", &["DefaultMaxRequestBytes"]).since("3.3")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().filter(|file| size::too_large(file)) {
        reporter
            .path(&file.path, format!("object exceeds the limit of {} bytes as JSON", size::MAX_OBJECT_SIZE));
    }
}
