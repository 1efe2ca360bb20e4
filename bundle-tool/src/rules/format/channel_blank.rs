use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "channel-blank",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The list of channels in `metadata/annotations.yaml` has spaces around a name, or an empty name.",
    why: "The tools that read it split at commas and keep what they find: a channel named ' beta', or one without a name.",
    help: "write the names with one comma between them and no spaces",
    source: "operator-registry, pkg/registry/types.go (GetChannels)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(channels) = annotations.get(Annotations::CHANNELS).filter(|channels| !channels.is_empty())
    else {
        return;
    };
    if channels.split(',').any(|channel| channel.is_empty() || channel.trim() != channel) {
        let message = format!("the channels '{channels}' hold a blank");
        super::report_annotation(&annotations, Annotations::CHANNELS, reporter, message);
    }
}
