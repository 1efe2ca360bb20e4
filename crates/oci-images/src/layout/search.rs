//! The search for the image for a platform: what is read, and when it is found. Reading is the caller's part.

use std::collections::BTreeSet;

use oci_spec::image::Descriptor;

use super::artifact::{Document, check_count, check_depth};
use super::error::Error;
use super::image::Image;
use crate::platform::Platform;

/// The maximum number of platforms in a message.
const MAX_PLATFORMS_IN_MESSAGE: usize = 20;

/// What was found for a platform.
#[derive(Debug)]
pub(crate) enum Found {
    /// The image.
    Image(Box<Image>),
    /// No image. There are images for these platforms, separated by commas.
    Others(String),
}

/// A search for the image for a platform, at any depth of indexes. What is for other platforms is not read, and may be missing.
pub(crate) struct Search<'a> {
    platform: &'a Platform,
    /// What is read next is last.
    pending: Vec<Candidate>,
    others: BTreeSet<String>,
    count: usize,
}

/// A manifest or an index that may be or contain the image.
#[derive(Debug)]
pub(crate) struct Candidate {
    /// Where it is.
    pub(crate) descriptor: Descriptor,
    /// Whether an index names the platform for it.
    is_named: bool,
    /// The number of indexes above it.
    depth: usize,
}

impl<'a> Search<'a> {
    /// Starts a search at the manifest or index that a name refers to.
    pub(crate) fn new(platform: &'a Platform, root: Descriptor) -> Self {
        let root = Candidate { descriptor: root, is_named: false, depth: 0 };
        Self { platform, pending: vec![root], others: BTreeSet::new(), count: 0 }
    }

    /// Returns what to read next, and to pass to [`index`](Self::index) or [`image`](Self::image) then.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`] beyond 1,000 manifests.
    pub(crate) fn next(&mut self) -> Result<Option<Candidate>, Error> {
        let Some(candidate) = self.pending.pop() else { return Ok(None) };
        self.count += 1;
        check_count(self.count)?;
        Ok(Some(candidate))
    }

    /// Adds what an index lists: what it names the platform for, then what it names no platform for.
    ///
    /// # Errors
    ///
    /// [`Error::TooMany`] below four levels of indexes.
    pub(crate) fn index(&mut self, at: &Candidate, index: Document) -> Result<(), Error> {
        check_depth(at.depth, &index)?;
        let (mut named, mut unnamed) = (Vec::new(), Vec::new());
        for descriptor in index.manifests {
            let platform = descriptor.platform().as_ref().map(Platform::from);
            let candidate = |is_named| Candidate { descriptor, is_named, depth: at.depth + 1 };
            match platform {
                // Attestations are listed like images.
                Some(platform) if platform.os == "unknown" => {}
                Some(platform) if platform.satisfies(self.platform) => named.push(candidate(true)),
                Some(platform) => self.add_other(&platform),
                None => unnamed.push(candidate(at.is_named)),
            }
        }
        self.pending.extend(unnamed.into_iter().rev());
        self.pending.extend(named.into_iter().rev());
        Ok(())
    }

    /// Returns an image if it is for the platform. One that names no platform is for every platform.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if its configuration is not JSON.
    pub(crate) fn image(&mut self, at: &Candidate, image: Image) -> Result<Option<Image>, Error> {
        let platform = Platform::from_config(&image.config().document()?).map_err(|error| {
            Error::malformed(image.config().digest().to_string(), "image configuration", &error)
        })?;
        // The configuration often lacks the variant that the index names.
        let variant = self.platform.variant.clone().filter(|_| !at.is_named);
        let wanted = Platform { variant, ..self.platform.clone() };
        match platform {
            Some(platform) if !platform.satisfies(&wanted) => {
                self.add_other(&platform);
                Ok(None)
            }
            _ => Ok(Some(image)),
        }
    }

    /// Ends a search that found no image.
    pub(crate) fn not_found(self) -> Found {
        let mut others: Vec<String> = self.others.into_iter().collect();
        match others.len() {
            0 => others.push("no image".to_owned()),
            length if length > MAX_PLATFORMS_IN_MESSAGE => {
                others.truncate(MAX_PLATFORMS_IN_MESSAGE);
                others.push("and more".to_owned());
            }
            _ => {}
        }
        Found::Others(others.join(", "))
    }

    /// Searches where there is one image only.
    pub(crate) fn one(platform: &Platform, image: Image) -> Result<Found, Error> {
        let mut search = Search::new(platform, image.manifest().descriptor().clone());
        match search.next()? {
            Some(candidate) => match search.image(&candidate, image)? {
                Some(image) => Ok(Found::Image(image.into())),
                None => Ok(search.not_found()),
            },
            None => Ok(search.not_found()),
        }
    }

