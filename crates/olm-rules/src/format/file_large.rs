use super::size;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "file-large",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file of the bundle is larger than 1 MiB.",
    impacts: &[Impact::Specific(
        "Large CRDs slow down API servers and catalogs, and an object larger than 1.5 MiB cannot be stored.",
    )],
    help: "shorten the descriptions in the schema",
    sources: &[
        Source::symbols(Project::Etcd, "server/embed/config.go", &["DefaultMaxRequestBytes"]).since("3.3")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().filter(|file| file.size > 1 << 20 && !size::too_large(file)) {
        reporter.path(
            &file.path,
            format!("file of {} bytes exceeds the recommended maximum of 1048576 bytes", file.size),
        );
    }
}
