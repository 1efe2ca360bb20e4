use serde_json::Value as Json;

use super::examples;
use crate::openapi::Crds;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "example-rejected",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An example of the CSV is not valid for the schema of its CRD in the bundle.",
    impacts: &[Impact::Specific(
        "Consoles fill their forms with the example, and the API server rejects what users then create.",
    )],
    help: "correct the example, or the schema of the CRD",
    sources: &[
        Source::file(Project::ApiextensionsApiserver, "pkg/apiserver/validation/validation.go").since("1.16")
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
            let Some(reason) = crds.outcome(example).and_then(|outcome| outcome.rejected) else { continue };
            let kind = example["kind"].as_str().unwrap_or_default();
            let name = example["metadata"]["name"].as_str().unwrap_or_default();
            reporter.field(
                &csv.object,
                &path,
                format!("the CRD rejects the example {kind} `{name}`: {reason}"),
            );
        }
    }
}
