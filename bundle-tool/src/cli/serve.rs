//! `bundle-tool serve`: a catalog over gRPC; and `grpc_health_probe`, which asks whether it serves.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::exit::{Exit, print_error};
use super::runtime::runtime;
use super::signals::Signals;
use crate::read::file::Unreadable;
use crate::serve::{Catalog, Index, IndexError, Server, load, probe};

/// The name of the index in `--cache-dir`.
pub(super) const INDEX_FILE: &str = "catalog.index";

/// Serve a file-based catalog to OLM
///
/// Answers the registry's gRPC API as `opm serve` does, with health checks and reflection; called as `opm`, the program takes
/// the same arguments. It needs no write access and no user of its own.
///
/// With --index or --cache-dir, the catalog is served from an index, which `push catalog` puts into the image. An index that
/// is missing, damaged or belongs to another state of the catalog is not used: the catalog is read instead, which takes longer.
///
/// Prints its address as the one line on standard output once it serves, and runs until SIGINT or SIGTERM, after which calls
/// in progress have 10 seconds to complete.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Serve a catalog on port 50051
  bundle-tool serve catalog

  # Write the index of a catalog, and serve the catalog from it
  bundle-tool serve catalog --build-index catalog.index
  bundle-tool serve catalog --index catalog.index")]
pub(super) struct Serve {
    /// Catalog directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Port to listen on, on all addresses; 0 chooses a free port
    #[arg(long, short, value_name = "PORT", default_value_t = 50051)]
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
    /// File to write a fatal error to, if it exists
    #[arg(long, short, value_name = "FILE", default_value = "/dev/termination-log")]
    termination_log: PathBuf,
    #[command(flatten)]
    _profiling: Profiling,
}

/// Arguments of opm without a meaning here, which commands that were written for opm may have.
#[derive(Debug, Args)]
struct Profiling {
    #[arg(long, hide = true)]
    pprof_addr: Option<String>,
    #[arg(long, hide = true)]
    pprof_capture_profiles: bool,
    #[arg(long, hide = true)]
    debug: bool,
}

impl Serve {
    pub(super) fn run(self) -> Result<Exit> {
        let result = self.run_or_fail();
        if let Err(error) = &result {
            // The kubelet shows it as the reason why the container ended. Without the file, there is none to tell.
            if let Ok(mut file) =
                OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&self.termination_log)
            {
                let _ = writeln!(file, "{error:#}");
            }
        }
        result
    }

    fn run_or_fail(&self) -> Result<Exit> {
        let failed = || format!("failed to read the catalog {}", self.directory.display());
        let in_cache = self.cache_dir.as_ref().map(|directory| directory.join(INDEX_FILE));
        let write_to = if self.cache_only { in_cache.as_ref() } else { self.build_index.as_ref() };
        if let Some(path) = write_to {
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
        let index = match index {
            Some(index) => index,
            None => load::in_memory(&self.directory).with_context(failed)?,
        };
        let runtime = runtime()?;
        let exit = runtime.block_on(serve(Catalog::new(index), self.port));
        // Whatever still runs was cut off: nothing waits for it.
        runtime.shutdown_background();
        exit
    }

    /// Opens the index at `path`, unless it cannot be used and need not be.
    fn open(&self, path: &Path) -> Result<Option<Index>> {
        let digest = load::digest(&self.directory)
            .with_context(|| format!("failed to read the catalog {}", self.directory.display()))?;
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
            writeln!(io::stderr(), "warning: {}: {error}; reading the catalog instead", path.display())?;
        }
        Ok(None)
    }
}

/// Writes an index, whole or not at all.
pub(super) fn write_index(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).with_context(|| format!("failed to write {}", path.display()))?;
    }
    atomic_files::file(path, bytes)?;
    Ok(())
}

async fn serve(catalog: Catalog, port: u16) -> Result<Exit> {
    let [packages, channels, _] = catalog.counts();
    let server =
        Server::bind(port, catalog).await.with_context(|| format!("failed to listen on port {port}"))?;
    let signals = Signals::listen()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.address()?)?;
    out.flush()?;
    drop(out);
    writeln!(io::stderr(), "serving {packages} packages with {channels} channels")?;
    signals.serve("calls", |stop| server.serve(stop)).await
}

/// Runs as `grpc_health_probe`.
pub(super) fn probe() -> ExitCode {
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
