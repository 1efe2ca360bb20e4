//! `opm alpha bundle`.
//!
//! Source: `pkg/lib/bundle` of operator-registry v1.73: `generate.go`, `build.go`, `interpreter.go`; `cmd/opm/alpha/bundle`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use atomic_files::Pending;
use serde_json::json;

use super::super::cobra::Matches;
use super::super::images::{BuiltImage, deliver};
use super::super::registries::{is_insecure, registries};
use super::super::verdict::{self, Options};
use super::super::{Status, log};
use super::dockerfile::check;
use crate::cli::images::Location;
use crate::cli::runtime::runtime;
use kube_yaml::Value;
use olm_model::Annotations;
use olm_model::disk;
use olm_model::disk::file;
use olm_model::report::Suite;

/// The Dockerfile, in the current directory.
const DOCKERFILE: &str = "bundle.Dockerfile";
/// The maximum size of a manifest in bytes.
const MAX_MANIFEST: u64 = 16 << 20;
/// The maximum size of all manifests in bytes.
const MAX_MANIFESTS: u64 = 256 << 20;
/// The maximum number of bundles that are followed from the head of a channel.
const MAX_REPLACES: usize = 10_000;

/// The annotations of a bundle.
struct Metadata {
    media_type: &'static str,
    package: String,
    channels: String,
    default_channel: String,
}

pub(crate) fn generate(matches: &Matches) -> Result<Status> {
    write(matches, true)?;
    Ok(Status::SUCCESS)
}

/// Generates the missing files, and builds the image from the Dockerfile.
pub(crate) fn build(matches: &Matches) -> Result<Status> {
    let root = write(matches, matches.bool("overwrite"))?;
    log::info("Building bundle image");
    let tag = matches.text("tag");
    let manifests = Path::new(matches.text("directory"));
    let mut words = vec!["push".to_owned(), "bundle".to_owned()];
    let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
    let source = if matches.some("output-dir").is_some()
        || root.join("manifests").canonicalize().ok() == manifests.canonicalize().ok()
    {
        words.push(format!("--dockerfile={DOCKERFILE}"));
        root.display().to_string()
    } else {
        // The directory of the manifests has another name than in the image, so a bundle with the names in the image is built.
        let mut files = manifest_files(manifests)?;
        let annotations = file::read(&root.join("metadata/annotations.yaml"), MAX_MANIFEST)?;
        files.insert("metadata/annotations.yaml".to_owned(), annotations);
        atomic_files::tree(scratch.path(), files)?;
        scratch.path().display().to_string()
    };
    words.push("--no-validate".to_owned());
    let values = vec![source, tag.to_owned()];
    deliver(&BuiltImage { tag, words, values }, matches.text("image-builder"), is_insecure(matches)?)
}

/// Returns the files of a directory of manifests, by their paths in the image.
fn manifest_files(manifests: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let failed = || format!("failed to read {}", manifests.display());
    let mut files = BTreeMap::new();
    let mut left = MAX_MANIFESTS;
    for entry in fs::read_dir(manifests).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let failed = || format!("failed to read {}", path.display());
            let bytes = file::read(&path, MAX_MANIFEST.min(left)).with_context(failed)?;
            left = left.saturating_sub(bytes.len() as u64);
            files.insert(format!("manifests/{name}"), bytes);
        }
    }
    Ok(files)
}

/// Writes the annotations, the Dockerfile and, if requested, a copy of the manifests. Returns the directory of the bundle.
fn write(matches: &Matches, overwrite: bool) -> Result<PathBuf> {
    let manifests = Path::new(matches.text("directory"));
    let metadata = metadata(matches, manifests)?;
    log::info("Building annotations.yaml");
    let parent = match manifests.canonicalize() {
        Ok(found) => found.parent().map(Path::to_owned).unwrap_or(found),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", manifests.display())),
    };
    let output = matches.some("output-dir").map(PathBuf::from);
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    if output.is_some() {
        log::info("Generating output manifests directory");
        files = manifest_files(manifests)?;
    }
    let root = output.clone().unwrap_or(parent);
    let annotations = annotations(&metadata);
    let existing = root.join("metadata/annotations.yaml");
    if overwrite || !existing.exists() {
        log::info(&format!("Writing annotations.yaml in {}", root.join("metadata").display()));
        files.insert("metadata/annotations.yaml".to_owned(), annotations);
    } else {
        log::info("An annotations.yaml already exists in the directory: metadata/");
        check_annotations(&existing, &annotations)?;
    }
    log::info("Building Dockerfile");
    let copied = if output.is_some() { root.join("manifests") } else { manifests.to_owned() };
    let text = dockerfile(
        &metadata,
        &relative(&copied)?,
        &relative(&root.join("metadata"))?,
        matches.text("base-image"),
    )?;
    // The Dockerfile is on the disk before the other files are written, and renamed after.
    let existing = Path::new(DOCKERFILE);
    if existing.is_dir() {
        bail!("failed to write {DOCKERFILE}: it is a directory");
    }
    let pending = if overwrite || !existing.exists() {
        let mut pending = Pending::new(existing)?;
        pending.append(text.as_bytes())?;
        Some(pending)
    } else {
        None
    };
    fs::create_dir_all(&root).with_context(|| format!("failed to write {}", root.display()))?;
    atomic_files::tree(&root, files)?;
    if let Some(pending) = pending {
        pending.commit()?;
        log::info(&format!("Writing {DOCKERFILE} in {}", current()?.display()));
    } else {
        log::info(&format!(
            "A {DOCKERFILE} already exists in current working directory: {}",
            current()?.display()
        ));
    }
    Ok(if root.as_os_str().is_empty() { PathBuf::from(".") } else { root })
}

