//! Where images are: registries, layouts and archives; and copying between any two of them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use futures::stream::{self, FuturesUnordered, StreamExt};

use crate::blocking::blocking;
use crate::layout::{
    self, Artifact, Blob, Contents, Digest, DirectoryWriter, Found, Image, Platform, Search,
};
use crate::registry::{self, Options, Progress, Reference, Repository, Resolver};

/// An image could not be read, written or copied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A registry could not be used.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// A layout or an archive could not be used.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// The image is not for the requested platform, or an index contains no image for it.
    #[error("{place} contains no image for {platform}; found: {found}")]
    NoPlatform {
        /// Where the image or the index is.
        place: String,
        /// The requested platform.
        platform: Platform,
        /// The platforms that it is for.
        found: String,
    },
    /// A place is not named.
    #[error("expected a path after `{0}:`")]
    NoPath(&'static str),
}

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A name in a registry: `quay.io/org/app:v1`, with or without `docker://`.
    Registry(Reference),
    /// An OCI layout in a directory: `oci:DIR` or `oci:DIR:NAME`.
    Directory(PathBuf, Option<String>),
    /// An OCI layout in an archive: `oci-archive:FILE` or `oci-archive:FILE:NAME`.
    Archive(PathBuf, Option<String>),
    /// An archive of `docker save`: `docker-archive:FILE` or `docker-archive:FILE:NAME`.
    DockerArchive(PathBuf, Option<String>),
}

/// Makes a place of a path and a name.
type New = fn(PathBuf, Option<String>) -> Place;

/// The forms of places that are paths.
const SCHEMES: [(&str, New); 3] =
    [("oci", Place::Directory), ("oci-archive", Place::Archive), ("docker-archive", Place::DockerArchive)];

impl FromStr for Place {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        for (scheme, place) in SCHEMES {
            if let Some(rest) = text.strip_prefix(scheme).and_then(|rest| rest.strip_prefix(':')) {
                if rest.is_empty() {
                    return Err(Error::NoPath(scheme));
                }
                let (path, name) = path_and_name(rest);
                return Ok(place(path, name));
            }
        }
        Ok(Self::Registry(Repository::parse(text.strip_prefix("docker://").unwrap_or(text))?))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, path, name) = match self {
            Self::Registry(reference) => return formatter.write_str(&reference.to_string()),
            Self::Directory(path, name) => ("oci", path, name),
            Self::Archive(path, name) => ("oci-archive", path, name),
            Self::DockerArchive(path, name) => ("docker-archive", path, name),
        };
        write!(formatter, "{scheme}:{}", path.display())?;
        name.iter().try_for_each(|name| write!(formatter, ":{name}"))
    }
}

/// Splits `DIR:NAME`; a path that exists, or has no colon, is a `DIR`.
fn path_and_name(text: &str) -> (PathBuf, Option<String>) {
    match text.split_once(':') {
        Some((path, name)) if !Path::new(text).exists() && !path.is_empty() && !name.is_empty() => {
            (path.into(), Some(name.to_owned()))
        }
        _ => (text.into(), None),
    }
}

impl Place {
    /// Returns where the image is that `text` names; `None` if it names a directory of files.
    ///
    /// A name without a registry's host is a path, so that a missing directory is not looked up on Docker Hub.
    ///
    /// # Errors
    ///
    /// [`registry::Error::Name`] if it is an invalid name.
    pub fn of_image(text: &str) -> Result<Option<Self>, Error> {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let marked = SCHEMES.iter().any(|(known, _)| *known == scheme) || text.starts_with("docker://");
        let host = text.split_once('/').map_or("", |(host, _)| host);
        let named = host == "localhost" || (host.contains(['.', ':']) && !host.starts_with('.'));
        if marked || (named && !Path::new(text).exists()) { text.parse().map(Some) } else { Ok(None) }
    }

