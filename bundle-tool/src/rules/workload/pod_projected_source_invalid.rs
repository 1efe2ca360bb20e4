use std::collections::BTreeSet;

use crate::rules::kubernetes::paths;
use crate::rules::prelude::*;

pub(super) static RULE: Rule = Rule {
    id: "pod-projected-source-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A source of a projected volume has several types, no name, a duplicate path, or a token that expires in less than ten minutes.",
    impacts: &[Impact::DeploymentRejected],
    help: "use one type per source, unique paths, and expirationSeconds of at least 600",
    sources: &[Source::symbols(
        Project::Kubernetes,
        "pkg/apis/core/validation/validation.go",
        &["validateProjectionSources"],
    )
    .since("1.16")],
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    template.each_volume(|volume, path| {
        let Some(projected) = &volume.projected else { return };
        let path = path.field("projected");
        let list = path.field("sources");
        let mut taken = BTreeSet::new();
        for (index, source) in projected.sources.iter().flatten().enumerate() {
            let path = list.index(index);
            if let Some(secret) = &source.secret {
                errors.required(&path.field("secret").field("name"), &secret.name);
            }
            if let Some(config_map) = &source.config_map {
                errors.required(&path.field("configMap").field("name"), &config_map.name);
            }
            if let Some(token) = &source.service_account_token {
                let path = path.field("serviceAccountToken");
                let seconds = token.expiration_seconds.unwrap_or_default();
                if !(600..=1 << 32).contains(&seconds) {
                    let message = format!("invalid expiration {seconds}: must be between 600 and 4294967296");
                    errors.add(&path.field("expirationSeconds"), message);
                }
                let file = path.field("path");
                if errors.required(&file, &token.path) {
                    errors.check(&file, paths::descending_and_free(&token.path));
                }
            }
            let set = [
                source.secret.is_some(),
                source.config_map.is_some(),
                source.downward_api.is_some(),
                source.service_account_token.is_some(),
            ];
            if set.into_iter().filter(|set| *set).count() > 1 {
                errors.add(&path, "several types in one source: exactly one is required");
            }
            // As in Kubernetes, the path of a token is not compared.
            let items = source.secret.iter().flat_map(|source| source.items.iter().flatten());
            let more = source.config_map.iter().flat_map(|source| source.items.iter().flatten());
            let written = items.chain(more).map(|item| &item.path);
            let shown = source.downward_api.iter().flat_map(|source| source.items.iter().flatten());
            for file in written.chain(shown.map(|item| &item.path)) {
                if !file.is_empty() && !taken.insert(file) {
                    errors.add(&path, format!("duplicate path `{file}`"));
                }
            }
        }
    });
}
