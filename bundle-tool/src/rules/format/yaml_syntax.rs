use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::{Content, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "yaml-syntax",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/`, or metadata/annotations.yaml, is no YAML that Kubernetes and OLM can read.",
    why: "OLM cannot unpack the bundle: other tools then say that the CSV or the annotations are missing.",
    help: "mend the syntax at this place; a YAML-aware editor shows it",
    source: "go.yaml.in/yaml/v2, through which Kubernetes and OLM read YAML",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        match &file.content {
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                reporter.place(file, error.position, format!("not YAML: {}", error.message));
            }
            Content::Unreadable(reason) => reporter.path(&file.path, format!("cannot be read: {reason}")),
            Content::Documents { .. } | Content::Other => {}
        }
    }
}
