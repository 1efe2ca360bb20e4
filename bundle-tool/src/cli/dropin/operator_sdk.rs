//! `operator-sdk`: its command tree, with an adapter for each command.
//!
//! Source: `internal/cmd/operator-sdk` of operator-sdk v1.42; `pkg/cli` of kubebuilder v4.

mod bundle_validate;
mod cluster;
mod generate_bundle;
mod golang;
mod kustomize;
mod olm;
mod olm_release;
mod replaced;
mod scaffold;

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Result, bail};
use operator_scaffold::KubebuilderProject;

use super::cobra::{Arity, Command, Flag, Matches};
use super::equivalent::unsupported;
use super::native::NativeCommand;
use super::{Status, variable};
use crate::cli::commands::generate::read_project;

/// The version of operator-sdk that the adapters reproduce.
const VERSION: &str = "v1.42.3";

/// The versions of PROJECT files that are read.
const PROJECT_VERSIONS: [&str; 2] = ["2", "3"];

const PLUGINS: Flag = Flag::list("plugins", "Plugin keys, separated by commas");
const PROJECT_VERSION: Flag = Flag::text("project-version", "3", "Version of the PROJECT file");
const QUIET: Flag = Flag::bool("quiet", "Print warnings and errors only").short('q');
const KUBECONFIG: Flag = Flag::text("kubeconfig", "", "Kubeconfig file");
const NAMESPACE: Flag = Flag::text("namespace", "", "Namespace of the operator").short('n');
const TIMEOUT: Flag = Flag::duration("timeout", "2m0s", "Maximum time for the command");

pub(crate) const ROOT: Command = Command {
    persistent: &[PLUGINS, Flag::bool("verbose", "Print debug messages")],
    flags: &[PROJECT_VERSION],
    ..Command::group(
        "operator-sdk",
        "Package operators for OLM and run them on a cluster",
        &[
            Command::group(
                "alpha",
                "Run an alpha command",
                &[
                    Command::leaf(
                        "config-3alpha-to-3",
                        "",
                        "Convert a PROJECT file of version 3-alpha",
                        Arity::Any,
                        &[],
                        unsupported,
                    )
                    .unsupported(replaced::config),
                    Command::leaf(
                        "generate",
                        "",
                        "Scaffold a project again from its PROJECT file",
                        Arity::Any,
                        &[
                            PLUGINS,
                            PROJECT_VERSION,
                            Flag::text("input-dir", "", "Project"),
                            Flag::text("output-dir", "", "New project"),
                        ],
                        unsupported,
                    )
                    .unsupported(replaced::alpha_generate),
                ],
            ),
            Command::group("bundle", "Work with bundles", &[BUNDLE_VALIDATE]),
            CLEANUP,
            super::completion_command(|matches| super::completion(&ROOT, matches)),
            Command::group("create", "Add APIs and webhooks to a project", &[CREATE_API, CREATE_WEBHOOK]),
            Command::leaf(
                "edit",
                "",
                "Change the settings of a project",
                Arity::Any,
                &[Flag::bool("multigroup", "Let the project have several API groups")],
                scaffold::edit,
            )
            .unsupported(scaffold::only_rust),
            Command::group(
                "generate",
                "Generate bundles and manifests",
                &[
                    GENERATE_BUNDLE,
                    Command::group("kustomize", "Generate kustomize files", &[KUSTOMIZE_MANIFESTS]),
                    GENERATE_PACKAGE_MANIFESTS,
                ],
            ),
            INIT,
            OLM,
            Command::leaf(
                "pkgman-to-bundle",
                "<packagemanifestdir>",
                "Convert package manifests to bundles",
                Arity::Any,
                &[
                    Flag::text("build-cmd", "", "Command that builds the images"),
                    Flag::text("image-tag-base", "", "Name of the images"),
                    Flag::text("output-dir", "bundles", "Output directory"),
                ],
                unsupported,
            )
            .unsupported(replaced::package_manifests),
            Command::group(
                "run",
                "Run an operator on a cluster with OLM",
                &[RUN_BUNDLE, RUN_UPGRADE, RUN_PACKAGE_MANIFESTS],
            ),
            SCORECARD,
            Command::leaf("version", "", "Print the version of operator-sdk", Arity::Any, &[], version)
                .native(VERSION_COMMAND),
        ],
    )
};

