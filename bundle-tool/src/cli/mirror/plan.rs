//! Which image goes where.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use oci_images::place::Place;
use oci_images::registry::{Reference, Repository};

use super::images::Mirrored;

/// Where images are mirrored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A registry, with or without the first parts of repositories.
    Registry(String),
    /// An OCI layout, in which images keep their names.
    Directory(PathBuf),
}

impl Target {
    /// Parses `REGISTRY[/PATH]` or `oci:DIR`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("oci:") {
            return match path {
                "" => Err("expected a path after `oci:`".into()),
                path => Ok(Self::Directory(path.into())),
            };
        }
        let text = text.trim_end_matches('/');
        let host = text.split('/').next().unwrap_or_default();
        let is_host = host == "localhost" || host.contains(['.', ':']);
        match Repository::parse(&format!("{text}/x")) {
            Ok(name) if is_host && name.registry() == host => Ok(Self::Registry(text.to_owned())),
            _ => Err("expected a registry such as registry.example.com/mirror, or oci:DIR".into()),
        }
    }

    /// Returns where an image is mirrored to, and its repository there if that is a registry.
    fn place(&self, source: &Reference) -> Result<(Place, Option<String>)> {
        match self {
            Self::Directory(path) => Ok((Place::Directory(path.clone(), Some(source.whole())), None)),
            Self::Registry(base) => {
                // What is at the target already, such as a mirrored catalog that is checked, stays where it is.
                let whole = format!("{}/{}", source.registry(), source.repository());
                let is_there = whole.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'));
                let repository = if is_there { whole } else { format!("{base}/{}", source.repository()) };
                let tag = match (source.tag(), source.digest()) {
                    (Some(tag), _) => tag.to_owned(),
                    (None, Some(digest)) => {
                        let hex = digest.split_once(':').map_or(digest, |(_, hex)| hex);
                        format!("mirror-{}", &hex[..hex.len().min(12)])
                    }
                    (None, None) => "latest".to_owned(),
                };
                let place = Place::Registry(Repository::parse(&format!("{repository}:{tag}"))?);
                Ok((place, Some(repository)))
            }
        }
    }
}

/// An image and where it goes.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) image: Mirrored,
    pub(super) target: Place,
    /// The repository, if the target is a registry.
    pub(super) repository: Option<String>,
}

/// Returns where each image goes.
///
/// # Errors
///
/// Two images would have one name at the target.
pub(super) fn plan(images: Vec<Mirrored>, to: &Target) -> Result<Vec<Planned>> {
    let mut planned: Vec<Planned> = Vec::new();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for image in images {
        let (target, repository) = to.place(&image.reference)?;
        let (name, source) = (target.to_string(), image.reference.whole());
        if let Some(other) = names.insert(name.clone(), source.clone()) {
            bail!("{other} and {source} would both become {name}: mirror them into different paths");
        }
        planned.push(Planned { image, target, repository });
    }
    Ok(planned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::mirror::images::Content;

    fn places(to: &str, images: &[&str]) -> Result<Vec<String>> {
        let images = images.iter().map(|name| {
            let reference: Reference = name.parse().unwrap();
            let (source, content) = (Place::Registry(reference.clone()), Content::Image);
            Mirrored { source, reference, reason: String::new(), content }
        });
        let planned = plan(images.collect(), &Target::parse(to).unwrap())?;
        Ok(planned.iter().map(|planned| planned.target.to_string()).collect())
    }

    #[test]
    fn images_keep_their_repositories_and_tags() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let images = ["quay.io/org/app:v1", &format!("quay.io/org/app@{digest}"), "busybox"];
        assert_eq!(
            places("r.example.com/m", &images).unwrap(),
            [
                "r.example.com/m/org/app:v1",
                "r.example.com/m/org/app:mirror-abababababab",
                "r.example.com/m/library/busybox:latest",
            ]
        );
        assert_eq!(places("oci:x", &images[..1]).unwrap(), ["oci:x:quay.io/org/app:v1"]);
        let mirrored = ["r.example.com/m/org/app:v1", "r.example.com/mm/app:v1"];
        assert_eq!(
            places("r.example.com/m", &mirrored).unwrap(),
            ["r.example.com/m/org/app:v1", "r.example.com/m/mm/app:v1"]
        );
        let error = places("r.example.com", &["quay.io/org/app:v1", "ghcr.io/org/app:v1"]).unwrap_err();
        assert!(error.to_string().contains("would both become r.example.com/org/app:v1"), "{error}");
        for wrong in ["", "mirror", "oci:", "r.example.com/A", "r.example.com:x:y"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }
}
