//! What commands that use images have in common: how registries are reached, and how images are named.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use oci_images::layout::{self, Contents, Image, Platform};
use oci_images::registry::{self, Deadline, IdleTimeout, Options, Progress, Repository, Resolver};

/// How registries are reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry options")]
pub(super) struct Registries {
    /// PEM file with certificate authorities to trust in addition to the system's (repeatable)
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
    /// Use HTTP without TLS for registries on loopback addresses; for others, name them: --plain-http=HOST:PORT (repeatable)
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    plain_http: Vec<String>,
    /// Maximum time for all registry requests of this command, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = duration)]
    timeout: Option<Duration>,
    /// Maximum time that a request may go without progress
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    idle_timeout: Option<Duration>,
    /// When all requests must have ended, counted from the first one.
    #[arg(skip)]
    deadline: OnceLock<Deadline>,
}

/// Parses a duration such as `90s`, `10m` or `1h30m`: at least a second, at most a day.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let expected = || "expected a duration between 1s and 24h, such as 90s or 1h30m".to_owned();
    let duration: jiff::SignedDuration = text.parse().map_err(|_| expected())?;
    let duration = Duration::try_from(duration).map_err(|_| expected())?;
    let range = Duration::from_secs(1)..=Duration::from_hours(24);
    if range.contains(&duration) { Ok(duration) } else { Err(expected()) }
}

impl Registries {
    /// Returns registries that are reached without arguments of their own; `plain_http` are hosts without TLS.
    pub(super) fn new(ca_file: Vec<PathBuf>, plain_http: Vec<String>, timeout: Duration) -> Self {
        Self { ca_file, plain_http, timeout: Some(timeout), idle_timeout: None, deadline: OnceLock::new() }
    }

    /// Returns the library's form of the arguments. The time for all requests starts with the first call.
    pub(super) fn options(&self) -> Options {
        let (loopback, hosts): (Vec<_>, Vec<_>) = self.plain_http.iter().cloned().partition(String::is_empty);
        let mut options = Options::default();
        options.ca_files.clone_from(&self.ca_file);
        options.plain_http = !loopback.is_empty();
        options.plain_http_hosts = hosts;
        if let Some(timeout) = self.timeout {
            options.deadline = *self.deadline.get_or_init(|| Deadline::after(timeout));
        }
        if let Some(timeout) = self.idle_timeout {
            options.idle_timeout = IdleTimeout(timeout);
        }
        options
    }
}

/// Where an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Location {
    /// `oci:DIR` or `oci:DIR:NAME`
    Directory(PathBuf, Option<String>),
    /// `oci-archive:FILE` or `oci-archive:FILE:NAME`
    Archive(PathBuf, Option<String>),
    /// An image in a registry
    Registry(registry::Reference),
}

impl Location {
    /// Parses a REF that is not a directory: `oci:DIR`, `oci-archive:FILE` or the name of an image.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if let Some(rest) = text.strip_prefix("oci:") {
            let (path, name) = path_and_name(rest);
            return Ok(Self::Directory(path, name));
        }
        if let Some(rest) = text.strip_prefix("oci-archive:") {
            let (path, name) = path_and_name(rest);
            return Ok(Self::Archive(path, name));
        }
        Ok(Self::Registry(Repository::parse(text.strip_prefix("docker://").unwrap_or(text))?))
    }

    /// Returns where the image is that a REF names; `None` if it names a directory.
    ///
    /// A name without a registry's host is a path, so that a missing directory is not looked up on Docker Hub.
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

    /// Returns the image, with the bytes of its layers or with the repository that has them.
    pub(super) async fn open(
        &self,
        platform: &Platform,
        registries: &Registries,
    ) -> Result<(Image, Option<Repository>)> {
        match self {
            Self::Directory(path, name) => {
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

    /// Returns the labels of a bundle or an index image, and the files that they refer to.
    pub(super) async fn contents(&self, registries: &Registries) -> Result<Contents> {
        let (mut image, repository) = self.open(&Platform::default(), registries).await?;
        if let Some(repository) = repository {
            image = repository.with_layers(image, &Progress::new("pulling")).await?;
        }
        Ok(Contents::read(&image)?)
    }
}

/// Splits `DIR:NAME`; a path that exists, or has no colon, is a `DIR`.
fn path_and_name(text: &str) -> (PathBuf, Option<String>) {
    match text.split_once(':') {
        Some((path, name)) if !PathBuf::from(text).exists() => (path.into(), Some(name.to_owned())),
        _ => (text.into(), None),
    }
}

/// Where an image is written: `--to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// `oci:DIR`
    Directory(PathBuf),
    /// `oci-archive:FILE`
    Archive(PathBuf),
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("oci", path)) if !path.is_empty() => Ok(Self::Directory(path.into())),
            Some(("oci-archive", path)) if !path.is_empty() => Ok(Self::Archive(path.into())),
            _ => Err("expected oci:DIR or oci-archive:FILE".into()),
        }
    }
}

/// Returns the creation time of images: `SOURCE_DATE_EPOCH`, or 1970, so that the same input gives the same image.
pub(super) fn created() -> Result<u64> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.is_empty() => text
            .parse()
            .with_context(|| format!("invalid SOURCE_DATE_EPOCH {text:?}: expected seconds since 1970")),
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(0),
        Err(std::env::VarError::NotUnicode(_)) => {
            bail!("invalid SOURCE_DATE_EPOCH: expected seconds since 1970")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_bounds() {
        for (text, seconds) in [("90s", 90), ("10m", 600), ("1h30m", 5400), ("2m0s", 120), ("24h", 86400)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "30", "0s", "-5s", "25h", "10 bananas", "1y"] {
            assert!(duration(text).unwrap_err().contains("90s"), "{text}");
        }
    }

    #[test]
    fn locations_of_images() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        assert_eq!(
            Location::parse(&format!("oci:{path}")).unwrap(),
            Location::Directory(path.clone().into(), None)
        );
        assert_eq!(
            Location::parse(&format!("oci:{path}:example.com/a:v1")).unwrap(),
            Location::Directory(path.into(), Some("example.com/a:v1".into()))
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
        assert_eq!("oci:x".parse(), Ok(Target::Directory("x".into())));
        assert!("docker://x".parse::<Target>().is_err() && "oci:".parse::<Target>().is_err());
    }
}
