use crate::model::bundle::{installable_kinds, is_installable};
use crate::report::suggest::did_you_mean;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "unsupported-kind",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`manifests/` contains an object without a kind, or of a kind that OLM does not install from bundles.",
    impacts: &[Impact::SdkRejects, Impact::InstallPlanFails],
    help: "remove the object; move a Deployment to the CSV's install strategy, or have the operator create the object",
    sources: &[
        Source::file(Project::OperatorRegistry, "pkg/lib/bundle/supported_resources.go").since("1.6"),
        Source::file(
            Project::OperatorLifecycleManager,
            "pkg/controller/operators/catalog/supportedresources.go",
        )
        .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    for object in &context.objects {
        match object.kind() {
            "" => reporter.field(object, &root, "missing required field `kind`"),
            kind if !is_installable(kind) => {
                reporter.field(
                    object,
                    &root.field("kind"),
                    format!("unsupported kind `{kind}`{}", did_you_mean(kind, installable_kinds())),
                );
            }
            _ => {}
        }
    }
}