const BUNDLE_VALIDATE: Command = Command::leaf(
    "validate",
    "BUNDLE",
    "Validate a bundle directory or image",
    Arity::Any,
    &[
        Flag::text("image-builder", "docker", "Not used, because images are read without a container tool")
            .short('b'),
        Flag::text("select-optional", "", "Label selector of optional validators"),
        Flag::bool("list-optional", "List the optional validators"),
        Flag::map("optional-values", "Values for validators, such as k8s-version=1.30"),
        Flag::text("output", "text", "Output format: text or json-alpha1").short('o'),
        Flag::text(
            "alpha-select-external",
            "",
            "Additional validators to run, as paths of programs separated by colons",
        ),
    ],
    bundle_validate::run,
)
.native(bundle_validate::NATIVE);

const GENERATE_BUNDLE: Command = Command::leaf(
    "bundle",
    "",
    "Generate a bundle",
    Arity::Any,
    &[
        Flag::bool("manifests", "Generate manifests"),
        Flag::bool("metadata", "Generate metadata and Dockerfile"),
        Flag::text("version", "", "Version of the operator").short('v'),
        Flag::text("input-dir", "", "Directory of the manifests"),
        Flag::text("output-dir", "", "Output directory"),
        Flag::text("deploy-dir", "", "Directory of the manifests"),
        Flag::text("crds-dir", "", "Directory of the CRDs"),
        Flag::text("kustomize-dir", "config/manifests", "Directory with the base CSV in bases/"),
        Flag::text("channels", "alpha", "Channels of the bundle, separated by commas"),
        Flag::text("default-channel", "", "Default channel of the package"),
        Flag::list("extra-service-accounts", "Further service accounts whose roles become permissions"),
        Flag::bool("overwrite", "Overwrite existing metadata and Dockerfile").default("true"),
        QUIET,
        Flag::bool("stdout", "Print the manifests"),
        Flag::text("package", "", "Name of the package"),
        Flag::bool("use-image-digests", "Replace tags with digests"),
    ],
    generate_bundle::run,
)
.native(generate_bundle::NATIVE);

const KUSTOMIZE_MANIFESTS: Command = Command::leaf(
    "manifests",
    "",
    "Generate the base CSV and a kustomization",
    Arity::Any,
    &[
        Flag::text("apis-dir", "", "Directory of the Go API types"),
        Flag::text("input-dir", "", "Directory with the base CSV"),
        Flag::bool("interactive", "Prompt for missing values"),
        Flag::text("output-dir", "", "Output directory"),
        Flag::text("package", "", "Name of the package"),
        QUIET,
    ],
    kustomize::run,
)
.native(kustomize::NATIVE);

const GENERATE_PACKAGE_MANIFESTS: Command = Command {
    is_hidden: true,
    ..Command::leaf(
        "packagemanifests",
        "",
        "Generate package manifests",
        Arity::Any,
        &[
            Flag::text("version", "", "Version of the operator").short('v'),
            Flag::text("from-version", "", "Version to upgrade from"),
            Flag::text("input-dir", "", "Directory of package manifests"),
            Flag::text("output-dir", "", "Output directory"),
            Flag::text("kustomize-dir", "config/manifests", "Directory with the base CSV"),
            Flag::text("deploy-dir", "", "Directory of the manifests"),
            Flag::text("crds-dir", "", "Directory of the CRDs"),
            Flag::text("channel", "", "Channel of the version"),
            Flag::bool("default-channel", "Make --channel the default channel"),
            Flag::bool("update-objects", "Update the other objects").default("true"),
            Flag::list("extra-service-accounts", "Further service accounts"),
            QUIET,
            Flag::bool("stdout", "Print the manifests"),
            Flag::text("package", "", "Name of the package"),
        ],
        unsupported,
    )
    .unsupported(replaced::generate_package_manifests)
};

