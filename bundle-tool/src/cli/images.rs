//! What commands that use images have in common: how registries are reached, and how images are named.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::progress::progress;
use super::time_limit::{Deadline, TimeLimit, duration};
use oci_images::labels;
use oci_images::layout::{Contents, Image, Platform};
use oci_images::location::{self, ImageLocation};
use oci_images::registry::{
    self, ClientCertificate, IdleTimeout, Mirrors, Options, Parallel, Repository, Resolver, Timeout,
    certificate_directories,
};
use olm_model::disk::format::{self, Format, FormatError};

// How registries are reached, and how long all network access of a command may take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry options")]
pub(crate) struct RegistryArgs {
    #[command(flatten)]
    connection: RegistryConnection,
    /// Time limit for all network access, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = TimeLimit::parser("--timeout"))]
    timeout: Option<TimeLimit>,
    /// When all network access must have ended, counted from the first one.
    #[arg(skip)]
    deadline: OnceLock<Deadline>,
}

// How registries are reached, and how much is transferred at once.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry options")]
pub(crate) struct RegistryConnection {
    #[command(flatten)]
    client: RegistryClient,
    /// Number of layers to transfer at once, between 1 and 64
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = |text: &str| between::<u8>(text, 1, 64))]
    parallel: Option<u8>,
}

// How registries are reached.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Registry options")]
pub(crate) struct RegistryClient {
    /// PEM file with certificate authorities to trust in addition to the system's (repeatable)
    #[arg(long, value_name = "FILE")]
    ca_file: Vec<PathBuf>,
    /// PEM file with the client certificate for registries that request one
    #[arg(long, value_name = "FILE")]
    client_cert: Option<PathBuf>,
    /// PEM file with the private key of --client-cert [default: the same file]
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<PathBuf>,
    /// Do not verify the certificates of registries: an attacker on the network can then read and change all traffic, including
    /// passwords
    #[arg(long)]
    insecure_skip_tls_verify: bool,
    /// Use plain HTTP for registries on this machine, or for HOST:PORT (repeatable)
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = plain_http_host)]
    plain_http: Vec<String>,
    /// Time limit for a request that makes no progress
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    idle_timeout: Option<Duration>,
    /// Reach all registries as those that registries.conf calls insecure
    #[arg(long, hide = true)]
    insecure: bool,
}

impl RegistryArgs {
    /// Returns registries that are reached with these options; the time of all network access starts with the first one.
    pub(crate) fn new(connection: RegistryConnection, timeout: TimeLimit) -> Self {
        Self { connection, timeout: Some(timeout), deadline: OnceLock::new() }
    }

    /// Returns registries that are reached without options, so that only the library's limits apply to each; they need neither a valid
    /// certificate nor TLS if `insecure`.
    pub(crate) fn without_options(insecure: bool) -> Self {
        let client = RegistryClient { insecure, ..RegistryClient::default() };
        Self::from(RegistryConnection::from(client))
    }

    /// Returns the same registries with another certificate authority.
    pub(crate) fn with_authority(mut self, file: PathBuf) -> Self {
        self.connection.client.ca_file.push(file);
        self
    }

    /// Returns the same registries for a task that has a deadline of its own.
    pub(crate) fn until(&self, deadline: Deadline) -> Self {
        Self { deadline: OnceLock::from(deadline), ..self.clone() }
    }

    /// Returns the deadline for all network access of the command; `None` if its time is not limited. The time starts with the
    /// first call.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        match self.timeout {
            Some(timeout) => Some(*self.deadline.get_or_init(|| timeout.start())),
            None => self.deadline.get().copied(),
        }
    }

    /// Waits for a command that reads the cluster, which shares the time with the registries.
    pub(crate) async fn reading_cluster<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        match self.deadline() {
            Some(deadline) => deadline.reading_cluster(work).await,
            None => work.await,
        }
    }

    /// Returns the library's form of the arguments. The time for all network access starts with the first call.
    pub(crate) fn options(&self) -> Options {
        let mut options = self.connection.options();
        if let Some(deadline) = self.deadline() {
            options.timeout = Timeout::At(deadline.registries());
        }
        options
    }
}

impl From<RegistryConnection> for RegistryArgs {
    /// Returns registries whose time only the library limits, unless [`RegistryArgs::until`] sets a deadline.
    fn from(connection: RegistryConnection) -> Self {
        Self { connection, ..Self::default() }
    }
}

impl From<RegistryClient> for RegistryConnection {
    /// Returns the options of a command that transfers no layers of images.
    fn from(client: RegistryClient) -> Self {
        Self { client, parallel: None }
    }
}

impl RegistryConnection {
    /// Returns the same options, with further hosts that are reached without TLS.
    pub(crate) fn with_plain_http(mut self, hosts: impl IntoIterator<Item = String>) -> Self {
        self.client.plain_http.extend(hosts);
        self
    }

    /// Returns the library's form of the arguments, without a time limit.
    fn options(&self) -> Options {
        let mut options = self.client.options();
        if let Some(parallel) = self.parallel {
            options.parallel = Parallel(parallel.into());
        }
        options
    }
}