    /// Remembers a platform for the message: enough of them, and only if it can be printed.
    fn add_other(&mut self, platform: &Platform) {
        let name = platform.to_string();
        if self.others.len() <= MAX_PLATFORMS_IN_MESSAGE && name.parse::<Platform>().is_ok() {
            self.others.insert(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use oci_spec::image::MediaType;
    use serde_json::json;

    use super::super::{Blob, ImageBuilder};
    use super::*;

    fn platform(text: &str) -> Platform {
        text.parse().unwrap()
    }

    fn image(text: &str) -> Image {
        ImageBuilder { platform: platform(text), ..ImageBuilder::default() }.build().unwrap()
    }

    /// An index of manifests with the platforms that it names for them.
    fn index(manifests: &[(&Blob, Option<&str>)]) -> Blob {
        let manifests = manifests.iter().map(|(blob, named)| {
            let mut descriptor = json!(blob.descriptor());
            if let Some(named) = named {
                let Platform { os, architecture, variant } = platform(named);
                descriptor["platform"] = json!({"os": os, "architecture": architecture, "variant": variant});
            }
            descriptor
        });
        let index = json!({"schemaVersion": 2, "manifests": manifests.collect::<Vec<_>>()});
        Blob::from_bytes(MediaType::ImageIndex, index.to_string().into_bytes())
    }

    /// Searches in documents that are all in memory, and counts what is read.
    fn search(root: &Blob, indexes: &[&Blob], images: &[&Image], wanted: &str) -> (String, usize) {
        let wanted = platform(wanted);
        let mut search = Search::new(&wanted, root.descriptor().clone());
        let mut read = 0;
        loop {
            let candidate = match search.next() {
                Ok(Some(candidate)) => candidate,
                Ok(None) => break,
                Err(error) => return (error.to_string(), read),
            };
            read += 1;
            let digest = candidate.descriptor.digest().clone();
            if let Some(image) = images.iter().find(|image| *image.digest() == digest) {
                if let Some(image) = search.image(&candidate, (*image).clone()).unwrap() {
                    return (image.digest().to_string(), read);
                }
            } else {
                let index = indexes.iter().find(|index| *index.digest() == digest).unwrap();
                let document = Document::parse(&index.document().unwrap(), "it").unwrap();
                if let Err(error) = search.index(&candidate, document) {
                    return (error.to_string(), read);
                }
            }
        }
        match search.not_found() {
            Found::Others(others) => (others, read),
            Found::Image(image) => (image.digest().to_string(), read),
        }
    }

    #[test]
    fn image_is_found_in_indexes_of_indexes() {
        let (amd, arm) = (image("linux/amd64"), image("linux/arm"));
        let first = index(&[(amd.manifest(), Some("linux/amd64"))]);
        let second = index(&[(arm.manifest(), Some("linux/arm/v7")), (amd.manifest(), None)]);
        let root = index(&[(&first, None), (&second, None)]);
        let search = |wanted| search(&root, &[&root, &first, &second], &[&amd, &arm], wanted);
        assert_eq!(search("linux/amd64"), (amd.digest().to_string(), 3));
        // The index names the variant, the configuration does not.
        assert_eq!(search("linux/arm/v7").0, arm.digest().to_string());
        assert_eq!(search("linux/s390x").0, "linux/amd64, linux/arm/v7");
    }

    #[test]
    fn configuration_counts_where_no_index_names_the_platform() {
        let arm = image("linux/arm64");
        let alone = |wanted| search(arm.manifest(), &[], &[&arm], wanted).0;
        assert_eq!(alone("linux/arm64"), arm.digest().to_string());
        assert_eq!(alone("linux/arm64/v8"), "linux/arm64");
        let lying = index(&[(arm.manifest(), Some("linux/amd64"))]);
        assert_eq!(search(&lying, &[&lying], &[&arm], "linux/amd64").0, "linux/arm64");
        let empty = index(&[]);
        assert_eq!(search(&empty, &[&empty], &[], "linux/amd64").0, "no image");
    }

    #[test]
    fn search_has_limits() {
        let arm = image("linux/arm64");
        let many = index(&vec![(arm.manifest(), None); 1001]);
        let (error, read) = search(&many, &[&many], &[&arm], "linux/amd64");
        assert!(read == 1000 && error.contains("the number of manifests"), "{error}");
        let mut chain = vec![index(&[(arm.manifest(), None)])];
        for _ in 0..4 {
            chain.push(index(&[(&chain[chain.len() - 1], None)]));
        }
        let all: Vec<&Blob> = chain.iter().collect();
        let (error, _) = search(&chain[4], &all, &[&arm], "linux/arm64");
        assert!(error.contains("the depth of nested indexes"), "{error}");
        assert_eq!(search(&chain[3], &all, &[&arm], "linux/arm64").0, arm.digest().to_string());
        let names: Vec<String> = (0..100).map(|number| format!("linux/a{number}")).collect();
        let others: Vec<_> = names.iter().map(|name| (arm.manifest(), Some(name.as_str()))).collect();
        let others = index(&others);
        let (found, _) = search(&others, &[&others], &[], "linux/arm64");
        assert!(found.matches("linux/").count() == 20 && found.ends_with(", and more"), "{found}");
    }
}
