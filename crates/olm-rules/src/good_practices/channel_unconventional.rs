use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "channel-unconventional",
    suite: Suite::GoodPractices,
    severity: Severity::Info,
    what: "The name of a channel does not start with `candidate`, `fast` or `stable`.",
    impacts: &[Impact::Specific(
        "Users cannot tell the maturity of the versions in a channel from its name.",
    )],
    help: "name the channel by the convention, such as `stable`, `stable-v1`, `fast` or `candidate-v2`",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/good_practices.go",
        &["validateHubChannels"],
    )
    .since("0.8")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let conventional =
        |channel: &&str| ["candidate", "fast", "stable"].iter().any(|name| channel.starts_with(name));
    let root = Path::ROOT;
    let map = root.field("annotations");
    let path = map.key(Annotations::CHANNELS);
    for channel in annotations.channels().filter(|channel| !conventional(channel)) {
        let message = format!(
            "unconventional channel name `{channel}`: should start with `candidate`, `fast` or `stable`"
        );
        reporter.at(annotations.file, &path.to_string(), annotations.root.locate(&path), message);
    }
}
