//! `operator-sdk olm`.
//!
//! Source: `internal/olm/installer` of operator-sdk v1.42.

use anyhow::Result;

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::{Status, log, native};
use super::olm_release;
use super::seconds;

/// The native command of `olm status`.
pub(crate) const STATUS: NativeCommand = NativeCommand {
    has_same_output: false,
    ..NativeCommand::new(
        &["olm", "status"],
        &[("olm-namespace", Becomes::Omitted), ("timeout", Becomes::IfSet), ("version", Becomes::Omitted)],
    )
};

/// The native command of `olm uninstall`.
pub(crate) const UNINSTALL: NativeCommand = NativeCommand {
    added: &[("--force", &[])],
    ..NativeCommand::new(
        &["olm", "uninstall"],
        &[("olm-namespace", Becomes::Omitted), ("timeout", Becomes::IfSet), ("version", Becomes::Omitted)],
    )
};

/// Installs a release of OLM from local or downloaded manifests.
pub(crate) fn install(matches: &Matches) -> Result<Status> {
    let version = matches.text("version").trim_start_matches('v');
    let release = olm_release::Release::find(version, matches.duration("timeout"))?;
    let mut line = vec!["olm".to_owned(), "install".to_owned()];
    line.push(format!("--timeout={}", seconds(matches.duration("timeout"))));
    line.extend(release.files().map(|file| format!("--manifests={file}")));
    if version != "latest" {
        line.push(format!("--version={version}"));
    }
    let status = native(line.iter().map(String::as_str), [])?;
    if status == Status::SUCCESS {
        log::info(&format!("Successfully installed OLM version {version:?}"));
    }
    Ok(status)
}

/// Shows whether OLM is running.
pub(crate) fn status(matches: &Matches) -> Result<Status> {
    let timeout = format!("--timeout={}", seconds(matches.duration("timeout")));
    native(["olm", "status", &timeout], [])
}

/// Removes OLM, whatever it has installed.
pub(crate) fn uninstall(matches: &Matches) -> Result<Status> {
    let timeout = format!("--timeout={}", seconds(matches.duration("timeout")));
    let status = native(["olm", "uninstall", "--force", &timeout], [])?;
    if status == Status::SUCCESS {
        log::info("Successfully uninstalled OLM");
    }
    Ok(status)
}
