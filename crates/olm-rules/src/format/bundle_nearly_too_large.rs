use crate::inputs::{LARGE_BUNDLE_SIZE, MAX_BUNDLE_SIZE};
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "bundle-nearly-too-large",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The files in `manifests/` and `metadata/`, compressed and base64-encoded, exceed 85% of the limit of 1 MiB.",
    impacts: &[Impact::Specific("The bundle may exceed the limit with the next version of a CRD.")],
    help: "shorten the descriptions in the CRDs' schemas, or remove objects that the operator can create itself",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/bundle.go",
        &["validateBundleSize"],
    )
    .since("0.14")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(size) = context.compressed_size else { return };
    if size > LARGE_BUNDLE_SIZE && size <= MAX_BUNDLE_SIZE {
        // The size is not always exact.
        let percent = size * 100 / MAX_BUNDLE_SIZE;
        reporter
            .bundle(format!("compressed bundle is about {percent}% of the limit of {MAX_BUNDLE_SIZE} bytes"));
    }
}
