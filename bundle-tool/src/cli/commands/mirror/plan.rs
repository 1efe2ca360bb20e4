//! Computes the source and destination of every image to mirror. No I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use oci_images::location::ImageLocation;
use oci_images::registry::Repository;

use super::images::Mirrored;

/// Where images are mirrored to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// A registry, with or without the first parts of repositories.
    Registry(String),
    /// An OCI layout, in which images keep their names.
    Directory(PathBuf),
    /// An OCI archive, in which images keep their names.
    Archive(PathBuf),
}

impl Target {
    /// Parses `REGISTRY[/PATH]`, `oci:DIR` or `oci-archive:FILE`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        for (scheme, target) in
            [("oci:", Self::Directory as fn(PathBuf) -> Self), ("oci-archive:", Self::Archive)]
        {
            match text.strip_prefix(scheme) {
                Some("") => return Err(format!("expected a path after `{scheme}`")),
                Some(path) => return Ok(target(path.into())),
                None => {}
            }
        }
        Self::parse_registry(text).map_err(|_| {
            "expected a registry such as registry.example.com/mirror, oci:DIR or oci-archive:FILE".into()
        })
    }

    /// Parses `REGISTRY[/PATH]`.
    pub(crate) fn parse_registry(text: &str) -> Result<Self, String> {
        let text = text.trim_end_matches('/');
        let host = text.split('/').next().unwrap_or_default();
        let is_host = host == "localhost" || host.contains(['.', ':']);
        match Repository::parse(&format!("{text}/x")) {
            Ok(name) if is_host && name.registry() == host => Ok(Self::Registry(text.to_owned())),
            _ => Err("expected a registry such as registry.example.com/mirror".into()),
        }
    }

    /// Returns the layout or archive.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Registry(_) => None,
            Self::Directory(path) | Self::Archive(path) => Some(path),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(base) => formatter.write_str(base),
            Self::Directory(path) => write!(formatter, "oci:{}", path.display()),
            Self::Archive(path) => write!(formatter, "oci-archive:{}", path.display()),
        }
    }
}

/// What an image is called at a registry instead of its own name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) repository: Option<String>,
    pub(crate) tag: Option<String>,
}

impl Rename {
    pub(crate) fn is_none(&self) -> bool {
        self.repository.is_none() && self.tag.is_none()
    }
}

/// An image and where it goes.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) image: Mirrored,
    pub(crate) target: ImageLocation,
    /// The repository, if the target is a registry.
    pub(crate) repository: Option<String>,
}

/// Returns where each image goes.
///
/// Images keep their repositories and tags, so that a cluster finds them by the same names at the mirror. Where several have
/// one name there, those with a digest get a tag that is made of it; where that is not enough, the repositories get the name
/// of their registry in front. What a [`Rename`] says is not changed.
///
/// With `max_parts`, a repository below the registry has at most so many parts: the last ones are joined with `-`.
///
/// # Errors
/// Two images would have one name at the target nevertheless, or a name is invalid.
pub(crate) fn plan(images: Vec<Mirrored>, to: &Target, max_parts: Option<usize>) -> Result<Vec<Planned>> {
    let place: fn(PathBuf, Option<String>) -> ImageLocation = match to {
        Target::Directory(_) => ImageLocation::Directory,
        Target::Archive(_) => ImageLocation::Archive,
        Target::Registry(base) => return at_registry(images, base, max_parts),
    };
    let path = to.path().unwrap_or(Path::new(""));
    Ok(images
        .into_iter()
        .map(|image| {
            let target = place(path.to_owned(), Some(image.reference.to_string()));
            Planned { image, target, repository: None }
        })
        .collect())
}

/// Returns a name `REGISTRY/REPOSITORY` whose repository has at most `max_parts` parts.
fn flattened(name: &str, max_parts: Option<usize>) -> String {
    let parts: Vec<&str> = name.split('/').collect();
    match max_parts {
        Some(max) if max > 0 && parts.len() > max + 1 => {
            let (kept, joined) = parts.split_at(max);
            [kept, &[joined.join("-").as_str()]].concat().join("/")
        }
        _ => name.to_owned(),
    }
}

