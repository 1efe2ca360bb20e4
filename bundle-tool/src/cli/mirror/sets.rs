//! Manifests that configure a cluster to use a mirror: OpenShift's mirror sets, catalog sources, and a mapping for other tools.
//!
//! Source: `config/v1/types_image_digest_mirror_set.go` and `types_image_tag_mirror_set.go` of openshift/api; mapping.txt has
//! the form that `oc adm catalog mirror` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use oci_images::registry::Reference;
use serde_json::{Value, json};

use super::images::Content;
use super::plan::Planned;
use crate::cli::push;
use crate::model::yaml;

/// The name of both sets.
const NAME: &str = "bundle-tool-mirror";

/// Writes the files into `directory`.
pub(super) fn write(planned: &[Planned], directory: &Path) -> Result<()> {
    let copies = || planned.iter().filter(|one| one.image.content != Content::PartOfCatalog);
    let mapping: String = copies().map(|one| format!("{}={}\n", one.image.reference, one.target)).collect();
    atomic_files::file(&directory.join("mapping.txt"), mapping.as_bytes())?;
    // Of both kinds: a workload may name by tag what a bundle names by its digest.
    let mut mirrors: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut tagged: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for Planned { image, repository, .. } in copies() {
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
    let mut names = BTreeSet::new();
    let is_catalog = |one: &&Planned| one.repository.is_some() && one.image.content != Content::Image;
    for planned in planned.iter().filter(is_catalog) {
        let name = unused_name(&planned.image.reference, &mut names);
        let source = catalog_source(&name, planned);
        let file = directory.join(format!("catalog-source-{name}.yaml"));
        atomic_files::file(&file, yaml::emit(&source).as_bytes())?;
    }
    Ok(())
}

/// Returns the name of a catalog: the last part of its repository, with the tag or a number where others have that name.
fn unused_name(catalog: &Reference, names: &mut BTreeSet<String>) -> String {
    let last = catalog.repository().rsplit('/').next().unwrap_or_default();
    let valid = |name: String| name.to_lowercase().replace(['_', '.'], "-");
    let tagged = catalog.tag().map(|tag| valid(format!("{last}-{tag}")));
    let numbered = (2..).map(|number| valid(format!("{last}-{number}")));
    let mut candidates = std::iter::once(valid(last.to_owned())).chain(tagged).chain(numbered);
    candidates.find(|name| names.insert(name.clone())).unwrap_or_default()
}

/// Returns a `CatalogSource` for the namespace that it is applied in.
fn catalog_source(name: &str, planned: &Planned) -> Value {
    let mut pod = json!({ "securityContextConfig": "restricted" });
    if planned.image.content == Content::PartOfCatalog && !push::can_serve_itself() {
        // The image has no program: OLM's own serves the catalog.
        pod["extractContent"] = json!({ "catalogDir": push::CONFIGS });
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": { "name": name },
        "spec": { "sourceType": "grpc", "image": planned.target.to_string(), "grpcPodConfig": pod },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_sources_have_names_of_their_own() {
        let mut names = BTreeSet::new();
        let found = [
            "a/operators:v4.16",
            "a/operators:v4.17",
            "b/operators:v4.17",
            "b/My_Catalog".to_lowercase().as_str(),
        ]
        .map(|name| unused_name(&format!("quay.io/{name}").parse().unwrap(), &mut names));
        assert_eq!(found, ["operators", "operators-v4-17", "operators-2", "my-catalog"]);
    }
}
