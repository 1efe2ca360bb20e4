use super::MAX_BUNDLE_SIZE;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "bundle-nearly-too-large",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The files in `manifests/` and `metadata/`, compressed and encoded in base64, take more than 85 % of the 1 MiB that OLM can unpack.",
    why: "The next CRD version may not fit any more.",
    help: "shorten the descriptions in the CRDs' schemas, or take out objects that the operator can create itself",
    source: "operator-framework/api, pkg/validation/internal/bundle.go (validateBundleSize)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(size) = context.bundle.compressed_size else { return };
    if size > MAX_BUNDLE_SIZE / 100 * 85 && size <= MAX_BUNDLE_SIZE {
        let message =
            format!("the bundle takes {size} bytes when compressed, and {MAX_BUNDLE_SIZE} is the limit");
        reporter.bundle(message);
    }
}
