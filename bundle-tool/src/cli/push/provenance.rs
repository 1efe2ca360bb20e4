//! What an image is built from: collected for its provenance, which `--provenance` attaches.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use oci_images::layout::{Artifact, Digest, FileMap, Hashing, Source};
use oci_images::place::Place;
use oci_images::registry::{Attachment, Reference};
use serde_json::{Map, Value, json};

use crate::cli::git;
use crate::cli::images::created;
use crate::model::text::printable;
use crate::provenance::{self, Build, Resource};
use crate::read::file;

/// What an image is built from.
#[derive(Debug)]
pub(super) struct Inputs {
    /// The directory whose git revision is the source's.
    directory: PathBuf,
    parameters: Map<String, Value>,
    /// The base image.
    base: Option<Resource>,
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
    pub(super) fn new(command: &str, directory: &Path, is_recorded: bool) -> Self {
        Self {
            directory: directory.to_owned(),
            parameters: Map::from_iter([("command".to_owned(), json!(command))]),
            base: None,
            is_whole_directory: false,
            is_recorded,
            files: Vec::new(),
        }
    }

    /// States that the image contains all files of the directory, also those that git ignores.
    pub(super) fn whole_directory(mut self) -> Self {
        self.is_whole_directory = true;
        self
    }

    /// Adds a parameter of the command.
    pub(super) fn parameter(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a group of files, which are named by their digests. The image must be built afterwards: that nothing changed
    /// meanwhile is verified with [`attachment`](Self::attachment).
    pub(super) fn files(
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
    pub(super) fn content(self, files: &FileMap) -> Result<Self> {
        let on_disk = files.iter().filter_map(|(path, file)| match &file.source {
            Source::Disk(source) => Some((path.to_owned(), source.clone())),
            _ => None,
        });
        self.files("files", on_disk)
    }

    /// Adds the base image, which has `digest` for the platform of this one.
    pub(super) fn base(mut self, place: &Place, digest: &Digest) -> Self {
        // Paths of this machine say nothing elsewhere.
        let uri = match place {
            Place::Registry(reference) => Some(format!("docker://{}", reference.whole())),
            _ => None,
        };
        self.base = Some(Resource { name: Some("base".to_owned()), uri, ..resource(digest) });
        self
    }

    /// Returns the provenance of `artifact`, which is pushed as `name`.
    ///
    /// # Errors
    ///
    /// A file is not what it was before the image was built, or cannot be read any more.
    pub(super) fn attachment(&self, name: &Reference, artifact: &Artifact) -> Result<Attachment> {
        let mut build = Build { parameters: self.parameters.clone(), dependencies: Vec::new() };
        let epoch = created()?;
        if epoch != 0 {
            build.parameters.insert("sourceDateEpoch".to_owned(), json!(epoch));
        }
        match source(&self.directory, self.is_whole_directory) {
            Ok(source) => {
                build.parameters.insert("path".to_owned(), json!(source.path));
                build.dependencies.push(source.resource);
            }
            Err(reason) => writeln!(
                io::stderr(),
                "warning: the provenance does not include the source revision of {}: {}",
                self.directory.display(),
                printable(&reason)
            )?,
        }
        if let Some(base) = &self.base {
            build.parameters.insert("base".to_owned(), json!(base));
            build.dependencies.push(base.clone());
        }
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

fn file_digest(path: &Path) -> Result<Digest> {
    let failed = || format!("failed to read {}", path.display());
    let (mut file, _) = file::open(path).with_context(failed)?;
    let mut hashing = Hashing::new(io::sink());
    io::copy(&mut file, &mut hashing).with_context(failed)?;
    Ok(hashing.digest())
}

/// A directory in a git repository.
struct Revision {
    /// The path of the directory in the repository.
    path: String,
    resource: Resource,
}

/// Returns the revision of a directory, or the reason why none is known. With `whole`, files that git ignores or takes for
/// unchanged are modifications, too.
fn source(directory: &Path, whole: bool) -> Result<Revision, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => format!("failed to run git: {error}"),
    };
    let git = |args: &[&str]| git::output(directory, args).map_err(failed);
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned();
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    let path = text(prefix.map_err(|message| git::first_line(&message).to_owned())?);
    let commit = git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    let commit = text(commit.map_err(|_| "the repository has no commits".to_owned())?);
    // A repository may have no remote.
    let remote = git(&["config", "--get", "remote.origin.url"])?.map(text).unwrap_or_default();
    let ignored = if whole { "--ignored=matching" } else { "--ignored=no" };
    let changed =
        git::status(directory, &["--untracked-files=normal", ignored, "--", "."]).map_err(failed)?;
    // Without an answer, the files may be any.
    let changed = changed.map_err(|message| format!("git status failed: {}", git::first_line(&message)))?;
    let mut annotations = Map::new();
    // A tag in lower case or `S` says that git does not look whether a file has changed.
    let tags = if whole { git(&["ls-files", "-v", "-z", "--", "."])?? } else { Vec::new() };
    let is_assumed = |entry: &[u8]| matches!(entry.first(), Some(b'a'..=b'z' | b'S'));
    if !changed.is_empty() || tags.split(|byte| *byte == 0).any(is_assumed) {
        annotations.insert("modified".to_owned(), json!(true));
    }
    let digest = BTreeMap::from([("gitCommit", commit)]);
    let uri = provenance::source_uri(&remote);
    let resource = Resource { name: Some("source".to_owned()), uri, digest, annotations };
    Ok(Revision { path, resource })
}

#[cfg(test)]
mod tests {
    use oci_images::layout::{File, Recipe, layer};

    use super::*;

    #[test]
    fn a_file_that_changes_while_the_image_is_built_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("manager");
        std::fs::write(&path, "one").unwrap();
        let mut files = FileMap::new();
        files.add("manager", File { source: Source::Disk(path.clone()), executable: true }).unwrap();
        let inputs = Inputs::new("push image", directory.path(), true).content(&files).unwrap();
        let recipe = Recipe { layers: vec![layer(&files, 0).unwrap()], ..Recipe::default() };
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
