use std::collections::BTreeSet;

use crate::kubernetes::paths;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
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

fn check(template: &PodTemplate<'_>, errors: &mut ErrorReporter<'_, '_>) {
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
            if let Some(bundle) = &source.cluster_trust_bundle {
                let path = path.field("clusterTrustBundle");
                let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
                match (is_set(&bundle.name), is_set(&bundle.signer_name)) {
                    (true, true) => errors.add(&path, "`name` and `signerName` are mutually exclusive"),
                    (false, false) => errors.add(&path, "missing source: `name` or `signerName` must be set"),
                    _ => {}
                }
                if errors.required(&path.field("path"), &bundle.path) {
                    errors.check(&path.field("path"), paths::descending_and_free(&bundle.path));
                }
            }
            if let Some(certificate) = &source.pod_certificate {
                let path = path.field("podCertificate");
                errors.required(&path.field("signerName"), &certificate.signer_name);
                let types = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
                errors.one_of(&path.field("keyType"), &certificate.key_type, &types);
                if let Some(seconds) = certificate.max_expiration_seconds.filter(|seconds| *seconds < 3600) {
                    let message = format!("invalid expiration {seconds}: must be at least 3600");
                    errors.add(&path.field("maxExpirationSeconds"), message);
                }
                let files = [
                    ("credentialBundlePath", &certificate.credential_bundle_path),
                    ("keyPath", &certificate.key_path),
                    ("certificateChainPath", &certificate.certificate_chain_path),
                ];
                let mut has_file = false;
                for (field, file) in files {
                    if let Some(file) = file.as_ref().filter(|file| !file.is_empty()) {
                        has_file = true;
                        errors.check(&path.field(field), paths::descending_and_free(file));
                    }
                }
                if !has_file {
                    errors.add(&path, "missing path: one of the files must be written");
                }
            }
            let set = [
                source.cluster_trust_bundle.is_some(),
                source.pod_certificate.is_some(),
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
