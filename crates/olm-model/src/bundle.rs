//! A bundle as found in its directory: files, the documents in them, and the Kubernetes objects that they are.
//!
//! Nothing is validated here: a directory without a CSV, with two of them or with files that are not YAML is a
//! [`Bundle`] too, so that rules can report what is wrong with it.

use std::collections::BTreeMap;

use oci_images::labels;
use serde::de::DeserializeOwned;

use super::file::{Content, File};
use super::image::Images;
use super::submission::RepositoryContext;
use kube_yaml::{DecodeError, Decoded, First, Path, Position, Value};

/// The usual path of the annotations, within a bundle.
pub const ANNOTATIONS_FILE: &str = "metadata/annotations.yaml";

/// The kinds that OLM creates from a bundle, whatever their group, and whether their objects are in a namespace.
///
/// Source: `pkg/lib/bundle/supported_resources.go` of operator-registry v1.59 and
/// `pkg/controller/operators/catalog/supportedresources.go` of operator-lifecycle-manager v0.46.
const INSTALLABLE_KINDS: [(&str, bool); 21] = [
    ("ClusterRole", false),
    ("ClusterRoleBinding", false),
    ("ClusterServiceVersion", true),
    ("ConfigMap", true),
    ("ConsoleCLIDownload", false),
    ("ConsoleLink", false),
    ("ConsolePlugin", false),
    ("ConsoleQuickStart", false),
    ("ConsoleYAMLSample", false),
    ("CustomResourceDefinition", false),
    ("NetworkPolicy", true),
    ("PodDisruptionBudget", true),
    ("PriorityClass", false),
    ("PrometheusRule", true),
    ("Role", true),
    ("RoleBinding", true),
    ("Secret", true),
    ("Service", true),
    ("ServiceAccount", true),
    ("ServiceMonitor", true),
    ("VerticalPodAutoscaler", true),
];

/// Returns the kinds that OLM creates from a bundle.
pub fn installable_kinds() -> impl Iterator<Item = &'static str> {
    INSTALLABLE_KINDS.iter().map(|(kind, _)| *kind)
}

/// Returns whether OLM creates objects of this kind from a bundle.
#[must_use]
pub fn is_installable(kind: &str) -> bool {
    is_namespaced(kind).is_some()
}

/// Returns whether objects of this kind are in a namespace, if OLM creates them from a bundle.
#[must_use]
pub fn is_namespaced(kind: &str) -> Option<bool> {
    INSTALLABLE_KINDS.iter().find(|(known, _)| *known == kind).map(|(_, namespaced)| *namespaced)
}

/// A file of a bundle that cannot be read, or is not valid YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFile {
    /// The path below the bundle's directory.
    pub file: String,
    /// Where the YAML is invalid; `None` if the file cannot be read.
    pub position: Option<Position>,
    /// What is wrong.
    pub reason: String,
}

impl std::fmt::Display for BadFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.position {
            Some(Position { line, column }) => {
                write!(f, "{}:{line}:{column}: invalid YAML: {}", self.file, self.reason)
            }
            None => write!(f, "{}: {}", self.file, self.reason),
        }
    }
}

impl std::error::Error for BadFile {}

/// A directory that should be a registry+v1 bundle.
#[derive(Debug, Default)]
pub struct Bundle {
    /// The directory or image as the user named it.
    pub path: String,
    /// Where files beside the bundle (`../ci.yaml`) are, as the user would name it. `None` if only `path` leads there: it is a
    /// symbolic link, or no directory.
    pub parent: Option<String>,
    /// All files below the directory, sorted by path.
    pub files: Vec<File>,
    /// All directories below the directory, sorted, with `/` at the end, to tell an empty one from a missing one.
    pub directories: Vec<String>,
    /// Where the bundle is in a catalog's repository, if it was read from one.
    pub submission: Option<RepositoryContext>,
    /// The Dockerfile that builds the bundle's image, in its directory or beside it, if it was read from one.
    pub dockerfile: Option<File>,
    /// What registries answered about the images of the bundle, if they were asked.
    pub images: Images,
}

impl Bundle {
    /// Returns whether the operator is published as a file-based catalog, to which other checks of the pipelines apply.
    #[must_use]
    pub fn uses_catalog(&self) -> bool {
        self.submission.as_ref().is_some_and(RepositoryContext::uses_catalog)
    }