/// Returns where each image goes below `base` of a registry.
fn at_registry(images: Vec<Mirrored>, base: &str, max_parts: Option<usize>) -> Result<Vec<Planned>> {
    let mut names: Vec<Name> = images.iter().map(|image| Name::new(image, base, max_parts)).collect();
    for same in shared(&names) {
        for index in same {
            if let Some(digest) = images[index].reference.digest()
                && images[index].rename.tag.is_none()
            {
                names[index].tag = tag_of(digest);
            }
        }
    }
    let source = |index: usize| {
        let reference = &images[index].reference;
        (reference.registry(), reference.repository())
    };
    let moved: BTreeSet<_> = shared(&names).into_iter().flatten().map(source).collect();
    for (index, name) in names.iter_mut().enumerate() {
        let (registry, repository) = source(index);
        let is_fixed = name.is_there || images[index].rename.repository.is_some();
        if moved.contains(&(registry, repository)) && !is_fixed {
            let whole = format!("{base}/{}/{repository}", registry.replace(':', "-"));
            name.repository = flattened(&whole, max_parts);
        }
    }
    if let Some(same) = shared(&names).first() {
        let sources: Vec<_> = same.iter().map(|index| images[*index].reference.to_string()).collect();
        bail!(
            "{} would become {}: choose another path with --to",
            sources.join(" and "),
            names[same[0]].whole()
        );
    }
    let place = |(image, name): (Mirrored, Name)| {
        let target = ImageLocation::Registry(Repository::parse(&name.whole())?);
        Ok(Planned { image, target, repository: Some(name.repository) })
    };
    images.into_iter().zip(names).map(place).collect()
}

/// The name of an image at the target.
struct Name {
    repository: String,
    tag: String,
    digest: Option<String>,
    /// Whether the image is at the target already, such as a mirrored catalog that is checked.
    is_there: bool,
}

impl Name {
    fn new(image: &Mirrored, base: &str, max_parts: Option<usize>) -> Self {
        let Mirrored { reference: source, rename, .. } = image;
        let whole = format!("{}/{}", source.registry(), source.repository());
        let is_there = rename.is_none() && whole.strip_prefix(base).is_some_and(|rest| rest.starts_with('/'));
        let repository = rename.repository.as_deref().unwrap_or(source.repository());
        let repository = if is_there { whole } else { flattened(&format!("{base}/{repository}"), max_parts) };
        let tag = match (rename.tag.as_deref().or(source.tag()), source.digest()) {
            (Some(tag), _) => tag.to_owned(),
            (None, Some(digest)) => tag_of(digest),
            (None, None) => "latest".to_owned(),
        };
        Self { repository, tag, digest: source.digest().map(str::to_owned), is_there }
    }

    fn whole(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

/// Returns the tag of an image that has none of its own.
fn tag_of(digest: &str) -> String {
    let hex = digest.split_once(':').map_or(digest, |(_, hex)| hex);
    format!("mirror-{}", &hex[..hex.len().min(12)])
}

/// Returns the images, by index, that have one name without being the same by their digests.
fn shared(names: &[Name]) -> Vec<Vec<usize>> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, name) in names.iter().enumerate() {
        by_name.entry(name.whole()).or_default().push(index);
    }
    let is_shared = |same: &Vec<usize>| {
        let digests: BTreeSet<_> = same.iter().map(|index| &names[*index].digest).collect();
        same.len() > 1 && (digests.len() > 1 || digests.contains(&None))
    };
    by_name.into_values().filter(is_shared).collect()
}

#[cfg(test)]
mod tests {
    use oci_images::registry::Reference;

    use super::*;
    use crate::cli::commands::mirror::images::Content;

