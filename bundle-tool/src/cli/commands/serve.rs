//! `bundle-tool serve`: a catalog over gRPC and HTTP; and `grpc_health_probe`, which asks whether it serves.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use futures::FutureExt as _;

use crate::cli::error_help::with_help;
use crate::cli::exit::{Exit, print_error};
use crate::cli::images::port;
use crate::cli::outputs::{require_outside, require_parent};
use crate::cli::runtime::runtime;
use crate::cli::signals::Signals;
use crate::sys::open_existing;
use crate::terminal::{WARNING, messages, stderr};
use catalog_server::{CatalogState, Index, IndexError, Protocol, Server, is_catalog_name, load, probe};
use kube_yaml::text::{counted, printable, with_causes};
use olm_model::disk::walk;
use olm_model::disk::watch::{INTERVAL, Watch};
use olm_model::read::Unreadable;

/// The name of the index in `--cache-dir`.
pub(crate) const INDEX_FILE: &str = "catalog.index";

/// The number of looks at a catalog that cannot be listed before it is reported: about two seconds.
const MAX_MISSING: u32 = 4;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Serve a catalog on port 50051
  bundle-tool serve catalog

  # Browse a catalog at http://localhost:8080 while it is edited
  bundle-tool serve catalog --http 8080 --watch

  # Query the API as clients of OLM v1 do
  curl 'http://localhost:8080/api/v1/metas?schema=olm.channel&package=gizmo'

  # Write the index of a catalog, and serve the catalog from it
  bundle-tool serve catalog --build-index catalog.index
  bundle-tool serve catalog --index catalog.index")]
pub(crate) struct Serve {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Port to listen on, on all addresses; 0 chooses a free port
    #[arg(long, short, value_name = "PORT", default_value_t = 50051, value_parser = port)]
    port: u16,
    /// Index of the catalog
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cache_dir", "build_index"])]
    index: Option<PathBuf>,
    /// Write the index of the catalog to a file and exit
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cache_dir", "cache_only"])]
    build_index: Option<PathBuf>,
    /// Directory with the index, as `catalog.index`
    #[arg(long, value_name = "DIR")]
    cache_dir: Option<PathBuf>,
    /// Write the index into --cache-dir and exit
    #[arg(long, requires = "cache_dir")]
    cache_only: bool,
    /// Fail if the index cannot be used, instead of reading the catalog
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true",
        default_value_t = false, action = clap::ArgAction::Set)]
    cache_enforce_integrity: bool,
    /// Also serve the catalog over HTTP on this port, on all addresses or the given one; 0 chooses a free port
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = http_address, conflicts_with_all = ["build_index", "cache_only"])]
    http: Option<HttpAddress>,
    /// Name of the catalog in the paths of --http
    #[arg(long, value_name = "NAME", default_value = "catalog", requires = "http")]
    catalog_name: String,
    /// Reload the catalog when its files change; an invalid state is reported and not served
    #[arg(long, conflicts_with_all = ["build_index", "cache_only", "cache_enforce_integrity"])]
    watch: bool,
    /// Write fatal errors to this file if it exists
    #[arg(long, short, value_name = "FILE", default_value = "/dev/termination-log")]
    termination_log: PathBuf,
    #[command(flatten)]
    _profiling: Profiling,
}

// Arguments of opm without a meaning here, which commands that were written for opm may have.
#[derive(Debug, Args)]
struct Profiling {
    #[arg(long, hide = true)]
    pprof_addr: Option<String>,
    #[arg(long, hide = true)]
    pprof_capture_profiles: bool,
    #[arg(long, hide = true)]
    debug: bool,
}

/// Where HTTP is served: an address or all of them, and a port.
#[derive(Debug, Clone, Copy)]
struct HttpAddress(Option<IpAddr>, u16);

