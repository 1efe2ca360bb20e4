use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "generate-name-used",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object in `manifests/` has a `generateName` but no name.",
    impacts: &[Impact::SdkRejects, Impact::Specific("OLM identifies objects by their names.")],
    help: "set metadata.name, and remove metadata.generateName",
    sources: &[Source::symbols(
        Project::Apimachinery,
        "pkg/api/validation/objectmeta.go",
        &["ValidateObjectMetaAccessor"],
    )
    .since("1.16")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for object in &context.objects {
        let generated =
            object.root.dig(&["metadata", "generateName"]).and_then(Value::as_str).unwrap_or_default();
        let named = object.root.dig(&["metadata", "name"]).is_some_and(|name| !name.text().is_empty());
        if !generated.is_empty() && !named {
            let path = Path::ROOT.field("metadata.generateName");
            reporter.field(
                object,
                &path,
                "missing required field `metadata.name`: `generateName` is not supported",
            );
        }
    }
}
