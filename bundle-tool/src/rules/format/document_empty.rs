use crate::model::{Content, First};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "document-empty",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/` holds no object before its first separator: it is empty, has comments alone, or begins with a comment and a separator.",
    why: "Readers take what comes before the first `---` for the whole file: an object of no kind, which OLM does not install.",
    help: "delete the file, or put the object first: a comment belongs behind the first `---`",
    source: "k8s.io/apimachinery, pkg/util/yaml/decoder.go (YAMLReader); operator-registry, pkg/lib/bundle/supported_resources.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests() {
        if let Content::Documents { first: First::Empty, documents, .. } = &file.content {
            let what = if documents.is_empty() {
                "the file holds no object"
            } else {
                "nothing stands before the first separator, and nobody reads what comes behind it"
            };
            reporter.path(&file.path, what);
        }
    }
}