impl RegistryClient {
    fn options(&self) -> Options {
        let (loopback, hosts): (Vec<_>, Vec<_>) = self.plain_http.iter().cloned().partition(String::is_empty);
        let mut options = Options::default();
        options.user_agent = Some(concat!("bundle-tool/", env!("CARGO_PKG_VERSION")).to_owned());
        options.ca_files.clone_from(&self.ca_file);
        options.client_certificate = self.client_cert.as_ref().map(|certificate| ClientCertificate {
            certificate: certificate.clone(),
            key: self.client_key.as_ref().unwrap_or(certificate).clone(),
        });
        options.skip_tls_verification = self.insecure_skip_tls_verify;
        options.insecure = self.insecure;
        options.certificate_directories = certificate_directories(|name| std::env::var_os(name));
        options.mirrors = Mirrors::from_variables(|name| std::env::var_os(name));
        options.plain_http = !loopback.is_empty();
        options.plain_http_hosts = hosts;
        if let Some(timeout) = self.idle_timeout {
            options.idle_timeout = IdleTimeout(timeout);
        }
        options
    }
}

/// Parses a number between two others.
pub(crate) fn between<T: TryFrom<u64> + Into<u64> + Copy>(text: &str, min: T, max: T) -> Result<T, String> {
    let (min, max) = (min.into(), max.into());
    let number = text.parse().ok().filter(|number| (min..=max).contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| format!("must be between {min} and {max}"))
}

/// Parses the value of `--plain-http`; an empty one stands for registries on this machine.
fn plain_http_host(text: &str) -> Result<String, String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let (host, is_valid) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.is_empty() || port.strip_prefix(':').is_some_and(is_port)),
        None => text.split_once(':').map_or((text, true), |(host, port)| (host, is_port(port))),
    };
    let is_host = |host: &str| {
        !host.is_empty()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_'))
    };
    if text.is_empty() || (is_valid && is_host(host)) {
        Ok(text.to_owned())
    } else {
        Err("expected HOST or HOST:PORT, such as registry.example.com:5000".into())
    }
}

/// Parses the name of an image, which is kept as it is written.
pub(crate) fn parse_image(text: &str) -> Result<String, String> {
    Repository::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Parses a port, for options.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    between(text, u16::MIN, u16::MAX)
}

/// Parses an IP address and a port, for options.
pub(crate) fn socket_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:5000".to_owned())
}

/// Parses the place of an image to read, for options; an error about a path says what the path is.
pub(crate) fn image_source(text: &str) -> Result<ImageLocation, String> {
    text.parse().map_err(|error| match error {
        location::Error::Path(path) => {
            not_an_image(&path).unwrap_or_else(|| location::Error::Path(path).to_string())
        }
        error => error.to_string(),
    })
}

/// Returns why a path is not an image, if that is known.
fn not_an_image(text: &str) -> Option<String> {
    let path = Path::new(text);
    if !path.exists() {
        return Some(format!("{text} does not exist"));
    }
    let found = |what: &str, command: &str| {
        Some(format!("{text} is a {what}, expected an image; validate it with `bundle-tool {command}`"))
    };
    match format::detect(path).ok()? {
        Format::Bundle if path.join("manifests").is_dir() => found("bundle directory", "validate"),
        Format::Catalog if path.is_dir() => found("catalog directory", "catalog validate"),
        Format::Layout => Some(FormatError::Layout { path: text.to_owned() }.to_string()),
        Format::Archive => Some(FormatError::Archive { path: text.to_owned() }.to_string()),
        Format::Compressed => Some(FormatError::Compressed { path: text.to_owned() }.to_string()),
        _ => None,
    }
}

/// Where an image is that a REF names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location(pub(crate) ImageLocation);

impl Location {
    /// Parses a REF that is not a directory: `oci:DIR`, `oci-archive:FILE`, `docker-archive:FILE` or the name of an image.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(Self(text.parse()?))
    }

    /// Returns the only image in an OCI layout.
    pub(crate) fn layout(path: PathBuf) -> Self {
        Self(ImageLocation::Directory(path, None))
    }

    /// Returns the only image in an OCI archive.
    pub(crate) fn archive(path: PathBuf) -> Self {
        Self(ImageLocation::Archive(path, None))
    }

    /// Returns the path of an OCI archive.
    pub(crate) fn archive_path(&self) -> Option<&Path> {
        match &self.0 {
            ImageLocation::Archive(path, _) => Some(path),
            _ => None,
        }
    }

    /// Returns where the image is that a REF names; `None` if it names a directory.
    pub(crate) fn of_image(text: &str) -> Result<Option<Self>> {
        Ok(ImageLocation::detect(text)?.map(Self))
    }

    /// Returns the name of an image in a registry.
    pub(crate) fn registry(&self) -> Option<&registry::Reference> {
        match &self.0 {
            ImageLocation::Registry(reference) => Some(reference),
            _ => None,
        }
    }

    /// Returns the image, with the bytes of its layers or with the repository that has them.
    pub(crate) async fn open(
        &self,
        platform: &Platform,
        registries: &RegistryArgs,
    ) -> Result<(Image, Option<Repository>)> {
        Ok(self.0.image(platform, &registries.options(), &Resolver::from_env()).await?)
    }

    /// Returns the labels of a bundle or an index image, and the files that they refer to.
    pub(crate) async fn contents(&self, registries: &RegistryArgs) -> Result<Contents> {
        let (options, resolver) = (registries.options(), Resolver::from_env());
        let contents = self.0.contents(&options, &resolver, &progress(format!("pulling {}", self.0))).await?;
        if contents.labels.contains_key(labels::DATABASE) && !contents.is_catalog() {
            bail!(
                "the image is an SQLite index, not a file-based catalog: convert it with `opm migrate` of opm 1.72 or earlier"
            );
        }
        let is_bundle = contents.labels.contains_key(labels::PACKAGE) || !contents.files.is_empty();
        if !is_bundle && !contents.is_catalog() {
            bail!(
                "the image is neither a catalog nor a bundle: it has neither the label `{}`, which `push catalog` sets, nor a bundle's labels or files",
                labels::CONFIGS
            );
        }
        Ok(contents)
    }
}

