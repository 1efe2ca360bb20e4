//! The manifests that a command reads, without what this tool itself wrote among them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Result;
use oci_images::labels;

use super::files;
use olm_model::Document;
use olm_model::disk::manifests;

/// The end of the name of the file in which `generate manifests` records what it generated.
pub(crate) const GENERATED_SUFFIX: &str = ".generated.yaml";
/// The end of the name of a file with a CSV.
pub(crate) const CSV_SUFFIX: &str = ".clusterserviceversion.yaml";
/// What the annotation `METRICS_BUILDER` begins with if this tool generated the bundle.
const BUILDER: &str = ": bundle-tool-v";

/// Manifests and the paths that were skipped.
#[derive(Debug)]
pub(crate) struct Manifests {
    pub(crate) list: Vec<Document>,
    /// Bundles and files that this tool wrote.
    pub(crate) skipped: BTreeSet<PathBuf>,
}

/// Reads all manifests below `directory`, which may be a file, except the tool's own output: the bundle in `output`,
/// other bundles that it generated, and the record beside a base CSV.
pub(crate) fn read(directory: &Path, output: &Path) -> Result<Manifests> {
    let mut paths = manifests::list(directory)?;
    let own = Own::new(directory, output, &paths)?;
    let mut skipped = BTreeSet::new();
    paths.retain(|path| match own.part_of(path) {
        Some(part) => {
            skipped.insert(part);
            false
        }
        None => true,
    });
    Ok(Manifests { list: manifests::files(directory, paths)?, skipped })
}

/// The tool's own output among files.
struct Own {
    /// Directories of bundles, and files.
    paths: HashSet<PathBuf>,
}

impl Own {
    fn new(directory: &Path, output: &Path, files: &[PathBuf]) -> Result<Self> {
        let mut paths = HashSet::new();
        let mut real: HashMap<&Path, bool> = HashMap::new();
        let output = output.canonicalize().ok();
        let root = directory.canonicalize().ok();
        let all: HashSet<&PathBuf> = files.iter().collect();
        for file in files {
            // A directory may be reached through links.
            for parent in file.ancestors().skip(1).take_while(|parent| *parent != directory) {
                let is_output = *real
                    .entry(parent)
                    .or_insert_with(|| output.is_some() && parent.canonicalize().ok() == output);
                if is_output && root != output {
                    paths.insert(parent.to_owned());
                }
            }
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if let Some(package) = name.strip_suffix(GENERATED_SUFFIX)
                && all.contains(&file.with_file_name(format!("{package}{CSV_SUFFIX}")))
            {
                paths.insert(file.clone());
            }
            if let Some(bundle) = file.ancestors().nth(2)
                && file.ends_with("metadata/annotations.yaml")
                && bundle != directory
                && files::bytes(file)?.is_some_and(|bytes| is_generated(&String::from_utf8_lossy(&bytes)))
            {
                paths.insert(bundle.to_owned());
            }
        }
        Ok(Self { paths })
    }

    /// Returns the output that a file belongs to.
    fn part_of(&self, file: &Path) -> Option<PathBuf> {
        file.ancestors().find(|path| self.paths.contains(*path)).map(Path::to_owned)
    }
}

/// Returns whether this tool generated the bundle, according to `metadata/annotations.yaml`.
fn is_generated(annotations: &str) -> bool {
    annotations.contains(&format!("{}{BUILDER}", labels::METRICS_BUILDER))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(manifests: &Manifests) -> Vec<&str> {
        manifests.list.iter().map(|manifest| manifest.file.rsplit('/').next().unwrap()).collect()
    }

    #[test]
    fn own_output_is_skipped_and_other_files_are_not() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a.yaml", "kind: A");
        write("bases/op.clusterserviceversion.yaml", "kind: B");
        write("bases/op.generated.yaml", "kind: C");
        write("bases/mine.generated.yaml", "kind: D");
        write("out/manifests/x.yaml", "kind: E");
        write("older/manifests/x.yaml", "kind: F");
        write(
            "older/metadata/annotations.yaml",
            &format!("annotations:\n  {}{BUILDER}0.0.1\n", labels::METRICS_BUILDER),
        );
        write("foreign/manifests/y.yaml", "kind: G");
        write("foreign/metadata/annotations.yaml", "annotations: {}\n");
        let found = read(scratch.path(), &scratch.path().join("out")).unwrap();
        assert_eq!(
            names(&found),
            ["a.yaml", "mine.generated.yaml", "op.clusterserviceversion.yaml", "y.yaml", "annotations.yaml"]
        );
    }
}
