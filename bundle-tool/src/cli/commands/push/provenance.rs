//! What an image is built from: collected for its provenance, which `--provenance` attaches.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use oci_images::layout::{Artifact, Digest, FileMap, Hashing, Source};
use oci_images::registry::{Attachment, Reference};
use serde_json::{Map, Value, json};

use super::base::Base;
use super::revision::{Changes, Revision, revision};
use crate::cli::images::created;
use crate::provenance::{self, Build, Resource};
use crate::terminal::{WARNING, stderr};
use kube_yaml::text::printable;
use olm_model::disk::file;

/// What an image is built from.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The directory whose git revision is the source's.
    directory: PathBuf,
    parameters: Map<String, Value>,
    /// The base image for each platform.
    base: Vec<Resource>,
    /// Whether the image contains all files of the directory, also those that git ignores.
    is_whole_directory: bool,
    /// Whether there will be a provenance: otherwise, no file is read.
    is_recorded: bool,
    /// Groups of files by parameter, and in each, the files by what they are called.
    files: Vec<(&'static str, BTreeMap<String, Input>)>,
}

/// A file, as it was before the image was built.
#[derive(Debug)]
struct Input {
    path: PathBuf,
    digest: Digest,
}

impl Inputs {
    /// Returns the inputs of `command`, such as `push bundle`, for sources in `directory`. They are needed only if
    /// `is_recorded`.
    pub(crate) fn new(command: &str, directory: &Path, is_recorded: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            parameters: Map::from_iter([("command".to_owned(), json!(command))]),
            base: Vec::new(),
            is_whole_directory: false,
            is_recorded,
            files: Vec::new(),
        }
    }

    /// States that the image contains all files of the directory, also those that git ignores.
    pub(crate) fn whole_directory(mut self) -> Self {
        self.is_whole_directory = true;
        self
    }

    /// Adds a parameter of the command.
    pub(crate) fn parameter(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the annotations of the manifest, if there are any.
    pub(crate) fn annotations(self, annotations: &BTreeMap<String, String>) -> Self {
        if annotations.is_empty() { self } else { self.parameter("annotations", json!(annotations)) }
    }

    /// Adds a group of files, which are named by their digests. The image must be built afterwards: that nothing changed
    /// meanwhile is verified with [`attachment`](Self::attachment).
    pub(crate) fn files(
        mut self,
        name: &'static str,
        files: impl IntoIterator<Item = (String, PathBuf)>,
    ) -> Result<Self> {
        if self.is_recorded {
            let read = |(name, path): (String, PathBuf)| {
                let digest = file_digest(&path)?;
                Ok((name, Input { path, digest }))
            };
            self.files.push((name, files.into_iter().map(read).collect::<Result<_>>()?));
        }
        Ok(self)
    }

    /// Adds the files of an image by their paths in it, as [`files`](Self::files).
    pub(crate) fn content(self, files: &FileMap) -> Result<Self> {
        let on_disk = files.iter().filter_map(|(path, file)| match &file.source {
            Source::Disk(source) => Some((path.to_owned(), source.clone())),
            _ => None,
        });
        self.files("files", on_disk)
    }

    /// Adds the base image.
    pub(crate) fn base(mut self, base: &Base) -> Self {
        // Local paths are meaningless on other machines.
        let uri = base.location.registry().map(|reference| format!("docker://{reference}"));
        let named = |digest| Resource { name: Some("base".to_owned()), uri: uri.clone(), ..resource(digest) };
        self.base = base.chosen.images.iter().map(|image| named(image.digest())).collect();
        self.parameter("base", json!(named(&base.chosen.digest)))
    }

    /// Returns the provenance of `artifact`, which is pushed as `name`.
    ///
    /// # Errors
    ///
    /// A file is not what it was before the image was built, or cannot be read any more.
    pub(crate) fn attachment(&self, name: &Reference, artifact: &Artifact) -> Result<Attachment> {
        let mut build = Build { parameters: self.parameters.clone(), dependencies: Vec::new() };
        let epoch = created()?;
        if epoch != 0 {
            build.parameters.insert("sourceDateEpoch".to_owned(), json!(epoch));
        }
        match revision(&self.directory, self.is_whole_directory) {
            Ok(revision) => {
                let (path, source) = source(revision);
                build.parameters.insert("path".to_owned(), json!(path));
                build.dependencies.push(source);
            }
            Err(reason) => writeln!(
                stderr(),
                "{WARNING} the provenance does not include the source revision of {}: {}",
                self.directory.display(),
                printable(&reason)
            )?,
        }
        build.dependencies.extend(self.base.iter().cloned());
        for (group, files) in &self.files {
            let mut digests = Map::new();
            for (name, Input { path, digest }) in files {
                if file_digest(path)? != *digest {
                    bail!("{} changed while the image was being built: push it again", path.display());
                }
                digests.insert(name.clone(), json!(digest));
            }
            build.parameters.insert((*group).to_owned(), Value::Object(digests));
        }
        let repository = format!("{}/{}", name.registry(), name.repository());
        let manifests = artifact.all_manifests();
        let subjects: Vec<Resource> = manifests
            .iter()
            .rev()
            .map(|manifest| Resource { name: Some(repository.clone()), ..resource(manifest.digest()) })
            .collect();
        let annotation = (provenance::PREDICATE_ANNOTATION.to_owned(), provenance::PREDICATE_TYPE.to_owned());
        Ok(Attachment {
            media_type: provenance::MEDIA_TYPE.to_owned(),
            bytes: provenance::statement(&subjects, &build),
            annotations: BTreeMap::from([annotation]),
        })
    }
}

