//! The images of Kubernetes manifests, such as `helm template` renders them, and of Helm charts.
//!
//! A chart names its images only when it is rendered. Without that, the images are those of its annotation
//! `artifacthub.io/images`.
//!
//! Source: `internal/pkg/helm/local_stored_collector.go` of openshift/oc-mirror for the fields of manifests;
//! <https://artifacthub.io/docs/topics/annotations/helm/> for the annotation.

use std::fs;
use std::io::Read;
use std::path::{Component, Path};

use anyhow::{Context as _, Result, bail};
use flate2::read::GzDecoder;
use serde_json::Value as Json;

use crate::cli::stdin;
use kube_yaml::text::excerpt;
use olm_model::disk::file;

/// Maximum size of manifests, and of an unpacked chart, in bytes.
const MAX_MANIFESTS: u64 = 64 << 20;
/// Maximum size of a file of a chart that is read, in bytes.
const MAX_CHART: u64 = 1 << 20;
/// Maximum number of files in a chart.
const MAX_FILES: usize = 10_000;
/// Maximum depth of charts in charts.
const MAX_DEPTH: usize = 4;
/// Maximum number of images of one REF.
const MAX_IMAGES: usize = 10_000;
/// The annotation of charts with their images.
const ANNOTATION: &str = "artifacthub.io/images";
/// The fields of a pod with containers.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// An image that something uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) image: String,
    /// What uses it.
    pub(crate) reason: String,
}

/// Returns the images of the manifests or the chart that `reference` is: `-`, a file or a directory. `None` if it is neither.
///
/// # Errors
/// Manifests or a chart cannot be read, or name no image.
pub(crate) fn images(reference: &str) -> Result<Option<Vec<Used>>> {
    let path = Path::new(reference);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let has_extension = |extensions: &[&str]| extensions.iter().any(|extension| name.ends_with(extension));
    let found = if reference == "-" {
        let bytes = stdin::read(MAX_MANIFESTS, "manifests")?;
        Some(manifests(&bytes).context("failed to read standard input")?)
    } else if path.join("Chart.yaml").is_file() {
        let mut found = Vec::new();
        directory(path, 0, &mut found)?;
        Some(found)
    } else if path.is_file() && has_extension(&[".tgz", ".tar.gz"]) {
        let bytes = file::read(path, MAX_MANIFESTS)?;
        let mut found = Vec::new();
        archive(&bytes, 0, &mut found)?;
        Some(found)
    } else if path.is_file() && has_extension(&[".yaml", ".yml", ".json"]) {
        let bytes = file::read(path, MAX_MANIFESTS)?;
        // Blobs of catalogs have a schema, and no kind.
        let parsed = kube_yaml::parse(&bytes);
        let is_manifest = |root: &Json| root["kind"].is_string() && root["schema"].is_null();
        if parsed.documents.iter().any(|document| is_manifest(&document.root().to_json())) {
            Some(manifests(&bytes)?)
        } else {
            None
        }
    } else {
        None
    };
    match found {
        Some(found) if found.is_empty() => {
            bail!("found no images: expected Kubernetes manifests with containers")
        }
        Some(found) if found.len() > MAX_IMAGES => bail!("found more than {MAX_IMAGES} images"),
        found => Ok(found),
    }
}

/// The media type of the configuration of a chart in a registry.
pub(crate) const CHART: &str = "application/vnd.cncf.helm.config.v1+json";

/// Returns the images that a chart in a registry lists; its configuration has the fields of Chart.yaml.
///
/// # Errors
/// The configuration is malformed.
pub(crate) fn images_of_config(config: &[u8]) -> Result<Vec<Used>> {
    let mut found = Vec::new();
    // The chart itself is mirrored, whether it lists images or not.
    chart(config, 1, &mut found)?;
    Ok(found)
}

/// Returns the images of manifests.
fn manifests(bytes: &[u8]) -> Result<Vec<Used>> {
    let parsed = kube_yaml::parse(bytes);
    if let Some(error) = parsed.error {
        return Err(error.into());
    }
    let mut found = Vec::new();
    for document in &parsed.documents {
        add_pods(&document.root().to_json(), "a manifest", &mut found);
    }
    Ok(found)
}

