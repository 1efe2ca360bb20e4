//! A must-gather: the objects and logs of a cluster in a directory.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::terminal::{WARNING, stderr};
use kube_yaml::text::{printable, shortened, with_causes};
use olm_cluster::Snapshot;
use olm_cluster::diagnose::Log;
use olm_model::disk;
use olm_model::disk::Directory;
use olm_model::read;
use olm_model::read::Unreadable;

/// The maximum number of skipped files that are named.
const MAX_SKIPPED: usize = 5;

/// Names files that were skipped: what is wrong may be in one of them.
fn warn_of(skipped: &[read::manifests::ManifestError]) -> io::Result<()> {
    let mut err = stderr();
    for error in skipped.iter().take(MAX_SKIPPED) {
        writeln!(err, "{WARNING} skipped a file: {}", printable(&shortened(&with_causes(error), 500)))?;
    }
    if skipped.len() > MAX_SKIPPED {
        writeln!(err, "{WARNING} skipped {} more files", skipped.len() - MAX_SKIPPED)?;
    }
    Ok(())
}

/// The objects of a must-gather, and where its logs are.
pub(crate) struct MustGather {
    /// The objects.
    pub(crate) snapshot: Snapshot,
    /// The directory; `None` if it is one file.
    root: Option<Directory>,
    /// The files of logs below it, by their path from `namespaces` on.
    logs: BTreeMap<String, PathBuf>,
}

impl MustGather {
    /// Reads a directory. Files that are not Kubernetes objects are skipped, with a warning.
    pub(crate) fn read(directory: &Path) -> Result<Self> {
        let mut snapshot = Snapshot::default();
        let mut logs = BTreeMap::new();
        let mut read = 0_u64;
        let root = Directory::open(directory).ok();
        let (files, mut skipped) = disk::manifests::readable(directory)?;
        for path in files {
            if let Some(name) = log_name(&path) {
                logs.insert(name, path.strip_prefix(directory).unwrap_or(&path).to_owned());
                continue;
            }
            let is_manifest = path
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json");
            if !is_manifest {
                continue;
            }
            let below = path.strip_prefix(directory).unwrap_or(&path);
            read += root
                .as_ref()
                .and_then(|root| root.file(below).ok())
                .map_or(0, |(_, metadata)| metadata.len());
            if read > MAX_BYTES {
                bail!(
                    "the manifests in {} exceed {MAX_BYTES} bytes; pass the directory of one namespace",
                    directory.display()
                );
            }
            // A must-gather contains files that are cut off or are not Kubernetes objects.
            match disk::manifests::files(directory, vec![path]) {
                Ok(documents) => {
                    for document in documents {
                        snapshot.add(document.tree.root().to_json());
                    }
                }
                Err(error) => skipped.push(error),
            }
        }
        warn_of(&skipped)?;
        if snapshot.is_empty() {
            let shown = directory.display();
            if root.is_none() {
                bail!(
                    "{shown} is a file without objects of OLM, pods, deployments or events; unpack an archive, and pass its directory"
                );
            }
            bail!("{shown} contains no objects of OLM, pods, deployments or events");
        }
        if !snapshot.is_observed() {
            bail!(
                "{} contains manifests, not objects of a cluster: none has a `metadata.uid` or a `status`; pass the directory of a must-gather",
                directory.display()
            );
        }
        snapshot.deduplicate();
        Ok(Self { snapshot, root, logs })
    }

    /// Returns the last lines of a container's log: of its previous run if the current one has written nothing. Empty if
    /// the must-gather has none.
    pub(crate) fn last_lines(&self, log: &Log) -> String {
        let Log { namespace, pod, container } = log;
        ["current", "previous"]
            .iter()
            .filter_map(|run| {
                self.logs
                    .get(&format!("namespaces/{namespace}/pods/{pod}/{container}/{container}/logs/{run}.log"))
            })
            .map(|below| self.root.as_ref().and_then(|root| tail(root, below).ok()).unwrap_or_default())
            .find(|lines| !lines.is_empty())
            .unwrap_or_default()
    }
}

/// Returns the path of a log from `namespaces` on, by which it is found.
fn log_name(path: &Path) -> Option<String> {
    if path.extension().is_none_or(|extension| extension != "log") {
        return None;
    }
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    let start = parts.len().checked_sub(LOG_DEPTH)?;
    (parts[start] == "namespaces" && parts[start + 2] == "pods").then(|| parts[start..].join("/"))
}

/// Returns the last lines of a file.
fn tail(root: &Directory, below: &Path) -> Result<String, Unreadable> {
    let (mut file, metadata) = root.file(below)?;
    file.seek(io::SeekFrom::Start(metadata.len().saturating_sub(MAX_TAIL)))?;
    let mut bytes = Vec::new();
    file.take(MAX_TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(LOG_LINES)..].join("\n"))
}

/// The number of parts of a log's path from `namespaces` on: `namespaces/NS/pods/POD/CONTAINER/CONTAINER/logs/current.log`.
const LOG_DEPTH: usize = 8;

/// The number of lines of a log that are shown, and the bytes of its end that they are read from.
const LOG_LINES: usize = 10;
const MAX_TAIL: u64 = 16 << 10;

/// The maximum size of all manifests of a must-gather.
const MAX_BYTES: u64 = 512 << 20;