// Flags of both commands that install bundles.
const CA_SECRET: Flag =
    Flag::text("ca-secret-name", "", "Secret with a certificate authority of the registry");
const DECOMPRESSION_IMAGE: Flag =
    Flag::text("decompression-image", "", "Accepted for compatibility; no image unpacks the catalog");
const PULL_POLICY: Flag = Flag::text("image-pull-policy", "Always", "Pull policy of the catalog's pod");
const PULL_SECRET: Flag = Flag::text("pull-secret-name", "", "Secret for pulling images");
const SECURITY_CONTEXT: Flag = Flag::text(
    "security-context-config",
    "legacy",
    "Security context of the catalog's pod: legacy or restricted",
);
const SERVICE_ACCOUNT: Flag = Flag::text("service-account", "", "Service account of the catalog's pod");
const SKIP_TLS: Flag =
    Flag::bool("skip-tls", "Use plain HTTP").deprecated("use --use-http and --skip-tls-verify instead");
const SKIP_TLS_VERIFY: Flag = Flag::bool("skip-tls-verify", "Do not verify the certificates of registries");
const USE_HTTP: Flag = Flag::bool("use-http", "Use plain HTTP for registries");

const RUN_BUNDLE: Command = Command::leaf(
    "bundle",
    "<bundle-image>",
    "Install a bundle image with OLM",
    Arity::Exactly(1),
    &[
        CA_SECRET,
        DECOMPRESSION_IMAGE,
        PULL_POLICY,
        Flag::text(
            "index-image",
            "quay.io/operator-framework/opm:latest",
            "Index image that the bundle is added to",
        ),
        Flag::text("install-mode", "", "Namespaces that the operator watches"),
        KUBECONFIG,
        NAMESPACE,
        PULL_SECRET,
        SECURITY_CONTEXT,
        SERVICE_ACCOUNT,
        SKIP_TLS,
        SKIP_TLS_VERIFY,
        TIMEOUT,
        USE_HTTP,
    ],
    cluster::run_bundle,
)
.native(cluster::RUN_BUNDLE);

const RUN_UPGRADE: Command = Command::leaf(
    "bundle-upgrade",
    "<bundle-image>",
    "Upgrade an operator to a bundle image",
    Arity::Exactly(1),
    &[
        CA_SECRET,
        DECOMPRESSION_IMAGE,
        PULL_POLICY,
        KUBECONFIG,
        NAMESPACE,
        PULL_SECRET,
        SECURITY_CONTEXT,
        SERVICE_ACCOUNT,
        SKIP_TLS,
        SKIP_TLS_VERIFY,
        TIMEOUT,
        USE_HTTP,
    ],
    cluster::run_bundle,
)
.native(cluster::RUN_UPGRADE);

const RUN_PACKAGE_MANIFESTS: Command = Command {
    is_hidden: true,
    ..Command::leaf(
        "packagemanifests",
        "[packagemanifests-root-dir]",
        "Install package manifests",
        Arity::Any,
        &[
            Flag::text("version", "", "Version to install"),
            Flag::text("install-mode", "", "Namespaces that the operator watches"),
            KUBECONFIG,
            NAMESPACE,
            TIMEOUT,
            Flag::text("service-account", "", "Service account"),
        ],
        unsupported,
    )
    .unsupported(replaced::package_manifests)
};

const CLEANUP: Command = Command::leaf(
    "cleanup",
    "<operatorPackageName>",
    "Remove an operator",
    Arity::Exactly(1),
    &[
        Flag::bool("delete-all", "Same as --delete-crds and --delete-operator-groups").default("true"),
        Flag::bool("delete-crds", "Delete the CRDs and all of their objects"),
        Flag::bool("delete-operator-groups", "Delete the operator group"),
        KUBECONFIG,
        NAMESPACE,
        Flag::text("service-account", "", "Service account").hidden(),
        TIMEOUT,
    ],
    cluster::cleanup,
)
.native(cluster::CLEANUP);

