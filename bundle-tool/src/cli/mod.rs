//! The command line: what all commands share. Each command has its own module in `commands`.
//!
//! Data goes to standard output, everything else to standard error. The exit status is that of [`Exit`].

mod bundles;
mod cluster;
mod commands;
#[cfg(test)]
mod documented;
mod dropin;
mod environment;
mod error_help;
mod exit;
mod fix_outcome;
mod fixpoint;
mod format;
mod git;
mod images;
mod lock;
mod openshift;
mod outputs;
mod padding;
mod pages;
mod progress;
mod reference;
mod rendering;
mod report;
mod runtime;
mod scaffold;
mod selection;
mod settings;
mod signals;
mod stdin;
mod suites;
mod time_limit;
mod unknown;
mod versions;

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use oci_images::open_files;

pub use exit::Exit;
use exit::{is_broken_pipe, print_error};

use crate::terminal::HEADING;
use olm_report::text::Verbosity;

/// The heading of the options that all commands have.
const GLOBAL: &str = "Global options";

/// Build, check, publish and install Kubernetes operators with OLM
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
        hide_possible_values = true,
        help_heading = GLOBAL
    )]
    color: crate::terminal::Color,
    /// Print only results, warnings and errors: no summary, notes or progress
    #[arg(long, short, global = true, conflicts_with = "verbose", help_heading = GLOBAL)]
    quiet: bool,
    /// Print more detail: requests to registries and clusters, and also informational, ignored and repeated findings
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Makes the choice of `--quiet` and `--verbose` that of the whole program.
    fn apply_verbosity(&self) {
        crate::terminal::set_verbosity(match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        });
    }
}

/// The groups of commands in the help, in its order. Each command is in one of them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["init", "generate", "validate", "push", "run"]),
    ("Bundles", &["preview", "fix", "explain", "rules", "support", "diff", "render", "scorecard"]),
    ("Catalogs", &["catalog", "serve"]),
    ("Images", &["copy", "mirror", "inspect", "attest", "verify", "login", "logout", "auth", "registry"]),
    ("Clusters", &["olm", "doctor", "test", "cleanup"]),
    ("Projects", &["create", "edit", "update", "migrate-project", "operator-sdk", "opm"]),
    ("Editors and shells", &["lsp", "completions", "man"]),
];

/// Returns the command line, with its commands in groups.
fn command() -> clap::Command {
    let command = Cli::command();
    let mut help = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let heading = HEADING.underline();
        // Writing to a string does not fail.
        let _ = write!(help, "\n{heading}{group}:{heading:#}\n");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(help, "  {HEADING}{name:<15}{HEADING:#}  {about}");
        }
    }
    let heading = HEADING.underline();
    let _ = write!(help, "\n{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    command.help_template(help)
}

/// Returns the arguments of a call as a plugin of kubectl: `kubectl olm install` is `bundle-tool olm install`, and `kubectl olm doctor`
/// is `bundle-tool doctor`.
fn kubectl_plugin(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let is_of_olm =
        |name: &OsString| ["install", "status", "uninstall", "migrate"].iter().any(|own| name == own);
    // The program calls itself by its name in the help.
    arguments[0] = "bundle-tool".into();
    if arguments.get(1).is_some_and(is_of_olm) {
        arguments.insert(1, "olm".into());
    }
    arguments
}

const EXAMPLES: &str = "\
Examples:
  # Generate a bundle from the manifests of a kustomize project
  kustomize build config/manifests | bundle-tool generate bundle --version 1.2.0

  # Validate it
  bundle-tool validate ./bundle

  # Push it as a bundle image
  bundle-tool push bundle ./bundle quay.io/example/gizmo-bundle:v1.2.0

  # Print the versions of Kubernetes, OLM and others that the rules reproduce
  bundle-tool --version --verbose";

