//! The CSV: the base with everything that the manifests say put into it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use super::certificates::Certificates;
use super::error::Error;
use super::input::{Collected, Item};
use super::json::{dig, entries, items, map_mut, set, string_at};
use super::objects::MAX_FILE_SIZE;
use super::options::{Destination, Options, Origin, Upgrade};
use super::rbac::Rbac;
use super::report::{GenerateReport, ObjectOutcome, clip};
use super::{base, crds, examples, related_images, webhooks};
use olm_model::names;

/// Who made the bundle, as operator-sdk's annotations of the same name say it.
pub(crate) const BUILDER: &str = concat!("bundle-tool-v", env!("CARGO_PKG_VERSION"));
/// The layout of a project without a PROJECT file.
pub(crate) const UNKNOWN_LAYOUT: &str = "unknown";

/// The placeholder for the operator's own image in `containerImage`.
pub(crate) const OPERATOR_IMAGE: &str = "placeholder";

/// A finished CSV, but for the time of its making.
#[derive(Debug)]
pub(crate) struct Csv {
    pub(crate) version: semver::Version,
    pub(crate) origin: Origin,
    json: Json,
    /// The `createdAt` of the base, unless operator-sdk is reproduced, which sets it to the current time.
    created: Option<String>,
}

/// What the base is completed with.
pub(crate) struct Contents<'c> {
    pub(crate) package: &'c str,
    pub(crate) options: &'c Options,
    /// Whether images have digests that replace their tags.
    pub(crate) is_pinned: bool,
    pub(crate) collected: &'c Collected,
    pub(crate) rbac: &'c Rbac<'c>,
}

/// Puts everything into the base.
///
/// # Errors
/// The base's version is no semantic version.
pub(crate) fn build(
    base: Item,
    contents: &Contents<'_>,
    certificates: &mut Certificates<'_>,
    report: &mut GenerateReport,
) -> Result<Csv, Error> {
    let &Contents { package, options, is_pinned, collected, rbac } = contents;
    let Item { source, json: mut csv, status: _ } = base;
    let (version, origin) = version(&csv, options, source, report)?;
    let owned = crds::owned(collected, &csv, report);
    let examples = examples::annotation(collected, base::annotation(&csv, "alm-examples"), report);
    let webhooks = webhooks::definitions(collected, report);
    warn_of_lost_webhooks(&csv, &webhooks, report);
    let images = match (options.is_of_sdk(), is_pinned) {
        (true, false) => related_images::of_variables(collected)?,
        (true, true) => related_images::of_pinned(collected, &csv)?,
        (false, _) => related_images::collect(collected, &csv, report),
    };
    let created = Some(base::annotation(&csv, "createdAt").to_owned())
        .filter(|time| !time.is_empty() && !options.is_of_sdk());

    if matches!(origin, Origin::Option | Origin::Fallback)
        && let Some(metadata) = map_mut(&mut csv, "metadata")
    {
        metadata.insert("name".to_owned(), format!("{package}.v{version}").into());
    }
    if let Some(annotations) = base::annotations(&mut csv) {
        annotations.insert("alm-examples".to_owned(), examples.into());
        if annotations.get("containerImage").is_some_and(|image| image == OPERATOR_IMAGE) {
            set(annotations, "containerImage", operator_image(collected).into());
        }
        let builder = options.builder.as_deref().unwrap_or(BUILDER);
        annotations.insert("operators.operatorframework.io/builder".to_owned(), builder.into());
        let layout = options.layout.as_deref().unwrap_or(UNKNOWN_LAYOUT);
        annotations.insert("operators.operatorframework.io/project_layout".to_owned(), layout.into());
    }
    if let Some(spec) = map_mut(&mut csv, "spec") {
        spec.insert("version".to_owned(), version.to_string().into());
        if dig(spec.get("cleanup").unwrap_or(&Json::Null), &["enabled"]) == &Json::Bool(false) {
            spec.shift_remove("cleanup");
        }
        set(spec, "relatedImages", Json::Array(images));
        let serving: BTreeSet<&str> =
            webhooks.iter().map(|webhook| string_at(webhook, &["deploymentName"])).collect();
        install(spec, collected, rbac, &serving, certificates, report);
        set(spec, "webhookdefinitions", Json::Array(webhooks));
    }
    if let Some(spec) = csv.get_mut("spec")
        && let Some(definitions) = map_mut(spec, "customresourcedefinitions")
    {
        set(definitions, "owned", Json::Array(owned));
    }
    Ok(Csv { version, origin, json: csv, created })
}

/// The image of the first container.
fn operator_image(collected: &Collected) -> &str {
    let deployment = collected.deployments.first().map_or(&Json::Null, |deployment| &deployment.json);
    let container = items(deployment, &["spec", "template", "spec", "containers"]).first();
    container.map_or("", |container| string_at(container, &["image"]))
}

