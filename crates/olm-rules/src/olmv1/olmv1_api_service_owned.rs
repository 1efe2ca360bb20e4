use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "olmv1-api-service-owned",
    suite: Suite::Olmv1,
    severity: Severity::Error,
    what: "The CSV owns an aggregated API.",
    impacts: &[Impact::OlmV1Rejects],
    help: "serve the API through a CRD, or stay on OLM v0",
    sources: &[Source::symbols(
        Project::OperatorController,
        "internal/operator-controller/applier/provider.go",
        &["RegistryV1ManifestProvider.Get"],
    )
    .since("0.13")],
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let owned = &csv.typed.spec.apiservicedefinitions.owned;
    if !owned.is_empty() {
        let path = Path::ROOT.field("spec.apiservicedefinitions.owned");
        reporter.field(
            &csv.object,
            &path,
            format!("aggregated APIs are not supported: the CSV owns {}", owned.len()),
        );
    }
}
