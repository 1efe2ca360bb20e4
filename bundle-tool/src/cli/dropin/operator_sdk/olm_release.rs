//! The manifests of a release of OLM: from a directory that an environment variable names, or downloaded from the release.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use futures::StreamExt as _;

use super::super::{log, variable};
use crate::cli::runtime::runtime;

/// The environment variable with a directory, or with a URL that replaces [`RELEASES`].
const VARIABLE: &str = "BUNDLE_TOOL_OLM_RELEASES";
/// The URL of the releases.
const RELEASES: &str = "https://github.com/operator-framework/operator-lifecycle-manager/releases";
/// The files of a release, in the order in which they are applied.
const FILES: [&str; 2] = ["crds.yaml", "olm.yaml"];
/// The maximum size of a file in bytes. The CRDs of OLM 0.46 are 650 KB.
const MAX_FILE: usize = 16 << 20;

/// The files of a release.
pub(crate) struct Release {
    directory: PathBuf,
    /// The temporary directory of downloaded files, which is removed on drop.
    _downloaded: Option<tempfile::TempDir>,
}

impl Release {
    /// Finds the files of a version such as `0.28.0`, or of the latest one.
    pub(crate) fn find(version: &str, timeout: Duration) -> Result<Self> {
        if version.is_empty()
            || !version.chars().all(|char| char.is_ascii_alphanumeric() || "-+.".contains(char))
        {
            bail!(
                "invalid OLM version `{}`: expected a version such as `0.32.0`, or `latest`",
                version.escape_debug()
            );
        }
        let place = variable(VARIABLE)?.unwrap_or_else(|| RELEASES.to_owned());
        if !place.contains("://") {
            return Self::in_directory(Path::new(&place), version);
        }
        let url = |file: &str| match version {
            "latest" => format!("{place}/latest/download/{file}"),
            version => format!("{place}/download/v{version}/{file}"),
        };
        let scratch = tempfile::tempdir().context("failed to create a temporary directory")?;
        runtime()?.block_on(async {
            for file in FILES {
                let url = url(file);
                log::info(&format!("Downloading {url}"));
                let bytes = download(&url, timeout).await.with_context(|| {
                    format!(
                        "failed to download {url}; set {VARIABLE} to a directory that contains {}, or to the URL of a mirror",
                        FILES.join(" and ")
                    )
                })?;
                std::fs::write(scratch.path().join(file), bytes)
                    .context("failed to write a temporary file")?;
            }
            anyhow::Ok(())
        })?;
        Ok(Self { directory: scratch.path().to_owned(), _downloaded: Some(scratch) })
    }

    /// Returns the files in a directory, or in one below it with the name of the version.
    fn in_directory(directory: &Path, version: &str) -> Result<Self> {
        let candidates =
            [directory.join(format!("v{version}")), directory.join(version), directory.to_owned()];
        let has_files = |path: &PathBuf| FILES.iter().all(|file| path.join(file).is_file());
        match candidates.into_iter().find(has_files) {
            Some(directory) => Ok(Self { directory, _downloaded: None }),
            None => bail!(
                "{VARIABLE} is set to {}, which does not contain {}",
                directory.display(),
                FILES.join(" and ")
            ),
        }
    }

    /// Returns the paths of the files.
    pub(crate) fn files(&self) -> impl Iterator<Item = String> {
        FILES.iter().map(|file| self.directory.join(file).display().to_string())
    }
}

/// Downloads a file.
async fn download(url: &str, timeout: Duration) -> Result<Vec<u8>> {
    // This fails if another client has already installed a provider, which then serves this client, too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let user_agent = concat!("bundle-tool/", env!("CARGO_PKG_VERSION"));
    let client = reqwest::Client::builder().user_agent(user_agent).timeout(timeout).build()?;
    let response = client.get(url).send().await?.error_for_status()?;
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > MAX_FILE {
            bail!("the file exceeds {MAX_FILE} bytes");
        }
    }
    Ok(bytes)
}
