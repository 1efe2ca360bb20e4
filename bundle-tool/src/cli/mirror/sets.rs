//! What tells a cluster about a mirror: OpenShift's mirror sets, and a mapping for other tools.
//!
//! Source: `config/v1/types_image_digest_mirror_set.go` and `types_image_tag_mirror_set.go` of openshift/api; mapping.txt has
//! the form that `oc adm catalog mirror` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::plan::Planned;
use crate::model::yaml;

/// The name of both sets.
const NAME: &str = "bundle-tool-mirror";

/// Writes the files into `directory`.
pub(super) fn write(planned: &[Planned], directory: &Path) -> Result<()> {
    let mapping: String =
        planned.iter().map(|image| format!("{}={}\n", image.image.reference.whole(), image.target)).collect();
    atomic_files::file(&directory.join("mapping.txt"), mapping.as_bytes())?;
    // Of both kinds: a workload may name by tag what a bundle names by its digest.
    let mut mirrors: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut tagged: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for Planned { image, repository, .. } in planned {
        let Some(repository) = repository else { continue };
        let source = format!("{}/{}", image.reference.registry(), image.reference.repository());
        if image.reference.digest().is_none() {
            tagged.entry(source.clone()).or_default().insert(repository);
        }
        mirrors.entry(source).or_default().insert(repository);
    }
    for (file, kind, field, mirrors) in [
        ("image-digest-mirror-set.yaml", "ImageDigestMirrorSet", "imageDigestMirrors", mirrors),
        ("image-tag-mirror-set.yaml", "ImageTagMirrorSet", "imageTagMirrors", tagged),
    ] {
        if mirrors.is_empty() {
            continue;
        }
        let entries: Vec<_> =
            mirrors.iter().map(|(source, mirrors)| json!({ "source": source, "mirrors": mirrors })).collect();
        let set = json!({
            "apiVersion": "config.openshift.io/v1",
            "kind": kind,
            "metadata": { "name": NAME },
            "spec": { field: entries },
        });
        atomic_files::file(&directory.join(file), yaml::emit(&set).as_bytes())?;
    }
    Ok(())
}