// The arguments of a command are built when it is called: those of all would take most of the time of a short run. So the
// texts that describe commands are here, and groups of options have comments that clap does not take for such a text.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Create SBOMs, provenance and signatures for files
    Attest(commands::attest::Attest),
    /// Show which registry credentials are used
    Auth(commands::auth::Auth),
    /// Work with file-based catalogs
    Catalog(commands::catalog::Catalog),
    /// Uninstall an operator from a cluster
    ///
    /// Deletes the operator's subscription, CSV and catalog. CRDs and their objects are kept unless you pass
    /// --delete-crds. In that case, they are deleted first, while the operator is still running and can remove its
    /// finalizers. An operator that OLM v1 installed is removed only with --delete-crds, because OLM v1 deletes the
    /// CRDs, too. Waits until everything is gone, and reports what blocks a deletion.
    ///
    /// Exit status: 0 if the operator was removed, 2 if it is not installed, or was not removed completely.
    Cleanup(commands::cleanup::Cleanup),
    /// Print completions for a shell
    #[command(alias = "completion")]
    Completions(commands::completions::Completions),
    /// Copy an image between registries, layouts and archives
    ///
    /// SOURCE and TARGET are names of images in registries, oci:DIR, oci-archive:FILE or docker-archive:FILE; a name
    /// after the path, as in oci:DIR:NAME, selects one of several images. A multi-platform image is copied with the
    /// images for all platforms. Manifests are copied byte for byte, so the copy has the digest of the original. Layers
    /// that the target already has are not transferred; within one registry, layers are mounted. Interrupted transfers
    /// are resumed if the registry supports that. Prints the reference of the copy (by digest, if it is in a registry).
    ///
    /// Exit status: 0 if the image was copied, 2 if it could not be.
    Copy(commands::copy::Copy),
    /// Add an API or a webhook to a project
    Create(commands::create::Create),
    /// Compare two bundles and show what the upgrade would break
    ///
    /// Compares the CRDs with the checks that OLM v1 makes before an upgrade, and also permissions, install modes,
    /// webhooks, required APIs, images, descriptors and size.
    ///
    /// Exit status: 0 if nothing breaks, 1 if something does, 2 if a bundle cannot be read. Validation of existing
    /// objects stops after a few seconds; a warning reports how many were not validated.
    Diff(commands::diff::Diff),
    /// Diagnose operators that do not install, upgrade or uninstall
    ///
    /// Reads the catalogs, subscriptions, install plans, CSVs and operator groups of OLM v0, the cluster catalogs and
    /// cluster extensions of OLM v1, deployments, pods and events, and prints each problem with its evidence and what
    /// to do. Changes nothing.
    ///
    /// Exit status: 0 if nothing is wrong, 1 if something is, 2 if the cluster cannot be read.
    Doctor(commands::doctor::Doctor),
    /// Change the settings of a project
    ///
    /// --multigroup lets a project have several API groups: the files of each group move into a directory of their own,
    /// with your edits. --runtime-path makes the project build with a checkout of operator-runtime and removes its
    /// copy, except files that you have edited; --vendor-runtime writes the copy again.
    ///
    /// Exit status: 0 on success, 1 if a file was merged with conflicts, 2 on an error, with nothing written.
    Edit(commands::edit::Edit),
    /// Explain a rule: what it checks, why, and how to fix it
    Explain(commands::explain::Explain),
    /// Fix findings in the files of bundles and catalogs
    ///
    /// Applies the safe fixes; --unsafe-fixes also applies fixes that you should review. Comments and layout are
    /// preserved. In file-based catalogs, fixes the findings of `catalog validate`; the options that choose rules do
    /// not apply to them.
    ///
    /// Exit status: 0 if the files were written or need no change, 1 if --check found something to change, or if fixes
    /// remain (run the command again), 2 if a file could not be read or written.
    Fix(commands::fix::Fix),
    /// Generate bundles, base CSVs and submissions
    Generate(commands::generate::Generate),
    /// Create an operator project in Rust, or package an operator
    ///
    /// Writes a Cargo package with the operator's program, tests, Makefile and CI workflow into the current directory,
    /// which must be empty except for hidden files such as .git. Add APIs with `bundle-tool create api`. Commit PROJECT
    /// and .scaffold.yaml, which record what was scaffolded. The runtime directory contains a copy of the
    /// operator-runtime crate; `bundle-tool update` replaces the files of the copy that you have not edited.
    ///
    /// With --from, packages an existing operator in any language: finds its kustomization, Helm chart, Java build
    /// or directory of manifests, and writes Makefile.bundle, the base CSV and, if it has none, PROJECT.
    ///
    /// Exit status: 0 on success, 2 on an error, with nothing written.
    Init(commands::init::Init),
    /// Describe an image and what refers to it
    ///
    /// For a multi-platform image, lists all platforms and describes one of them. The labels of a bundle image are
    /// compared with its metadata/annotations.yaml. With --against, the files and labels are compared with a bundle
    /// directory.
    ///
    /// Exit status: 0 if nothing differs, 1 if something does, 2 if the image cannot be read.
    Inspect(commands::inspect::Inspect),
    /// Log in to a registry
    ///
    /// Verifies the user name and the password with the registry, and stores them where podman and docker find them
    /// too: in `$REGISTRY_AUTH_FILE` if it is set, otherwise in the first file that exists of
    /// `$XDG_RUNTIME_DIR/containers/auth.json`, `~/.config/containers/auth.json` and `~/.docker/config.json`, or in the
    /// credential helper that the file names. A new file is readable by its owner only. The password is read from
    /// standard input, because other processes can see command-line arguments.
    Login(commands::login::Login),
    /// Remove the credentials for a registry
    ///
    /// Removes the login from every file and credential helper that has it. Logins for other
    /// paths of the registry are kept.
    Logout(commands::login::Logout),
    /// Run a language server for editors
    ///
    /// Speaks the Language Server Protocol on standard input and output. Validates the whole bundle or file-based
    /// catalog of each open file, including unsaved changes. Findings appear as diagnostics; code actions fix or ignore
    /// them; hovering shows the rule's documentation.
    ///
    /// A bundle is the nearest directory above a file that has manifests/ and metadata/; a catalog is the topmost directory
    /// that contains only catalog files. The options and the bundle-tool.toml of `validate` choose the rules.
    ///
    /// Exit status: 0 after `shutdown`, 1 if the editor exits without it, 2 if the input does not follow the protocol.
    Lsp(commands::lsp::Lsp),
    /// Write manual pages for all commands to a directory
    Man(commands::man::Man),
    /// Replace calls to operator-sdk and opm in a project
    ///
    /// Finds the command lines of operator-sdk and opm in Makefiles, shell scripts, GitHub workflows, GitLab CI, Tekton tasks and
    /// Dockerfiles, and prints the replacement of each and the changes as a diff; --write applies them. Variables in arguments are kept.
    /// A command line without a native equivalent is run through `bundle-tool operator-sdk` or `bundle-tool opm`, which accept
    /// the same arguments.
    ///
    /// Exit status: 0 on success, 2 if DIR contains no calls to these tools, or if a file cannot be read or written; in that
    /// case, nothing is written.
    MigrateProject(commands::migrate_project::MigrateProject),
    /// Mirror bundles and catalogs with the images that they need
    ///
    /// Copies each REF that is an image, the bundle images of a catalog, and every image in `relatedImages` and in the
    /// deployments of the bundles, for all platforms and byte for byte, with their signatures and other referrers.
    /// quay.io/example/app becomes TARGET/example/app, with the same tag; an image that is named by its digest gets the tag
    /// mirror-DIGEST, so that no registry removes it as untagged. Images that the target already has with all of their layers
    /// are skipped, so you can rerun an interrupted command to continue it, or to restore layers that the registry has lost.
    ///
    /// If an image cannot be copied, the other images are copied, and the failure is reported at the end. With --strict,
    /// the command stops at the first failure.
    ///
    /// With a layout or an archive as the target, images can be carried to a disconnected network, where the same command
    /// pushes them from there to a registry. --since omits layers that an earlier layout or archive brought there. An
    /// archive is prepared in FILE.partial, which is removed when the archive is complete. The images of catalogs are
    /// always complete.
    ///
    /// With --keep, the catalog's image at the target lists only what is mirrored, so that the cluster offers nothing
    /// else. Bundles on an upgrade path between these are mirrored, too, as `catalog prune` keeps them.
    ///
    /// With --manifests-dir, writes an `ImageDigestMirrorSet`, an `ImageTagMirrorSet`, a `CatalogSource` and a
    /// `ClusterCatalog` for each catalog, registries.conf for other clusters, and mapping.txt with SOURCE=TARGET lines.
    ///
    /// With --check, copies nothing and lists what is missing at the target, signatures and other referrers included.
    ///
    /// Exit status: 0 on success, 1 if an image cannot be copied or if --check finds something missing, 2 on an error.
    Mirror(commands::mirror::Mirror),
    /// Install, inspect or remove OLM
    Olm(commands::olm::Olm),
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
    /// Build and push images of operators, bundles and catalogs
    ///
    /// The same input gives the same digest on every machine. Prints the image's name by digest.
    Push(commands::push::Push),
    /// Run a small registry for testing
    Registry(commands::registry::Registry),
    /// Render bundles and catalogs as file-based catalog blobs
    ///
    /// The blobs match those of `opm render`.
    ///
    /// Exit status: 0 on success, 2 if a REF cannot be read or rendered.
    Render(commands::render::Render),
    /// List the validation rules
    Rules(commands::rules::Rules),
    /// Install a bundle or upgrade an operator on a cluster
    Run(commands::run::Run),
    /// Run operator-sdk's scorecard on a bundle
    ///
    /// Reads the configuration in tests/scorecard/config.yaml of the bundle, with the stages, labels and output formats
    /// of operator-sdk. A bundle without a configuration is tested with all six stock tests.
    ///
    /// The stock tests require no cluster. Tests in other images run as pods on the cluster of the kubeconfig, with the
    /// bundle mounted at /bundle: all of manifests/ and metadata/, and the YAML and JSON files of other directories.
    /// Files that a test writes to its storage are kept with --storage-image. Without a cluster, these tests report the
    /// state `error`; pass --selector to leave them out.
    ///
    /// Exit status: 0 if all tests pass, 1 if one does not, 2 if the bundle, the configuration or the cluster cannot be
    /// used.
    Scorecard(commands::scorecard::Scorecard),
    /// Preview a bundle or a catalog in a browser
    ///
    /// Serves a page on 127.0.0.1 that validates the bundle or the catalog in a directory as `validate` does, and shows
    /// how OperatorHub.io and the OpenShift console will display the operator. The page is updated when files in the
    /// directory change. Edits that you make in the page are not written to the directory: download the changed files from
    /// the page. To apply the safe fixes to the directory, run `bundle-tool fix`.
    ///
    /// Prints its URL on standard output when it is ready to serve, and runs until SIGINT or SIGTERM.
    ///
    /// Exit status: 0 after a signal, 2 if the directory or the page cannot be read, or if the port is in use.
    Preview(commands::preview::Preview),
    /// Serve a file-based catalog to OLM
    ///
    /// Serves the registry's gRPC API as `opm serve` does, with health checks and reflection. Requires no write access
    /// and runs as any user. If you call bundle-tool through a link named opm, it accepts the arguments of opm.
    ///
    /// With --index or --cache-dir, the catalog is served from an index, which `push catalog` puts into the image. If
    /// the index is missing, damaged or out of date, the catalog is read instead, which takes longer.
    ///
    /// With --http, the catalog is also served over HTTP: catalogd's API at `/catalogs/NAME/api/v1/all` and `/metas`
    /// (also below `/api/v1`), pages to browse it at `/`, Prometheus metrics at `/metrics`. Its blobs are then kept in
    /// memory.
    ///
    /// Prints its address on standard output when it is ready to serve (with --http, also the URL on a second line) and
    /// runs until SIGINT or SIGTERM, after which calls in progress have 10 seconds to complete.
    ///
    /// Exit status: 0 after a signal, 2 if the catalog cannot be read, or if it cannot be served at the address.
    Serve(commands::serve::Serve),
    /// Show which versions of Kubernetes accept a bundle
    ///
    /// Validates each bundle for every version and prints a matrix, followed by the reasons why versions reject the
    /// bundle and by the APIs that are deprecated or removed. A version that a bundle does not claim, with
    /// spec.minKubeVersion or its OpenShift versions, does not count as rejected. For a catalog, the matrix shows only
    /// what its bundles declare, because a catalog does not contain all manifests.
    ///
    /// Exit status: 0 if no claimed version rejects a bundle, 1 if one does, 2 if a REF cannot be read.
    Support(commands::support::Support),
    /// Test operators on a cluster with OLM
    Test(commands::test::Test),
    /// Update a project to this version's scaffold
    ///
    /// Three-way merges the scaffold of this version into your project: the common ancestor is what was last scaffolded
    /// (.scaffold.yaml). Your edits and deletions are preserved. In the copy of operator-runtime, files that you have
    /// not edited are replaced instead, and written again if you have deleted them. If you and the scaffold changed the
    /// same lines, the file contains both versions between conflict markers. In a git work tree, all changes must be
    /// committed.
    ///
    /// Exit status: 0 on success, 1 if a file was merged with conflicts or an edited file of the copy is outdated, 2 on
    /// an error, with nothing written.
    Update(commands::update::Update),
    /// Validate bundles and catalogs
    ///
    /// Checks what the API server, OLM, operator-sdk and catalog pipelines check. For a catalog repository, validates
    /// all bundles in operators/NAME/VERSION and all catalogs in catalogs/vX.Y. For a file-based catalog, does the same
    /// as `catalog validate`.
    ///
    /// An error means that the API server, OLM, operator-sdk or a catalog would reject the bundle. Warnings point out
    /// what is accepted but likely to cause problems. You can choose rules with options or in a bundle-tool.toml, and
    /// ignore a single finding with the comment `# bundle-tool: ignore[RULE] REASON`.
    ///
    /// Exit status: 0 if there are no errors (there may be warnings), 1 if there are errors, 2 if a REF could not be
    /// read, or if --online could not look up any image.
    Validate(commands::validate::Validate),
    /// Print the version, as --version
    #[command(hide = true)]
    Version,
    /// Verify the cosign signature of an image or a file
    ///
    /// Looks for signatures of the image in both formats of cosign (the tag sha256-DIGEST.sig, and sigstore bundles that
    /// refer to the image), and prints the signed documents, one per line. A signature is valid if it names the digest of
    /// the image (or multi-platform index) and was made with the key of --key, or by the identity of
    /// --certificate-identity.
    ///
    /// With --key, the transparency log is ignored, as with `cosign verify --key --insecure-ignore-tlog=true`. With
    /// --certificate-identity, the certificate and the entry of the log are verified offline with --trusted-root. With
    /// --signature, verifies a file instead of an image, as `cosign verify-blob` does.
    ///
    /// Exit status: 0 if a signature is valid, 1 if none is, 2 if the image, the file, the key or the trusted root cannot be
    /// read.
    Verify(commands::verify::Verify),
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
        return commands::serve::probe();
    }
    if let Some(status) = dropin::run_as_called() {
        return status;
    }
    if all_versions_are_requested() {
        return verbose_version();
    }
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    if is_called("kubectl-olm") {
        arguments = kubectl_plugin(arguments);
    }
    let cli = match command().try_get_matches_from(&arguments).and_then(|found| Cli::from_arg_matches(&found))
    {
        Ok(cli) => cli,
        Err(error) => unknown::with_tip(error, &arguments).exit(),
    };
    cli.color.apply();
    cli.apply_verbosity();
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

