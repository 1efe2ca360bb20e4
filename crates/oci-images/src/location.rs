//! Where images are: registries, layouts and archives; and copying between any two of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use crate::blocking::blocking;
pub use crate::error::Error;
use crate::fill::fetch_into;
use crate::keyed_locks::KeyedLocks;
use crate::layout::{
    self, Artifact, Blob, Contents, Digest, DirectoryWriter, Found, Image, OciLayout, Platform, Search,
    Wanted,
};
use crate::registry::{self, Options, Progress, Reference, Repository, Resolver};

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageLocation {
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
type New = fn(PathBuf, Option<String>) -> ImageLocation;

/// The forms of places that are paths.
const SCHEMES: [(&str, New); 3] = [
    ("oci", ImageLocation::Directory),
    ("oci-archive", ImageLocation::Archive),
    ("docker-archive", ImageLocation::DockerArchive),
];

impl FromStr for ImageLocation {
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
        if let Some(name) = text.strip_prefix("docker://") {
            return Ok(Self::Registry(Repository::parse(name)?));
        }
        let is_path = text.starts_with(['.', '/']) || (!names_registry(text) && Path::new(text).exists());
        if is_path { Err(Error::Path(text.to_owned())) } else { Ok(Self::Registry(Repository::parse(text)?)) }
    }
}

