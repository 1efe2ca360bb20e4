//! Copying many images into one registry, layout or archive, with what refers to them: signatures, SBOMs, provenance.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::blocking::blocking;
use crate::fill::fetch_into;
use crate::keyed_locks::KeyedLocks;
use crate::layout::{
    self, Artifact, Blob, Digest, DirectoryWriter, Document, Image, OciLayout, Platform, Wanted,
};
use crate::location::{Error, ImageLocation};
use crate::reference::Reference;
#[cfg(feature = "sign")]
use crate::registry::Policy;
use crate::registry::{self, Options, Progress, Repository, Resolver};

/// The tags of signatures, attestations and SBOMs that cosign derives from a digest.
const COSIGN_TAGS: [&str; 3] = ["sig", "att", "sbom"];
/// What is missing if an image is.
const IMAGE: &str = "the image";
/// Maximum number of referrers of one image, at all depths together.
const MAX_REFERRERS: usize = 1000;
/// Maximum depth of referrers of referrers, such as the signature of an SBOM.
const MAX_REFERRER_DEPTH: usize = 3;

/// Copies images into one place. Layouts and archives are opened once for all images.
#[derive(Debug)]
pub struct Transfer {
    options: Options,
    resolver: Resolver,
    /// Whether signatures and other referrers are copied.
    referrers: bool,
    /// The layouts and archives that were opened, by the place without a name.
    sources: Mutex<BTreeMap<String, Arc<Opened>>>,
    target: Option<LayoutTarget>,
    known: HashMap<String, HashSet<String>>,
    /// The registries that cannot be reached, with the reason.
    unreachable: Mutex<BTreeMap<String, String>>,
}

/// A layout that images are copied to.
#[derive(Debug)]
struct LayoutTarget {
    path: PathBuf,
    writer: Arc<DirectoryWriter>,
    /// The names of what was copied, or was there.
    names: Mutex<BTreeSet<String>>,
    /// Which blobs are fetched at the moment.
    locks: KeyedLocks,
}

/// A layout or an archive that images are copied from.
#[derive(Debug)]
struct Opened {
    layout: OciLayout,
    /// What refers to a digest: names or digests.
    referrers: BTreeMap<String, Vec<String>>,
}

/// What is at a place.
#[derive(Debug)]
pub enum Content {
    /// An image.
    Image(Box<Image>),
    /// Something else that is stored like an image, such as a Helm chart.
    Artifact {
        /// The media type of its configuration.
        media_type: String,
        /// Its configuration.
        config: Vec<u8>,
    },
}

/// What was copied for one image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// The digest of the image or index.
    pub digest: String,
    /// Whether the image was copied. Otherwise, it was there.
    pub is_new: bool,
    /// The number of signatures and other referrers that were copied.
    pub new_referrers: usize,
    /// The number of signatures and other referrers, copied or not.
    pub referrers: usize,
}

/// How large an image is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// The digest of the image or index.
    pub digest: String,
    /// The sizes of its manifests and blobs, by digest.
    pub blobs: BTreeMap<String, u64>,
    /// The digests of those that the target lacks.
    pub missing: BTreeSet<String>,
}

/// What a place lacks of an image.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checked {
    /// The parts that are missing.
    pub missing: Vec<String>,
    /// Why the image was not compared with the one that it is a copy of: the registry of that one cannot be used.
    pub not_compared: Option<String>,
}

/// What a copy of an image has.
struct Expected {
    root: Digest,
    /// Tags or digests of signatures and other referrers, with their digests.
    referrers: Vec<(String, Digest)>,
}

/// What the name of an image or a referrer leads to.
struct Root {
    digest: Digest,
    /// The digests of what an index lists.
    children: Vec<Digest>,
    place: RootPlace,
}

/// Where the rest of an image is.
enum RootPlace {
    /// In a registry, which is not asked for the manifest again.
    Registry { repository: Box<Repository>, manifest: Box<Blob> },
    /// In a layout or an archive.
    Layout { opened: Arc<Opened>, name: Option<String> },
}