    fn places(to: &str, images: &[&str]) -> Result<Vec<String>> {
        let images = images.iter().map(|name| {
            let reference: Reference = name.parse().unwrap();
            let (source, content) = (ImageLocation::Registry(reference.clone()), Content::Image);
            Mirrored { source, reference, reason: String::new(), content, rename: Rename::default() }
        });
        let planned = plan(images.collect(), &Target::parse(to).unwrap(), None)?;
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
        assert_eq!(places("oci-archive:x", &images[..1]).unwrap(), ["oci-archive:x:quay.io/org/app:v1"]);
        let mirrored = ["r.example.com/m/org/app:v1", "r.example.com/mm/app:v1"];
        assert_eq!(
            places("r.example.com/m", &mirrored).unwrap(),
            ["r.example.com/m/org/app:v1", "r.example.com/m/mm/app:v1"]
        );
        for wrong in ["", "mirror", "oci:", "r.example.com/A", "r.example.com:x:y"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn renamed_images_have_the_names_that_are_given() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let image = |name: &str, repository: Option<&str>, tag: Option<&str>| {
            let reference: Reference = name.parse().unwrap();
            let rename = Rename { repository: repository.map(str::to_owned), tag: tag.map(str::to_owned) };
            let (source, content) = (ImageLocation::Registry(reference.clone()), Content::Image);
            Mirrored { source, reference, reason: String::new(), content, rename }
        };
        let places = |images: Vec<Mirrored>, max_parts| {
            let planned = plan(images, &Target::parse("r.example.com/m").unwrap(), max_parts)?;
            Ok::<_, anyhow::Error>(planned.iter().map(|one| one.target.to_string()).collect::<Vec<_>>())
        };
        let images = vec![
            image("quay.io/org/app:v1", Some("own/name"), None),
            image("ghcr.io/org/app:v1", None, Some("v2")),
            image(&format!("docker.io/org/app@{digest}"), Some("own/name"), Some("v3")),
            image("r.example.com/m/org/app:v1", None, Some("v4")),
            image("r.example.com/m/org/other:v1", None, None),
        ];
        assert_eq!(
            places(images.clone(), None).unwrap(),
            [
                "r.example.com/m/own/name:v1",
                "r.example.com/m/org/app:v2",
                "r.example.com/m/own/name:v3",
                "r.example.com/m/m/org/app:v4",
                "r.example.com/m/org/other:v1",
            ]
        );
        assert_eq!(places(images, Some(2)).unwrap()[0], "r.example.com/m/own-name:v1");
        let same = ["quay.io/a/one:v1", "quay.io/a/two:v1"].map(|name| image(name, Some("x"), None));
        let error = places(same.into(), None).unwrap_err().to_string();
        assert!(error.contains("would become r.example.com/m/x:v1"), "{error}");
    }

    #[test]
    fn nested_repositories_are_joined() {
        for (max, expected) in [
            (None, "r.example.com/m/a/b/c"),
            (Some(4), "r.example.com/m/a/b/c"),
            (Some(3), "r.example.com/m/a/b-c"),
            (Some(2), "r.example.com/m/a-b-c"),
            (Some(1), "r.example.com/m-a-b-c"),
        ] {
            assert_eq!(flattened("r.example.com/m/a/b/c", max), expected);
        }
    }

    #[test]
    fn images_with_one_name_get_names_of_their_own() {
        let [a, b] = ["ab", "cd"].map(|byte| format!("sha256:{}", byte.repeat(32)));
        // With a digest, the tag is for people only.
        for (tag, first, second) in [
            ("v1", "quay.io/org/app:v1", format!("quay.io/org/app:v1@{a}")),
            (
                "mirror-cdcdcdcdcdcd",
                &format!("quay.io/org/app:latest@{b}"),
                format!("quay.io/org/app:latest@{a}"),
            ),
            ("v1", "quay.io/org/app:v1", format!("ghcr.io/org/app:v1@{a}")),
        ] {
            assert_eq!(
                places("r.example.com/m", &[first, &second]).unwrap(),
                [
                    format!("r.example.com/m/org/app:{tag}"),
                    "r.example.com/m/org/app:mirror-abababababab".into()
                ],
                "{first} {second}"
            );
        }
        // One image by several names.
        let same = [format!("quay.io/org/app:v1@{a}"), format!("ghcr.io/org/app:v1@{a}")];
        assert_eq!(places("r.example.com", &[&same[0], &same[1]]).unwrap(), ["r.example.com/org/app:v1"; 2]);
        // Of several registries: all images of these repositories move, because a mirror set names repositories.
        let several =
            ["quay.io/org/app:v1", "quay.io/org/app:v2", "localhost:5000/org/app:v1", "quay.io/org/other:v1"];
        assert_eq!(
            places("r.example.com/m", &several).unwrap(),
            [
                "r.example.com/m/quay.io/org/app:v1",
                "r.example.com/m/quay.io/org/app:v2",
                "r.example.com/m/localhost-5000/org/app:v1",
                "r.example.com/m/org/other:v1",
            ]
        );
        // What is at the target already stays there.
        assert_eq!(
            places("r.example.com/m", &["r.example.com/m/org/app:v1", "quay.io/org/app:v1"]).unwrap(),
            ["r.example.com/m/org/app:v1", "r.example.com/m/quay.io/org/app:v1"]
        );
        let taken = ["quay.io/org/app:v1", "ghcr.io/org/app:v1", "r.example.com/quay.io/org/app:v1"];
        let error = places("r.example.com", &taken).unwrap_err().to_string();
        assert_eq!(
            error,
            "quay.io/org/app:v1 and r.example.com/quay.io/org/app:v1 would become \
             r.example.com/quay.io/org/app:v1: choose another path with --to"
        );
    }
}
