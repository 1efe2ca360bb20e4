use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-several",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` holds more than one `ClusterServiceVersion`.",
    why: "A bundle is one version of one operator: OLM's loaders refuse a second CSV.",
    help: "keep one CSV and make a bundle of its own for every other version",
    source: "operator-framework/api, pkg/manifests/bundleloader.go (loadBundle)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let mut csvs = context.bundle.of_kind("ClusterServiceVersion");
    let Some(first) = csvs.next() else { return };
    for csv in csvs {
        let message = format!("a second ClusterServiceVersion; the first is in {}", first.file.path);
        reporter.field(&csv, &Path::ROOT, message);
    }
}
