use crate::model::bundle::is_installable;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "unsupported-kind",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` holds an object of a kind that OLM does not install from a bundle, or an object without kind.",
    why: "OLM refuses the bundle: it only creates the kinds that it knows to upgrade and delete safely.",
    help: "take the object out; a Deployment belongs into the CSV's install strategy, others are the operator's to create",
    source: "operator-registry v1.59, pkg/lib/bundle/supported_resources.go; operator-lifecycle-manager, pkg/controller/operators/catalog/supportedresources.go",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for object in &context.objects {
        match object.kind() {
            "" => reporter.field(object, &root, "the object has no kind"),
            kind if !is_installable(kind) => {
                reporter.field(object, &root.field("kind"), format!("a bundle cannot hold a {kind}"));
            }
            _ => {}
        }
    }
}