    /// Returns the image for `platform`, with the bytes of its layers or with the repository that has them.
    ///
    /// # Errors
    ///
    /// Those of [`Repository::image`] and of opening layouts and archives.
    pub async fn image(
        &self,
        platform: &Platform,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<(Image, Option<Repository>), Error> {
        match self {
            Self::Directory(path, name) => {
                Ok((layout::open_directory(path)?.image(name.as_deref(), platform)?, None))
            }
            Self::Archive(path, name) => {
                Ok((layout::open_archive(path)?.image(name.as_deref(), platform)?, None))
            }
            Self::DockerArchive(path, name) => {
                Ok((layout::open_docker_archive(path, name.as_deref())?, None))
            }
            Self::Registry(reference) => {
                let repository = Repository::for_reading(reference, options, resolver).await?;
                Ok((repository.image(platform).await?, Some(repository)))
            }
        }
    }

    /// Returns the image for each of `platforms`, and never one for another platform. Images for other platforms are not
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::NoPlatform`], and those of [`Place::image`].
    pub async fn images_for(
        &self,
        platforms: &[Platform],
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Chosen, Error> {
        let mut repository = None;
        let (digest, found) = match self {
            Self::Directory(path, name) => {
                layout::open_directory(path)?.images_for(name.as_deref(), platforms)?
            }
            Self::Archive(path, name) => {
                layout::open_archive(path)?.images_for(name.as_deref(), platforms)?
            }
            Self::DockerArchive(path, name) => {
                let image = layout::open_docker_archive(path, name.as_deref())?;
                let found = platforms.iter().map(|platform| Search::one(platform, image.clone()));
                (image.digest().clone(), found.collect::<Result<_, _>>()?)
            }
            Self::Registry(reference) => {
                let reading = Repository::for_reading(reference, options, resolver).await?;
                repository.insert(reading).images_for(platforms).await?
            }
        };
        let images = platforms.iter().zip(found).map(|(platform, found)| match found {
            Found::Image(image) => Ok(*image),
            Found::Others(found) => {
                Err(Error::NoPlatform { place: self.to_string(), platform: platform.clone(), found })
            }
        });
        Ok(Chosen { digest, images: images.collect::<Result<_, _>>()?, repository })
    }

    /// Returns the image or the index as it is, with the bytes of its blobs or with the repository that has them.
    ///
    /// # Errors
    ///
    /// Those of [`Repository::artifact`] and of opening layouts and archives.
    pub async fn artifact(
        &self,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<(Artifact, Option<Repository>), Error> {
        match self {
            Self::Directory(path, name) => {
                Ok((layout::open_directory(path)?.artifact(name.as_deref())?, None))
            }
            Self::Archive(path, name) => Ok((layout::open_archive(path)?.artifact(name.as_deref())?, None)),
            Self::DockerArchive(path, name) => {
                Ok((layout::open_docker_archive(path, name.as_deref())?.into(), None))
            }
            Self::Registry(reference) => {
                let repository = Repository::for_reading(reference, options, resolver).await?;
                Ok((repository.artifact().await?, Some(repository)))
            }
        }
    }

    /// Returns the labels of a bundle or an index image, and the files that they refer to.
    ///
    /// # Errors
    ///
    /// As [`Place::image`], and those of reading layers.
    pub async fn contents(
        &self,
        options: &Options,
        resolver: &Resolver,
        progress: &Progress,
    ) -> Result<Contents, Error> {
        let (mut image, repository) = self.image(&Platform::default(), options, resolver).await?;
        if let Some(repository) = repository {
            image = repository.with_layers(image, progress).await?;
        }
        Ok(blocking(move || Contents::read(&image)).await?)
    }

    /// Returns the name of the image: in its registry, or as its layout or archive calls it.
    fn name(&self) -> Result<Option<String>, Error> {
        Ok(match self {
            Self::Registry(reference) => Some(reference.to_string()),
            Self::Directory(path, name) => {
                layout::open_directory(path)?.name_of(name.as_deref())?.map(str::to_owned)
            }
            Self::Archive(path, name) => {
                layout::open_archive(path)?.name_of(name.as_deref())?.map(str::to_owned)
            }
            Self::DockerArchive(_, name) => name.clone(),
        })
    }
}

/// Rejects the configuration of an image at `place` that is for another platform than `wanted`. One that names no platform, or is
/// not JSON, is accepted.
///
/// # Errors
///
/// [`Error::NoPlatform`].
pub fn require_platform(config: &[u8], wanted: &Platform, place: &Place) -> Result<(), Error> {
    match Platform::of_config(config) {
        Ok(Some(found)) if !found.satisfies(wanted) => Err(Error::NoPlatform {
            place: place.to_string(),
            platform: wanted.clone(),
            found: found.to_string(),
        }),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Images that were chosen by their platforms.
#[derive(Debug)]
#[non_exhaustive]
pub struct Chosen {
    /// The digest of the image, or of the index that lists the images.
    pub digest: Digest,
    /// The images, in the order of the platforms.
    pub images: Vec<Image>,
    /// The repository that has the layers, if they are not in a layout or an archive.
    pub repository: Option<Repository>,
}

/// How images are copied.
#[derive(Debug, Clone)]
pub struct Copier {
    /// How registries are reached.
    pub options: Options,
    /// The credentials.
    pub resolver: Resolver,
    /// The one image of an index to copy; the whole index without. An image that is for another platform is not copied.
    pub platform: Option<Platform>,
}

/// What a copy did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copied {
    /// The copy: a name by digest in a registry, a place otherwise.
    pub name: String,
    /// The digest of the image or index.
    pub digest: String,
    /// The number of blobs that were written.
    pub sent: usize,
    /// The number of blobs that the registry had in the other repository.
    pub mounted: usize,
    /// The number of blobs that were there.
    pub present: usize,
}

impl Copier {
    /// Copies an image, or an index with all of its images, byte for byte. Blobs that are at `to` are not transferred;
    /// others go through temporary files, a few at a time.
    ///
    /// # Errors
    ///
    /// Those of reading and writing; [`Error::NoPlatform`] if an index lacks the requested platform.
    pub async fn copy(&self, from: &Place, to: &Place, progress: &Progress) -> Result<Copied, Error> {
        let copier = Self { options: self.options.started(), ..self.clone() };
        let (artifact, source) = from.artifact(&copier.options, &copier.resolver).await?;
        let artifact = copier.choose(artifact, source.as_ref(), from).await?;
        copier.write(artifact, source.as_ref(), from, to, progress).await
    }

    /// Returns whether `place` has the image or index `digest`, under its name.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub async fn has(&self, place: &Place, digest: &str) -> Result<bool, Error> {
        match place {
            Place::Registry(reference) => {
                let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
                let found = repository.find(reference.tag().unwrap_or(digest)).await?;
                Ok(found.as_deref() == Some(digest))
            }
            place => {
                let (artifact, _) = place.artifact(&self.options, &self.resolver).await?;
                let is_readable = |blob: &&Blob| {
                    blob.open().is_ok_and(|mut reader| io::copy(&mut reader, &mut io::sink()).is_ok())
                };
                let blobs = artifact.all_blobs();
                Ok(artifact.digest().as_ref() == digest && blobs.values().all(is_readable))
            }
        }
    }

    /// Returns what `place` lacks of its image, or of its index and the images for each platform: manifests, and blobs that
    /// manifests name. Nothing is transferred but manifests. `digest` is what the name must lead to.
    ///
    /// # Errors
    ///
    /// Those of reading, except that something is missing.
    pub async fn missing(&self, place: &Place, digest: Option<&str>) -> Result<Vec<String>, Error> {
        let found = match place {
            Place::Registry(reference) => {
                let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
                return Ok(repository.missing(digest).await?);
            }
            Place::Directory(path, name) => {
                layout::open_directory(path).and_then(|layout| layout.missing(name.as_deref(), digest))
            }
            Place::Archive(path, name) => {
                layout::open_archive(path).and_then(|layout| layout.missing(name.as_deref(), digest))
            }
            // What can be opened is complete.
            Place::DockerArchive(path, name) => {
                layout::open_docker_archive(path, name.as_deref()).map(|image| {
                    let is_other = digest.is_some_and(|digest| digest != image.digest().as_ref());
                    let other = || format!("the image (its name leads to {})", image.digest());
                    is_other.then(other).into_iter().collect()
                })
            }
        };
        match found {
            Err(error @ (layout::Error::NotFound { .. } | layout::Error::Read { .. })) => {
                Ok(vec![error.to_string()])
            }
            found => Ok(found?),
        }
    }

    /// Returns what is copied of an artifact that was read at `from`.
    async fn choose(
        &self,
        artifact: Artifact,
        source: Option<&Repository>,
        from: &Place,
    ) -> Result<Artifact, Error> {
        let Some(platform) = &self.platform else { return Ok(artifact) };
        if !artifact.is_index()
            && let Some(config) = artifact.blobs().last()
            && layout::is_image_config(config.descriptor().media_type())
            && config.size() <= layout::DOCUMENT_LIMIT
        {
            let config = match source {
                Some(source) => source.fetch(config, &Progress::hidden()).await?,
                None => config.clone(),
            };
            require_platform(&config.document()?, platform, from)?;
        }
        artifact.for_platform(platform).cloned().ok_or_else(|| {
            let found = artifact.platforms().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            Error::NoPlatform { place: from.to_string(), platform: platform.clone(), found }
        })
    }

    /// Writes an artifact that was read at `from`.
    async fn write(
        &self,
        artifact: Artifact,
        source: Option<&Repository>,
        from: &Place,
        to: &Place,
        progress: &Progress,
    ) -> Result<Copied, Error> {
        let digest = artifact.digest().to_string();
        let blobs = artifact.all_blobs().len();
        let whole = |present| Copied {
            name: to.to_string(),
            digest: digest.clone(),
            sent: blobs - present,
            mounted: 0,
            present,
        };
        // What has no name of its own keeps the one that it has.
        let named = |name: &Option<String>| -> Result<String, Error> {
            let name = name.clone().map_or_else(|| from.name(), |name| Ok(Some(name)))?;
            Ok(name.unwrap_or_else(|| "latest".to_owned()))
        };
        match to {
            Place::Registry(reference) => {
                let other = source.map(Repository::reference);
                let target = Repository::for_copying(reference, other, &self.options, &self.resolver).await?;
                let pushed = target.push(&artifact, source, progress).await?;
                let registry::Pushed { reference: name, sent, mounted, present } = pushed;
                Ok(Copied { name, digest, sent, mounted, present })
            }
            Place::Directory(path, name) => {
                let name = named(name)?;
                let present = self.write_directory(path, artifact, source, name, progress).await?;
                Ok(whole(present))
            }
            Place::Archive(path, name) => {
                let name = named(name)?;
                let (path, artifact) = (path.clone(), fetched(artifact, source, progress).await?);
                blocking(move || layout::write_archive(&path, artifact, &name)).await?;
                Ok(whole(0))
            }
            Place::DockerArchive(path, name) => {
                let name = named(name)?;
                layout::require_image(&artifact, &name)?;
                let (path, artifact) = (path.clone(), fetched(artifact, source, progress).await?);
                blocking(move || layout::write_docker_archive(&path, artifact, &name)).await?;
                Ok(whole(0))
            }
        }
    }

    /// Writes to a layout, in which each blob is put as soon as it is there. Returns the number of blobs that it had.
    async fn write_directory(
        &self,
        path: &Path,
        artifact: Artifact,
        source: Option<&Repository>,
        name: String,
        progress: &Progress,
    ) -> Result<usize, Error> {
        let parallel = self.options.parallel.get();
        let path = path.to_owned();
        let (artifact, writer, missing) = blocking(move || {
            let writer = DirectoryWriter::open(&path)?;
            let blobs = artifact.all_blobs().into_values();
            let missing: Vec<Blob> = blobs.filter(|blob| !writer.has(blob)).cloned().collect();
            Ok::<_, layout::Error>((artifact, Arc::new(writer), missing))
        })
        .await?;
        let present = artifact.all_blobs().len() - missing.len();
        let mut fetched = stream::iter(missing)
            .map(|blob| async move {
                match source {
                    Some(source) => source.fetch(&blob, progress).await,
                    None => Ok(blob),
                }
            })
            .buffer_unordered(parallel);
        let mut adding = FuturesUnordered::new();
        let added = loop {
            tokio::select! {
                Some(blob) = fetched.next(), if adding.len() < parallel => match blob {
                    Ok(blob) => {
                        let writer = Arc::clone(&writer);
                        adding.push(blocking(move || writer.add(&blob)));
                    }
                    Err(error) => break Err(Error::from(error)),
                },
                Some(added) = adding.next() => if let Err(error) = added {
                    break Err(error.into());
                },
                else => break Ok(()),
            }
        };
        drop(fetched);
        // What the writer created is removed when nothing uses it any more.
        while adding.next().await.is_some() {}
        added?;
        let finish = move || Arc::into_inner(writer).map(|writer| writer.finish(&artifact, &name));
        blocking(finish).await.transpose()?;
        Ok(present)
    }
}

/// Returns the artifact with the bytes of its blobs.
async fn fetched(
    artifact: Artifact,
    source: Option<&Repository>,
    progress: &Progress,
) -> Result<Artifact, Error> {
    match source {
        Some(source) => Ok(source.with_blobs(artifact, progress).await?),
        None => Ok(artifact),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> Place {
        text.parse().unwrap()
    }

    #[test]
    fn places_are_parsed_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        assert_eq!(place(&format!("oci:{path}")), Place::Directory(path.clone().into(), None));
        assert_eq!(
            place(&format!("oci:{path}:example.com/a:v1")),
            Place::Directory(path.into(), Some("example.com/a:v1".into()))
        );
        for text in ["oci-archive:a.tar:v1", "docker-archive:a.tar", "quay.io/a/b:v1", "oci:x:y"] {
            assert_eq!(place(text).to_string(), text);
        }
        assert_eq!(place("docker://quay.io/a/b").to_string(), "quay.io/a/b:latest");
        assert!("quay.io/A/b".parse::<Place>().is_err());
        assert!(matches!("oci:".parse::<Place>(), Err(Error::NoPath("oci"))));
    }

    #[test]
    fn references_to_images_have_a_scheme_or_a_host() {
        for (text, is_image) in [
            ("quay.io/a/b", true),
            ("localhost:5000/b:v1", true),
            ("oci:bundle", true),
            ("docker-archive:bundle", true),
            ("bundle", false),
            ("bundles/v1", false),
            ("./quay.io/a", false),
            ("../bundle", false),
            ("/bundle:x/y", false),
        ] {
            assert_eq!(Place::of_image(text).unwrap().is_some(), is_image, "{text}");
        }
    }
}