fn resource(digest: &Digest) -> Resource {
    Resource { digest: BTreeMap::from([("sha256", digest.digest().to_owned())]), ..Resource::default() }
}

pub(crate) fn file_digest(path: &Path) -> Result<Digest> {
    let failed = || format!("failed to read {}", path.display());
    let (mut file, _) = file::open(path).with_context(failed)?;
    let mut hashing = Hashing::new(io::sink());
    io::copy(&mut file, &mut hashing).with_context(failed)?;
    Ok(hashing.digest())
}

/// Returns the path of a directory in its repository, and the repository as a dependency, or the reason why none is known.
pub(crate) fn source_revision(directory: &Path) -> Result<(String, Resource), String> {
    revision(directory, false).map(source)
}

/// Returns the path of a directory in its repository, and the repository as a dependency.
fn source(Revision { path, commit, remote, changes }: Revision) -> (String, Resource) {
    let mut annotations = Map::new();
    if changes != Changes::None {
        annotations.insert("modified".to_owned(), json!(true));
    }
    let digest = BTreeMap::from([("gitCommit", commit)]);
    let uri = provenance::source_uri(&remote);
    (path, Resource { name: Some("source".to_owned()), uri, digest, annotations })
}

#[cfg(test)]
mod tests {
    use oci_images::layout::{File, ImageBuilder, layer};

    use super::*;

    #[test]
    fn a_file_that_changes_while_the_image_is_built_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("manager");
        std::fs::write(&path, "one").unwrap();
        let mut files = FileMap::new();
        files.add("manager", File { source: Source::Disk(path.clone()), executable: true }).unwrap();
        let inputs = Inputs::new("push image", directory.path(), true).content(&files).unwrap();
        let recipe = ImageBuilder { layers: vec![layer(&files, 0).unwrap()], ..ImageBuilder::default() };
        let image = Artifact::from(recipe.build().unwrap());
        let name = "registry.example.com/operator:v1".parse().unwrap();
        inputs.attachment(&name, &image).unwrap();
        std::fs::write(&path, "two").unwrap();
        let error = inputs.attachment(&name, &image).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{} changed while the image was being built: push it again", path.display())
        );
    }
}
