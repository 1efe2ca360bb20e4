use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "file-large",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A file of the bundle is larger than 1 MiB.",
    why: "Large CRDs slow every API server and every catalogue down, and an object over 1.5 MiB cannot be stored at all.",
    help: "shorten the descriptions in the schema",
    source: "etcd, the server's default for the size of a request",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().filter(|file| file.size > 1 << 20 && !super::too_large(file)) {
        reporter.path(&file.path, format!("the file takes {} bytes", file.size));
    }
}
