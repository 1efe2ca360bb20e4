//! The PROJECT file of a project, and the time at which a bundle is created.

use std::path::Path;

use anyhow::{Result, bail};

use super::files;
use kube_yaml::{Tree, Value};

/// The contents of a PROJECT file.
#[derive(Debug, Default)]
pub(crate) struct Project {
    pub(crate) name: Option<String>,
    pub(crate) layout: Option<String>,
}

impl Project {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        Ok(files::document(path)?.map(|(_, document)| Self::of(&document)).unwrap_or_default())
    }

    /// Reads the text of the file at `path`.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self> {
        Ok(files::parsed(path, text)?.map(|document| Self::of(&document)).unwrap_or_default())
    }

    fn of(document: &Tree) -> Self {
        let root = document.root();
        let text = |value: Value<'_>| value.as_str().map(str::to_owned);
        // Version 3 of the file lists the plugins, version 2 names one.
        let layout = root.get("layout").and_then(|layout| {
            let plugins: Vec<&str> = layout.items().filter_map(Value::as_str).collect();
            if plugins.is_empty() { text(layout) } else { Some(plugins.join(",")) }
        });
        Self { name: root.get("projectName").and_then(text), layout }
    }
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
