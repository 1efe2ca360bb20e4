//! The command line: one file for each command, with its arguments and a `run` that composes the library's modules.
//!
//! Data goes to standard output, everything else to standard error. The exit status is that of [`Exit`].

mod attest;
mod auth;
mod bundles;
mod catalog;
mod cleanup;
mod cluster;
mod completions;
mod copy;
mod create;
mod diff;
mod doctor;
mod dropin;
mod edit;
mod error_help;
mod exit;
mod explain;
mod fix;
mod fix_outcome;
mod fixpoint;
mod format;
mod generate;
mod git;
mod images;
mod init;
mod init_from;
mod inspect;
mod lock;
mod login;
mod lsp;
mod man;
mod markdown;
mod migrate;
mod migrate_project;
mod mirror;
mod must_gather;
mod olm;
mod online;
mod outputs;
mod padding;
mod progress;
mod pull_request;
mod push;
mod registry;

mod render;
mod rendering;
mod report;
mod rules;
mod run;
mod runtime;
mod scaffold;
mod scorecard;
mod selection;
mod serve;
mod settings;
mod signals;
mod stdin;
mod suites;
mod support;
mod test;
mod update;
mod validate;
mod verify;
mod versions;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use oci_images::open_files;

pub use exit::Exit;
use exit::{is_broken_pipe, print_error};

/// Package Kubernetes operators for OLM: generate, validate and push bundles, and build file-based catalogs
#[derive(Debug, Parser)]
#[command(name = "bundle-tool", version, after_long_help = EXAMPLES)]
struct Cli {
    /// When to print colors: `auto` (on terminals, unless `NO_COLOR` is set), `always` or `never`
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    color: crate::terminal::Color,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  # Generate a bundle from the manifests of a kustomize project
  kustomize build config/manifests | bundle-tool generate bundle --version 1.2.0

  # Validate it
  bundle-tool validate ./bundle

  # Push it as a bundle image
  bundle-tool push bundle ./bundle quay.io/example/gizmo-bundle:v1.2.0

