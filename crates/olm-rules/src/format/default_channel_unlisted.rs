use crate::prelude::*;
use olm_model::Annotations;
use olm_model::report::suggest::{did_you_mean, nearest};

pub(crate) static RULE: Rule = Rule {
    id: "default-channel-unlisted",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The default channel in `metadata/annotations.yaml` is not one of the bundle's channels.",
    impacts: &[Impact::Specific(
        "A new catalog with the bundle has a package whose default channel does not exist.",
    )],
    help: "set the default channel to one of the channels, or add it to the channels",
    sources: &[Source::file(Project::OperatorRegistry, "docs/design/operator-bundle.md").since("1.5")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let Some(default) = annotations.get(Annotations::DEFAULT_CHANNEL).filter(|name| !name.is_empty()) else {
        return;
    };
    let mut channels = annotations.channels().peekable();
    if channels.peek().is_some() && channels.all(|channel| channel != default) {
        let near = did_you_mean(default, annotations.channels());
        let message = format!("unknown default channel `{default}`{near}");
        if let Some(name) = nearest(default, annotations.channels()) {
            reporter.fix_annotation(&annotations, Safety::Unsafe, Annotations::DEFAULT_CHANNEL, name);
        }
        reporter.annotation(&annotations, Annotations::DEFAULT_CHANNEL, message);
    }
}
