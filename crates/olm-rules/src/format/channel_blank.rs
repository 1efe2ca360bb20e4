use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "channel-blank",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The list of channels in `metadata/annotations.yaml` has an empty name, or a name with spaces in it or around it.",
    impacts: &[Impact::Specific(
        "Tools split the list at commas only, and create a channel with a space in its name or without a name.",
    )],
    help: "separate the names with commas, without spaces",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/registry/types.go", &["GetChannels"]).since("1.6")
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(channels) = annotations.get(Annotations::CHANNELS).filter(|channels| !channels.is_empty())
    else {
        return;
    };
    let is_blank = |name: &str| name.contains(|c: char| c.is_whitespace() || c.is_control());
    if channels.split(',').any(|channel| channel.is_empty() || is_blank(channel)) {
        let message = format!("invalid channels `{channels}`: names must not be empty or contain whitespace");
        let names: Vec<&str> = annotations.channels().collect();
        if !names.is_empty() && !names.iter().any(|name| is_blank(name)) {
            reporter.fix_annotation(&annotations, Safety::Safe, Annotations::CHANNELS, &names.join(","));
        }
        reporter.annotation(&annotations, Annotations::CHANNELS, message);
    }
}
