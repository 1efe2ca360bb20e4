//! What commands that touch images have in common: how registries are reached, and how images are named.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use oci_images::layout::{self, Contents, Image, Platform};
use oci_images::registry::{self, Options, Progress, Repository, Resolver};

/// How registries are reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry")]
pub(super) struct Registries {
    /// A PEM file with authorities to trust beside the system's; may be given several times
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
    /// Speak HTTP without TLS to registries on this machine; elsewhere only to one that is named: --plain-http=HOST:PORT
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    plain_http: Vec<String>,
}

impl Registries {
    /// The library's form of the arguments.
    pub(super) fn options(&self) -> Options {
        let (loopback, hosts): (Vec<_>, Vec<_>) = self.plain_http.iter().cloned().partition(String::is_empty);
        Options {
            ca_files: self.ca_file.clone(),
            plain_http: !loopback.is_empty(),
            plain_http_hosts: hosts,
            ..Options::default()
        }
    }
}

/// Where an image lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// `oci:DIR` or `oci:DIR:NAME`
    Folder(PathBuf, Option<String>),
    /// `oci-archive:FILE` or `oci-archive:FILE:NAME`
    Archive(PathBuf, Option<String>),
    /// An image in a registry
    Registry(registry::Reference),
}

impl Location {
    /// Reads a REF that is no folder: `oci:DIR`, `oci-archive:FILE` or the name of an image.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("oci:") {
            let (path, name) = path_and_name(rest);
            return Ok(Self::Folder(path, name));
        }
        if let Some(rest) = text.strip_prefix("oci-archive:") {
            let (path, name) = path_and_name(rest);
            return Ok(Self::Archive(path, name));
        }
        Ok(Self::Registry(Repository::parse(text.strip_prefix("docker://").unwrap_or(text))?))
    }

    /// Where the image lies that a REF names; `None` where it names a folder.
    ///
    /// A name without a registry's host in front is a path, so that a folder that is not there is not looked for on
    /// Docker Hub.
    pub(super) fn of_image(text: &str) -> Result<Option<Self>> {
        let marked = ["oci:", "oci-archive:", "docker://"].iter().any(|scheme| text.starts_with(scheme));
        let host = text.split_once('/').map_or("", |(host, _)| host);
        let named = host == "localhost" || (host.contains(['.', ':']) && !host.starts_with('.'));
        if marked || (named && !PathBuf::from(text).exists()) {
            Self::parse(text).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The image, with its layers at hand or only named, and the repository that has those.
    pub(super) async fn open(
        &self,
        platform: &Platform,
        registries: &Registries,
    ) -> Result<(Image, Option<Repository>)> {
        match self {
            Self::Folder(path, name) => {
                Ok((layout::open_directory(path)?.image(name.as_deref(), platform)?, None))
            }
            Self::Archive(path, name) => {
                Ok((layout::open_archive(path)?.image(name.as_deref(), platform)?, None))
            }
            Self::Registry(reference) => {
                let repository =
                    Repository::for_reading(reference, &registries.options(), &Resolver::from_env()).await?;
                Ok((repository.image(platform).await?, Some(repository)))
            }
        }
    }

    /// The labels of a bundle or an index image, and the files they speak of.
    pub(super) async fn contents(&self, registries: &Registries) -> Result<Contents> {
        let (mut image, repository) = self.open(&Platform::default(), registries).await?;
        if let Some(repository) = repository {
            image = repository.with_layers(image, &Progress::new("pulling")).await?;
        }
        Ok(Contents::read(&image)?)
    }
}

/// `DIR:NAME`, or `DIR` where there is such a path or no colon.
fn path_and_name(text: &str) -> (PathBuf, Option<String>) {
    match text.split_once(':') {
        Some((path, name)) if !PathBuf::from(text).exists() => (path.into(), Some(name.to_owned())),
        _ => (text.into(), None),
    }
}

/// Where an image is written to: `--to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// `oci:DIR`
    Folder(PathBuf),
    /// `oci-archive:FILE`
    Archive(PathBuf),
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("oci", path)) if !path.is_empty() => Ok(Self::Folder(path.into())),
            Some(("oci-archive", path)) if !path.is_empty() => Ok(Self::Archive(path.into())),
            _ => Err("write oci:DIR or oci-archive:FILE".into()),
        }
    }
}

/// When images say they were made: `SOURCE_DATE_EPOCH`, or 1970, so that the same input gives the same image.
pub(super) fn created() -> Result<u64> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.is_empty() => text
            .parse()
            .with_context(|| format!("SOURCE_DATE_EPOCH is {text:?}, and no number of seconds since 1970")),
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(0),
        Err(std::env::VarError::NotUnicode(_)) => {
            bail!("SOURCE_DATE_EPOCH is no number of seconds since 1970")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_images() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        assert_eq!(
            Location::parse(&format!("oci:{path}")).unwrap(),
            Location::Folder(path.clone().into(), None)
        );
        assert_eq!(
            Location::parse(&format!("oci:{path}:example.com/a:v1")).unwrap(),
            Location::Folder(path.into(), Some("example.com/a:v1".into()))
        );
        assert_eq!(
            Location::parse("oci-archive:a.tar:v1").unwrap(),
            Location::Archive("a.tar".into(), Some("v1".into()))
        );
        let Location::Registry(reference) = Location::parse("docker://quay.io/a/b:v1").unwrap() else {
            panic!()
        };
        assert_eq!(reference.whole(), "quay.io/a/b:v1");
        assert!(Location::parse("quay.io/A/b").is_err());
        for (text, is_image) in [
            ("quay.io/a/b", true),
            ("localhost:5000/b:v1", true),
            ("oci:bundle", true),
            ("bundle", false),
            ("bundles/v1", false),
            ("./quay.io/a", false),
            ("../bundle", false),
            ("/bundle:x/y", false),
        ] {
            assert_eq!(Location::of_image(text).unwrap().is_some(), is_image, "{text}");
        }
        assert_eq!("oci:x".parse(), Ok(Target::Folder("x".into())));
        assert!("docker://x".parse::<Target>().is_err() && "oci:".parse::<Target>().is_err());
    }
}
