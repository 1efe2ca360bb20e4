use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "metadata-elsewhere",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The annotations name another folder than `metadata/` for the metadata.",
    why: "Every tool looks into `metadata/` all the same; who believes the image's label looks in vain.",
    help: "name metadata/ in the annotation",
    source: "operator-registry, docs/design/operator-bundle.md",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(folder) = annotations.get(Annotations::METADATA) else { return };
    if folder.trim_end_matches('/') != "metadata" {
        let message = format!("the metadata is said to be in '{folder}'");
        super::report_annotation(&annotations, Annotations::METADATA, reporter, message);
    }
}
