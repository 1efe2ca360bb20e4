//! `operator-sdk run`, `cleanup` and `scorecard`: command lines of the native commands, with operator-sdk's defaults.
//!
//! Source: `internal/olm/operator` (`config.go`, `uninstall.go`) and `internal/cmd/operator-sdk/scorecard` of operator-sdk v1.42.

use anyhow::{Result, bail};

use super::super::cobra::Matches;
use super::super::equivalent::same;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::{INSECURE, is_insecure, is_on_this_machine};
use super::super::{Status, UsageError, log, native};
use super::seconds;
use olm_cluster::cleanup::Failure;

/// The default of `--index-image`, which stands for a catalog that contains only the bundle.
const NO_INDEX: &str = "quay.io/operator-framework/opm:latest";

/// What the flags that both commands of `run` have become.
const RUN: &[(&str, Becomes)] = &[
    ("ca-secret-name", Becomes::Same),
    ("decompression-image", Becomes::Omitted),
    ("image-pull-policy", Becomes::Omitted),
    ("kubeconfig", Becomes::Same),
    ("namespace", Becomes::Same),
    ("pull-secret-name", Becomes::Same),
    ("security-context-config", Becomes::Same),
    ("service-account", Becomes::Same),
    ("skip-tls", Becomes::Named("use-http")),
    ("skip-tls-verify", INSECURE),
    ("timeout", Becomes::IfSet),
    ("use-http", Becomes::IfSet),
];

/// The native command of `run bundle`.
pub(crate) const RUN_BUNDLE: NativeCommand = NativeCommand {
    reads_images: true,
    shared_flags: RUN,
    ..NativeCommand::new(
        &["run", "bundle"],
        &[("index-image", Becomes::OmittedIf(is_no_index)), ("install-mode", Becomes::Same)],
    )
};

/// The native command of `run bundle-upgrade`.
pub(crate) const RUN_UPGRADE: NativeCommand = NativeCommand {
    reads_images: true,
    shared_flags: RUN,
    ..NativeCommand::new(&["run", "bundle-upgrade"], &[])
};

/// The native command of `cleanup`, which deletes CRDs only on request. It never replaces the command in a project.
pub(crate) const CLEANUP: NativeCommand = NativeCommand {
    in_project: Some(|_| {
        Err(
            "`bundle-tool cleanup` fails if the package is not installed, and `operator-sdk cleanup` does not",
        )
    }),
    added: &[("--delete-crds", &["delete-all"])],
    ..NativeCommand::new(
        &["cleanup"],
        &[
            ("delete-all", Becomes::Bool("--delete-crds", "--delete-operator-groups=false")),
            ("delete-crds", Becomes::Bool("--delete-crds", "")),
            ("delete-operator-groups", Becomes::Bool("", "--delete-operator-groups=false")),
            ("kubeconfig", Becomes::Same),
            ("namespace", Becomes::Same),
            ("service-account", Becomes::Omitted),
            ("timeout", Becomes::IfSet),
        ],
    )
};

/// The native command of `scorecard`.
pub(crate) const SCORECARD: NativeCommand = NativeCommand {
    reads_images: true,
    ..NativeCommand::new(
        &["scorecard"],
        &[
            ("config", Becomes::Named("scorecard-config")),
            ("kubeconfig", Becomes::Same),
            ("list", Becomes::IfSet),
            ("namespace", Becomes::Same),
            ("output", Becomes::Same),
            ("pod-security", Becomes::Same),
            ("selector", Becomes::Same),
            ("service-account", Becomes::IfSet),
            ("skip-cleanup", Becomes::Bool("--no-cleanup", "")),
            ("storage-image", Becomes::Same),
            ("test-output", Becomes::IfSet),
            ("untar-image", Becomes::Omitted),
            ("wait-time", Becomes::IfSet),
        ],
    )
};

/// Returns whether an index image stands for a catalog that contains only the bundle. Older projects pin an image of opm, which
/// contains no catalog.
fn is_no_index(image: &str) -> bool {
    let is_opm = image.rsplit('/').next().is_some_and(|name| name.split([':', '@']).next() == Some("opm"));
    image.is_empty() || image == NO_INDEX || is_opm
}

/// A native command line that is being built.
struct Line {
    words: Vec<String>,
    values: Vec<String>,
}