fn http_address(text: &str) -> Result<HttpAddress, String> {
    if let Ok(port) = text.parse() {
        return Ok(HttpAddress(None, port));
    }
    let address: SocketAddr = text.parse().map_err(|_| {
        "expected a port or an IP address with a port, such as `8080`, `127.0.0.1:8080` or `[::1]:8080`"
            .to_owned()
    })?;
    Ok(HttpAddress(Some(address.ip()), address.port()))
}

impl Serve {
    pub(crate) fn run(self) -> Result<Exit> {
        let result = self.run_or_fail();
        if let Err(error) = &result {
            // The kubelet shows it as the reason why the container ended. Without the file, there is none to tell.
            if let Ok(mut file) = open_existing(&self.termination_log) {
                let _ = writeln!(file, "{}", with_help(error.as_ref()));
            }
        }
        result
    }

    fn run_or_fail(&self) -> Result<Exit> {
        let failed = || format!("failed to read {}", self.directory.display());
        let in_cache = self.cache_dir.as_ref().map(|directory| directory.join(INDEX_FILE));
        let write_to = if self.cache_only { in_cache.as_ref() } else { self.build_index.as_ref() };
        if let Some(directory) = &self.cache_dir {
            require_outside("--cache-dir", directory, &self.directory)?;
        }
        if let Some(path) = write_to {
            require_outside("--build-index", path, &self.directory)?;
            if self.build_index.is_some() {
                require_parent(path)?;
            }
            let bytes = load::build(&self.directory).with_context(failed)?;
            write_index(path, &bytes)?;
            return Ok(Exit::Success);
        }
        let index = match self.index.as_ref().or(in_cache.as_ref()) {
            Some(path) => self.open(path)?,
            None if self.cache_enforce_integrity => {
                bail!("--cache-enforce-integrity requires --index or --cache-dir")
            }
            None => None,
        };
        if !is_catalog_name(&self.catalog_name) {
            bail!(
                "invalid catalog name `{}`: expected lowercase letters, digits, `-` and `.`",
                self.catalog_name
            );
        }
        let watch = if self.watch {
            let paths = vec![self.directory.clone()];
            Some(Watch::new(paths, walk::Options::default()).with_context(failed)?)
        } else {
            None
        };
        let snapshot = load::snapshot(&self.directory, index, self.site()).with_context(failed)?;
        let runtime = runtime()?;
        let exit = runtime.block_on(self.serve(Arc::new(CatalogState::new(snapshot)), watch));
        // Whatever still runs was cut off: nothing waits for it.
        runtime.shutdown_background();
        exit
    }

    /// Returns the name under which the catalog is served over HTTP, if it is.
    fn site(&self) -> Option<&str> {
        self.http.is_some().then_some(self.catalog_name.as_str())
    }

    async fn serve(&self, state: Arc<CatalogState>, watch: Option<Watch>) -> Result<Exit> {
        let contents = contents(state.snapshot().catalog.counts());
        let bind = async |address, port, protocol| {
            let server = Server::bind(address, port, Arc::clone(&state), protocol).await;
            server.with_context(|| format!("failed to listen on port {port}"))
        };
        let grpc = bind(None, self.port, Protocol::Grpc).await?;
        let http = match self.http {
            Some(HttpAddress(address, port)) => Some(bind(address, port, Protocol::Http).await?),
            None => None,
        };
        let signals = Signals::listen()?;
        let mut out = io::stdout().lock();
        writeln!(out, "{}", grpc.address()?)?;
        if let Some(http) = &http {
            let address = http.address()?;
            let host =
                if address.ip().is_unspecified() { "localhost".to_owned() } else { host(address.ip()) };
            writeln!(out, "http://{host}:{}/", address.port())?;
        }
        out.flush()?;
        drop(out);
        writeln!(messages(), "serving {contents}")?;
        signals
            .serve("calls", |stop| async move {
                let stop = stop.shared();
                let http = async {
                    if let Some(http) = http {
                        http.serve(stop.clone()).await;
                    }
                };
                let watching = async {
                    if let Some(watch) = watch {
                        tokio::select! {
                            () = self.reload(&state, watch) => {}
                            () = stop.clone() => {}
                        }
                    }
                };
                tokio::join!(grpc.serve(stop.clone()), http, watching);
            })
            .await
    }

