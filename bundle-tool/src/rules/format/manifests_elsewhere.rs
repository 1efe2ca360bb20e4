use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "manifests-elsewhere",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The annotations name another folder than `manifests/` for the manifests.",
    why: "operator-sdk reads the manifests from the folder that is named, while OLM and its catalogues read `manifests/`.",
    help: "name manifests/ in the annotation, and put the manifests there",
    source: "operator-sdk, internal/cmd/operator-sdk/bundle/validate/validate.go (getBundleDataFromDir)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(folder) = annotations.get(Annotations::MANIFESTS) else { return };
    let parts = folder.split('/').filter(|part| !part.is_empty() && *part != ".");
    if !folder.starts_with('/') && parts.eq(["manifests"]) {
        return;
    }
    let message = format!("the manifests are said to be in '{folder}'");
    super::report_annotation(&annotations, Annotations::MANIFESTS, reporter, message);
}