/// Adds the images of all pods and templates of pods in a value, also those in custom resources.
fn add_pods(value: &Json, owner: &str, found: &mut Vec<Used>) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| add_pods(item, owner, found)),
        Json::Object(fields) => {
            let named = match (&value["kind"], &value["metadata"]["name"]) {
                (Json::String(kind), Json::String(name)) => {
                    Some(format!("{} {}", excerpt(kind), excerpt(name)))
                }
                _ => None,
            };
            let owner = named.as_deref().unwrap_or(owner);
            let mut add = |image: &Json| {
                if let Some(image) = image.as_str().filter(|image| !image.is_empty()) {
                    found.push(Used { image: image.to_owned(), reason: owner.to_owned() });
                }
            };
            for container in CONTAINERS.iter().filter_map(|field| value[field].as_array()).flatten() {
                add(&container["image"]);
            }
            for volume in value["volumes"].as_array().into_iter().flatten() {
                add(&volume["image"]["reference"]);
            }
            fields.values().for_each(|value| add_pods(value, owner, found));
        }
        _ => {}
    }
}

/// Adds the images of the chart in a directory, and of the charts in it.
fn directory(path: &Path, depth: usize, found: &mut Vec<Used>) -> Result<()> {
    check_depth(depth)?;
    chart(&file::read(&path.join("Chart.yaml"), MAX_CHART)?, depth, found)?;
    let charts = path.join("charts");
    if !charts.is_dir() {
        return Ok(());
    }
    let mut entries: Vec<_> =
        fs::read_dir(&charts)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries.into_iter().take(MAX_FILES) {
        if entry.join("Chart.yaml").is_file() {
            directory(&entry, depth + 1, found)?;
        } else if entry.extension().is_some_and(|extension| extension == "tgz") {
            archive(&file::read(&entry, MAX_MANIFESTS)?, depth + 1, found)?;
        }
    }
    Ok(())
}

/// Adds the images of a packaged chart, and of the charts in it.
fn archive(bytes: &[u8], depth: usize, found: &mut Vec<Used>) -> Result<()> {
    check_depth(depth)?;
    let mut is_chart = false;
    let mut archive = tar::Archive::new(GzDecoder::new(bytes).take(MAX_MANIFESTS));
    for (count, entry) in archive.entries()?.enumerate() {
        if count >= MAX_FILES {
            bail!("the chart has more than {MAX_FILES} files");
        }
        let entry = entry.context("expected a chart as `helm package` writes it")?;
        let path = entry.path()?.into_owned();
        let parts: Vec<_> = path.components().filter(|part| *part != Component::CurDir).collect();
        // NAME/Chart.yaml, NAME/charts/NAME/Chart.yaml and so on; NAME/charts/NAME.tgz is packaged again.
        let Some((name, parents)) = parts.split_last() else { continue };
        let name = Path::new(name);
        let is_below = |parents: &[Component]| {
            parents.iter().skip(1).step_by(2).all(|part| part.as_os_str() == "charts")
        };
        let is_description = name == "Chart.yaml" && parents.len() % 2 == 1 && is_below(parents);
        let is_subchart = name.extension().is_some_and(|extension| extension == "tgz")
            && !parents.is_empty()
            && parents.len().is_multiple_of(2)
            && is_below(parents);
        if !is_description && !is_subchart {
            continue;
        }
        let limit = if is_description { MAX_CHART } else { MAX_MANIFESTS };
        let mut content = Vec::new();
        entry.take(limit).read_to_end(&mut content)?;
        if is_description {
            is_chart |= parts.len() == 2;
            chart(&content, depth + parts.len() / 2 - 1, found)?;
        } else {
            self::archive(&content, depth + 1, found)?;
        }
    }
    if !is_chart {
        bail!("expected a chart with NAME/Chart.yaml, as `helm package` writes it");
    }
    Ok(())
}

/// Adds the images that the annotation of a chart lists. Only charts in charts may have none.
fn chart(bytes: &[u8], depth: usize, found: &mut Vec<Used>) -> Result<()> {
    let one = |bytes: &[u8], what: &str| {
        let parsed = kube_yaml::parse(bytes);
        if let Some(error) = parsed.error {
            return Err(anyhow::Error::from(error)).with_context(|| format!("failed to read {what}"));
        }
        Ok(parsed.documents.first().map_or(Json::Null, |document| document.root().to_json()))
    };
    let chart = one(bytes, "Chart.yaml")?;
    let name = chart["name"].as_str().unwrap_or_default();
    let Some(list) = chart["annotations"][ANNOTATION].as_str() else {
        if depth == 0 {
            bail!(
                "chart `{}` does not list its images in the annotation `{ANNOTATION}`; render it with `helm template NAME CHART`, \
                 and use the output as REF",
                excerpt(name)
            );
        }
        return Ok(());
    };
    let list = one(list.as_bytes(), &format!("the annotation `{ANNOTATION}` of Chart.yaml"))?;
    let Some(items) = list.as_array() else {
        bail!("the annotation `{ANNOTATION}` of chart `{}` is not a list", excerpt(name));
    };
    for item in items {
        let Some(image) = item["image"].as_str() else {
            bail!("the annotation `{ANNOTATION}` of chart `{}` has an entry without `image`", excerpt(name));
        };
        found.push(Used { image: image.to_owned(), reason: format!("chart {}", excerpt(name)) });
    }
    Ok(())
}

