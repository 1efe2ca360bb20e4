use crate::model::yaml::{Path, Value};
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "generate-name-used",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An object in `manifests/` has a `generateName` and no name.",
    why: "operator-sdk refuses the bundle: OLM finds its objects again by their names.",
    help: "give the object a name",
    source: "k8s.io/apimachinery, pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor), as operator-sdk calls it",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for object in &context.objects {
        let generated =
            object.root.dig(&["metadata", "generateName"]).and_then(Value::as_str).unwrap_or_default();
        let named = object.root.dig(&["metadata", "name"]).is_some_and(|name| !name.text().is_empty());
        if !generated.is_empty() && !named {
            let path = Path::ROOT.field("metadata.generateName");
            reporter.field(object, &path, "the object has no name of its own");
        }
    }
}
