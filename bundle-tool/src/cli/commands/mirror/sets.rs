//! Manifests that configure a cluster to use a mirror: OpenShift's mirror sets, the catalogs for OLM v0 and OLM v1, and a mapping
//! for other tools.
//!
//! Source: `config/v1/types_image_digest_mirror_set.go` and `types_image_tag_mirror_set.go` of openshift/api; mapping.txt has
//! the form that `oc adm catalog mirror` writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use oci_images::registry::Reference;
use serde_json::{Value, json};

use super::images::{CatalogImage, Content};
use super::plan::Planned;

/// The name of both sets.
const NAME: &str = "bundle-tool-mirror";

/// Writes the files into `directory`: all of them or none.
pub(crate) fn write(planned: &[Planned], directory: &Path) -> Result<()> {
    let copies = || planned.iter().filter(|one| !one.image.content.is_part());
    let mapping: String = copies().map(|one| format!("{}={}\n", one.image.reference, one.target)).collect();
    let mut files = BTreeMap::from([("mapping.txt".to_owned(), mapping.into_bytes())]);
    // Of both kinds: a workload may name by tag what a bundle names by its digest.
    let mut mirrors: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut tagged: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for Planned { image, repository, .. } in copies() {
        let Some(repository) = repository else { continue };
        let source = format!("{}/{}", image.reference.registry(), image.reference.repository());
        // A set names no tags, so a cluster does not find an image by its tag if that is another one at the mirror.
        let has_own_tag = image.rename.tag.as_deref().is_none_or(|tag| image.reference.tag() == Some(tag));
        if image.reference.digest().is_none() && has_own_tag {
            tagged.entry(source.clone()).or_default().insert(repository);
        }
        mirrors.entry(source).or_default().insert(repository);
    }
    files.insert("registries.conf".to_owned(), registries_conf(&mirrors, &tagged).into_bytes());
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
        files.insert(file.to_owned(), kube_yaml::emit(&set).into_bytes());
    }
    let mut names = BTreeSet::new();
    for planned in planned.iter().filter(|one| one.repository.is_some()) {
        let Content::Catalog(image) = &planned.image.content else { continue };
        let name = unused_name(&planned.image.reference, &mut names);
        let target = planned.target.to_string();
        for (file, object) in [
            ("catalog-source", catalog_source(&name, &target, image)),
            ("cluster-catalog", cluster_catalog(&name, &target)),
        ] {
            files.insert(format!("{file}-{name}.yaml"), kube_yaml::emit(&object).into_bytes());
        }
    }
    atomic_files::tree(directory, files)?;
    Ok(())
}

/// Returns the configuration of podman, buildah and CRI-O: a mirror for each repository, for digests or for all names.
fn registries_conf(
    mirrors: &BTreeMap<String, BTreeSet<&str>>,
    tagged: &BTreeMap<String, BTreeSet<&str>>,
) -> String {
    let mut text = vec![
        "# Add this file to /etc/containers/registries.conf.d, for example as 999-bundle-tool-mirror.conf."
            .to_owned(),
    ];
    for (source, repositories) in mirrors {
        text.push(format!("\n[[registry]]\nprefix = \"{source}\"\nlocation = \"{source}\""));
        for repository in repositories {
            let has_tags = tagged.get(source).is_some_and(|tagged| tagged.contains(repository));
            let pull = if has_tags { "all" } else { "digest-only" };
            text.push(format!(
                "\n[[registry.mirror]]\nlocation = \"{repository}\"\npull-from-mirror = \"{pull}\""
            ));
        }
    }
    text.join("\n") + "\n"
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
fn catalog_source(name: &str, target: &str, image: &CatalogImage) -> Value {
    let mut pod = json!({ "securityContextConfig": "restricted" });
    if !image.has_program {
        // OLM's own program serves the catalog.
        pod["extractContent"] = json!({ "catalogDir": image.directory });
    }
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": { "name": name },
        "spec": { "sourceType": "grpc", "image": target, "grpcPodConfig": pod },
    })
}

/// Returns a `ClusterCatalog` for OLM v1.
fn cluster_catalog(name: &str, target: &str) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": { "name": name },
        "spec": { "source": { "type": "Image", "image": { "ref": target } } },
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
