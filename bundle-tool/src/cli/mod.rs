//! The command line: one file for each command, with its arguments and a `run` that composes the library's modules.
//!
//! Data goes to standard output, everything else to standard error. The exit status is that of [`Exit`].

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
mod edit;
mod exit;
mod explain;
mod fix;
mod fixed;
mod format;
mod generate;
mod git;
mod images;
mod init;
mod init_from;
mod inspect;
mod login;
mod lsp;
mod man;
mod migrate;
mod mirror;
mod must_gather;
mod olm;
mod online;
mod outputs;
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
mod suites;
mod test;
mod update;
mod validate;
mod verify;
mod versions;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

pub use exit::Exit;
use exit::{is_broken_pipe, print_error};

/// Package Kubernetes operators for OLM: generate, validate and push bundles, and build file-based catalogs
#[derive(Debug, Parser)]
#[command(name = "bundle-tool", version, propagate_version = true, after_long_help = EXAMPLES)]
struct Cli {
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
  bundle-tool push bundle ./bundle quay.io/example/gizmo-bundle:v1.2.0";

#[derive(Debug, Subcommand)]
enum Command {
    Auth(auth::Auth),
    Catalog(catalog::Catalog),
    Cleanup(cleanup::Cleanup),
    Completions(completions::Completions),
    Copy(copy::Copy),
    Create(create::Create),
    Diff(diff::Diff),
    Doctor(doctor::Doctor),
    Edit(edit::Edit),
    Explain(explain::Explain),
    Fix(fix::Fix),
    Generate(generate::Generate),
    Init(init::Init),
    Inspect(inspect::Inspect),
    Login(login::Login),
    Logout(login::Logout),
    Lsp(lsp::Lsp),
    Man(man::Man),
    Migrate(migrate::Migrate),
    Mirror(mirror::Mirror),
    Olm(olm::Olm),
    Push(push::Push),
    Registry(registry::Registry),
    Render(render::Render),
    Rules(rules::Rules),
    Run(run::Run),
    Scorecard(scorecard::Scorecard),
    Serve(serve::Serve),
    Test(test::Test),
    Update(update::Update),
    Validate(validate::Validate),
    Verify(verify::Verify),
}

/// Parses the process's arguments, runs the command and prints its error, if any.
///
/// Returns 2 for invalid arguments and for every error. A reader that closes standard output early is not an error.
#[must_use]
pub fn main() -> ExitCode {
    report_file_size_limit();
    raise_file_limit();
    // The name under which the probes of catalog pods call the program.
    if is_called("grpc_health_probe") {
        return serve::probe();
    }
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(exit) => exit.into(),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do where standard error is closed too.
            let _ = print_error(&error);
            Exit::Failure.into()
        }
    }
}

/// Returns whether the program was started under this name, by a link to it.
fn is_called(name: &str) -> bool {
    let program = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&program).file_name().is_some_and(|file| file == name)
}

/// Makes a write beyond the file size limit (`ulimit -f`) an error instead of the end of the process, so that temporary
/// files are removed.
fn report_file_size_limit() {
    // Without a handler, the process ends with the signal's default, as other programs do.
    let _ = signal_hook::flag::register(libc::SIGXFSZ, std::sync::Arc::default());
}

/// Raises the number of files that may be open to what the system allows: each layer in transfer is one.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Without it, images of a few hundred layers still work.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
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
        Command::Olm(command) => command.run(),
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
        Command::Test(command) => command.run(),
        Command::Update(command) => command.run(),
        Command::Validate(command) => command.run(),
        Command::Verify(command) => command.run(),
    }
}