/// Where an image is read.
enum Source {
    Registry(Box<Repository>),
    Layout { opened: Arc<Opened>, name: Option<String> },
}

/// Where an image is written.
enum Sink {
    Registry(Box<Repository>),
    Layout { name: String },
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Transfer {
    /// Returns a transfer; `referrers` is whether signatures and other referrers are copied with their images.
    #[must_use]
    pub fn new(options: Options, resolver: Resolver, referrers: bool) -> Self {
        let (sources, unreachable) = (Mutex::default(), Mutex::default());
        Self { options, resolver, referrers, sources, target: None, known: HashMap::new(), unreachable }
    }

    /// Makes the layout in the directory `path` the target of copies to that layout. What is copied stays there even if the transfer
    /// ends early.
    ///
    /// # Errors
    ///
    /// As [`DirectoryWriter::open`].
    pub async fn write_to(&mut self, path: &Path) -> Result<(), Error> {
        let owned = path.to_owned();
        let writer = blocking(move || DirectoryWriter::open(&owned)?.resumable()).await?;
        self.target = Some(LayoutTarget {
            path: path.to_owned(),
            writer: Arc::new(writer),
            names: Mutex::default(),
            locks: KeyedLocks::default(),
        });
        Ok(())
    }

    /// Omits layers that the layout or archive `place` lists for images of the same repository.
    ///
    /// # Errors
    ///
    /// Those of opening layouts and archives.
    pub async fn omit(&mut self, place: &ImageLocation) -> Result<(), Error> {
        let opened = self.open(place).await?;
        let known = blocking(move || {
            let mut known: HashMap<String, HashSet<String>> = HashMap::new();
            for name in opened.layout.names() {
                let Some(repository) = repository_of(name) else { continue };
                let artifact = opened.layout.artifact(Some(name), &Wanted::Available)?;
                let blobs = artifact.all_blobs().into_keys().map(str::to_owned);
                known.entry(repository).or_default().extend(blobs);
            }
            Ok::<_, layout::Error>(known)
        });
        for (repository, blobs) in known.await? {
            self.known.entry(repository).or_default().extend(blobs);
        }
        Ok(())
    }

    /// Returns the names of all images of a layout or an archive, without those of signatures and other referrers.
    ///
    /// # Errors
    ///
    /// Those of opening layouts and archives.
    pub async fn names(&self, place: &ImageLocation) -> Result<Vec<String>, Error> {
        let opened = self.open(place).await?;
        let referrers: BTreeSet<&str> = opened.referrers.values().flatten().map(String::as_str).collect();
        let names = opened.layout.names().filter(|name| !referrers.contains(name));
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns the image at `place` for the platform of this program, without the bytes of layers.
    ///
    /// # Errors
    ///
    /// As [`ImageLocation::image`].
    pub async fn image(&self, place: &ImageLocation) -> Result<Image, Error> {
        match self.source(place).await? {
            Source::Registry(repository) => Ok(repository.image(&Platform::default()).await?),
            Source::Layout { opened, name } => {
                Ok(blocking(move || opened.layout.image(name.as_deref(), &Platform::default())).await?)
            }
        }
    }

    /// Returns the image at `place` for the platform of this program, without the bytes of layers, or what else is there.
    ///
    /// # Errors
    ///
    /// As [`Transfer::image`].
    pub async fn content(&self, place: &ImageLocation) -> Result<Content, Error> {
        let error = match self.image(place).await {
            Ok(image) => return Ok(Content::Image(Box::new(image))),
            Err(error @ (Error::Layout(_) | Error::Registry(registry::Error::Layout(_)))) => error,
            Err(error) => return Err(error),
        };
        let source = self.source(place).await?;
        let Ok(root) = source.root().await else { return Err(error) };
        let Ok(artifact) = root.artifact().await else { return Err(error) };
        match artifact.blobs().last() {
            Some(config)
                if !artifact.is_index()
                    && !layout::is_image_config(config.descriptor().media_type())
                    && config.size() <= layout::DOCUMENT_LIMIT =>
            {
                let media_type = config.descriptor().media_type().to_string();
                let config = match &source {
                    Source::Registry(repository) => repository.fetch(config, &Progress::hidden()).await?,
                    Source::Layout { .. } => config.clone(),
                };
                Ok(Content::Artifact { media_type, config: blocking(move || config.document()).await? })
            }
            _ => Err(error),
        }
    }

    /// Copies an image or an index with all of its images, byte for byte, and what refers to it. `whole` is whether layers are copied
    /// that [`Transfer::omit`] would omit.
    ///
    /// # Errors
    ///
    /// Those of reading and writing.
    pub async fn copy(
        &self,
        from: &ImageLocation,
        to: &ImageLocation,
        whole: bool,
        progress: &Progress,
    ) -> Result<Transferred, Error> {
        let source = self.source(from).await?;
        let sink = self.sink(to, from).await?;
        let root = source.root().await?;
        let digest = root.digest.to_string();
        let is_new = self.copy_one(&sink, &root, whole, progress).await?;
        let mut done = Transferred { digest, is_new, ..Transferred::default() };
        if self.referrers {
            self.copy_referrers(&source, &sink, &root, progress, &mut done).await?;
        }
        Ok(done)
    }

    /// Returns the sizes of the manifests and blobs of an image, by digest. Only manifests are transferred.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub async fn size(&self, place: &ImageLocation) -> Result<BTreeMap<String, u64>, Error> {
        let source = self.source(place).await?;
        let artifact = source.root().await?.artifact().await?;
        let all = artifact.all_blobs().into_values().chain(artifact.all_manifests());
        Ok(all.map(|blob| (blob.digest().to_string(), blob.size())).collect())
    }

    /// Copies what refers to an image that was copied before, and returns the number of referrers. A place without a name gets that of
    /// `from`.
    ///
    /// # Errors
    ///
    /// Those of reading and writing.
    pub async fn copy_referrers_of(
        &mut self,
        from: &ImageLocation,
        to: &ImageLocation,
        progress: &Progress,
    ) -> Result<usize, Error> {
        let source = self.source(from).await?;
        let root = source.root().await?;
        let digests = root.children.iter().chain([&root.digest]);
        let found: Vec<Vec<String>> = stream::iter(digests)
            .map(|digest| source.referrers(digest, true))
            .buffered(self.options.parallel.get())
            .try_collect()
            .await?;
        if found.iter().all(Vec::is_empty) {
            return Ok(0);
        }
        let to = match (to, &source) {
            (ImageLocation::Directory(path, None), Source::Registry(repository)) => {
                ImageLocation::Directory(path.clone(), Some(repository.reference().to_string()))
            }
            (ImageLocation::Directory(path, None), Source::Layout { name, .. }) => {
                ImageLocation::Directory(path.clone(), name.clone())
            }
            (to, _) => to.clone(),
        };
        if let ImageLocation::Directory(path, _) = &to {
            self.write_to(path).await?;
        }
        let sink = self.sink(&to, from).await?;
        let mut done = Transferred::default();
        self.copy_referrers(&source, &sink, &root, progress, &mut done).await?;
        if let Some(target) = self.target.take() {
            blocking(move || target.writer.close()).await?;
        }
        Ok(done.referrers)
    }

    /// Requires that a policy accepts the image or index at `place`, and returns the place of exactly that image: in a registry, its
    /// digest.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`], and those of reading.
    #[cfg(feature = "sign")]
    pub async fn require(&self, place: &ImageLocation, policy: &Policy) -> Result<ImageLocation, Error> {
        let (accepted, reason) = match place {
            ImageLocation::Registry(reference) => {
                let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
                let digest = repository.manifest(reference).await?.digest().clone();
                let accepted = ImageLocation::Registry(reference.at(digest.as_ref()));
                (accepted, policy.rejection(&repository, &digest).await?)
            }
            ImageLocation::Directory(path, _) => (place.clone(), policy.local_rejection("oci", path)),
            ImageLocation::Archive(path, _) => (place.clone(), policy.local_rejection("oci-archive", path)),
            ImageLocation::DockerArchive(path, _) => {
                (place.clone(), policy.local_rejection("docker-archive", path))
            }
        };
        match reason {
            None => Ok(accepted),
            Some(reason) => {
                let (place, policy) = (place.to_string(), policy.path().to_owned());
                Err(Error::Rejected { place, policy, reason })
            }
        }
    }

    /// Returns how large an image is, with what refers to it if that is copied, and what [`Transfer::copy`] would copy to `to`. Only
    /// manifests are transferred.
    ///
    /// # Errors
    ///
    /// Those of reading.
    pub async fn measure(
        &self,
        from: &ImageLocation,
        to: &ImageLocation,
        whole: bool,
    ) -> Result<Measured, Error> {
        let source = self.source(from).await?;
        let root = source.root().await?;
        let sink = match to {
            ImageLocation::Registry(reference) => Sink::Registry(Box::new(
                Repository::for_reading(reference, &self.options, &self.resolver).await?,
            )),
            place => Sink::Layout { name: place.image_name().unwrap_or("latest").to_owned() },
        };
        let mut measured = Measured { digest: root.digest.to_string(), ..Measured::default() };
        self.measure_one(&sink, &root, whole, &mut measured).await?;
        if self.referrers {
            for (version, root) in self.referrers_of(&source, &root).await? {
                let sink = sink.at(&version);
                self.measure_one(&sink, &root, true, &mut measured).await?;
            }
        }
        Ok(measured)
    }

    /// Adds the size of one image or referrer, and what the target lacks of it.
    async fn measure_one(
        &self,
        sink: &Sink,
        root: &Root,
        whole: bool,
        measured: &mut Measured,
    ) -> Result<(), Error> {
        let artifact = root.artifact().await?;
        let all = artifact.all_blobs().into_values().chain(artifact.all_manifests()).cloned();
        let all: Vec<Blob> = all.collect();
        measured.blobs.extend(all.iter().map(|blob| (blob.digest().to_string(), blob.size())));
        let missing: Vec<String> = match sink {
            Sink::Registry(target) => {
                if is_complete(target, root).await? {
                    return Ok(());
                }
                let stored = stream::iter(all).map(|blob| async move {
                    let is_stored = target.stores(&blob).await?;
                    Ok::<_, Error>((!is_stored).then(|| blob.digest().to_string()))
                });
                let stored = stored.buffer_unordered(self.options.parallel.get());
                stored.try_filter_map(async |missing| Ok(missing)).try_collect().await?
            }
            Sink::Layout { name } => {
                let omitted = self.omitted(name, whole);
                let all: Vec<Blob> = all.into_iter().filter(|blob| !omitted(blob)).collect();
                let writer = self.target.as_ref().map(|target| Arc::clone(&target.writer));
                let check = move || {
                    let missing =
                        all.iter().filter(|blob| !writer.as_ref().is_some_and(|writer| writer.has(blob)));
                    missing.map(|blob| blob.digest().to_string()).collect()
                };
                blocking(check).await
            }
        };
        measured.missing.extend(missing);
        Ok(())
    }

    /// Returns what `to` lacks of the image at `from`, for each platform, and of what refers to it if that is copied. Nothing is
    /// transferred but manifests. `digest` is what the name must lead to.
    ///
    /// If the registry of `from` cannot be used, such as behind an air gap, what `to` lists is checked nevertheless.
    ///
    /// # Errors
    ///
    /// Those of reading `to`, and layouts and archives.
    pub async fn check(
        &self,
        from: &ImageLocation,
        to: &ImageLocation,
        digest: Option<&str>,
    ) -> Result<Checked, Error> {
        let registry = match from {
            ImageLocation::Registry(reference) => reference.registry(),
            _ => "",
        };
        // A registry that cannot be reached is tried once, not again for each of its images.
        let unreachable = locked(&self.unreachable).get(registry).cloned();
        let (found, not_compared) = match unreachable {
            Some(reason) => (None, Some(reason)),
            None => match self.expected(from).await {
                Ok(found) => (Some(found), None),
                Err(Error::Registry(error)) => {
                    let reason = error.to_string();
                    if !error.is_about_content() {
                        locked(&self.unreachable).insert(registry.to_owned(), reason.clone());
                    }
                    (None, Some(reason))
                }
                Err(error) => return Err(error),
            },
        };
        let digest = digest.map(str::to_owned);
        let digest = digest.or_else(|| found.as_ref().map(|found| found.root.to_string()));
        let target = match self.source(to).await {
            Err(error) => {
                return Ok(Checked { missing: absent(error)?, not_compared });
            }
            Ok(target) => target,
        };
        let mut missing = target.missing(digest).await?;
        let is_there = missing.iter().all(|part| !part.starts_with("the image (") && part != IMAGE);
        for (version, digest) in found.into_iter().flat_map(|found| found.referrers).filter(|_| is_there) {
            let found = target.at(&version).missing(Some(digest.to_string())).await?;
            if !found.is_empty() {
                missing.push(format!("the signature or other referrer {version}"));
            }
        }
        Ok(Checked { missing, not_compared })
    }

    /// Returns what a copy of the image would have.
    async fn expected(&self, from: &ImageLocation) -> Result<Expected, Error> {
        let source = self.source(from).await?;
        let root = source.root().await?;
        let referrers = if self.referrers { self.referrers_of(&source, &root).await? } else { Vec::new() };
        let referrers = referrers.into_iter().map(|(version, root)| (version, root.digest)).collect();
        Ok(Expected { root: root.digest, referrers })
    }

    /// Ends the transfer: the layout lists everything that was copied. With `archive`, what was copied becomes an OCI archive, and
    /// the layout is removed unless `keep_layout` is set. No other transfer writes to the layout meanwhile.
    ///
    /// # Errors
    ///
    /// Those of writing layouts and archives.
    pub async fn finish(self, archive: Option<PathBuf>, keep_layout: bool) -> Result<(), Error> {
        let Some(LayoutTarget { path, writer, names, locks: _ }) = self.target else { return Ok(()) };
        let names = names.into_inner().unwrap_or_else(PoisonError::into_inner);
        let finish = move || {
            writer.close()?;
            match archive {
                Some(archive) => {
                    layout::pack(&path, &names, &archive)?;
                    if keep_layout { Ok(()) } else { writer.remove() }
                }
                None => Ok(()),
            }
        };
        Ok(blocking(finish).await?)
    }

    /// Opens a layout or an archive, once.
    async fn open(&self, place: &ImageLocation) -> Result<Arc<Opened>, Error> {
        let (key, path, is_archive) = match place {
            ImageLocation::Directory(path, _) => (format!("oci:{}", path.display()), path.clone(), false),
            ImageLocation::Archive(path, _) => {
                (format!("oci-archive:{}", path.display()), path.clone(), true)
            }
            _ => return Err(Error::NotALayout { place: place.to_string() }),
        };
        if let Some(opened) = locked(&self.sources).get(&key) {
            return Ok(Arc::clone(opened));
        }
        let open = move || {
            let layout =
                if is_archive { layout::open_archive(&path)? } else { layout::open_directory(&path)? };
            let referrers = layout.referrers();
            Ok::<_, layout::Error>(Arc::new(Opened { layout, referrers }))
        };
        let opened = blocking(open).await?;
        locked(&self.sources).insert(key, Arc::clone(&opened));
        Ok(opened)
    }

    async fn source(&self, place: &ImageLocation) -> Result<Source, Error> {
        if let ImageLocation::Registry(reference) = place {
            let repository = Repository::for_reading(reference, &self.options, &self.resolver).await?;
            return Ok(Source::Registry(Box::new(repository)));
        }
        let opened = self.open(place).await?;
        let name = opened.layout.name_of(place.image_name())?.map(str::to_owned);
        Ok(Source::Layout { opened, name: name.or_else(|| place.image_name().map(str::to_owned)) })
    }

    async fn sink(&self, to: &ImageLocation, from: &ImageLocation) -> Result<Sink, Error> {
        match to {
            ImageLocation::Registry(reference) => {
                let other = match from {
                    ImageLocation::Registry(reference) => Some(reference),
                    _ => None,
                };
                let target = Repository::for_copying(reference, other, &self.options, &self.resolver).await?;
                Ok(Sink::Registry(Box::new(target)))
            }
            place => Ok(Sink::Layout { name: place.image_name().unwrap_or("latest").to_owned() }),
        }
    }

    /// Copies one image or referrer, and returns whether it was not there.
    async fn copy_one(
        &self,
        sink: &Sink,
        root: &Root,
        whole: bool,
        progress: &Progress,
    ) -> Result<bool, Error> {
        match sink {
            Sink::Registry(target) => {
                if is_complete(target, root).await? {
                    return Ok(false);
                }
                let artifact = root.artifact().await?;
                target.push(&artifact, root.repository(), progress).await?;
                Ok(true)
            }
            Sink::Layout { name } => {
                let Some(target) = &self.target else {
                    return Err(Error::NotALayout { place: name.clone() });
                };
                let artifact = root.artifact().await?;
                let is_new = self.add(target, artifact, root.repository(), name, whole, progress).await?;
                locked(&target.names).insert(name.clone());
                Ok(is_new)
            }
        }
    }

    /// Returns which blobs of the image `name` are omitted; none if the `whole` image is written.
    fn omitted(&self, name: &str, whole: bool) -> impl Fn(&Blob) -> bool {
        let known = self.known.get(&repository_of(name).unwrap_or_default()).filter(|_| !whole);
        move |blob| {
            !layout::is_image_config(blob.descriptor().media_type())
                && known.is_some_and(|known| known.contains(blob.digest().as_ref()))
        }
    }

    /// Adds an image to the layout, blob by blob, and returns whether it was not there.
    async fn add(
        &self,
        target: &LayoutTarget,
        artifact: Artifact,
        from: Option<&Repository>,
        name: &str,
        whole: bool,
        progress: &Progress,
    ) -> Result<bool, Error> {
        let omitted = self.omitted(name, whole);
        let blobs: Vec<Blob> =
            artifact.all_blobs().into_values().filter(|blob| !omitted(blob)).cloned().collect();
        let (writer, image_name) = (Arc::clone(&target.writer), name.to_owned());
        let (artifact, missing) = blocking(move || {
            let missing: Vec<Blob> = blobs.into_iter().filter(|blob| !writer.has(blob)).collect();
            let manifests = artifact.all_manifests();
            let is_there = missing.is_empty()
                && writer.find(&image_name).is_some_and(|found| found.digest() == artifact.digest())
                && manifests.into_iter().all(|manifest| writer.has(manifest));
            (artifact, (!is_there).then_some(missing))
        })
        .await;
        let Some(missing) = missing else { return Ok(false) };
        let parallel = self.options.parallel.get();
        fetch_into(&target.writer, missing, from, &target.locks, parallel, progress).await?;
        let (writer, name) = (Arc::clone(&target.writer), name.to_owned());
        blocking(move || writer.add_image(&artifact, &name)).await?;
        Ok(true)
    }

    /// Copies what refers to an image, to the images of an index, and to these referrers.
    async fn copy_referrers(
        &self,
        source: &Source,
        sink: &Sink,
        root: &Root,
        progress: &Progress,
        done: &mut Transferred,
    ) -> Result<(), Error> {
        // One after the other: some of them change the same list of referrers.
        for (version, root) in self.referrers_of(source, root).await? {
            let sink = sink.at(&version);
            done.referrers += 1;
            if self.copy_one(&sink, &root, true, progress).await? {
                done.new_referrers += 1;
            }
        }
        Ok(())
    }

    /// Returns what refers to an image, to the images of an index, and to these referrers: tags or digests, with what they lead to.
    async fn referrers_of(&self, source: &Source, root: &Root) -> Result<Vec<(String, Root)>, Error> {
        let mut all = Vec::new();
        let mut seen: HashSet<String> = HashSet::new();
        let mut level: Vec<Digest> = root.children.iter().chain([&root.digest]).cloned().collect();
        for depth in 0..MAX_REFERRER_DEPTH {
            let found: Vec<Vec<String>> = stream::iter(level)
                .map(|digest| async move { source.referrers(&digest, depth == 0).await })
                .buffered(self.options.parallel.get())
                .try_collect()
                .await?;
            level = Vec::new();
            for version in found.into_iter().flatten() {
                if !seen.insert(version.clone()) {
                    continue;
                }
                // A registry lists no more of them, either.
                if seen.len() >= MAX_REFERRERS {
                    let what = "the number of signatures and other referrers of an image".to_owned();
                    return Err(layout::Error::TooMany { what, limit: MAX_REFERRERS as u64 }.into());
                }
                let root = source.at(&version).root().await?;
                level.push(root.digest.clone());
                all.push((version, root));
            }
            if level.is_empty() {
                break;
            }
        }
        Ok(all)
    }
}

/// Returns what is missing at a place that cannot be read because it, or the image, is not there.
fn absent(error: Error) -> Result<Vec<String>, Error> {
    match error {
        Error::Layout(layout::Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Ok(vec![IMAGE.to_owned()])
        }
        Error::Layout(error @ (layout::Error::NotFound { .. } | layout::Error::Read { .. })) => {
            Ok(vec![error.to_string()])
        }
        error => Err(error),
    }
}

impl Root {
    /// Returns the image, or the index with all of its images.
    async fn artifact(&self) -> Result<Artifact, Error> {
        match &self.place {
            RootPlace::Registry { repository, manifest } => {
                Ok(repository.artifact_of(manifest.as_ref().clone(), &Wanted::All).await?)
            }
            RootPlace::Layout { opened, name } => {
                let (opened, name) = (Arc::clone(opened), name.clone());
                Ok(blocking(move || opened.layout.artifact(name.as_deref(), &Wanted::All)).await?)
            }
        }
    }

