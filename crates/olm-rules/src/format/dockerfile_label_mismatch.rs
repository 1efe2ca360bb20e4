use std::collections::HashMap;

use crate::prelude::*;
use olm_model::dockerfile::labels;

pub(crate) static RULE: Rule = Rule {
    id: "dockerfile-label-mismatch",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "A label in the bundle's Dockerfile differs from the annotation of the same name in metadata/annotations.yaml. The Dockerfile is `bundle.Dockerfile` or `Dockerfile` in the directory of the bundle, or a `bundle.Dockerfile` beside it that copies the bundle.",
    impacts: &[Impact::Specific(
        "OLM reads the annotations. Tools that read the labels of the image, such as the pipelines of catalogs, get different values.",
    )],
    help: "set the label to the value of the annotation",
    sources: &[
        Source::symbols(Project::OperatorRegistry, "pkg/lib/bundle/generate.go", &["GenerateDockerfile"])
            .since("1.5"),
        Source::file(Project::OperatorRegistry, "docs/design/operator-bundle.md").since("1.5"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let (Some(file), Some(annotations)) = (&context.bundle.dockerfile, context.bundle.annotations()) else {
        return;
    };
    if matches!(file.content, olm_model::Content::Unreadable(_)) {
        return;
    }
    let Ok(text) = std::str::from_utf8(&file.bytes) else { return };
    let wanted = annotations.labels();
    let labels = labels(text);
    // The last label of a key counts.
    let last: HashMap<&str, usize> =
        labels.iter().enumerate().map(|(index, label)| (label.key.as_str(), index)).collect();
    for (index, label) in labels.iter().enumerate() {
        if last.get(label.key.as_str()) != Some(&index) {
            continue;
        }
        let (Some(found), Some(expected)) = (&label.value, wanted.get(&label.key)) else { continue };
        if found != expected {
            let key = &label.key;
            reporter.fix(Fix::label(key, expected));
            let message = format!("label `{key}` is `{found}`, but the annotation is `{expected}`");
            reporter.at(file, key, label.position, message);
            let root = Path::ROOT;
            let position = annotations.root.locate(&root.field("annotations").key(key));
            reporter.related_place(annotations.file, position, "the annotation is here");
        }
    }
}
