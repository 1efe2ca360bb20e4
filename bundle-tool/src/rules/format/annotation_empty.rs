use crate::model::Annotations;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotation-empty",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The channels or the default channel in `metadata/annotations.yaml` are empty.",
    why: "operator-sdk refuses the bundle, and a catalogue could not say in which channel it is.",
    help: "write the names of the channels, separated by commas; leave the default channel out where there is none",
    source: "operator-registry, pkg/lib/bundle/validate.go (validateAnnotations)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for key in [Annotations::CHANNELS, Annotations::DEFAULT_CHANNEL] {
        if let Some(annotations) = context.bundle.annotations()
            && annotations.get(key) == Some("")
        {
            super::report_annotation(&annotations, key, reporter, format!("the annotation `{key}` is empty"));
        }
    }
}
