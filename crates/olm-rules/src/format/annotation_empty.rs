use crate::prelude::*;
use olm_model::Annotations;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-empty",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The channels or the default channel in `metadata/annotations.yaml` are empty.",
    impacts: &[Impact::SdkRejects, Impact::Specific("A catalog cannot assign the bundle to a channel.")],
    help: "set the annotation to the names of the channels, separated by commas; remove an empty default channel",
    sources: &[Source::symbols(
        Project::OperatorRegistry,
        "pkg/lib/bundle/validate.go",
        &["validateAnnotations"],
    )
    .since("1.6")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for key in [Annotations::CHANNELS, Annotations::DEFAULT_CHANNEL] {
        if let Some(annotations) = context.bundle.annotations()
            && annotations.get(key) == Some("")
        {
            let channels: Vec<&str> = annotations.channels().collect();
            match (key, &channels[..]) {
                (Annotations::DEFAULT_CHANNEL, [only]) => {
                    reporter.fix_annotation(&annotations, Safety::Safe, key, only);
                }
                // operator-registry derives the default channel.
                (Annotations::DEFAULT_CHANNEL, _) => {
                    let root = Path::ROOT;
                    let parent = root.field("annotations");
                    reporter.fix(Fix::new(Safety::Unsafe, &parent.key(key), Change::Remove));
                }
                _ => {}
            }
            reporter.annotation(&annotations, key, format!("empty annotation `{key}`"));
        }
    }
}
