//! The command line: one file for each command, with its arguments and a `run` that composes the library's modules.
//!
//! Data goes to standard output, everything else to standard error. The exit status is that of [`Exit`].

mod bundles;
mod catalog;
mod cleanup;
mod cluster;
mod create;
mod diff;
mod doctor;
mod edit;
mod exit;
mod explain;
mod format;
mod generate;
mod images;
mod init;
mod init_from;
mod push;
mod registry;
mod render;
mod rules;
mod run;
mod runtime;
mod scaffold;
mod scorecard;
mod serve;
mod signals;
mod suites;
mod update;
mod validate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use exit::Exit;
use exit::print_error;

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
    Catalog(catalog::Catalog),
    Cleanup(cleanup::Cleanup),
    Create(create::Create),
    Diff(diff::Diff),
    Doctor(doctor::Doctor),
    Edit(edit::Edit),
    Explain(explain::Explain),
    Init(init::Init),
    Push(push::Push),
    Registry(registry::Registry),
    Render(render::Render),
    Rules(rules::Rules),
    Run(run::Run),
    Scorecard(scorecard::Scorecard),
    Generate(generate::Generate),
    Serve(serve::Serve),
    Update(update::Update),
    Validate(validate::Validate),
}

/// Parses the process's arguments, runs the command and prints its error, if any.
///
/// Returns 2 for invalid arguments and for every error. A reader that closes standard output early is not an error.
#[must_use]
pub fn main() -> ExitCode {
    report_file_size_limit();
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

fn run(command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Catalog(command) => command.run(),
        Command::Cleanup(command) => command.run(),
        Command::Create(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Edit(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Init(command) => command.run(),
        Command::Push(command) => command.run(),
        Command::Registry(command) => command.run(),
        Command::Render(command) => command.run(),
        Command::Rules(command) => command.run(),
        Command::Run(command) => command.run(),
        Command::Scorecard(command) => command.run(),
        Command::Generate(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Update(command) => command.run(),
        Command::Validate(command) => command.run(),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}
