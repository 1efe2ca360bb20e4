use serde_json::Value as Json;

use super::examples;
use crate::kubernetes::names;
use crate::openapi::{Crds, object_meta};
use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULE: Rule = Rule {
    id: "example-rejected",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An example of the CSV is not valid for the schema of its CRD in the bundle, or has metadata that the API server rejects: no name, an invalid name, label or annotation key, a value of the wrong type, or a resourceVersion.",
    impacts: &[Impact::Specific(
        "Consoles fill their forms and editors with the example, and the API server rejects what users then create.",
    )],
    help: "correct the example, or the schema of the CRD",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/validation/validation.go").since("1.16"),
        Source::symbols(
            Project::ApiextensionsApiserver,
            "pkg/registry/customresource/validator.go",
            &["customResourceValidator.Validate"],
        )
        .since("1.16"),
        Source::symbols(
            Project::Apimachinery,
            "pkg/api/validation/objectmeta.go",
            &["ValidateObjectMetaAccessor"],
        )
        .since("1.16"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let parse = |json: &Json| {
        let parsed = kube_yaml::parse(json.to_string().as_bytes());
        parsed.documents.into_iter().next().unwrap_or_default()
    };
    for csv in &context.csvs {
        let Some(text) = examples::annotation(csv) else { continue };
        // example-invalid reports what is not a list of objects.
        let Ok(Json::Array(list)) = kube_yaml::json::from_str(text) else { continue };
        let crds = Crds::new(context.crds.iter().map(|crd| crd.object.root), &parse);
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        let path = annotations.key(examples::key(csv));
        for example in &list {
            let Some(outcome) = crds.outcome(example).filter(|outcome| outcome.is_served) else { continue };
            let kind = example["kind"].as_str().unwrap_or_default();
            let name = example["metadata"]["name"].as_str().unwrap_or_default();
            let tree = parse(example);
            let metadata = tree.root().get("metadata");
            let problems = [("API server", metadata_problem(metadata)), ("CRD", outcome.rejected)];
            for (by, problem) in problems {
                let Some(problem) = problem else { continue };
                let example = if name.is_empty() { kind.to_owned() } else { format!("{kind} `{name}`") };
                let message = format!("the {by} rejects the example {example}: {problem}");
                reporter.field(&csv.object, &path, message);
            }
        }
    }
}

/// The maximum length of a prefix in a generated name (`MaxGeneratedNameLength` in `pkg/storage/names` of apiserver).
const MAX_PREFIX: usize = 58;

/// Returns what the API server rejects in the metadata of a new custom resource.
fn metadata_problem(metadata: Option<Value<'_>>) -> Option<String> {
    let root = Path::ROOT;
    let path = root.field("metadata");
    if let Err(mismatch) = metadata.map_or(Ok(()), |metadata| object_meta(metadata, &path)) {
        return Some(format!("{}: {}", mismatch.path, mismatch.message));
    }
    let text =
        |field: &str| metadata.and_then(|all| all.get(field)).and_then(Value::as_str).unwrap_or_default();
    let (name, prefix) = (text("name"), text("generateName"));
    // The API server shortens a prefix before it completes the name.
    let kept = prefix.get(..MAX_PREFIX).unwrap_or(prefix);
    if name.is_empty() && prefix.is_empty() {
        Some("missing required field `metadata.name`".to_owned())
    } else if let Some(problem) = names::dns_subdomain(name).err().filter(|_| !name.is_empty()) {
        Some(format!("metadata.name: {problem}"))
    } else if name.is_empty() && names::dns_subdomain(&format!("{kept}00000")).is_err() {
        Some(format!(
            "metadata.generateName: invalid prefix `{prefix}`: names that begin with it are not DNS names"
        ))
    } else if !matches!(text("resourceVersion"), "" | "0") {
        Some("unexpected `metadata.resourceVersion`: must not be set on creation".to_owned())
    } else {
        None
    }
}
