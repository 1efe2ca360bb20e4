//! `bundle-tool registry`: a small registry.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Arg, Args, Subcommand};
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::images::{RegistryArgs, RegistryClient, socket_address};
use crate::cli::runtime::runtime;
use crate::cli::signals::Signals;
use crate::cli::time_limit::TimeLimit;
use kube_yaml::text::write_json;
use oci_images::registry::Resolver;
use oci_images::registry::server::{Certificate, Garbage, Options, Server, Upstream, collect_garbage};

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Serve a registry on loopback
  bundle-tool registry serve --dir /var/tmp/registry

  # Remove what no tag of it needs
  bundle-tool registry gc --dir /var/tmp/registry --untagged")]
pub(crate) struct Registry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<Serve>),
    Gc(Gc),
}

/// Remove unreferenced content from a registry's directory
///
/// Removes blobs that no manifest references, and content that is in no repository. The registry must not be running. With
/// --untagged, also removes manifests that are not reachable from a tag; signatures and other referrers stay with their subject.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Show how much would be removed
  bundle-tool registry gc --dir /var/tmp/registry --untagged --dry-run

  # Remove it
  bundle-tool registry gc --dir /var/tmp/registry --untagged")]
struct Gc {
    /// Directory of the registry
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Remove manifests that are not reachable from a tag
    #[arg(long)]
    untagged: bool,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: OutputOption<Format>,
}

/// Serve a registry that stores images in a directory
///
/// Prints its address as the only line on standard output and runs until SIGINT or SIGTERM, after which requests in
/// progress have 10 seconds to complete; a second signal stops it immediately. Without --listen-anywhere, only this
/// machine can reach it. Anyone who can reach it can read, write and delete images (requests from web pages on other
/// origins are rejected); with --htpasswd, every request requires a user name and a password.
///
/// With --proxy, it is a pull-through cache of an upstream registry: it fetches and keeps what clients request, and serves what
/// it has when the upstream registry is unreachable. It reads the upstream registry with the credentials of the user who runs
/// it, so its clients can read whatever that user can.
#[derive(Debug, Args)]
#[command(mut_group("RegistryClient", |group| group.requires("proxy")))]
#[command(mut_args(of_upstream))]
#[command(after_long_help = "\
Examples:
  # Serve a registry that only this machine can reach
  bundle-tool registry serve --dir /var/tmp/registry

  # Choose a free port
  bundle-tool registry serve --address 127.0.0.1:0 --dir registry

  # Serve other machines over TLS, with passwords
  htpasswd -Bc users alice
  bundle-tool registry serve --address 0.0.0.0:5000 --listen-anywhere \\
    --host registry.example.com --dir registry \\
    --tls-cert cert.pem --tls-key key.pem --htpasswd users

  # Cache what is pulled from quay.io, for tests without network access
  bundle-tool registry serve --dir cache --proxy quay.io &
  bundle-tool copy --plain-http localhost:5000/example/operator:v1.0.0 \\
    oci:operator")]
struct Serve {
    /// Address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:5000", value_parser = socket_address)]
    address: SocketAddr,
    /// Directory to store images in: one that this command wrote, or one that is empty or does not exist
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Allow an --address that other machines can reach
    #[arg(long)]
    listen_anywhere: bool,
    /// Host name to accept in requests, in addition to the IP address and localhost (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Serve an existing registry without changing it
    #[arg(long)]
    read_only: bool,
    /// Upstream registry to cache, such as quay.io or quay.io/example; makes this registry read-only
    #[arg(long, value_name = "REGISTRY", conflicts_with = "read_only")]
    proxy: Option<String>,
    /// PEM file with the TLS certificate of the registry, followed by any intermediate certificates
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File of users and bcrypt hashes, as `htpasswd -B` writes it
    #[arg(long, value_name = "FILE")]
    htpasswd: Option<PathBuf>,
    #[command(flatten)]
    registries: RegistryClient,
    /// Time limit for fetching from --proxy, per client request, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = TimeLimit::parser("--fetch-timeout"), requires = "proxy", help_heading = UPSTREAM)]
    fetch_timeout: TimeLimit,
}

/// The heading of the options that apply to the registry of --proxy.
const UPSTREAM: &str = "Upstream registry options";

/// Returns an option, below [`UPSTREAM`] if it is about how registries are reached.
fn of_upstream(argument: Arg) -> Arg {
    match argument.get_help_heading() {
        Some("Registry options") => argument.help_heading(UPSTREAM),
        _ => argument,
    }
}

impl Registry {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.command {
            Command::Serve(command) => command.run(),
            Command::Gc(command) => command.run(),
        }
    }
}

impl Gc {
    fn run(self) -> Result<Exit> {
        let Self { dir, untagged, dry_run, format } = self;
        let Garbage { manifests, contents, bytes, .. } = collect_garbage(&dir, untagged, dry_run)?;
        let mut out = io::stdout().lock();
        match format.output {
            Format::Text => {
                let verb = if dry_run { "would remove" } else { "removed" };
                writeln!(out, "{verb} {manifests} untagged manifests and {contents} blobs ({bytes} bytes)")?;
            }
            Format::Json => {
                let document = json!({
                    "version": 1, "dryRun": dry_run, "manifests": manifests, "blobs": contents, "bytes": bytes,
                });
                write_json(&document, &mut out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}

impl Serve {
    fn run(self) -> Result<Exit> {
        let Self {
            address,
            dir,
            listen_anywhere,
            host,
            read_only,
            proxy,
            tls_cert,
            tls_key,
            htpasswd,
            registries,
            fetch_timeout,
        } = self;
        if listen_anywhere && address.ip().is_loopback() {
            bail!(
                "--listen-anywhere has no effect with loopback address `{address}`: pass --address, such as 0.0.0.0:{}",
                address.port()
            );
        }
        let mut options = Options::new(address, dir);
        options.listen_anywhere = listen_anywhere;
        options.hosts = host;
        options.read_only = read_only;
        options.upstream = proxy.map(|registry| Upstream {
            registry,
            options: RegistryArgs::new(registries.into(), fetch_timeout).options(),
            resolver: Resolver::from_env(),
        });
        options.certificate =
            tls_cert.zip(tls_key).map(|(certificate, key)| Certificate { certificate, key });
        options.users = htpasswd;
        let runtime = runtime()?;
        let exit = runtime.block_on(serve(options));
        // Whatever still runs was cut off: nothing waits for it.
        runtime.shutdown_background();
        exit
    }
}

async fn serve(options: Options) -> Result<Exit> {
    let server = Server::bind(options).await?;
    let signals = Signals::listen()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.address())?;
    out.flush()?;
    drop(out);
    signals.serve("requests", |stop| server.serve(stop)).await
}