    /// Returns where the bundle is in a catalog's repository, unless the operator is published as a file-based catalog.
    #[must_use]
    pub fn submission_without_catalog(&self) -> Option<&RepositoryContext> {
        self.submission.as_ref().filter(|submission| !submission.uses_catalog())
    }

    /// Returns the objects in `manifests/`: the first document of each file, if it is a map. No tool reads the documents
    /// after it. Files whose name begins with a dot are skipped, as OLM does.
    pub fn objects(&self) -> impl Iterator<Item = Object<'_>> {
        self.manifests()
            .filter_map(|file| Some(Object { file, root: file.document()?.root() }))
            .filter(|object| object.root.kind() == kube_yaml::Kind::Object)
    }

    /// Returns the files directly in `manifests/`, except for those whose name begins with a dot.
    pub fn manifests(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_manifest() && !file.name().starts_with('.'))
    }

    /// Returns the objects of a kind, whatever their API version.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = Object<'_>> {
        self.objects().filter(move |object| object.kind() == kind)
    }

    /// Returns the bundle's `ClusterServiceVersion`, the first one if there are several.
    #[must_use]
    pub fn csv(&self) -> Option<Object<'_>> {
        self.of_kind("ClusterServiceVersion").next()
    }

    /// Returns the first file of `manifests/` or `metadata/` that cannot be read, with the reason. Invalid YAML can be
    /// read.
    #[must_use]
    pub fn unreadable(&self) -> Option<(&File, &str)> {
        self.files.iter().filter(|file| file.is_manifest() || file.is_metadata()).find_map(|file| match &file
            .content
        {
            Content::Unreadable(reason) => Some((file, reason.as_str())),
            _ => None,
        })
    }

    /// Checks that other tools can read all manifests, and `metadata/annotations.yaml`: what they skip is missing from
    /// everything that is made from the bundle.
    ///
    /// # Errors
    /// The first file that cannot be read, or whose first document is not valid YAML.
    pub fn complete(&self) -> Result<(), BadFile> {
        if let Some((file, reason)) = self.unreadable() {
            return Err(BadFile { file: file.path.clone(), position: None, reason: reason.to_owned() });
        }
        let annotations = self.files.iter().filter(|file| file.path == ANNOTATIONS_FILE);
        for file in self.manifests().chain(annotations) {
            if let Content::Documents { error: Some(error), first: First::Unreadable, .. } = &file.content {
                let position = Some(error.position);
                return Err(BadFile {
                    file: file.path.clone(),
                    position,
                    reason: error.with_help().into_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns the file that has this path in findings: one of the bundle, or its Dockerfile.
    #[must_use]
    pub fn source(&self, path: &str) -> Option<&File> {
        self.dockerfile.iter().chain(&self.files).find(|file| file.path == path)
    }

    /// Returns the file at a path from the bundle's directory: one of the bundle, its Dockerfile, or one of the catalog's
    /// repository.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        let found = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok();
        let around = self.submission.iter().flat_map(|submission| &submission.files);
        let around = self.dockerfile.iter().chain(around).find(|file| file.path == path);
        around.or_else(|| found.map(|index| &self.files[index]))
    }

    /// Returns the first file in `metadata/` that has a map of annotations, in the order of the names: other tools go by
    /// the content, and skip a file whose annotations are not all strings, except for `annotations.yaml`.
    #[must_use]
    pub fn annotations(&self) -> Option<Annotations<'_>> {
        let mut all = self.files.iter().filter(|file| file.is_metadata()).filter_map(|file| {
            let root = file.document()?.root();
            let values = get(root, "annotations")?;
            (values.kind() == kube_yaml::Kind::Object).then_some(Annotations { file, root, values })
        });
        let counts = |one: &Annotations<'_>| one.file.path == ANNOTATIONS_FILE || one.are_texts();
        let first = all.next()?;
        if counts(&first) { Some(first) } else { all.find(counts).or(Some(first)) }
    }

    /// Returns the first file in `metadata/` whose root has a list `key` that is not empty, such as `dependencies`.
    #[must_use]
    pub fn metadata_list(&self, key: &str) -> Option<(&File, Value<'_>)> {
        self.files.iter().filter(|file| file.is_metadata()).find_map(|file| {
            let list = get(file.document()?.root(), key)?;
            (list.kind() == kube_yaml::Kind::Array && !list.is_empty()).then_some((file, list))
        })
    }
}

/// Returns a field of a file in `metadata/`, whose keys are not case-sensitive.
fn get<'a>(value: Value<'a>, key: &str) -> Option<Value<'a>> {
    value.entries().rev().find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

/// `metadata/annotations.yaml`, from which the image's labels come.
#[derive(Debug, Clone, Copy)]
pub struct Annotations<'b> {
    /// The file.
    pub file: &'b File,
    /// The whole document.
    pub root: Value<'b>,
    /// The map below `annotations`.
    pub values: Value<'b>,
}

