use super::platforms;
use crate::prelude::*;
use crate::shared::images;
use crate::shared::images::Role;
use olm_model::Availability;

pub(crate) static RULE: Rule = Rule {
    id: "multiarch-image-platform-missing",
    suite: Suite::Multiarch,
    severity: Severity::Error,
    what: "The image of a container, or one in `spec.relatedImages`, has no manifest for a platform that the labels `operatorframework.io/arch.…` and `operatorframework.io/os.…` declare (`linux/amd64` without labels). `validate --online` asks the registries.",
    impacts: &[
        Impact::SdkRejects,
        Impact::Specific(
            "Catalogs offer the operator on clusters of the platform, where the image cannot run.",
        ),
    ],
    help: "build the image for the platform, or remove the label that declares it",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/multiarch.go",
        &["checkSupportDefined"],
    )
    .since("0.16")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    images::each_answer(context, |csv, image, uses, answer| {
        let Availability::Available(available) = answer else { return };
        // An image without a platform runs wherever it is pulled.
        if available.is_empty() || !(uses.has(Role::Container) || uses.has(Role::Related)) {
            return;
        }
        let declared = platforms::declared_with_systems(csv);
        let is_missing = |(os, architecture): &&(String, String)| {
            !available.iter().any(|one| one.os == *os && one.architecture == *architecture)
        };
        let missing: Vec<_> =
            declared.iter().filter(is_missing).map(|(os, name)| format!("{os}/{name}")).collect();
        if !missing.is_empty() {
            let message = format!("image `{image}` has no manifest for {}", missing.join(", "));
            uses.report(csv, reporter, message);
        }
    });
}