fn current() -> Result<PathBuf> {
    std::env::current_dir().context("failed to find the current directory")
}

/// Returns a path relative to the current directory.
fn relative(path: &Path) -> Result<String> {
    let absolute = |path: &Path| -> Result<PathBuf> {
        Ok(std::path::absolute(path)?.components().fold(PathBuf::new(), |mut out, part| {
            if part == Component::ParentDir {
                out.pop();
            } else {
                out.push(part);
            }
            out
        }))
    };
    let (base, path) = (absolute(Path::new("."))?, absolute(path)?);
    let common = base.components().zip(path.components()).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), base.components().count() - common);
    let down = path.components().skip(common).map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

/// Returns the annotations that the flags set. Missing ones are inferred from the package manifest in the parent directory.
fn metadata(matches: &Matches, manifests: &Path) -> Result<Metadata> {
    let documents = disk::manifests::directory(manifests)?;
    if documents.is_empty() {
        bail!("The directory {} contains no yaml files", manifests.display());
    }
    let csv = documents
        .iter()
        .map(|document| document.tree.root())
        .find(|root| kube_yaml::string(*root, "kind") == "ClusterServiceVersion");
    let media_type = if csv.is_some() { "registry+v1" } else { "plain" };
    let (mut package, mut channels) =
        (matches.text("package").to_owned(), matches.text("channels").to_owned());
    let mut default_channel = matches.text("default").to_owned();
    if package.is_empty() || channels.is_empty() {
        let missing = [("channels", &channels), ("package name", &package)];
        let missing: Vec<&str> =
            missing.iter().filter(|(_, value)| value.is_empty()).map(|(name, _)| *name).collect();
        log::info(&format!(
            "Bundle {} information not provided, inferring from parent package directory",
            missing.join(" and ")
        ));
        let name = csv.map(|root| name_of(root).to_owned()).unwrap_or_default();
        let inferred = Inferred::read(manifests, &name).with_context(|| {
            format!(
                "please manually input channels and packageName, error interpreting bundle from directory {}",
                manifests.display()
            )
        })?;
        if channels.is_empty() {
            channels = inferred.channels.join(",");
            if channels.is_empty() {
                bail!("error interpreting channels, please manually input channels instead");
            }
            log::info(&format!("Inferred channels: {channels}"));
        }
        if package.is_empty() {
            package = inferred.package;
            log::info(&format!("Inferred package name: {package}"));
        }
        if default_channel.is_empty() {
            default_channel = inferred.default_channel;
            log::info(&format!("Inferred default channel: {default_channel}"));
        }
    }
    Ok(Metadata { media_type, package, channels, default_channel })
}

fn name_of(root: Value<'_>) -> &str {
    kube_yaml::field(root, "metadata").map_or("", |metadata| kube_yaml::string(metadata, "name"))
}

/// What a package in the package manifests format declares about one of its bundles.
struct Inferred {
    package: String,
    channels: Vec<String>,
    default_channel: String,
}

impl Inferred {
    fn read(manifests: &Path, csv: &str) -> Result<Self> {
        let directory = manifests.canonicalize()?;
        let directory = directory.parent().context("it has no parent directory")?;
        let mut package = None;
        let mut replaces: BTreeMap<String, String> = BTreeMap::new();
        for document in disk::manifests::directory(directory)? {
            let root = document.tree.root();
            if kube_yaml::string(root, "kind") == "ClusterServiceVersion" {
                let spec = kube_yaml::field(root, "spec");
                let predecessor = spec.map_or("", |spec| kube_yaml::string(spec, "replaces"));
                replaces.insert(name_of(root).to_owned(), predecessor.to_owned());
            } else if !kube_yaml::string(root, "packageName").is_empty() && package.is_none() {
                package = Some(document);
            }
        }
        let package =
            package.context("no package manifest (packageName and channels) in the directory above")?;
        let root = package.tree.root();
        let mut channels = Vec::new();
        for channel in kube_yaml::field(root, "channels").into_iter().flat_map(Value::items) {
            let mut at = kube_yaml::string(channel, "currentCSV");
            let mut seen = BTreeSet::new();
            while !at.is_empty() && seen.len() < MAX_REPLACES && seen.insert(at) {
                if at == csv {
                    channels.push(kube_yaml::string(channel, "name").to_owned());
                    break;
                }
                at = replaces.get(at).map_or("", String::as_str);
            }
        }
        channels.sort();
        Ok(Self {
            package: kube_yaml::string(root, "packageName").to_owned(),
            channels,
            default_channel: kube_yaml::string(root, "defaultChannel").to_owned(),
        })
    }
}