  # Print the versions of Kubernetes, OLM and other programs that the rules reproduce
  bundle-tool --version --verbose";

// The arguments of a command are built when it is called: those of all would take most of the time of a short run. So the
// texts that describe commands are here, and groups of options have comments that clap does not take for such a text.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Write signatures, software bills of materials and provenance for files
    Attest(attest::Attest),
    /// Explain the credentials for registries
    Auth(auth::Auth),
    /// Work with file-based catalogs
    Catalog(catalog::Catalog),
    /// Remove an operator: its subscription, CSV and catalog
    ///
    /// Keeps the CRDs and their objects unless you set --delete-crds, which deletes them while the operator still runs, so
    /// that the operator can remove its finalizers. What OLM v1 installed is removed only with --delete-crds, because its
    /// CRDs are deleted with it. Waits until everything is gone, and reports what blocks a deletion.
    Cleanup(cleanup::Cleanup),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Copy an image, or an index with the images of all platforms, from one place to another
    ///
    /// SOURCE and TARGET are names of images in registries, oci:DIR, oci-archive:FILE or docker-archive:FILE; a name
    /// after the path, as in oci:DIR:NAME, chooses one of several images. Manifests are copied byte for byte, so the
    /// copy has the digest of the original. Layers that the target already has are not transferred; within one
    /// registry, layers are mounted. Interrupted transfers are resumed if the registry supports that. Prints the copy's name, by
    /// digest in a registry.
    Copy(copy::Copy),
    /// Add an API or a webhook to a project
    Create(create::Create),
    /// Show what an upgrade from one bundle to another changes and breaks
    ///
    /// Compares CRDs as OLM v1 does before it upgrades, and permissions, install modes, webhooks, required APIs,
    /// images, descriptors and size.
    ///
    /// Exit status: 0 if nothing breaks, 1 if something does, 2 if a bundle cannot be read. Validation of existing
    /// objects stops after a few seconds; a warning reports how many were not validated.
    Diff(diff::Diff),
    /// Explain why operators are not installed, upgraded or deleted
    ///
    /// Reads the catalogs, subscriptions, install plans, CSVs and operator groups of OLM v0, the cluster catalogs and
    /// cluster extensions of OLM v1, deployments, pods and events, and prints each problem with its evidence and what
    /// to do. Changes nothing.
    ///
    /// Exit status: 0 if nothing is wrong, 1 if something is, 2 if the cluster cannot be read.
    Doctor(doctor::Doctor),
    /// Change the settings of a project
    ///
    /// --multigroup lets a project have several API groups: the files of each group move into a directory of their own,
    /// with your edits. --runtime-path makes the project build with a checkout of operator-runtime and removes its
    /// copy, except files that you have edited; --vendor-runtime writes the copy again.
    ///
    /// Exit status: 0 on success, 1 if a file was merged with conflicts, 2 on an error, with nothing written.
    Edit(edit::Edit),
    /// Explain a rule: what it checks, why, and how to fix its findings
    Explain(explain::Explain),
    /// Fix findings in the files of bundles and catalogs
    ///
    /// Applies the safe fixes; --unsafe-fixes also applies those that require review. Comments and layout are preserved.
    /// In file-based catalogs, fixes the findings of `catalog validate`; the options that choose rules do not apply to them.
    ///
    /// Exit status: 0 if the files were written or need no change, 1 if `--diff` found a change or more fixes remain than are
    /// applied at once, 2 if a file could not be read or written.
    Fix(fix::Fix),
    /// Generate bundles, base CSVs and submissions
    Generate(generate::Generate),
    /// Create a project for an operator in Rust
    ///
    /// Writes a Cargo package with the operator's program, tests, Makefile and CI workflow into the current directory,
    /// which must be empty except for hidden files such as .git. Add APIs with `bundle-tool create api`. PROJECT and
    /// .scaffold.yaml record what was scaffolded: keep them in git. The runtime directory contains a copy of the
    /// operator-runtime crate; `bundle-tool update` replaces the files of the copy that you have not edited.
    ///
    /// With --from, packages an existing operator in any language: finds its kustomization, Helm chart, Java build
    /// or directory of manifests, and writes Makefile.bundle, the base CSV and, if it has none, PROJECT.
    ///
    /// Exit status: 0 on success, 2 on an error, with nothing written.
    Init(init::Init),
    /// Describe an image: platforms, configuration, labels, layers, signatures and other referrers
    ///
    /// For an index, every platform is listed and one image is described. The labels of a bundle image are compared
    /// with its metadata/annotations.yaml. With --against, the files and labels are compared with a bundle directory.
    /// Differences are problems: the exit status is 1.
    Inspect(inspect::Inspect),
    /// Log in to a registry
    ///
    /// Verifies the user name and the password with the registry, and stores them where podman and docker find them
    /// too: in `$REGISTRY_AUTH_FILE` if it is set, otherwise in the first file that exists of
    /// `$XDG_RUNTIME_DIR/containers/auth.json`, `~/.config/containers/auth.json` and `~/.docker/config.json`, or in the
    /// credential helper that the file names. A new file is readable by its owner only. The password is read from
    /// standard input, because other processes can see arguments.
    Login(login::Login),
    /// Remove the credentials for a registry
    ///
    /// Removes the login from every file and credential helper that has it. Logins for other
    /// paths of the registry are kept.
    Logout(login::Logout),
    /// Run a language server for editors
    ///
    /// Speaks the Language Server Protocol on standard input and output. For each open file of a bundle or a file-based
    /// catalog, `validate` is run on the whole bundle or catalog, including unsaved changes: findings appear
    /// as diagnostics, fixes and comments that ignore a finding as code actions, and the page of a rule as a hover.
    ///
    /// A bundle is the nearest directory above a file that has manifests/ and metadata/; a catalog is the topmost directory
    /// that contains only catalog files. The options and the bundle-tool.toml of `validate` choose the rules.
    ///
    /// Exit status: 0 after `shutdown`, 1 if the editor exits without it, 2 if the input does not follow the protocol.
    Lsp(lsp::Lsp),
    /// Write manual pages for all commands to a directory
    Man(man::Man),
    /// Plan the move of operators from OLM v0 to OLM v1
    ///
    /// Reports what blocks the move (the rules of the suite `olmv1`, and the state of an installation), the manifests
    /// to apply, and which objects of OLM v0 to delete, in which order. CRDs and their objects are kept. Nothing is changed on
    /// the cluster.
    ///
    /// Exit status: 0 if everything can be moved, 1 if something is blocked, 2 if the plan cannot be made.
    Migrate(migrate::Migrate),
    /// Replace calls of operator-sdk and opm in a project
    ///
    /// Finds the command lines of operator-sdk and opm in Makefiles, shell scripts, GitHub workflows, GitLab CI, Tekton tasks and
    /// Dockerfiles, and prints what each becomes and the changes as a diff; --write applies them. Variables in arguments are kept.
    /// A command line without a native equivalent is run through `bundle-tool operator-sdk` or `bundle-tool opm`, which accept
    /// the same arguments.
    ///
    /// Exit status: 0 on success, 2 if DIR contains no call of these tools, or if a file cannot be read or written; nothing
    /// is written then.
    MigrateProject(migrate_project::MigrateProject),
    /// Mirror bundles and catalogs with all their related images into another registry or an OCI layout
    ///
    /// Copies each REF that is an image, the bundle images of a catalog, and every image in `relatedImages` and in the
    /// deployments of the bundles, for all platforms and byte for byte. quay.io/example/app becomes TARGET/example/app,
    /// under its tag; an image that is named by its digest gets the tag mirror-DIGEST, so that no registry removes it
    /// as untagged. Images that the target already has are not copied again, so running an interrupted command again
    /// continues it.
    ///
    /// With --package, --channel or --min-version, the catalog's image at the target lists only what is mirrored, so
    /// that the cluster offers nothing else.
    ///
    /// With --manifests-dir and a registry as the target, writes an `ImageDigestMirrorSet`, an `ImageTagMirrorSet`, a
    /// `CatalogSource` and a `ClusterCatalog` for each catalog, and mapping.txt with SOURCE=TARGET lines.
    ///
    /// With --check, nothing is copied: what is missing at the target is listed, and the exit status is 1 if something
    /// is.
    Mirror(mirror::Mirror),
    /// Install, inspect or remove OLM
    Olm(olm::Olm),
    /// Run a command of operator-sdk
    ///
    /// Accepts the command line of operator-sdk 1.42: flags, defaults, exit status, and the texts that scripts look for. A link to
    /// bundle-tool with the name operator-sdk does the same, so that a project's Makefile and scripts need no change.
    /// `$BUNDLE_TOOL_OPERATOR_SDK_VERSION` sets the version that `version` prints.
    OperatorSdk(dropin::OperatorSdk),
    /// Run a command of opm
    ///
    /// Accepts the command line of opm 1.73 for file-based catalogs: flags, defaults, exit status and output. A link to
    /// bundle-tool with the name opm does the same. `$BUNDLE_TOOL_OPM_VERSION` sets the version that `version` prints.
    Opm(dropin::Opm),
    /// Build an image and push it to a registry, or write it to an OCI layout
    ///
    /// The same input gives the same digest on every machine. Prints the image's name by digest.
    Push(push::Push),
    /// Run a small registry for testing
    Registry(registry::Registry),
    /// Render bundles and catalogs as file-based catalog blobs
    ///
    /// The blobs match those of `opm render`.
    Render(render::Render),
    /// List the rules with their severities and suites
    Rules(rules::Rules),
    /// Install a bundle on a cluster with OLM, and explain what goes wrong
    Run(run::Run),
    /// Run operator-sdk's scorecard on a bundle
    ///
    /// Reads the configuration in tests/scorecard/config.yaml of the bundle, with the stages, labels and output formats
    /// of operator-sdk. A bundle without a configuration is tested with all six stock tests.
    ///
    /// The stock tests require no cluster. Tests in other images run as pods on the cluster of the kubeconfig, with the
    /// bundle mounted at /bundle: all of manifests/ and metadata/, and the YAML and JSON files of other directories.
    /// Files that a test writes to its storage are kept with --storage-image. Without a cluster, these tests end in state
    /// `error`; to skip them, use --selector.
    ///
    /// Exit status: 0 if all tests pass, 1 if one does not, 2 if the bundle, the configuration or the cluster cannot be
    /// used.
    Scorecard(scorecard::Scorecard),
    /// Serve a file-based catalog to OLM
    ///
    /// Serves the registry's gRPC API as `opm serve` does, with health checks and reflection; invoked as `opm`, the
    /// program accepts the same arguments. It requires no write access and runs as any user.
    ///
    /// With --index or --cache-dir, the catalog is served from an index, which `push catalog` puts into the image. An
    /// index that is missing, damaged or out of date is not used: the catalog is read instead, which takes longer.
    ///
    /// With --http, the catalog is also served over HTTP: catalogd's API at `/catalogs/NAME/api/v1/all` and `/metas`
    /// (also below `/api/v1`), pages to browse it at `/`, Prometheus metrics at `/metrics`. Its blobs are then kept in
    /// memory.
    ///
    /// Prints its address on standard output when it is ready to serve (with --http, also the URL on a second line) and
    /// runs until SIGINT or SIGTERM, after which calls in progress have 10 seconds to complete.
    Serve(serve::Serve),
    /// Show which versions of Kubernetes and OpenShift bundles install on
    ///
    /// Validates each bundle for every version, and prints a matrix with the reasons why versions reject the bundle, and with
    /// the APIs that are deprecated or removed. A version that a bundle does not claim with spec.minKubeVersion or its
    /// OpenShift versions is not counted as rejected. For a catalog, the matrix shows only what its bundles declare, because
    /// a catalog does not contain all manifests.
    ///
    /// Exit status: 0 if no claimed version rejects a bundle, 1 if one does, 2 if a REF cannot be read.
    Support(support::Support),
    /// Test operators on a cluster with OLM
    Test(test::Test),
    /// Merge the scaffold of this version of bundle-tool into a project
    ///
    /// Compares what was last scaffolded (.scaffold.yaml) with what this version would write, and merges the difference
    /// into the project's files. Your edits and deletions are preserved. The copy of operator-runtime is not
    /// merged: files that you have not edited are replaced, or written again if you have deleted them. Where you and the
    /// scaffold changed the same lines, the file contains both versions between conflict markers. In a git
    /// work tree, all changes must be committed.
    ///
    /// Exit status: 0 on success, 1 if a file was merged with conflicts or an edited file of the copy is outdated, 2 on
    /// an error, with nothing written.
    Update(update::Update),
    /// Validate bundles against the API server's and OLM's rules
    ///
    /// For a catalog repository, all bundles in operators/NAME/VERSION and all catalogs in catalogs/vX.Y are validated.
    /// File-based catalogs are validated as by `catalog validate`.
    ///
    /// Errors reproduce rejections by the API server, OLM or operator-sdk. Warnings are not rejected, but likely to
    /// cause problems. Rules are chosen with options, in a bundle-tool.toml, or for a single finding with a comment: `#
    /// bundle-tool: ignore[RULE] REASON`.
    ///
    /// Exit status: 0 if no finding is an error, 1 if one is, 2 if a REF could not be read, or if --online could not
    /// look up any image.
    Validate(validate::Validate),
    /// Verify that an image in a registry, or a file, is signed with a key
    ///
    /// Looks for signatures of the image in the format of cosign (the tag sha256-DIGEST.sig), and prints the signed
    /// documents, one per line. The signature must be made with the key and name the digest of the image, or of the
    /// index. Certificates and transparency logs are not consulted, as with `cosign verify --key
    /// --insecure-ignore-tlog=true`. With --signature, verifies a file instead of an image, as `cosign verify-blob` does.
    /// The exit status is 1 if no signature is valid.
    Verify(verify::Verify),
}