/// Returns the version, and where it comes from.
fn version(
    csv: &Json,
    options: &Options,
    source: usize,
    report: &GenerateReport,
) -> Result<(semver::Version, Origin), Error> {
    /// The placeholder in a base until a bundle is generated from it.
    const PLACEHOLDER: &str = "0.0.0";
    if let Some(version) = &options.version {
        return Ok((version.clone(), Origin::Option));
    }
    let version = string_at(csv, &["spec", "version"]);
    if matches!(version, "" | PLACEHOLDER) {
        return Ok(match &options.fallback_version {
            Some(version) => (version.clone(), Origin::Fallback),
            None => (semver::Version::new(0, 0, 0), Origin::Default),
        });
    }
    let parsed = semver::Version::parse(version).map(|version| (version, Origin::Csv));
    parsed.map_err(|reason| Error::Version {
        place: report.place(source),
        version: version.to_owned(),
        reason: reason.to_string(),
    })
}

/// `spec.install`
///
/// `serving` are the Deployments that answer webhooks.
fn install(
    spec: &mut Map<String, Json>,
    collected: &Collected,
    rbac: &Rbac<'_>,
    serving: &BTreeSet<&str>,
    certificates: &mut Certificates<'_>,
    report: &mut GenerateReport,
) {
    let strategy = string_at(spec.get("install").unwrap_or(&Json::Null), &["strategy"]);
    if !matches!(strategy, "" | "deployment") {
        report.warn_at(
            None,
            format!(
                "unsupported install strategy `{}` in the base CSV: Deployments and permissions were not added",
                strategy.escape_debug()
            ),
        );
        return;
    }
    warn_of_lost_entries(spec.get("install").unwrap_or(&Json::Null), collected, rbac, report);
    let deployments: Vec<Json> = collected
        .deployments
        .iter()
        .map(|deployment| {
            report.record(deployment.source, ObjectOutcome::Csv("install.spec.deployments".to_owned()));
            let mut pods = watching_targets(dig(&deployment.json, &["spec"]));
            certificates.remove_volumes(deployment, serving.contains(deployment.name()), &mut pods, report);
            let annotations = entries(&deployment.json, &["metadata", "annotations"]);
            // Written by kubectl and the API server.
            let is_own = |key: &String| !key.starts_with("kubectl.kubernetes.io/") && !key.starts_with("deployment.kubernetes.io/");
            if let Some(annotation) = annotations.and_then(|annotations| annotations.keys().find(|key| is_own(key))) {
                let title = report.title(deployment.source);
                report.warn(
                    deployment.source,
                    format!(
                        "{title}: metadata.annotations such as `{}` were omitted: a CSV cannot contain annotations of a Deployment",
                        annotation.escape_debug()
                    ),
                );
            }
            let mut entry = json!({"name": deployment.name(), "spec": pods});
            let labels = dig(&deployment.json, &["metadata", "labels"]);
            if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
                entry["label"] = labels.clone();
            }
            entry
        })
        .collect();
    let mut details = Map::new();
    details.insert("deployments".to_owned(), Json::Array(deployments));
    set(&mut details, "permissions", Json::Array(rbac.permissions.clone()));
    set(&mut details, "clusterPermissions", Json::Array(rbac.cluster_permissions.clone()));
    spec.insert("install".to_owned(), json!({"strategy": "deployment", "spec": details}));
}

/// Warns about Deployments and permissions of the base that are not generated from the input: those of the input replace them.
fn warn_of_lost_entries(install: &Json, collected: &Collected, rbac: &Rbac<'_>, report: &mut GenerateReport) {
    let deployments: BTreeSet<&str> = collected.deployments.iter().map(Item::name).collect();
    for deployment in items(install, &["spec", "deployments"]) {
        let name = string_at(deployment, &["name"]);
        if !deployments.contains(name) {
            let name = name.escape_debug();
            report.warn_at(
                None,
                format!("the base CSV has Deployment `{name}`, which is not in the input: it was omitted; add it to the input"),
            );
        }
    }
    for (field, generated) in
        [("permissions", &rbac.permissions), ("clusterPermissions", &rbac.cluster_permissions)]
    {
        for entry in items(install, &["spec", field]) {
            let account = string_at(entry, &["serviceAccountName"]);
            let rules: Vec<&Json> = generated
                .iter()
                .filter(|entry| string_at(entry, &["serviceAccountName"]) == account)
                .flat_map(|entry| items(entry, &["rules"]))
                .collect();
            let lost = items(entry, &["rules"]).iter().filter(|rule| !rules.contains(rule)).count();
            if lost > 0 {
                report.warn_at(
                    None,
                    format!(
                        "the base CSV has {lost} of its {field} of service account `{account}` that no role in the input gives it: \
                         omitted; add a role and its binding to the input, and, if no Deployment runs as the account, set \
                         --extra-service-accounts={account}",
                        account = account.escape_debug(),
                    ),
                );
            }
        }
    }
}

