use super::size::MAX_BUNDLE_SIZE;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "bundle-nearly-too-large",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The files in `manifests/` and `metadata/`, compressed and base64-encoded, exceed 85 % of the limit of 1 MiB.",
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
    if size > MAX_BUNDLE_SIZE / 100 * 85 && size <= MAX_BUNDLE_SIZE {
        let message =
            format!("compressed bundle of {size} bytes is close to the limit of {MAX_BUNDLE_SIZE} bytes");
        reporter.bundle(message);
    }
}
