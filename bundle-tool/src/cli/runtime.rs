//! The asynchronous runtime.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, anyhow, bail};
use kube_yaml::text::with_causes;
use tokio::runtime::{Builder, Runtime};

/// The maximum size of a file of certificates, in bytes.
const MAX_CERTIFICATES: u64 = 16 << 20;
/// The maximum number of files in a directory of certificates.
const MAX_CERTIFICATE_FILES: usize = 10_000;

/// Starts the runtime of the commands that use the network.
///
/// # Errors
/// The variables of the environment that replace the system's certificates name something that cannot be read as certificates.
pub(crate) fn runtime() -> Result<Runtime> {
    check_certificates(|name| std::env::var_os(name))?;
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start the network runtime")
}

/// A runtime that several threads share, and that starts when it is first used.
#[derive(Debug, Default)]
pub(crate) struct SharedRuntime(OnceLock<Result<Runtime, String>>);

impl SharedRuntime {
    /// Returns the runtime.
    pub(crate) fn get(&self) -> Result<&Runtime> {
        let runtime = self.0.get_or_init(|| runtime().map_err(|error| with_causes(error.as_ref())));
        runtime.as_ref().map_err(|error| anyhow!(error.clone()))
    }
}

/// Checks `SSL_CERT_FILE` and `SSL_CERT_DIR`, because the TLS library reads them several times, without a limit on size or time.
fn check_certificates(variable: impl Fn(&str) -> Option<OsString>) -> Result<()> {
    let named = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(file) = named("SSL_CERT_FILE") {
        check_file(Path::new(&file)).context("failed to read the certificates of SSL_CERT_FILE")?;
    }
    for directory in named("SSL_CERT_DIR").iter().flat_map(std::env::split_paths) {
        let failed = || format!("failed to read the certificates in {} of SSL_CERT_DIR", directory.display());
        // A directory that does not exist has no certificates.
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for (count, entry) in entries.enumerate() {
            if count >= MAX_CERTIFICATE_FILES {
                return Err(anyhow!("more than {MAX_CERTIFICATE_FILES} files")).with_context(failed);
            }
            let path = entry.with_context(failed)?.path();
            if !path.is_dir() {
                check_file(&path).with_context(failed)?;
            }
        }
    }
    Ok(())
}

/// Rejects a file that cannot be read whole: a device, a FIFO, or one that is too large.
fn check_file(path: &Path) -> Result<()> {
    let shown = path.display();
    // The TLS library reports a file that does not exist.
    let Ok(metadata) = fs::metadata(path) else { return Ok(()) };
    if !metadata.is_file() {
        bail!("{shown}: expected a regular file");
    }
    if metadata.len() > MAX_CERTIFICATES {
        bail!("{shown} exceeds the limit of {MAX_CERTIFICATES} bytes");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_of_the_environment_are_regular_files_of_limited_size() {
        let dir = tempfile::tempdir().unwrap();
        let large = dir.path().join("large");
        fs::File::create(&large).unwrap().set_len(MAX_CERTIFICATES + 1).unwrap();
        let check = |name: &'static str, value: &Path| {
            let value = value.as_os_str().to_owned();
            check_certificates(move |asked| (asked == name).then(|| value.clone()))
                .map_err(|error| format!("{error:#}"))
        };
        assert_eq!(
            check("SSL_CERT_FILE", Path::new("/dev/zero")),
            Err("failed to read the certificates of SSL_CERT_FILE: /dev/zero: expected a regular file".into())
        );
        assert!(check("SSL_CERT_FILE", &large).unwrap_err().contains("exceeds the limit"));
        assert!(check("SSL_CERT_DIR", dir.path()).unwrap_err().contains("exceeds the limit"));
        fs::write(&large, "").unwrap();
        for name in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
            assert_eq!(check(name, &large), Ok(()));
            assert_eq!(check(name, &dir.path().join("missing")), Ok(()));
        }
    }
}
