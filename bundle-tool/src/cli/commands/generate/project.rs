//! The PROJECT file of a project, and the time at which a bundle is created.

use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use olm_model::disk::file::read_in_project;
use olm_model::read::Unreadable;
use operator_scaffold::KubebuilderProject;

/// The maximum size of a PROJECT file in bytes.
const MAX_PROJECT: u64 = 1 << 20;

/// Reads a PROJECT file. Returns `None` if it does not exist.
pub(crate) fn read_project(path: &Path) -> Result<Option<KubebuilderProject>> {
    match read_in_project(path, MAX_PROJECT) {
        Err(Unreadable::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => {
            let bytes = bytes.with_context(|| format!("failed to read {}", path.display()))?;
            parse_project(path, &bytes).map(Some)
        }
    }
}

/// Parses the PROJECT file at `path`.
pub(crate) fn parse_project(path: &Path, bytes: &[u8]) -> Result<KubebuilderProject> {
    let text =
        std::str::from_utf8(bytes).with_context(|| format!("{} is not valid UTF-8", path.display()))?;
    KubebuilderProject::parse(text).map_err(|error| {
        let at = error.position;
        anyhow!("{}:{}:{}: {}", path.display(), at.line, at.column, error.message)
    })
}

/// Returns the time that `SOURCE_DATE_EPOCH` sets, in RFC 3339.
pub(crate) fn source_date_epoch() -> Result<Option<String>> {
    let Ok(value) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    if value.is_empty() {
        return Ok(None);
    }
    let time = value.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match time {
        Some(time) => Ok(Some(rfc3339(time))),
        None => bail!("invalid SOURCE_DATE_EPOCH `{}`: expected seconds since 1970", value.escape_debug()),
    }
}

pub(crate) fn rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
