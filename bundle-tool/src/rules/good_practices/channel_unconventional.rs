use crate::model::Annotations;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "channel-unconventional",
    suite: Suite::GoodPractices,
    severity: Severity::Warning,
    what: "A channel's name begins with none of candidate, fast and stable.",
    why: "People cannot tell from the name how tried the versions in it are.",
    help: "name the channel by the convention: stable, stable-v1, fast, candidate-v2",
    source: "operator-framework/api, pkg/validation/internal/good_practices.go (validateHubChannels)",
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
        let message = format!("the channel '{channel}' is not named by the convention");
        reporter.at(annotations.file, &path.to_string(), annotations.root.locate(&path), message);
    }
}
