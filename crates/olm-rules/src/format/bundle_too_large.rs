use crate::inputs::MAX_BUNDLE_SIZE;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "bundle-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The files in `manifests/` and `metadata/`, compressed and base64-encoded, exceed 1 MiB.",
    impacts: &[
        Impact::UnpackFails,
        Impact::Specific("OLM unpacks a bundle into a ConfigMap, which is limited to 1 MiB."),
    ],
    help: "shorten the descriptions in the CRDs' schemas, or remove objects that the operator can create itself",
    sources: &[
        Source::file(Project::OperatorRegistry, "pkg/configmap/configmap_writer.go").since("1.5"),
        Source::symbols(
            Project::OperatorFrameworkApi,
            "pkg/validation/internal/bundle.go",
            &["validateBundleSize"],
        )
        .since("0.14"),
    ],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(size) = context.compressed_size.filter(|&size| size > MAX_BUNDLE_SIZE) else { return };
    reporter
        .bundle(format!("compressed bundle of {size} bytes exceeds the limit of {MAX_BUNDLE_SIZE} bytes"));
}