const SCORECARD: Command = Command::leaf(
    "scorecard",
    "BUNDLE",
    "Run the scorecard on a bundle",
    Arity::Any,
    &[
        KUBECONFIG,
        Flag::text("selector", "", "Label selector of the tests").short('l'),
        Flag::text("config", "", "Configuration file").short('c'),
        Flag::text("namespace", "", "Namespace of the pods that run tests").short('n'),
        Flag::text("output", "text", "Output format: text, json or xunit").short('o'),
        Flag::text("pod-security", "legacy", "Security context of the pods: legacy or restricted"),
        Flag::text("service-account", "default", "Service account of the pods").short('s'),
        Flag::bool("list", "List the tests").short('L'),
        Flag::bool("skip-cleanup", "Keep the pods").short('x'),
        Flag::duration("wait-time", "30s", "Maximum time for all tests").short('w'),
        Flag::text("storage-image", "", "Image that gathers the output of tests").short('b'),
        Flag::text("untar-image", "", "Accepted for compatibility; no image unpacks the bundle").short('u'),
        Flag::text("test-output", "test-output", "Output directory of the tests").short('t'),
    ],
    cluster::scorecard,
)
.native(cluster::SCORECARD);

const OLM: Command = Command::group(
    "olm",
    "Work with OLM itself",
    &[
        Command::leaf(
            "install",
            "",
            "Install OLM",
            Arity::Any,
            &[Flag::text("version", "0.28.0", "Version of OLM"), TIMEOUT],
            olm::install,
        )
        .without_native(
            "`bundle-tool olm install` downloads nothing; pass `--manifests crds.yaml --manifests olm.yaml`",
        ),
        Command::leaf(
            "status",
            "",
            "Show whether OLM is running",
            Arity::Any,
            &[
                Flag::text("version", "", "Version of OLM"),
                Flag::text("olm-namespace", "olm", "Namespace of OLM (detected automatically)"),
                TIMEOUT,
            ],
            olm::status,
        )
        .native(olm::STATUS),
        Command::leaf(
            "uninstall",
            "",
            "Remove OLM",
            Arity::Any,
            &[
                Flag::text("version", "", "Version of OLM"),
                Flag::text("olm-namespace", "olm", "Namespace of OLM (detected automatically)"),
                TIMEOUT,
            ],
            olm::uninstall,
        )
        .native(olm::UNINSTALL),
    ],
);

const INIT: Command = Command::leaf(
    "init",
    "",
    "Create a project for an operator in Rust",
    Arity::Any,
    &[
        Flag::text("domain", "my.domain", "Domain of the API groups"),
        Flag::bool("fetch-deps", "Accepted for compatibility; cargo downloads dependencies when it builds")
            .default("true"),
        Flag::text("license", "apache2", "License of the source code"),
        Flag::text("owner", "", "Owner of the copyright"),
        Flag::text("project-name", "", "Name of the project"),
        PROJECT_VERSION,
        Flag::text("repo", "", "Address of the source code"),
        Flag::bool("skip-go-version-check", "Do not check the version of cargo"),
        Flag::bool("component-config", "Not used").hidden(),
        // Flags of the plugins for Helm and Ansible.
        Flag::text("group", "", "Group of the first API").hidden(),
        Flag::text("version", "", "Version of the first API").hidden(),
        Flag::text("kind", "", "Kind of the first API").hidden(),
        Flag::text("crd-version", "", "Version of CRDs").hidden(),
        Flag::text("helm-chart", "", "Helm chart").hidden(),
        Flag::text("helm-chart-repo", "", "Repository of the Helm chart").hidden(),
        Flag::text("helm-chart-version", "", "Version of the Helm chart").hidden(),
        Flag::bool("generate-playbook", "Generate an Ansible playbook").hidden(),
        Flag::bool("generate-role", "Generate an Ansible role").hidden(),
    ],
    scaffold::init,
)
.unsupported(scaffold::only_rust);