/// Warns about webhooks of the base that are not generated from the input: those of the input replace them.
fn warn_of_lost_webhooks(base: &Json, webhooks: &[Json], report: &mut GenerateReport) {
    let name = |webhook: &Json| string_at(webhook, &["generateName"]).to_owned();
    let generated: BTreeSet<String> = webhooks.iter().map(name).collect();
    for webhook in items(base, &["spec", "webhookdefinitions"]) {
        let name = name(webhook);
        if !generated.contains(&name) {
            let name = name.escape_debug();
            report.warn_at(
                None,
                format!("the base CSV has webhook `{name}`, which is not in the input: it was omitted; add its configuration to the input"),
            );
        }
    }
}

/// Returns the spec of the Deployment, with every container's `WATCH_NAMESPACE` set from OLM's annotation.
fn watching_targets(spec: &Json) -> Json {
    let mut spec = spec.clone();
    let containers = spec.pointer_mut("/template/spec/containers").and_then(Json::as_array_mut);
    for container in containers.into_iter().flatten() {
        let variables = container.get_mut("env").and_then(Json::as_array_mut);
        for variable in variables.into_iter().flatten() {
            if string_at(variable, &["name"]) == "WATCH_NAMESPACE" {
                *variable = json!({
                    "name": "WATCH_NAMESPACE",
                    "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['olm.targetNamespaces']"}},
                });
            }
        }
    }
    spec
}

impl Csv {
    /// Adds from which versions the operator is upgraded in a channel.
    ///
    /// # Errors
    /// As [`Upgrade::apply`]; and, unless the bundle is that of operator-sdk, the CSV replaces or skips itself.
    pub(crate) fn upgrade(
        &mut self,
        upgrade: &Upgrade,
        package: &str,
        channel: &str,
        is_of_sdk: bool,
        report: &mut GenerateReport,
    ) -> Result<(), Error> {
        upgrade.apply(package, &self.version, channel, &mut self.json, report)?;
        if is_of_sdk { Ok(()) } else { super::upgrade::check(&self.json) }
    }

    /// # Errors
    /// The API server would reject the name.
    pub(crate) fn check_name(&self) -> Result<(), Error> {
        let name = base::name(&self.json);
        if names::is_subdomain(name) { Ok(()) } else { Err(Error::CsvName(clip(name).into_owned())) }
    }

    pub(crate) fn name(&self) -> String {
        base::name(&self.json).to_owned()
    }

    /// Puts the CSV among the files, with the time of its making: the one it has where nothing else changed since,
    /// or `SOURCE_DATE_EPOCH`, or the base's, or now.
    pub(crate) fn date(
        mut self,
        path: &str,
        files: &mut BTreeMap<String, Vec<u8>>,
        destination: &Destination,
    ) -> Result<(), Error> {
        let previous = &destination.previous.files;
        let fixed = if destination.epoch.is_none() { self.created.clone() } else { None };
        let kept = previous.get(path).and_then(|old| created_at(old)).filter(|_| fixed.is_none());
        if let Some(time) = kept {
            let bytes = self.dated(&time)?;
            let rest_is_same = files.iter().all(|(path, bytes)| previous.get(path) == Some(bytes));
            if rest_is_same && previous.get(path).is_some_and(|old| *old == bytes) {
                files.insert(path.to_owned(), bytes);
                return Ok(());
            }
        }
        let time = fixed.or_else(|| destination.epoch.clone()).unwrap_or_else(|| destination.now.clone());
        let bytes = self.dated(&time)?;
        files.insert(path.to_owned(), bytes);
        Ok(())
    }

    fn dated(&mut self, time: &str) -> Result<Vec<u8>, Error> {
        if let Some(annotations) = base::annotations(&mut self.json) {
            annotations.insert("createdAt".to_owned(), time.into());
        }
        let text = kube_yaml::emit_within(&self.json, MAX_FILE_SIZE);
        let title = || format!("ClusterServiceVersion {}", self.name());
        text.map(String::into_bytes).ok_or_else(|| Error::FileSize { title: title(), limit: MAX_FILE_SIZE })
    }
}

/// The annotation `createdAt` of a CSV that was written here; if someone rewrote the file, something changed
/// anyway.
#[must_use]
pub fn created_at(csv: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(csv).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("    createdAt: "))?;
    Some(line.trim_matches(['"', '\'']).to_owned())
}
