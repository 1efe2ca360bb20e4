use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "file-hidden",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` contains a file whose name starts with a dot.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM unpacks the file like any other manifest.")],
    help: "delete the file",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/manifests/bundleloader.go",
        &["loadBundle"],
    )
    .since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.files.iter().filter(|file| file.is_manifest() && file.name().starts_with('.'))
    {
        reporter.path(&file.path, "unexpected hidden file");
    }
}