impl<'b> Annotations<'b> {
    /// The package.
    pub const PACKAGE: &'static str = labels::PACKAGE;
    /// The channels, separated by commas.
    pub const CHANNELS: &'static str = labels::CHANNELS;
    /// The default channel of the package.
    pub const DEFAULT_CHANNEL: &'static str = labels::DEFAULT_CHANNEL;
    /// The format of the bundle.
    pub const MEDIA_TYPE: &'static str = labels::MEDIA_TYPE;
    /// The directory of the manifests.
    pub const MANIFESTS: &'static str = labels::MANIFESTS;
    /// The directory of `annotations.yaml`.
    pub const METADATA: &'static str = labels::METADATA;

    /// Returns an annotation; numbers and booleans as they are written, since other tools turn them into strings.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'b str> {
        let value = self.values.get(key)?;
        match value.kind() {
            kube_yaml::Kind::Null => Some(""),
            kube_yaml::Kind::Array | kube_yaml::Kind::Object => None,
            _ => Some(value.text()),
        }
    }

    fn are_texts(&self) -> bool {
        self.values
            .entries()
            .all(|(_, value)| !matches!(value.kind(), kube_yaml::Kind::Array | kube_yaml::Kind::Object))
    }

    /// Returns the channels, trimmed, without empty ones.
    pub fn channels(&self) -> impl Iterator<Item = &'b str> {
        let channels = self.get(Self::CHANNELS).unwrap_or_default();
        channels.split(',').map(str::trim).filter(|channel| !channel.is_empty())
    }

    /// Returns all annotations whose value is a scalar, as image labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.values
            .entries()
            .filter(|(_, value)| !matches!(value.kind(), kube_yaml::Kind::Array | kube_yaml::Kind::Object))
            .map(|(key, value)| (key.text().to_owned(), value.text().to_owned()))
            .collect()
    }
}

/// A Kubernetes object in a file of the bundle.
#[derive(Debug, Clone, Copy)]
pub struct Object<'b> {
    /// The file that contains it.
    pub file: &'b File,
    /// The document.
    pub root: Value<'b>,
}

impl<'b> Object<'b> {
    /// Returns `apiVersion`; empty if it is missing or not a string.
    #[must_use]
    pub fn api_version(&self) -> &'b str {
        self.string(&["apiVersion"])
    }

    /// Returns the API group; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &'b str {
        self.api_version().split_once('/').map_or("", |(group, _)| group)
    }

    /// Returns `kind`; empty if it is missing or not a string.
    #[must_use]
    pub fn kind(&self) -> &'b str {
        self.string(&["kind"])
    }

    /// Returns `metadata.name`; empty if it is missing or not a string.
    #[must_use]
    pub fn name(&self) -> &'b str {
        self.string(&["metadata", "name"])
    }

    /// Returns `metadata.namespace`; empty if it is missing or not a string.
    #[must_use]
    pub fn namespace(&self) -> &'b str {
        self.string(&["metadata", "namespace"])
    }

    /// Returns whether the object has this API version and kind.
    #[must_use]
    pub fn is(&self, api_version: &str, kind: &str) -> bool {
        self.api_version() == api_version && self.kind() == kind
    }

    /// Decodes the object as a type of Kubernetes' or OLM's API.
    ///
    /// # Errors
    /// The first value that does not fit its field's type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<Decoded<T>, DecodeError> {
        kube_yaml::decode(self.root, &Path::ROOT)
    }

    /// Returns the position of a field, or of its nearest ancestor that exists.
    #[must_use]
    pub fn locate(&self, path: &Path<'_>) -> Position {
        self.root.locate(path)
    }

    fn string(&self, keys: &[&str]) -> &'b str {
        self.root.dig(keys).and_then(Value::as_str).unwrap_or_default()
    }
}
