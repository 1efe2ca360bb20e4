use crate::prelude::*;
use crate::shared::images;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-image-unpinned",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "A container, or an environment variable `RELATED_IMAGE_…`, refers to an image by a tag.",
    impacts: &[Impact::Specific(
        "Mirrors configured by an `ImageDigestMirrorSet` serve images by digest only: an image that is referred to by tag is pulled from its original registry, which fails in a cluster without access to it.",
    )],
    help: "refer to the image by its digest: `registry.example.com/gizmo@sha256:…`",
    sources: &[Source::file(
        Project::OpenShiftDocs,
        "Operators, enabling your operator for restricted network environments",
    )],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    images::each(csv, |path, image| {
        if !images::is_pinned(image) {
            reporter.field(&csv.object, path, format!("image `{image}` is not pinned to a digest"));
        }
    });
}