/// Parses the process's arguments, runs the command and prints its error, if any.
///
/// Returns 2 for invalid arguments and for every error. A reader that closes standard output early is not an error.
#[must_use]
pub fn main() -> ExitCode {
    crate::sys::report_file_size_limit();
    open_files::raise_limit();
    limit_threads();
    // The name under which the probes of catalog pods call the program.
    if is_called("grpc_health_probe") {
        return serve::probe();
    }
    if let Some(status) = dropin::run_as_called() {
        return status;
    }
    if all_versions_are_requested() {
        return verbose_version();
    }
    let cli = Cli::parse();
    cli.color.apply();
    let result = match cli.command {
        Command::OperatorSdk(command) => return command.run(),
        Command::Opm(command) => return command.run(),
        command => run(command),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do where standard error is closed too.
            let _ = print_error(&error);
            Exit::Failure.into()
        }
    }
}

/// Returns whether the arguments are `--version --verbose`, as those of rustc.
fn all_versions_are_requested() -> bool {
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.sort_unstable();
    arguments == ["--verbose", "--version"]
}

/// Prints the version, and the versions of the programs that the rules reproduce.
fn verbose_version() -> ExitCode {
    let text = format!("bundle-tool {}\n{}", env!("CARGO_PKG_VERSION"), olm_model::kubernetes::reproduced());
    match std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => Exit::Failure.into(),
    }
}

