use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "file-hidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` holds a file whose name begins with a dot.",
    why: "operator-sdk refuses the bundle; OLM's unpacker takes the file for one of the objects.",
    help: "delete the file",
    source: "operator-framework/api, pkg/manifests/bundleloader.go (loadBundle)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.files.iter().filter(|file| file.is_manifest() && file.name().starts_with('.'))
    {
        reporter.path(&file.path, "a hidden file among the manifests");
    }
}