    /// Returns the repository that has the blobs; `None` if they are in a layout or an archive.
    fn repository(&self) -> Option<&Repository> {
        match &self.place {
            RootPlace::Registry { repository, .. } => Some(repository),
            RootPlace::Layout { .. } => None,
        }
    }
}

impl Source {
    /// Returns what the name leads to.
    async fn root(&self) -> Result<Root, Error> {
        let children = |document: Document| {
            document.manifests.iter().map(|child| child.digest().clone()).collect::<Vec<_>>()
        };
        match self {
            Self::Registry(repository) => {
                let manifest = repository.manifest(repository.reference()).await?;
                let document = repository.document(&manifest, &repository.reference().to_string())?;
                let (digest, children) = (manifest.digest().clone(), children(document));
                let place = RootPlace::Registry { repository: repository.clone(), manifest: manifest.into() };
                Ok(Root { digest, children, place })
            }
            Self::Layout { opened, name } => {
                let (opened, name) = (Arc::clone(opened), name.clone());
                let root = move || {
                    let artifact = opened.layout.artifact(name.as_deref(), &Wanted::Available)?;
                    let children = artifact.children().iter().map(|child| child.digest().clone()).collect();
                    Ok::<_, layout::Error>(Root {
                        digest: artifact.digest().clone(),
                        children,
                        place: RootPlace::Layout { opened, name },
                    })
                };
                Ok(blocking(root).await?)
            }
        }
    }

