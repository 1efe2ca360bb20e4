use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "default-channel-unlisted",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The default channel in `metadata/annotations.yaml` is none of the bundle's channels.",
    why: "Who adds the bundle to a new catalogue gets a package whose default channel does not exist.",
    help: "name one of the channels as the default, or list the channel",
    source: "operator-registry, docs/design/operator-bundle.md",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(default) = annotations.get(Annotations::DEFAULT_CHANNEL).filter(|name| !name.is_empty()) else {
        return;
    };
    let mut channels = annotations.channels().peekable();
    if channels.peek().is_some() && channels.all(|channel| channel != default) {
        let message = format!("the default channel '{default}' is none of the channels");
        super::report_annotation(&annotations, Annotations::DEFAULT_CHANNEL, reporter, message);
    }
}
