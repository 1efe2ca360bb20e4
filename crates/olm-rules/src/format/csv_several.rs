use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "csv-several",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` contains more than one `ClusterServiceVersion`.",
    impacts: &[Impact::SdkRejects, Impact::UnpackFails],
    help: "keep one ClusterServiceVersion, and create one bundle for each version",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/manifests/bundleloader.go",
        &["loadBundle"],
    )
    .since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let mut csvs = context.bundle.of_kind("ClusterServiceVersion");
    let Some(first) = csvs.next() else { return };
    for csv in csvs {
        let message = format!("duplicate `ClusterServiceVersion`: the first one is in {}", first.file.path);
        reporter.field(&csv, &Path::ROOT, message);
        reporter.related(&first, &Path::ROOT, "the first one is here");
    }
}
