use crate::model::Annotations;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "annotation-missing",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "`metadata/annotations.yaml` lacks one of the annotations that every bundle needs, or it is empty.",
    why: "Without its media type, folders, package and channels a bundle cannot be put into a catalogue.",
    help: "add the annotation",
    source: "operator-registry, pkg/lib/bundle/validate.go (ValidateBundleFormat)",
    check: Check::Bundle(check),
};

const NEEDED: [&str; 5] = [
    Annotations::MEDIA_TYPE,
    Annotations::MANIFESTS,
    Annotations::METADATA,
    Annotations::PACKAGE,
    Annotations::CHANNELS,
];

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(annotations) = context.bundle.annotations() else { return };
    let root = Path::ROOT;
    let parent = root.field("annotations");
    for key in NEEDED {
        let path = parent.key(key);
        let problem = match annotations.get(key) {
            None => "is missing",
            Some("") => "is empty",
            Some(_) => continue,
        };
        let position = annotations.root.locate(&path);
        reporter.at(
            annotations.file,
            &path.to_string(),
            position,
            format!("the annotation `{key}` {problem}"),
        );
    }
}