impl Line {
    fn new(command: &[&str], arguments: &[String]) -> Self {
        Self { words: command.iter().map(|word| (*word).to_owned()).collect(), values: arguments.to_vec() }
    }

    fn flag(&mut self, name: &str) {
        self.words.push(format!("--{name}"));
    }

    /// Adds a flag with a value, unless that is empty.
    fn push_flag(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.words.push(format!("--{name}={value}"));
        }
    }

    /// Adds the flags that have the same names and meanings in the native command.
    fn same(&mut self, matches: &Matches) {
        for (name, value) in same(matches) {
            self.push_flag(name, value);
        }
    }

    fn run(&self) -> Result<Status> {
        native(self.words.iter().map(String::as_str), self.values.iter().map(String::as_str))
    }
}

/// `run bundle` and `run bundle-upgrade`.
pub(crate) fn run_bundle(matches: &Matches) -> Result<Status> {
    let command = matches.command.name;
    let mut line = Line::new(&["run", command], &matches.arguments);
    let security = matches.text("security-context-config");
    if !matches!(security, "legacy" | "restricted") {
        bail!(UsageError(format!(
            "invalid argument {security:?} for \"--security-context-config\" flag: must be `legacy` or `restricted`"
        )));
    }
    line.same(matches);
    line.push_flag("timeout", &seconds(matches.duration("timeout")));
    let index = matches.text("index-image");
    if !is_no_index(index) {
        line.push_flag("index-image", index);
    }
    if is_insecure(matches)? || is_on_this_machine(matches.argument(0)) {
        line.flag("insecure");
    }
    for (name, reason) in [
        ("image-pull-policy", "the pod of the catalog uses the default pull policy of Kubernetes"),
        ("decompression-image", "the catalog is not compressed"),
    ] {
        if matches.is_set(name) {
            log::info(&format!("--{name} has no effect, because {reason}"));
        }
    }
    line.run()
}

/// `cleanup`, which deletes CRDs and operator groups by default.
pub(crate) fn cleanup(matches: &Matches) -> Result<Status> {
    let mut line = Line::new(&["cleanup"], &matches.arguments);
    line.same(matches);
    line.push_flag("timeout", &seconds(matches.duration("timeout")));
    let deletes_all = matches.bool("delete-all");
    if deletes_all || matches.bool("delete-crds") {
        line.flag("delete-crds");
    }
    let groups = deletes_all || matches.bool("delete-operator-groups");
    line.push_flag("delete-operator-groups", if groups { "true" } else { "false" });
    let package = matches.argument(0);
    match line.run() {
        // As in operator-sdk, a package that is not installed is not an error.
        Err(error) if matches!(error.downcast_ref(), Some(Failure::NotFound { .. })) => {
            log::warn(&format!("Cleanup operator: package {package:?} not found\n"));
            Ok(Status::SUCCESS)
        }
        Ok(Status::SUCCESS) => {
            log::info(&format!("Operator {package:?} uninstalled\n"));
            Ok(Status::SUCCESS)
        }
        result => result,
    }
}

/// `scorecard`.
pub(crate) fn scorecard(matches: &Matches) -> Result<Status> {
    if matches.arguments.len() != 1 {
        bail!(UsageError("a bundle image or directory argument is required".to_owned()));
    }
    let output = matches.text("output");
    if !matches!(output, "text" | "json" | "xunit") {
        bail!("invalid output format selected: {output:?}");
    }
    let mut line = Line::new(&["scorecard"], &matches.arguments);
    line.same(matches);
    line.push_flag("scorecard-config", matches.text("config"));
    // If the flag is not set, the service account in the configuration takes precedence over the default of the flag.
    if matches.is_set("service-account") {
        line.push_flag("service-account", matches.text("service-account"));
    }
    if matches.some("storage-image").is_some() {
        line.push_flag("test-output", matches.text("test-output"));
    }
    for (name, own) in [("list", "list"), ("skip-cleanup", "no-cleanup")] {
        if matches.bool(name) {
            line.flag(own);
        }
    }
    line.push_flag("wait-time", &seconds(matches.duration("wait-time")));
    if is_on_this_machine(matches.argument(0)) {
        line.flag("insecure");
    }
    line.run()
}