/// Returns the name of an image as clusters know it, without `docker://`.
pub(crate) fn image_name(reference: &str) -> &str {
    reference.strip_prefix("docker://").unwrap_or(reference)
}

/// Where an image is written: `--to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImageDestination(pub(crate) ImageLocation);

impl std::str::FromStr for ImageDestination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(ImageLocation::Registry(_)) | Err(_) => {
                Err("expected oci:DIR, oci-archive:FILE or docker-archive:FILE".into())
            }
            Ok(place) => Ok(Self(place)),
        }
    }
}

/// Returns the program that the history of images names.
#[allow(clippy::unnecessary_wraps, reason = "a field has this type")]
pub(crate) fn created_by() -> Option<String> {
    Some("bundle-tool".to_owned())
}

/// Returns the creation time of images: `SOURCE_DATE_EPOCH`, or 1970, so that the same input gives the same image.
pub(crate) fn created() -> Result<u64> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        // Never the parser's own words.
        Ok(text) if !text.is_empty() => text.parse().ok().with_context(|| {
            format!("invalid SOURCE_DATE_EPOCH `{}`: expected seconds since 1970", text.escape_debug())
        }),
        Ok(_) | Err(std::env::VarError::NotPresent) => Ok(0),
        Err(std::env::VarError::NotUnicode(_)) => {
            bail!("invalid SOURCE_DATE_EPOCH: expected seconds since 1970")
        }
    }
}

/// Parses an option that names an image as opm reads it in a catalog.
pub(crate) fn catalog_image(text: &str) -> Result<String, String> {
    olm_catalog::validate::check_image_reference(text).map(|()| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(between::<u8>("64", 1, 64), Ok(64));
        for text in ["0", "65", "100000000000000000000", "-1", "a", ""] {
            assert_eq!(between::<u8>(text, 1, 64), Err("must be between 1 and 64".to_owned()), "{text}");
        }
    }

    #[test]
    fn ports_and_addresses_are_rejected_in_plain_words() {
        assert_eq!((port("0"), port("65535")), (Ok(0), Ok(65535)));
        for text in ["99999", "-1", "foo", ""] {
            assert_eq!(port(text), Err("must be between 0 and 65535".to_owned()), "{text}");
        }
        assert!(socket_address("[::1]:5000").is_ok());
        let expected = "expected an IP address and a port, such as 127.0.0.1:5000";
        for text in ["localhost:5000", "5000", "127.0.0.1"] {
            assert_eq!(socket_address(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn another_task_has_its_own_time() {
        let limit = TimeLimit::parser("--timeout");
        let command = clap::Command::new("c").arg(clap::Arg::new("timeout").value_parser(limit));
        let matches = command.get_matches_from(["c", "1m"]);
        let limit: TimeLimit = *matches.get_one("timeout").unwrap();
        let first = RegistryArgs::new(RegistryConnection::default(), limit);
        let timeout = first.options().timeout;
        assert_eq!(first.options().timeout, timeout);
        assert_eq!(first.clone().options().timeout, timeout);
        assert_ne!(first.until(limit.start()).options().timeout, timeout);
    }

    #[test]
    fn the_key_of_a_client_certificate_may_be_in_the_same_file() {
        let files = |key: Option<&str>| {
            let (client_cert, client_key) = (Some("client.pem".into()), key.map(PathBuf::from));
            let client = RegistryClient { client_cert, client_key, ..RegistryClient::default() };
            let ClientCertificate { certificate, key } = client.options().client_certificate.unwrap();
            (certificate, key)
        };
        assert_eq!(files(None), ("client.pem".into(), "client.pem".into()));
        assert_eq!(files(Some("key.pem")), ("client.pem".into(), "key.pem".into()));
    }

    #[test]
    fn targets_are_layouts_and_archives() {
        assert_eq!("oci:x".parse(), Ok(ImageDestination(ImageLocation::Directory("x".into(), None))));
        assert!(
            "docker://x".parse::<ImageDestination>().is_err() && "oci:".parse::<ImageDestination>().is_err()
        );
    }
}
