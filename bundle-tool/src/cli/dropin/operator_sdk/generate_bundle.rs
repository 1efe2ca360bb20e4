//! `operator-sdk generate bundle`.
//!
//! Source: `internal/cmd/operator-sdk/generate/bundle` of operator-sdk v1.42.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Result, bail};

use super::super::cobra::Matches;
use super::super::equivalent::same;
use super::super::native::{Becomes, NativeCommand};
use super::super::{Status, UsageError, log};
use super::{sdk_version, supported_project};
use crate::cli::commands::generate::{OperatorSdk, bundle_as_operator_sdk};
use crate::terminal::set_verbosity;
use olm_model::disk::file::normalized;
use olm_model::version;
use olm_report::text::Verbosity;

/// The default output directory.
const DIRECTORY: &str = "bundle";

/// The native command.
pub(crate) const NATIVE: NativeCommand = NativeCommand::new(
    &["generate", "bundle"],
    &[
        ("channels", Becomes::Same),
        ("crds-dir", Becomes::Same),
        ("default-channel", Becomes::Same),
        ("deploy-dir", Becomes::Same),
        ("extra-service-accounts", Becomes::IfSet),
        ("input-dir", Becomes::Same),
        ("kustomize-dir", Becomes::Same),
        ("manifests", Becomes::IfSet),
        ("metadata", Becomes::IfSet),
        ("output-dir", Becomes::Same),
        ("overwrite", Becomes::WithValue),
        ("package", Becomes::Same),
        ("quiet", Becomes::IfSet),
        ("stdout", Becomes::IfSet),
        ("use-image-digests", Becomes::IfSet),
        ("version", Becomes::Same),
    ],
);

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    if !matches.arguments.is_empty() {
        bail!(UsageError(format!("command {} doesn't accept any arguments", matches.path)));
    }
    let is_quiet = matches.bool("quiet") || matches.bool("stdout");
    let print =
        |text: &str| -> io::Result<()> { if is_quiet { Ok(()) } else { writeln!(io::stdout(), "{text}") } };
    let (manifests, metadata) = if matches.is_set("manifests") || matches.is_set("metadata") {
        (matches.bool("manifests"), matches.bool("metadata"))
    } else {
        match matches.some("version") {
            Some(version) => print(&format!("Generating bundle version {version}"))?,
            None => print("Generating bundle")?,
        }
        (true, true)
    };
    check(matches)?;
    let mut line = Vec::new();
    for (name, value) in same(matches) {
        let is_used = match name {
            "crds-dir" => matches.some("deploy-dir").is_some(),
            "output-dir" => !matches.bool("stdout"),
            _ => true,
        };
        if is_used {
            line.push(format!("--{name}={value}"));
        }
    }
    let accounts = matches.list("extra-service-accounts");
    if !accounts.is_empty() {
        line.push(format!("--extra-service-accounts={}", accounts.join(",")));
    }
    line.push(format!("--overwrite={}", matches.bool("overwrite")));
    for (name, is_set) in
        [("manifests", manifests), ("metadata", metadata), ("stdout", matches.bool("stdout"))]
    {
        if is_set {
            line.push(format!("--{name}"));
        }
    }
    if matches.bool("use-image-digests") {
        // Tags are resolved again, because a tag may have moved. Registries on this machine are reached without TLS.
        line.extend(["--use-image-digests", "--update-image-digests", "--plain-http"].map(str::to_owned));
    }
    // What was done is printed in operator-sdk's words.
    set_verbosity(Verbosity::Quiet);
    let directory = matches.some("output-dir").unwrap_or(DIRECTORY);
    if manifests {
        print("Generating bundle manifests")?;
        if matches.bool("use-image-digests") {
            print("pinning image versions to digests instead of tags")?;
        }
    }
    let sdk =
        OperatorSdk { builder: format!("operator-sdk-{}", sdk_version()?), is_quiet: matches.bool("quiet") };
    let bundle = bundle_as_operator_sdk(line, sdk)?;
    if manifests {
        if !bundle.has_base {
            print("Building a ClusterServiceVersion without an existing base")?;
        }
        print(&format!("Bundle manifests generated successfully in {directory}"))?;
    }
    if metadata {
        print("Generating bundle metadata")?;
    }
    if bundle.wrote_metadata {
        log::info("Creating bundle.Dockerfile");
        log::info(&format!(
            "Creating {}",
            normalized(&Path::new(directory).join("metadata/annotations.yaml")).display()
        ));
        log::info("Bundle metadata generated successfully");
    }
    Ok(Status::SUCCESS)
}

/// Checks the flags.
fn check(matches: &Matches) -> Result<()> {
    let project = supported_project()?;
    if matches.some("package").is_none() && !Path::new("Cargo.toml").exists() {
        let missing = |reason: &str| UsageError(format!("--package <name> must be set if {reason}"));
        match project {
            None => bail!(missing("PROJECT config file is not present")),
            Some(project) if project.name.is_none() => {
                bail!(missing("\"projectName\" is not set in the PROJECT config file"))
            }
            Some(_) => {}
        }
    }
    let invalid = |message: String| UsageError(format!("invalid command options: {message}"));
    if let Some(text) = matches.some("version")
        && let Err(error) = version::strict(text)
    {
        bail!(invalid(format!("{text} is not a valid semantic version: {error}")));
    }
    let is_legacy = matches.some("deploy-dir").is_some() || matches.some("crds-dir").is_some();
    if matches.some("input-dir").is_some() && is_legacy {
        bail!(invalid(
            "only one of --input-dir or --deploy-dir (and optionally --crds-dir) may be set if not reading from stdin"
                .to_owned()
        ));
    }
    if matches.bool("stdout") && matches.some("output-dir").is_some() {
        bail!(invalid("--output-dir cannot be set if writing to stdout".to_owned()));
    }
    Ok(())
}
