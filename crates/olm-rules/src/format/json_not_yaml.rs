use crate::prelude::*;
use olm_model::Content;
use olm_model::bundle::ANNOTATIONS_FILE;

pub(crate) static RULE: Rule = Rule {
    id: "json-not-yaml",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A JSON file in `manifests/`, or metadata/annotations.yaml, has a string that is not valid YAML: an escaped surrogate pair, an escaped slash, a control character, or bytes that are not UTF-8.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM parses the file as JSON and accepts it.")],
    help: "replace the escape with the character itself, or convert the file to YAML",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/manifests/bundleloader.go",
        &["loadBundle"],
    )
    .since("0.4")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        if let Content::Documents { json_only: Some(position), .. } = &file.content {
            reporter.place(file, *position, "invalid YAML string in a JSON file");
        }
    }
}
