use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "related-image-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "An entry of `spec.relatedImages` has no image, or none that can be pulled.",
    why: "Mirroring tools fail on it, and newer versions of operator-framework/api refuse the bundle.",
    help: "write a full image name, best with its digest",
    source: "operator-framework/api v0.45, pkg/validation/internal/bundle.go (validateRelatedImages)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        let image = related.image.as_str();
        let message = if image.is_empty() {
            "the related image is empty".to_owned()
        } else if image.parse::<oci_images::registry::Reference>().is_err() {
            format!("'{image}' is no image name")
        } else {
            continue;
        };
        let entry = list.index(index);
        reporter.field(&csv.object, &entry.field("image"), message);
    }
}
