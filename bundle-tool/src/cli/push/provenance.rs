//! What an image is built from: collected for its provenance, which `--provenance` attaches.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
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
    /// Groups of files by parameter: in each, what a file is called and where it is.
    files: Vec<(&'static str, BTreeMap<String, PathBuf>)>,
}

impl Inputs {
    /// Returns the inputs of `command`, such as `push bundle`, for sources in `directory`.
    pub(super) fn new(command: &str, directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            parameters: Map::from_iter([("command".to_owned(), json!(command))]),
            base: None,
            files: Vec::new(),
        }
    }

    /// Adds a parameter of the command.
    pub(super) fn parameter(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a group of files, which are named by their digests.
    pub(super) fn files(mut self, name: &'static str, files: BTreeMap<String, PathBuf>) -> Self {
        self.files.push((name, files));
        self
    }

    /// Adds the files of an image by their paths in it.
    pub(super) fn content(self, files: &FileMap) -> Self {
        let on_disk = files.iter().filter_map(|(path, file)| match &file.source {
            Source::Disk(source) => Some((path.to_owned(), source.clone())),
            _ => None,
        });
        let on_disk = on_disk.collect();
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
    pub(super) fn attachment(&self, name: &Reference, artifact: &Artifact) -> Result<Attachment> {
        let mut build = Build { parameters: self.parameters.clone(), dependencies: Vec::new() };
        let epoch = created()?;
        if epoch != 0 {
            build.parameters.insert("sourceDateEpoch".to_owned(), json!(epoch));
        }
        match source(&self.directory)? {
            Ok(source) => {
                build.parameters.insert("path".to_owned(), json!(source.path));
                build.dependencies.push(source.resource);
            }
            Err(reason) => writeln!(
                io::stderr(),
                "warning: the provenance names no source revision of {}: {}",
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
            for (name, path) in files {
                let digest = file_digest(path)?;
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

/// Returns the revision of a directory, or the reason why there is none.
fn source(directory: &Path) -> Result<Result<Revision, String>> {
    let git = |args: &[&str]| match git::output(directory, args) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Err("git is not installed".to_owned())),
        result => result.context("failed to run git"),
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned();
    let path = match git(&["rev-parse", "--show-prefix"])? {
        Ok(prefix) => text(prefix),
        Err(message) => return Ok(Err(git::first_line(&message).to_owned())),
    };
    let Ok(commit) = git(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])? else {
        return Ok(Err("the repository has no commit".to_owned()));
    };
    // A repository may have no remote.
    let remote = git(&["config", "--get", "remote.origin.url"])?.map(text).unwrap_or_default();
    let changed = git(&["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--", "."])?;
    let is_modified = changed.is_ok_and(|changed| !changed.is_empty());
    let mut annotations = Map::new();
    if is_modified {
        annotations.insert("modified".to_owned(), json!(true));
    }
    let digest = BTreeMap::from([("gitCommit", text(commit))]);
    let uri = provenance::source_uri(&remote);
    let resource = Resource { name: Some("source".to_owned()), uri, digest, annotations };
    Ok(Ok(Revision { path, resource }))
}