fn check_depth(depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        bail!("charts are nested more than {MAX_DEPTH} levels deep");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Writes a packaged chart.
    fn package(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            archive.append_data(&mut header, path, *content).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn described(name: &str, image: &str) -> String {
        format!("name: {name}\nannotations:\n  {ANNOTATION}: |\n    - name: x\n      image: {image}\n")
    }

    fn names(found: &[Used]) -> Vec<String> {
        found.iter().map(|used| format!("{} {}", used.reason, used.image)).collect()
    }

    #[test]
    fn images_of_all_pod_templates_are_found() {
        let text = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      initContainers: [{name: a, image: quay.io/a/init:v1}]
      containers: [{name: a, image: quay.io/a/web:v1}, {name: b}]
      volumes: [{name: model, image: {reference: quay.io/a/model:v1}}, {name: other, emptyDir: {}}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{image: 'quay.io/a/job:v1'}]}}}}}
---
kind: List
items:
- {kind: Pod, metadata: {name: one}, spec: {containers: [{image: busybox}]}}
- {kind: ConfigMap, metadata: {name: two}, data: {image: quay.io/not/this}}
- kind: CustomResourceDefinition
  metadata: {name: three}
  spec: {schema: {properties: {containers: {type: array}}}}
";
        assert_eq!(
            names(&manifests(text.as_bytes()).unwrap()),
            [
                "Deployment web quay.io/a/web:v1",
                "Deployment web quay.io/a/init:v1",
                "Deployment web quay.io/a/model:v1",
                "CronJob nightly quay.io/a/job:v1",
                "Pod one busybox",
            ]
        );
    }

    #[test]
    fn charts_list_their_images_in_an_annotation() {
        let (root, sub, packed) = (
            described("root", "quay.io/a/root:v1"),
            described("sub", "quay.io/a/sub:v1"),
            described("packed", "quay.io/a/packed:v1"),
        );
        let inner = package(&[("packed/Chart.yaml", packed.as_bytes())]);
        let outer = package(&[
            ("root/Chart.yaml", root.as_bytes()),
            ("root/templates/charts/x/Chart.yaml", b"name: no"),
            ("root/charts/sub/Chart.yaml", sub.as_bytes()),
            ("root/charts/packed-1.0.0.tgz", &inner),
        ]);
        let expected = [
            "chart root quay.io/a/root:v1",
            "chart sub quay.io/a/sub:v1",
            "chart packed quay.io/a/packed:v1",
        ];
        let mut found = Vec::new();
        archive(&outer, 0, &mut found).unwrap();
        assert_eq!(names(&found), expected);

        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, content: &[u8]| {
            let path: PathBuf = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        file("Chart.yaml", root.as_bytes());
        file("charts/sub/Chart.yaml", sub.as_bytes());
        file("charts/packed-1.0.0.tgz", &inner);
        let mut found = names(&images(&dir.path().display().to_string()).unwrap().unwrap());
        found.sort();
        assert_eq!(found, [expected[2], expected[0], expected[1]]);
        assert_eq!(images(&dir.path().join("charts").display().to_string()).unwrap(), None);
    }

    #[test]
    fn what_is_no_chart_is_an_error() {
        let bare = package(&[("app/Chart.yaml", b"name: app")]);
        let description = format!("name: app\nannotations: {{{ANNOTATION}: 'a: b'}}");
        let no_list = package(&[("app/Chart.yaml", description.as_bytes())]);
        let empty = package(&[("app/values.yaml", b"")]);
        let mut nested = package(&[("app/Chart.yaml", described("app", "a").as_bytes())]);
        for _ in 0..=MAX_DEPTH {
            let description = described("app", "a");
            nested = package(&[("app/Chart.yaml", description.as_bytes()), ("app/charts/a.tgz", &nested)]);
        }
        for (bytes, expected) in [
            (
                bare.as_slice(),
                "chart `app` does not list its images in the annotation `artifacthub.io/images`",
            ),
            (&no_list, "is not a list"),
            (&empty, "expected a chart with NAME/Chart.yaml"),
            (b"other", "expected a chart"),
            (&nested, "nested more than 4 levels"),
        ] {
            let error = archive(bytes, 0, &mut Vec::new()).unwrap_err();
            assert!(format!("{error:#}").contains(expected), "{error:#}");
        }
    }
}
