use std::collections::HashMap;

use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "related-image-name-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An entry of `spec.relatedImages` has no name, or the name of an entry with another image.",
    impacts: &[Impact::Specific(
        "Tools that replace images by their names cannot tell which image is meant.",
    )],
    help: "give each image in spec.relatedImages a name of its own",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
        &["RelatedImage"],
    )
    .since("0.3")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    let mut by_name: HashMap<&str, (usize, &str)> = HashMap::new();
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        let entry = list.index(index);
        let path = entry.field("name");
        if related.name.is_empty() {
            reporter.field(&csv.object, &path, "missing required field `name`");
            continue;
        }
        let (first, image) = *by_name.entry(&related.name).or_insert((index, &related.image));
        if image != related.image {
            let message = format!("duplicate name `{}`: another image has it", related.name);
            reporter.field(&csv.object, &path, message);
            reporter.related(&csv.object, &list.index(first).field("name"), "also used here");
        }
    }
}
