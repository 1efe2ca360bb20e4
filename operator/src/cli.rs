//! Arguments, environment and exit statuses of `memcached-operator`.

use crate::{manager, manifests};
use clap::{Args, Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The Operator SDK tutorial's memcached operator, written with kube-rs.
#[derive(Parser, Debug)]
#[command(name = "memcached-operator", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the manager
    #[command(
        after_long_help = "Examples:\n  memcached-operator run --leader-elect\n  ENABLE_WEBHOOKS=false memcached-operator run --watch-namespace team-a,team-b --log-format text"
    )]
    Run(manager::Options),
    /// Generate the kustomize tree: CRD, RBAC, the manager's Deployment, webhooks and samples
    #[command(
        after_long_help = "Examples:\n  memcached-operator manifests --image registry.example.com/memcached-operator:v1\n  memcached-operator manifests --stdout | kubectl apply --server-side -f -"
    )]
    Manifests(ManifestsArgs),
}

/// Options of `memcached-operator manifests`.
#[derive(Args, Debug)]
struct ManifestsArgs {
    /// Directory for the kustomize tree; `-` prints all objects, with complete names, to standard output
    #[arg(long, default_value = "config", value_name = "DIR")]
    output_dir: PathBuf,
    /// Print all objects to standard output (same as `--output-dir -`)
    #[arg(long)]
    stdout: bool,
    /// Image of the operator [default: example.com/memcached-operator:vVERSION]
    #[arg(long, visible_alias = "img", env = "IMG", value_name = "IMAGE", hide_env_values = true)]
    image: Option<String>,
    /// Default image of the memcached servers
    #[arg(long, default_value = manifests::OPERAND_IMAGE, value_name = "IMAGE")]
    operand_image: String,
}

/// Parses the process's arguments and runs the command.
///
/// Returns exit status 0 on success and 2 on failure; an error is one line on standard error.
#[must_use]
pub fn parse_and_run() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(options) => manager::run(options),
        Command::Manifests(args) => write_manifests(args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn write_manifests(args: ManifestsArgs) -> anyhow::Result<()> {
    let image = args
        .image
        .filter(|image| !image.is_empty())
        .unwrap_or_else(|| format!("example.com/memcached-operator:v{}", env!("CARGO_PKG_VERSION")));
    let options = manifests::Options { image, operand_image: args.operand_image };
    if args.stdout || args.output_dir == Path::new("-") {
        let text = manifests::documents(&options)?;
        return match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::new(error).context("failed to write to standard output"))
            }
            _ => Ok(()),
        };
    }
    let tree = manifests::tree(&options)?;
    let changed = manifests::write::write(&args.output_dir, &tree)?;
    eprintln!("{}: {} files, {changed} changed", args.output_dir.display(), tree.len());
    Ok(())
}