/// Returns whether the program was started under this name, by a link to it.
fn is_called(name: &str) -> bool {
    let program = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&program).file_name().is_some_and(|file| file == name)
}

/// The maximum number of threads that rayon starts: it waits for all of them, even if the system has fewer.
const MAX_THREADS: usize = 256;

/// Limits what `RAYON_NUM_THREADS` asks for to [`MAX_THREADS`].
fn limit_threads() {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse::<usize>().ok());
    if asked.is_some_and(|number| number > MAX_THREADS) {
        // Without these threads, the work runs on the caller's.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(MAX_THREADS).build_global();
    }
}

/// Runs a native command line: what follows the program's name.
fn run_native(arguments: &[std::ffi::OsString]) -> anyhow::Result<Exit> {
    let name = std::ffi::OsString::from("bundle-tool");
    let cli = Cli::try_parse_from(std::iter::once(&name).chain(arguments));
    run(cli.map_err(|error| anyhow::anyhow!(clap_message(&error)))?.command)
}

/// Returns the native command with a path. `--version` is the program itself.
fn native_command(path: &[&str]) -> Option<clap::Command> {
    let mut command = Cli::command();
    command.build();
    path.iter()
        .filter(|name| !name.starts_with('-'))
        .try_fold(command, |command, name| command.find_subcommand(name).cloned())
}