    /// Returns what is missing here of the image or index, for each platform; `digest` is what its name must lead to.
    async fn missing(&self, digest: Option<String>) -> Result<Vec<String>, Error> {
        match self {
            Self::Registry(repository) => Ok(repository.missing(digest.as_deref()).await?),
            Self::Layout { opened, name } => {
                let (opened, name) = (Arc::clone(opened), name.clone());
                let missing = move || opened.layout.missing(name.as_deref(), digest.as_deref());
                blocking(missing).await.map_err(Error::from).or_else(absent)
            }
        }
    }

    /// Returns the tags or digests of what refers to `digest`; with `tags`, also of what cosign names after it.
    async fn referrers(&self, digest: &Digest, tags: bool) -> Result<Vec<String>, registry::Error> {
        match self {
            Self::Registry(repository) => {
                let tags = COSIGN_TAGS.into_iter().filter(|_| tags).map(async |kind| {
                    let tag = format!("{}.{kind}", digest.as_ref().replace(':', "-"));
                    Ok(repository.find(&tag).await?.map(|_| tag))
                });
                let (referrers, tags) = try_join(repository.referrers(digest), try_join_all(tags)).await?;
                let found = referrers.into_iter().map(|referrer| referrer.digest);
                Ok(found.chain(tags.into_iter().flatten()).collect())
            }
            Self::Layout { opened, name } => {
                let own = name.as_deref().and_then(repository_of);
                let named = opened.referrers.get(digest.as_ref()).into_iter().flatten();
                // What has no repository belongs to all.
                let named = named.filter(|name| {
                    let other = repository_of(name);
                    other.is_none() || other == own
                });
                Ok(named.map(|name| version_in(name)).collect())
            }
        }
    }

