//! The volumes of Secrets that cert-manager creates: a bundle cannot contain Certificates, and OLM mounts certificates of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::input::{Collected, Item};
use super::json::{dig, items, string_at};
use super::report::GenerateReport;

/// Where OLM mounts the certificate of webhooks in all containers of a Deployment.
///
/// Source: `AddDefaultCertVolumeAndVolumeMounts` in `pkg/controller/install/certresources.go` of
/// operator-framework/operator-lifecycle-manager.
const MOUNT_PATHS: [&str; 2] =
    ["/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates"];

/// The Secrets that the Certificates of the input create.
#[derive(Debug, Default)]
pub(crate) struct Certificates<'c> {
    /// Name of a Secret to its Certificate.
    by_secret: BTreeMap<&'c str, &'c Item>,
    /// Numbers of the Certificates that OLM's own one replaces.
    replaced: BTreeSet<usize>,
}

impl<'c> Certificates<'c> {
    /// Returns the Certificates of the input; none if all volumes are kept.
    pub(crate) fn new(collected: &'c Collected, keeps_volumes: bool) -> Self {
        let certificates = collected.others.iter().filter(|item| {
            !keeps_volumes
                && item.kind() == "Certificate"
                && item.api_version().starts_with("cert-manager.io/")
        });
        let by_secret =
            certificates.map(|item| (string_at(&item.json, &["spec", "secretName"]), item)).collect();
        Self { by_secret, replaced: BTreeSet::new() }
    }

    /// Returns whether OLM mounts a certificate instead of that of an object.
    pub(crate) fn is_replaced(&self, item: &Item) -> bool {
        self.replaced.contains(&item.source)
    }

    /// Removes the volumes of a Deployment that OLM mounts its own certificate in place of, and warns about others whose Secret
    /// nothing creates. `serves` if the Deployment answers webhooks of the CSV.
    pub(crate) fn remove_volumes(
        &mut self,
        deployment: &Item,
        serves: bool,
        spec: &mut Json,
        report: &mut GenerateReport,
    ) {
        let Some(pod) = spec.pointer_mut("/template/spec") else { return };
        let title = report.title(deployment.source);
        let mut removed = BTreeSet::new();
        for volume in items(pod, &["volumes"]) {
            let name = string_at(volume, &["name"]);
            for (secret, is_optional, is_whole) in secrets(volume) {
                let Some(certificate) = self.by_secret.get(secret) else { continue };
                let paths = mount_paths(pod, name);
                let is_mounted_by_olm = serves
                    && is_whole
                    && !paths.is_empty()
                    && paths.iter().all(|path| MOUNT_PATHS.contains(&path.trim_end_matches('/')));
                if is_mounted_by_olm {
                    removed.insert(name.to_owned());
                    self.replaced.insert(certificate.source);
                    report.inform(
                        Some(report.place(deployment.source)),
                        format!(
                            "{title}: volume `{}` was omitted: OLM mounts the certificate of webhooks there",
                            name.escape_debug()
                        ),
                    );
                } else if !is_optional {
                    let advice = if serves {
                        format!(
                            "OLM mounts the certificate of webhooks as {}/tls.crt and tls.key: read it from there, and remove the volume",
                            MOUNT_PATHS[0]
                        )
                    } else {
                        "remove the volume, or make it optional".to_owned()
                    };
                    report.warn(
                        deployment.source,
                        format!(
                            "{title}: the pods do not start, because volume `{}` is of Secret `{}`, which cert-manager creates from \
                             {}, and a bundle cannot contain that; {advice}",
                            name.escape_debug(),
                            secret.escape_debug(),
                            report.title(certificate.source),
                        ),
                    );
                }
            }
        }
        for secret in variables(pod) {
            let Some(certificate) = self.by_secret.get(secret) else { continue };
            report.warn(
                deployment.source,
                format!(
                    "{title}: the pods do not start, because an environment variable reads Secret `{}`, which cert-manager creates from \
                     {}; a bundle cannot contain that Certificate: remove the variable, or make it optional",
                    secret.escape_debug(),
                    report.title(certificate.source),
                ),
            );
        }
        if removed.is_empty() {
            return;
        }
        let is_removed = |item: &Json| removed.contains(string_at(item, &["name"]));
        remove_items(pod, "volumes", is_removed);
        for containers in ["containers", "initContainers"] {
            for container in pod.get_mut(containers).and_then(Json::as_array_mut).into_iter().flatten() {
                remove_items(container, "volumeMounts", is_removed);
            }
        }
    }
}

/// Returns the Secrets of a volume, whether each may be missing, and whether it is all that the volume has, with the usual names.
fn secrets(volume: &Json) -> impl Iterator<Item = (&str, bool, bool)> {
    let is_optional = |source: &Json| dig(source, &["optional"]) == &Json::Bool(true);
    let secret = dig(volume, &["secret"]);
    let own = (string_at(secret, &["secretName"]), is_optional(secret), items(secret, &["items"]).is_empty());
    let projected = items(volume, &["projected", "sources"]).iter().map(move |source| {
        let secret = dig(source, &["secret"]);
        (string_at(secret, &["name"]), is_optional(secret), false)
    });
    std::iter::once(own).chain(projected).filter(|(name, ..)| !name.is_empty())
}

/// Returns the Secrets that environment variables require.
fn variables(pod: &Json) -> BTreeSet<&str> {
    let is_required = |source: &&Json| dig(source, &["optional"]) != &Json::Bool(true);
    let containers = ["containers", "initContainers"].iter().flat_map(|field| items(pod, &[field]));
    containers
        .flat_map(|container| {
            let of_one =
                items(container, &["env"]).iter().map(|one| dig(one, &["valueFrom", "secretKeyRef"]));
            let of_all = items(container, &["envFrom"]).iter().map(|all| dig(all, &["secretRef"]));
            of_one.chain(of_all)
        })
        .filter(is_required)
        .map(|source| string_at(source, &["name"]))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Returns where a volume is mounted.
fn mount_paths<'j>(pod: &'j Json, volume: &str) -> Vec<&'j str> {
    ["containers", "initContainers"]
        .iter()
        .flat_map(|containers| items(pod, &[containers]))
        .flat_map(|container| items(container, &["volumeMounts"]))
        .filter(|mount| string_at(mount, &["name"]) == volume)
        .map(|mount| string_at(mount, &["mountPath"]))
        .collect()
}

fn remove_items(map: &mut Json, key: &str, is_removed: impl Fn(&Json) -> bool) {
    let Some(map) = map.as_object_mut() else { return };
    if let Some(list) = map.get_mut(key).and_then(Json::as_array_mut) {
        list.retain(|item| !is_removed(item));
        if list.is_empty() {
            map.shift_remove(key);
        }
    }
}