/// Checks whether the program accepts a native command line: what follows its name.
///
/// # Errors
/// The message of the error that it would print.
fn parse_native(arguments: &[&str]) -> Result<(), String> {
    match Cli::try_parse_from(std::iter::once(&"bundle-tool").chain(arguments)) {
        Err(error) if error.use_stderr() => Err(clap_message(&error)),
        _ => Ok(()),
    }
}

/// Returns the message of an error of clap, without its usage.
fn clap_message(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.trim_start_matches("error: ").to_owned()
}

fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Attest(command) => command.run(),
        Command::Auth(command) => command.run(),
        Command::Catalog(command) => command.run(),
        Command::Cleanup(command) => command.run(),
        Command::Completions(command) => command.run(Cli::command()),
        Command::Copy(command) => command.run(),
        Command::Create(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Edit(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Fix(command) => command.run(),
        Command::Init(command) => command.run(),
        Command::Man(command) => command.run(Cli::command()),
        Command::Migrate(command) => command.run(),
        Command::MigrateProject(command) => command.run(),
        Command::Olm(command) => command.run(),
        Command::OperatorSdk(_) | Command::Opm(_) => {
            anyhow::bail!("`operator-sdk` and `opm` cannot be nested")
        }
        Command::Inspect(command) => command.run(),
        Command::Login(command) => command.run(),
        Command::Logout(command) => command.run(),
        Command::Lsp(command) => command.run(),
        Command::Mirror(command) => command.run(),
        Command::Push(command) => command.run(),
        Command::Registry(command) => command.run(),
        Command::Render(command) => command.run(),
        Command::Rules(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Scorecard(command) => command.run(),
        Command::Generate(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Support(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Update(command) => command.run(),
        Command::Validate(command) => command.run(),
        Command::Verify(command) => command.run(),
    }
}