    /// Returns the same repository at another tag or digest.
    fn at(&self, version: &str) -> Self {
        match self {
            Self::Registry(repository) => Self::Registry(Box::new(repository.at(version))),
            Self::Layout { opened, name } => {
                let named = name.as_deref().and_then(|name| name.parse::<Reference>().ok());
                let named = named.map(|reference| reference.at(version).to_string());
                let known = named.filter(|named| opened.layout.names().any(|name| name == named));
                Self::Layout {
                    opened: Arc::clone(opened),
                    name: Some(known.unwrap_or_else(|| version.to_owned())),
                }
            }
        }
    }
}

impl Sink {
    /// Returns the same repository at another tag or digest.
    fn at(&self, version: &str) -> Self {
        match self {
            Self::Registry(repository) => Self::Registry(Box::new(repository.at(version))),
            Self::Layout { name } => Self::Layout {
                name: match name.parse::<Reference>() {
                    Ok(reference) => reference.at(version).to_string(),
                    Err(_) => version.to_owned(),
                },
            },
        }
    }
}

/// Returns registry and repository of the name of an image in a layout.
fn repository_of(name: &str) -> Option<String> {
    let reference: Reference = name.parse().ok().filter(|_| name.contains('/'))?;
    Some(format!("{}/{}", reference.registry(), reference.repository()))
}

/// Returns the tag or digest in the name of a referrer in a layout.
fn version_in(name: &str) -> String {
    match name.parse::<Reference>() {
        Ok(reference) if name.contains('/') => reference.version().to_owned(),
        _ => name.to_owned(),
    }
}

/// Returns whether a registry still has an image or a referrer with all of its manifests and blobs. It reads manifests only from this
/// registry, the target, because many registries limit how often manifests are read from them as a source.
async fn is_complete(target: &Repository, root: &Root) -> Result<bool, Error> {
    let target = target.at(version_of(target.reference()));
    Ok(target.missing(Some(root.digest.as_ref())).await?.is_empty())
}

/// Returns what an image is written as: its tag, or else its digest.
fn version_of(reference: &Reference) -> &str {
    reference.tag().unwrap_or_else(|| reference.version())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_repository_and_a_version() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let name = format!("quay.io/org/app@{digest}");
        assert_eq!(repository_of(&name).as_deref(), Some("quay.io/org/app"));
        assert_eq!(version_in(&name), digest);
        assert_eq!(version_in("quay.io/org/app:sha256-x.sig"), "sha256-x.sig");
        assert_eq!((repository_of(&digest), version_in(&digest)), (None, digest));
    }
}