const CREATE_API: Command = Command::leaf(
    "api",
    "",
    "Add a kind to a project",
    Arity::Any,
    &[
        Flag::bool("controller", "Create the controller").default("true"),
        Flag::text("external-api-domain", "", "Domain of an API of another project"),
        Flag::text("external-api-path", "", "Go module of an API of another project"),
        Flag::bool("force", "Overwrite existing files"),
        Flag::text("group", "", "Group, without the domain"),
        Flag::text("kind", "", "Kind"),
        Flag::bool("make", "Accepted for compatibility; run `make generate` yourself").default("true"),
        Flag::bool("namespaced", "Make the kind namespaced").default("true"),
        Flag::text("plural", "", "Plural of the kind"),
        Flag::bool("resource", "Create the types").default("true"),
        Flag::text("version", "", "Version, such as v1alpha1"),
        Flag::text("image", "", "Image that the controller runs").hidden(),
        Flag::text("image-container-command", "", "Command of the container").hidden(),
        Flag::text("image-container-port", "", "Port of the container").hidden(),
        Flag::text("run-as-user", "", "User of the container").hidden(),
    ],
    scaffold::create_api,
)
.unsupported(scaffold::only_rust);

const CREATE_WEBHOOK: Command = Command::leaf(
    "webhook",
    "",
    "Add a webhook to a project",
    Arity::Any,
    &[
        Flag::bool("conversion", "Create a conversion webhook"),
        Flag::bool("defaulting", "Create a defaulting webhook"),
        Flag::text("external-api-domain", "", "Domain of an API of another project"),
        Flag::text("external-api-path", "", "Go module of an API of another project"),
        Flag::bool("force", "Overwrite existing files"),
        Flag::text("group", "", "Group, without the domain"),
        Flag::text("kind", "", "Kind"),
        Flag::bool("legacy", "Use the directory layout of earlier versions"),
        Flag::bool("make", "Accepted for compatibility; run `make generate` yourself").default("true"),
        Flag::text("plural", "", "Plural of the kind"),
        Flag::bool("programmatic-validation", "Create a validating webhook"),
        Flag::list("spoke", "Versions that are converted to the storage version"),
        Flag::text("version", "", "Version, such as v1alpha1"),
    ],
    scaffold::create_webhook,
)
.unsupported(scaffold::only_rust);

/// `version`, whose output Makefiles compare with the version that they require.
const VERSION_COMMAND: NativeCommand =
    NativeCommand { has_same_output: false, ..NativeCommand::new(&["--version"], &[]) };

/// Prints the version, which Makefiles compare with the one that they require.
fn version(_: &Matches) -> Result<Status> {
    writeln!(
        io::stdout(),
        "operator-sdk version: {:?}, commit: {:?}, kubernetes version: \"1.33.1\", go version: \"none\", GOOS: {:?}, GOARCH: {:?}",
        sdk_version()?,
        concat!("bundle-tool-", env!("CARGO_PKG_VERSION")),
        super::OS,
        super::ARCHITECTURE
    )?;
    Ok(Status::SUCCESS)
}

/// Returns the version that `version` prints.
fn sdk_version() -> Result<String> {
    Ok(variable("BUNDLE_TOOL_OPERATOR_SDK_VERSION")?.unwrap_or_else(|| VERSION.to_owned()))
}

/// Reads the PROJECT file of the current directory. Returns `None` if it does not exist.
///
/// # Errors
/// It cannot be read, or its version is not supported.
fn supported_project() -> Result<Option<KubebuilderProject>> {
    let project = read_project(Path::new("PROJECT"))?;
    match project.as_ref().and_then(|project| project.version.as_ref()) {
        Some((version, at)) if !PROJECT_VERSIONS.contains(&version.as_str()) => bail!(
            "PROJECT:{}:{}: version {version:?} of the file is not supported: expected \"3\"",
            at.line,
            at.column
        ),
        _ => Ok(project),
    }
}

/// Returns a duration as the native commands accept it: whole seconds, between a second and a day.
fn seconds(duration: std::time::Duration) -> String {
    format!("{}s", duration.as_secs().clamp(1, 24 * 60 * 60))
}
