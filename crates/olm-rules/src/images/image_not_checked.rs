use crate::prelude::*;
use crate::shared::images;
use olm_model::Availability;

pub(crate) static RULE: Rule = Rule {
    id: "image-not-checked",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An image could not be looked up: its registry cannot be reached, or denies access. Many registries deny access to \
           repositories that do not exist. `validate --online` asks the registries.",
    impacts: &[Impact::Specific("Whether the image exists is not known.")],
    help: "check the name, the network and the login (`bundle-tool auth explain`), or ignore the rule for a registry that only \
           the cluster can reach",
    sources: &[Source::file(Project::BundleTool, "docs/how-to/validate.md")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    images::each_answer(context, |csv, image, uses, answer| {
        if let Availability::Unknown(reason) = answer {
            uses.report(csv, reporter, format!("image `{image}` could not be looked up: {reason}"));
        }
    });
}
