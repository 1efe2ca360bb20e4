//! `opm serve`.
//!
//! If the index in `--cache-dir` cannot be used, the catalog is read instead, unless `--cache-enforce-integrity` is set. Caches that
//! opm itself wrote cannot be used, because they have another format.

use anyhow::{Context as _, Result};

use super::super::cobra::Matches;
use super::super::equivalent::same;
use super::super::native::{Becomes, NativeCommand};
use super::super::{Status, native};

/// The native command.
pub(crate) const NATIVE: NativeCommand = NativeCommand::new(
    &["serve"],
    &[
        ("cache-dir", Becomes::IfSet),
        ("cache-enforce-integrity", Becomes::WithValue),
        ("cache-only", Becomes::IfSet),
        ("debug", Becomes::Omitted),
        ("port", Becomes::Same),
        ("pprof-addr", Becomes::Omitted),
        ("pprof-capture-profiles", Becomes::Omitted),
        ("skip-tls", Becomes::Omitted),
        ("skip-tls-verify", Becomes::Omitted),
        ("termination-log", Becomes::Same),
        ("use-http", Becomes::Omitted),
    ],
);

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let mut arguments = vec!["serve".to_owned()];
    arguments.extend(same(matches).map(|(name, value)| format!("--{name}={value}")));
    let is_cache_only = matches.bool("cache-only");
    let mut scratch = None;
    let directory = match matches.some("cache-dir") {
        Some(directory) => Some(directory.to_owned()),
        // The cache is built in any case, which fails if the catalog cannot be served.
        None if is_cache_only => {
            let directory = tempfile::tempdir().context("failed to create a temporary directory")?;
            Some(scratch.insert(directory).path().display().to_string())
        }
        None => None,
    };
    arguments.extend(directory.map(|directory| format!("--cache-dir={directory}")));
    if is_cache_only {
        arguments.push("--cache-only".to_owned());
    }
    if matches.bool("cache-enforce-integrity") {
        arguments.push("--cache-enforce-integrity".to_owned());
    }
    native(arguments.iter().map(String::as_str), [matches.argument(0)])
}