    /// Serves each changed state of the catalog that is valid, until the runtime ends.
    async fn reload(&self, state: &CatalogState, mut watch: Watch) {
        let mut missing = 0;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let look = tokio::task::spawn_blocking(move || (watch.has_changed(), watch)).await;
            let Ok((look, looked)) = look else { return };
            watch = looked;
            let has_changed = match look {
                Ok(has_changed) => has_changed,
                // A directory that is being replaced can be missing for a moment.
                Err(failure) => {
                    missing += 1;
                    if missing == MAX_MISSING {
                        state.rejected();
                        let failure = printable(&with_causes(&failure)).into_owned();
                        let _ = writeln!(
                            stderr(),
                            "{WARNING} the catalog cannot be read; still serving its last state: {failure}"
                        );
                    }
                    continue;
                }
            };
            missing = 0;
            if !has_changed {
                continue;
            }
            let (directory, site) = (self.directory.clone(), self.site().map(str::to_owned));
            let served =
                tokio::task::spawn_blocking(move || load::snapshot(&directory, None, site.as_deref())).await;
            let mut error = stderr();
            // Nothing is left to do where standard error is closed.
            let _ = match served {
                Ok(Ok(served)) => {
                    let contents = contents(served.catalog.counts());
                    state.replace(served);
                    writeln!(messages(), "the catalog has changed: serving {contents}")
                }
                Ok(Err(failure)) => {
                    state.rejected();
                    let failure = printable(&with_causes(&failure)).into_owned();
                    writeln!(error, "{WARNING} the changed catalog cannot be served: {failure}")
                }
                Err(failure) => {
                    writeln!(error, "{WARNING} the changed catalog cannot be served: {failure}")
                }
            };
        }
    }

    /// Opens the index at `path`, unless it cannot be used and need not be.
    fn open(&self, path: &Path) -> Result<Option<Index>> {
        let digest = load::digest(&self.directory)
            .with_context(|| format!("failed to read {}", self.directory.display()))?;
        let error = match Index::open(path, &digest) {
            Ok(index) => return Ok(Some(index)),
            Err(error) => error,
        };
        if self.cache_enforce_integrity {
            let advice = "write it again with --build-index or --cache-only";
            return Err(error).with_context(|| format!("{} cannot be used; {advice}", path.display()));
        }
        let is_missing = matches!(
            &error,
            IndexError::Read(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound
        );
        // In a directory for the index, as opm's empty one, there need not be any yet.
        if !is_missing || self.index.is_some() {
            writeln!(stderr(), "{WARNING} {}: {error}; reading the catalog instead", path.display())?;
        }
        Ok(None)
    }
}

/// Formats the numbers of packages and channels.
fn contents([packages, channels, _]: [u32; 3]) -> String {
    format!("{} with {}", counted(packages as usize, "package"), counted(channels as usize, "channel"))
}

/// Returns an address as URLs have it.
fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Writes an index, whole or not at all.
pub(crate) fn write_index(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).with_context(|| format!("failed to write {}", path.display()))?;
    }
    atomic_files::file(path, bytes)?;
    Ok(())
}

/// Runs as `grpc_health_probe`.
pub(crate) fn probe() -> ExitCode {
    let result = probe::Probe::parse(std::env::args().skip(1)).and_then(|probe| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| probe::ProbeError::Call(error.to_string()))?;
        runtime.block_on(probe.run())
    });
    match result {
        Ok(()) => {
            // The exit status says the same.
            let _ = writeln!(io::stdout(), "status: SERVING");
            ExitCode::SUCCESS
        }
        Err(error) => {
            let status = error.status();
            let _ = print_error(&anyhow::Error::new(error));
            ExitCode::from(status)
        }
    }
}