/// Returns the labels of a bundle in the order in which opm writes them into a Dockerfile.
fn labels(metadata: &Metadata) -> Vec<(&'static str, &str)> {
    let mut labels = vec![
        (Annotations::MEDIA_TYPE, metadata.media_type),
        (Annotations::MANIFESTS, "manifests/"),
        (Annotations::METADATA, "metadata/"),
        (Annotations::PACKAGE, &metadata.package),
        (Annotations::CHANNELS, &metadata.channels),
    ];
    if !metadata.default_channel.is_empty() {
        labels.push((Annotations::DEFAULT_CHANNEL, &metadata.default_channel));
    }
    labels
}

fn annotations(metadata: &Metadata) -> Vec<u8> {
    let annotations: BTreeMap<&str, &str> = labels(metadata).into_iter().collect();
    kube_yaml::emit(&json!({ "annotations": annotations })).into_bytes()
}

fn dockerfile(metadata: &Metadata, manifests: &str, directory: &str, base: &str) -> Result<String> {
    for (what, value) in [
        ("package", metadata.package.as_str()),
        ("channels", &metadata.channels),
        ("default channel", &metadata.default_channel),
        ("base image", base),
        ("directory", manifests),
        ("directory", directory),
    ] {
        check(what, value)?;
    }
    let labels: Vec<String> =
        labels(metadata).iter().map(|(key, value)| format!("LABEL {key}={value}\n")).collect();
    let gap = if metadata.default_channel.is_empty() { "" } else { "\n" };
    Ok(format!(
        "FROM {base}\n\n{}{gap}COPY {manifests} /manifests/\nCOPY {directory} /metadata/\n",
        labels.concat()
    ))
}

/// Fails if existing annotations are not the generated ones.
fn check_annotations(path: &Path, expected: &[u8]) -> Result<()> {
    log::info("Validating existing annotations.yaml");
    let read = |bytes: &[u8]| -> BTreeMap<String, String> {
        let parsed = kube_yaml::parse(bytes);
        let root = parsed.documents.first().map(kube_yaml::Tree::root);
        let annotations = root.and_then(|root| kube_yaml::field(root, "annotations"));
        annotations
            .into_iter()
            .flat_map(Value::entries)
            .map(|(key, value)| (key.text().to_owned(), value.text().to_owned()))
            .collect()
    };
    let existing = read(&file::read(path, MAX_MANIFEST)?);
    for (key, value) in read(expected) {
        match existing.get(&key) {
            None => bail!("Missing field: {key}"),
            Some(found) if *found != value => {
                bail!("Expect field {key:?} to have value {value:?} instead of {found:?}")
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Validates a bundle image as `operator-sdk bundle validate` does.
pub(crate) fn validate(matches: &Matches) -> Result<Status> {
    let tag = matches.text("tag");
    let registries = registries(matches, [tag])?;
    let mut suites = Vec::new();
    if matches.text("optional-validators").split(',').any(|name| name.trim() == "operatorhub") {
        suites.push(Suite::OperatorHubV2);
    }
    let options = Options { suites, ..Options::default() };
    let found = verdict::of_reference(tag, &registries, &options)?;
    found.print(&mut std::io::stderr().lock())?;
    if !found.result.passed() {
        return Ok(Status::FAILURE);
    }
    log::info("All validation tests have been completed successfully");
    Ok(Status::SUCCESS)
}

/// Writes the files of a bundle image to a directory.
pub(crate) fn unpack(matches: &Matches) -> Result<Status> {
    let image = matches.argument(0);
    let registries = match matches.some("root-ca") {
        Some(path) => registries(matches, [image])?.with_authority(path.into()),
        None => registries(matches, [image])?,
    };
    let out = Path::new(matches.text("out"));
    if out.exists() && !out.is_dir() {
        bail!("out {} is not a directory", out.display());
    }
    let location = Location::parse(image)?;
    let files = runtime()?.block_on(location.contents(&registries))?.into_bundle();
    if matches.bool("skip-validation") {
        log::info("skipping bundle validation");
    } else {
        let bundle = olm_model::read::bundle::files(image, &files);
        let found = verdict::of_bundle(&bundle, &Options::default())?;
        if !found.result.passed() {
            found.print(&mut std::io::stderr().lock())?;
            bail!("bundle content validation failed");
        }
    }
    fs::create_dir_all(out).with_context(|| format!("failed to write {}", out.display()))?;
    atomic_files::tree(out, files)?;
    Ok(Status::SUCCESS)
}

/// Says that only OLM runs `extract`.
pub(crate) fn extract(path: &str) -> String {
    format!(
        "`{path}` is the job with which OLM unpacks a bundle into a ConfigMap, and is not supported; use `bundle-tool run bundle IMAGE` to \
         install a bundle, or `bundle-tool opm alpha bundle unpack IMAGE` to write its files to a directory"
    )
}