impl fmt::Display for ImageLocation {
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

/// Returns whether the name of an image begins with the host of a registry.
fn names_registry(text: &str) -> bool {
    let host = text.split_once('/').map_or("", |(host, _)| host);
    host == "localhost" || (host.contains(['.', ':']) && !host.starts_with('.'))
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

impl ImageLocation {
    /// Returns where the image is that `text` names; `None` if it names a directory of files.
    ///
    /// A name without a registry's host is a path, so that a missing directory is not looked up on Docker Hub.
    ///
    /// # Errors
    ///
    /// [`registry::Error::Name`] if it is an invalid name.
    pub fn detect(text: &str) -> Result<Option<Self>, Error> {
        let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
        let marked = SCHEMES.iter().any(|(known, _)| *known == scheme) || text.starts_with("docker://");
        if marked || (names_registry(text) && !Path::new(text).exists()) {
            text.parse().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Returns the path of a layout or an archive; `None` for an image in a registry.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Registry(_) => None,
            Self::Directory(path, _) | Self::Archive(path, _) | Self::DockerArchive(path, _) => Some(path),
        }
    }

    /// Returns an existing directory on the disk where the image is: the layout, the parent of the archive, or the one for
    /// temporary files if the image is in a registry, a pipe or a device.
    #[must_use]
    pub fn scratch_directory(&self) -> PathBuf {
        let place = self
            .path()
            .filter(|path| path.metadata().map_or(true, |metadata| metadata.is_dir() || metadata.is_file()));
        let existing = place.and_then(|place| {
            let parents =
                place.ancestors().map(|path| if path == Path::new("") { Path::new(".") } else { path });
            parents.into_iter().find(|path| path.is_dir())
        });
        existing.map_or_else(std::env::temp_dir, Path::to_owned)
    }

    /// Returns the name of an image of a layout or an archive.
    pub(crate) fn image_name(&self) -> Option<&str> {
        match self {
            Self::Registry(_) => None,
            Self::Directory(_, name) | Self::Archive(_, name) | Self::DockerArchive(_, name) => {
                name.as_deref()
            }
        }
    }

    /// Returns where the image is: in a registry, or on this machine.
    fn medium(&self) -> Medium<'_> {
        let local = |form, path: &PathBuf, name: &Option<String>| {
            Medium::Local(LocalImage { form, path: path.clone(), name: name.clone() })
        };
        match self {
            Self::Registry(reference) => Medium::Registry(reference),
            Self::Directory(path, name) => local(LocalForm::Directory, path, name),
            Self::Archive(path, name) => local(LocalForm::Archive, path, name),
            Self::DockerArchive(path, name) => local(LocalForm::DockerArchive, path, name),
        }
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
        let local = match self.medium() {
            Medium::Registry(reference) => {
                let repository = Repository::for_reading(reference, options, resolver).await?;
                return Ok((repository.image(platform).await?, Some(repository)));
            }
            Medium::Local(local) => local,
        };
        let platform = platform.clone();
        let image = local.read(move |opened, name| match opened {
            Opened::Layout(layout) => layout.image(name, &platform),
            Opened::Docker(image) => Ok(image),
        });
        Ok((image.await?, None))
    }

    /// Returns the image for each of `platforms`, and never one for another platform. Images for other platforms are not
    /// read.
    ///
    /// # Errors
    ///
    /// [`Error::NoPlatform`], and those of [`ImageLocation::image`].
    pub async fn images_for(
        &self,
        platforms: &[Platform],
        options: &Options,
        resolver: &Resolver,
    ) -> Result<Chosen, Error> {
        let (digest, found, repository) = match self.medium() {
            Medium::Registry(reference) => {
                let repository = Repository::for_reading(reference, options, resolver).await?;
                let (digest, found) = repository.images_for(platforms).await?;
                (digest, found, Some(repository))
            }
            Medium::Local(local) => {
                let platforms = platforms.to_vec();
                let found = local.read(move |opened, name| match opened {
                    Opened::Layout(layout) => layout.images_for(name, &platforms),
                    Opened::Docker(image) => {
                        let found = platforms.iter().map(|platform| Search::one(platform, image.clone()));
                        Ok((image.digest().clone(), found.collect::<Result<_, _>>()?))
                    }
                });
                let (digest, found) = found.await?;
                (digest, found, None)
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

    /// Returns the image or the index as it is, with the bytes of its blobs or with the repository that has them. Of an index,
    /// the `wanted` images are read.
    ///
    /// # Errors
    ///
    /// Those of [`Repository::artifact`] and of opening layouts and archives.
    pub async fn artifact(
        &self,
        wanted: &Wanted,
        options: &Options,
        resolver: &Resolver,
    ) -> Result<(Artifact, Option<Repository>), Error> {
        let local = match self.medium() {
            Medium::Registry(reference) => {
                let repository = Repository::for_reading(reference, options, resolver).await?;
                return Ok((repository.artifact(wanted).await?, Some(repository)));
            }
            Medium::Local(local) => local,
        };
        let wanted = wanted.clone();
        let artifact = local.read(move |opened, name| match opened {
            Opened::Layout(layout) => layout.artifact(name, &wanted),
            Opened::Docker(image) => Ok(image.into()),
        });
        Ok((artifact.await?, None))
    }

    /// Returns the labels of a bundle or an index image, and the files that they refer to.
    ///
    /// # Errors
    ///
    /// As [`ImageLocation::image`], and those of reading layers.
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

    /// Returns the names of all images of a layout or an OCI archive that is named as a whole; none for a single image.
    ///
    /// # Errors
    ///
    /// Those of opening layouts and archives.
    pub async fn names(&self) -> Result<Vec<String>, Error> {
        match self.medium() {
            Medium::Local(local) if local.name.is_none() => {
                local
                    .read(|opened, _| match opened {
                        Opened::Layout(layout) => Ok(layout.names().map(str::to_owned).collect()),
                        Opened::Docker(_) => Ok(Vec::new()),
                    })
                    .await
            }
            Medium::Local(_) | Medium::Registry(_) => Ok(Vec::new()),
        }
    }

    /// Returns the place of one image of a layout or an OCI archive.
    #[must_use]
    pub fn of_name(&self, name: &str) -> Self {
        let name = Some(name.to_owned());
        match self {
            Self::Registry(reference) => Self::Registry(reference.clone()),
            Self::Directory(path, _) => Self::Directory(path.clone(), name),
            Self::Archive(path, _) => Self::Archive(path.clone(), name),
            Self::DockerArchive(path, _) => Self::DockerArchive(path.clone(), name),
        }
    }

    /// Returns the same place with the name that an image of a registry has, if it has no name of its own.
    #[must_use]
    pub fn or_named(self, image: &Self) -> Self {
        match (self, image) {
            (Self::Directory(path, None), Self::Registry(name)) => {
                Self::Directory(path, Some(name.to_string()))
            }
            (Self::Archive(path, None), Self::Registry(name)) => Self::Archive(path, Some(name.to_string())),
            (Self::DockerArchive(path, None), Self::Registry(name)) => {
                Self::DockerArchive(path, Some(name.to_string()))
            }
            (place, _) => place,
        }
    }

    /// Returns the name of the image: in its registry, or as its layout or archive calls it.
    async fn name(&self) -> Result<Option<String>, Error> {
        match self.medium() {
            Medium::Registry(reference) => Ok(Some(reference.to_string())),
            Medium::Local(local) => {
                local
                    .read(|opened, name| match opened {
                        Opened::Layout(layout) => Ok(layout.name_of(name)?.map(str::to_owned)),
                        Opened::Docker(_) => Ok(name.map(str::to_owned)),
                    })
                    .await
            }
        }
    }

    /// Rejects a file that belongs to this image: it is, or is in, its layout or archive; and the image itself, which would get a name
    /// beside the one that it has not.
    async fn reject_overlap(&self, to: &Self) -> Result<(), Error> {
        if let (Self::Directory(source, wanted), Self::Directory(target, name)) = (self, to)
            && (name.is_none() || name == wanted)
        {
            let (source, target) = (source.clone(), target.clone());
            let is_same = move || {
                source
                    .canonicalize()
                    .is_ok_and(|source| target.canonicalize().is_ok_and(|target| source == target))
            };
            if blocking(is_same).await {
                return Err(Error::SameImage { place: self.to_string() });
            }
        }
        let (Some(source), Self::Archive(target, _) | Self::DockerArchive(target, _)) = (self.path(), to)
        else {
            return Ok(());
        };
        let (source, target) = (source.to_owned(), target.clone());
        let overlaps = blocking(move || {
            let Ok(source) = source.canonicalize() else { return false };
            // A new file has no canonical path yet, but its directory has.
            let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or(Path::new(".")).canonicalize();
            let new = parent.ok().and_then(|parent| Some(parent.join(target.file_name()?)));
            target.canonicalize().ok().or(new).is_some_and(|target| target.starts_with(&source))
        });
        if overlaps.await {
            return Err(Error::Overlap { from: self.to_string(), to: to.to_string() });
        }
        Ok(())
    }
}

/// Where an image is.
enum Medium<'a> {
    Registry(&'a Reference),
    Local(LocalImage),
}

/// An image on this machine.
struct LocalImage {
    form: LocalForm,
    path: PathBuf,
    /// The name, tag or digest that was asked for.
    name: Option<String>,
}

/// How an image is stored on this machine.
enum LocalForm {
    Directory,
    Archive,
    DockerArchive,
}

/// A layout or an archive that was opened.
#[expect(clippy::large_enum_variant, reason = "there is one at a time, on the stack")]
enum Opened {
    Layout(OciLayout),
    Docker(Image),
}

impl LocalImage {
    /// Opens the layout or archive and reads from it, on a thread that may block. `read` also gets the name that was asked for.
    async fn read<T: Send + 'static>(
        self,
        read: impl FnOnce(Opened, Option<&str>) -> Result<T, layout::Error> + Send + 'static,
    ) -> Result<T, Error> {
        let read = move || {
            let Self { form, path, name } = self;
            let name = name.as_deref();
            let opened = match form {
                LocalForm::Directory => Opened::Layout(layout::open_directory(&path)?),
                LocalForm::Archive => Opened::Layout(layout::open_archive(&path)?),
                LocalForm::DockerArchive => Opened::Docker(layout::open_docker_archive(&path, name)?),
            };
            read(opened, name)
        };
        Ok(blocking(read).await?)
    }
}

/// Rejects the configuration of an image at `place` that is for another platform than `wanted`. One that names no platform, or is
/// not JSON, is accepted.
///
/// # Errors
///
/// [`Error::NoPlatform`].
pub fn require_platform(config: &[u8], wanted: &Platform, place: &ImageLocation) -> Result<(), Error> {
    match Platform::from_config(config) {
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
    /// others are passed on, or go through temporary files on the disk of `to`, a few at a time.
    ///
    /// # Errors
    ///
    /// Those of reading and writing; [`Error::NoPlatform`] if an index lacks the requested platform.
    pub async fn copy(
        &self,
        from: &ImageLocation,
        to: &ImageLocation,
        progress: &Progress,
    ) -> Result<Copied, Error> {
        from.reject_overlap(to).await?;
        let copier = Self { options: self.options.started(), ..self.clone() };
        let wanted = copier.platform.clone().map_or(Wanted::All, Wanted::Platform);
        let (artifact, source) = from.artifact(&wanted, &copier.options, &copier.resolver).await?;
        let artifact = copier.choose(artifact, source.as_ref(), from).await?;
        copier.write(artifact, source.as_ref(), from, to, progress).await
    }

    /// Returns what is copied of an artifact that was read at `from`.
    async fn choose(
        &self,
        artifact: Artifact,
        source: Option<&Repository>,
        from: &ImageLocation,
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
        from: &ImageLocation,
        to: &ImageLocation,
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
        let named = async |name: &Option<String>| -> Result<String, Error> {
            let name = match name {
                Some(name) => Some(name.clone()),
                None => from.name().await?,
            };
            Ok(name.unwrap_or_else(|| "latest".to_owned()))
        };
        match to {
            ImageLocation::Registry(reference) => {
                let other = source.map(Repository::reference);
                let target = Repository::for_copying(reference, other, &self.options, &self.resolver).await?;
                let pushed = target.push(&artifact, source, progress).await?;
                let registry::Pushed { reference: name, sent, mounted, present } = pushed;
                Ok(Copied { name, digest, sent, mounted, present })
            }
            ImageLocation::Directory(path, name) => {
                let name = named(name).await?;
                let present = self.write_directory(path, artifact, source, name, progress).await?;
                Ok(whole(present))
            }
            ImageLocation::Archive(path, name) => {
                let name = named(name).await?;
                let (path, artifact) = (path.clone(), fetched(artifact, source, to, progress).await?);
                blocking(move || layout::write_archive(&path, artifact, &name)).await?;
                Ok(whole(0))
            }
            ImageLocation::DockerArchive(path, name) => {
                let name = named(name).await?;
                layout::require_image(&artifact, &name)?;
                let (path, artifact) = (path.clone(), fetched(artifact, source, to, progress).await?);
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
        fetch_into(&writer, missing, source, &KeyedLocks::default(), parallel, progress).await?;
        let finish = move || Arc::into_inner(writer).map(|writer| writer.finish(&artifact, &name));
        blocking(finish).await.transpose()?;
        Ok(present)
    }
}

/// Returns the artifact with the bytes of its blobs, which are fetched to where the artifact is written to.
async fn fetched(
    artifact: Artifact,
    source: Option<&Repository>,
    to: &ImageLocation,
    progress: &Progress,
) -> Result<Artifact, Error> {
    match source {
        Some(source) => Ok(source.with_blobs_in(artifact, &to.scratch_directory(), progress).await?),
        None => Ok(artifact),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(text: &str) -> ImageLocation {
        text.parse().unwrap()
    }

    #[test]
    fn places_are_parsed_and_shown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        assert_eq!(place(&format!("oci:{path}")), ImageLocation::Directory(path.clone().into(), None));
        assert_eq!(
            place(&format!("oci:{path}:example.com/a:v1")),
            ImageLocation::Directory(path.into(), Some("example.com/a:v1".into()))
        );
        for text in ["oci-archive:a.tar:v1", "docker-archive:a.tar", "quay.io/a/b:v1", "oci:x:y"] {
            assert_eq!(place(text).to_string(), text);
        }
        assert_eq!(place("docker://quay.io/a/b").to_string(), "quay.io/a/b:latest");
        assert!("quay.io/A/b".parse::<ImageLocation>().is_err());
        assert!(matches!("oci:".parse::<ImageLocation>(), Err(Error::NoPath("oci"))));
    }

    #[test]
    fn path_without_a_scheme_is_an_error_with_the_scheme_to_add() {
        // The tests of a crate run in its directory.
        for path in ["src", "./images", "/tmp/images"] {
            let error = path.parse::<ImageLocation>().unwrap_err().to_string();
            assert!(error.contains(&format!("`oci:{path}`")), "{error}");
        }
        for name in ["docker://src", "images", "memcached:1.6", "quay.io/src"] {
            assert!(matches!(name.parse(), Ok(ImageLocation::Registry(_))), "{name}");
        }
    }

    #[tokio::test]
    async fn an_image_in_a_layout_is_not_copied_to_itself() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let directory = |path: &Path, name: Option<&str>| {
            ImageLocation::Directory(path.to_owned(), name.map(str::to_owned))
        };
        for (from, to, is_same) in [
            (directory(dir.path(), None), directory(&link, None), true),
            (directory(dir.path(), Some("a")), directory(&link, None), true),
            (directory(dir.path(), Some("a")), directory(&link, Some("a")), true),
            (directory(dir.path(), None), directory(&link, Some("a")), false),
            (directory(dir.path(), Some("a")), directory(&link, Some("b")), false),
            (directory(dir.path(), None), directory(&dir.path().join("new"), None), false),
        ] {
            let found = matches!(from.reject_overlap(&to).await, Err(Error::SameImage { .. }));
            assert_eq!(found, is_same, "{from} {to}");
        }
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
            assert_eq!(ImageLocation::detect(text).unwrap().is_some(), is_image, "{text}");
        }
    }
}
