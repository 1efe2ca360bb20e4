use super::MAX_BUNDLE_SIZE;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Context, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "bundle-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The files in `manifests/` and `metadata/`, compressed and encoded in base64, take more than 1 MiB.",
    why: "OLM unpacks a bundle into one ConfigMap, which holds no more: the install plan fails.",
    help: "shorten the descriptions in the CRDs' schemas, or take out objects that the operator can create itself",
    source: "operator-registry, pkg/configmap/configmap_writer.go; operator-framework/api, pkg/validation/internal/bundle.go (validateBundleSize)",
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    let Some(size) = context.bundle.compressed_size.filter(|&size| size > MAX_BUNDLE_SIZE) else { return };
    reporter
        .bundle(format!("the bundle takes {size} bytes when compressed, and {MAX_BUNDLE_SIZE} is the limit"));
}
