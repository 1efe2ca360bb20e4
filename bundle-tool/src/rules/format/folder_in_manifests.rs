use crate::model::bundle::{MANIFESTS, METADATA};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "folder-in-manifests",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` or `metadata/` holds a folder.",
    why: "operator-sdk refuses a folder in manifests/, and OLM's unpacker, which reads every entry of both as a file, fails on it.",
    help: "move the files up, or out of the bundle",
    source: "operator-framework/api, pkg/manifests/bundleloader.go (loadBundle); operator-registry, pkg/configmap/configmap_writer.go (Populate)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for folder in &context.bundle.folders {
        let within =
            folder.strip_prefix(MANIFESTS).or_else(|| folder.strip_prefix(METADATA)).unwrap_or_default();
        if within.matches('/').count() == 1 {
            reporter.path(folder, "a folder where only files belong");
        }
    }
}