/// Returns the name that the program was started under, without the suffix of programs on Windows.
fn program_name() -> Option<String> {
    let program = std::env::args_os().next()?;
    let name = std::path::Path::new(&program).file_name()?.to_str()?.to_owned();
    Some(name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(&name).to_owned())
}

/// Returns whether the program was started under this name, by a link to it.
fn is_called(name: &str) -> bool {
    program_name().is_some_and(|program| program == name)
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
    let cli = cli.map_err(|error| anyhow::anyhow!(clap_message(&error)))?;
    cli.apply_verbosity();
    run(cli.command)
}

/// Returns the native command with a path. `--version` is the program itself.
fn native_command(path: &[&str]) -> Option<&'static clap::Command> {
    path.iter()
        .filter(|name| !name.starts_with('-'))
        .try_fold(built_command(), |command, name| command.find_subcommand(name))
}

/// Returns the tree of all commands, which takes milliseconds to build.
fn built_command() -> &'static clap::Command {
    static COMMAND: OnceLock<clap::Command> = OnceLock::new();
    COMMAND.get_or_init(|| {
        let mut command = Cli::command();
        command.build();
        command
    })
}

/// Checks whether the program accepts a native command line: what follows its name.
///
/// # Errors
/// The message of the error that it would print.
fn parse_native(arguments: &[&str]) -> Result<(), String> {
    // Only the command itself is copied, not the whole tree.
    let mut command = built_command();
    let mut rest = arguments;
    while let [name, others @ ..] = rest
        && let Some(found) = command.find_subcommand(name)
    {
        (command, rest) = (found, others);
    }
    match command.clone().try_get_matches_from(std::iter::once(&"bundle-tool").chain(rest)) {
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
        Command::Completions(command) => command.run(self::command()),
        Command::Copy(command) => command.run(),
        Command::Create(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Edit(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Fix(command) => command.run(),
        Command::Init(command) => command.run(),
        Command::Man(command) => command.run(Cli::command()),
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
        Command::Preview(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Support(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::Update(command) => command.run(),
        Command::Validate(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Version => {
            writeln!(std::io::stdout(), "bundle-tool {}", env!("CARGO_PKG_VERSION"))?;
            Ok(Exit::Success)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let command = Cli::command();
        let mut commands: Vec<&str> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
    }
}
