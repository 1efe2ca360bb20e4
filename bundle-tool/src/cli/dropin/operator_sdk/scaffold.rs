//! `operator-sdk init`, `create` and `edit`: for operators in Rust.

use std::path::Path;

use anyhow::{Result, bail};

use super::super::cobra::Matches;
use super::super::{Status, native};
use crate::cli::commands::generate::read_project;

/// Says that only operators in Rust are scaffolded.
pub(crate) fn only_rust(path: &str) -> String {
    format!(
        "`{path}` scaffolds only operators in Rust; for Go, use kubebuilder with the same arguments; to package an operator in \
         any language, use `bundle-tool init --from .`"
    )
}

/// Rejects plugins for other languages.
fn check(matches: &Matches, is_new: bool) -> Result<()> {
    let project = if is_new { None } else { read_project(Path::new("PROJECT"))? };
    let existing = project.iter().flat_map(|project| &project.plugins);
    for plugin in matches.list("plugins").iter().chain(existing) {
        let name = plugin.split('/').next().unwrap_or_default();
        let replacement = match name.split('.').next().unwrap_or_default() {
            "helm" => "`bundle-tool init --from CHART`, which packages a Helm chart",
            "ansible" => {
                "the ansible-operator-plugins project, and `bundle-tool init --from .` to package the operator"
            }
            "go" | "base" | "kustomize" | "deploy-image" | "grafana"
                if name.contains("kubebuilder") || name == "go" =>
            {
                "kubebuilder with the same arguments, and `bundle-tool init --from .` to package the operator"
            }
            _ => continue,
        };
        bail!(
            "{} with the plugin `{plugin}` is not supported, because only operators in Rust are scaffolded; use {replacement}",
            matches.path
        );
    }
    Ok(())
}

/// Runs a native command with the strings `texts` and the booleans `bools` that the command line sets.
fn run(command: &[&str], matches: &Matches, texts: &[&str], bools: &[&str]) -> Result<Status> {
    let mut line: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    for name in texts {
        if let Some(value) = matches.some(name) {
            line.push(format!("--{name}={value}"));
        }
    }
    for name in bools {
        if matches.is_set(name) {
            line.push(format!("--{name}={}", matches.bool(name)));
        }
    }
    native(line.iter().map(String::as_str), [])
}

/// `init`.
pub(crate) fn init(matches: &Matches) -> Result<Status> {
    check(matches, true)?;
    let mut command = vec!["init"];
    if matches.bool("skip-go-version-check") {
        command.push("--skip-cargo-version-check");
    }
    run(&command, matches, &["domain", "license", "owner", "project-name", "project-version", "repo"], &[])
}

/// `create api`.
pub(crate) fn create_api(matches: &Matches) -> Result<Status> {
    check(matches, false)?;
    reject_external(matches)?;
    let mut command = vec!["create", "api"];
    if matches.bool("force") {
        command.push("--force");
    }
    let texts = [
        "group",
        "version",
        "kind",
        "plural",
        "image",
        "image-container-command",
        "image-container-port",
        "run-as-user",
    ];
    run(&command, matches, &texts, &["resource", "controller", "namespaced"])
}

/// `create webhook`.
pub(crate) fn create_webhook(matches: &Matches) -> Result<Status> {
    check(matches, false)?;
    reject_external(matches)?;
    let mut command = vec!["create", "webhook"];
    for (name, flag) in [
        ("conversion", "--conversion"),
        ("defaulting", "--defaulting"),
        ("programmatic-validation", "--programmatic-validation"),
        ("force", "--force"),
    ] {
        if matches.bool(name) {
            command.push(flag);
        }
    }
    run(&command, matches, &["group", "version", "kind"], &[])
}

/// `edit`.
pub(crate) fn edit(matches: &Matches) -> Result<Status> {
    check(matches, false)?;
    let command = if matches.bool("multigroup") { vec!["edit", "--multigroup"] } else { vec!["edit"] };
    run(&command, matches, &[], &[])
}

/// Rejects APIs of other projects, which are Go modules.
fn reject_external(matches: &Matches) -> Result<()> {
    if matches.some("external-api-path").is_some() || matches.some("external-api-domain").is_some() {
        bail!(
            "external APIs from Go modules (--external-api-path) are not supported; use a crate with the types for kube-rs"
        );
    }
    Ok(())
}
