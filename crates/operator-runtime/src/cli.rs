//! The command line of an operator: `run` and `manifests`.

use crate::identity::Identity;
use crate::manager;
use crate::manifests::{self, write};
use crate::operator::Operator;
use crate::webhook_url::WebhookUrl;
use clap::{Args, FromArgMatches, Parser, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The options of an operator that has none of its own.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct NoArgs {}

#[derive(Parser, Debug)]
struct Cli<A: Args> {
    #[command(subcommand)]
    command: Command<A>,
}

#[derive(Subcommand, Debug)]
enum Command<A: Args> {
    /// Run the manager
    Run {
        #[command(flatten)]
        operator: A,
        #[command(flatten)]
        manager: manager::Options,
    },
    /// Generate the kustomize tree: CRDs, RBAC, the manager's Deployment, webhooks and samples
    Manifests {
        #[command(flatten)]
        operator: A,
        #[command(flatten)]
        manifests: ManifestsArgs,
    },
}

/// Options of `manifests`.
#[derive(Args, Debug)]
struct ManifestsArgs {
    /// Directory for the kustomize tree; `-` prints all objects, with complete names, to standard output
    #[arg(long, default_value = "config", value_name = "DIR")]
    output_dir: PathBuf,
    /// Print all objects to standard output (same as `--output-dir -`)
    #[arg(long)]
    stdout: bool,
    /// Print all objects as input for `bundle-tool generate bundle`, without the permissions that OLM makes unnecessary
    #[arg(long, conflicts_with = "output_dir")]
    olm: bool,
    /// Print only the CRDs
    #[arg(long, conflicts_with_all = ["output_dir", "stdout", "olm"])]
    crds: bool,
    /// URL at which the API server calls the conversion webhook, instead of the manager's Service
    #[arg(long, requires = "crds", value_name = "URL")]
    webhook_url: Option<WebhookUrl>,
    /// Image of the operator [default: the operator's repository with the tag vVERSION]
    #[arg(long, visible_alias = "img", env = "IMG", value_name = "IMAGE", hide_env_values = true)]
    image: Option<String>,
}

fn examples(name: &str, command: &str) -> String {
    match command {
        "run" => format!(
            "Examples:\n  {name} run --leader-elect\n  ENABLE_WEBHOOKS=false {name} run --watch-namespace team-a,team-b --log-format text"
        ),
        _ => format!(
            "Examples:\n  {name} manifests --image registry.example.com/{name}:v1\n  {name} manifests --stdout | kubectl apply --server-side -f -"
        ),
    }
}

/// Returns the command line of an operator, such as for completions and tests.
#[must_use]
pub fn command<A: Args>(identity: &Identity) -> clap::Command {
    let mut command = <Cli<A> as clap::CommandFactory>::command()
        .name(identity.name)
        .version(identity.version)
        .about(identity.about);
    for subcommand in ["run", "manifests"] {
        command = command
            .mut_subcommand(subcommand, |found| found.after_long_help(examples(identity.name, subcommand)));
    }
    command
}

/// Parses the process's arguments and runs the command: the whole `main` of an operator.
///
/// `operator` returns the operator for its own options, which both commands have. Returns exit status 0 on success and 2 on
/// failure; an error is one line on standard error.
pub fn main<A: Args>(identity: &Identity, operator: impl FnOnce(&A) -> Operator) -> ExitCode {
    let matches = command::<A>(identity).get_matches();
    let cli = Cli::<A>::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match cli.command {
        Command::Run { operator: args, manager } => {
            manager::run(operator(&args), manager).map_err(anyhow::Error::new)
        }
        Command::Manifests { operator: args, manifests } => write_manifests(&operator(&args), manifests),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn write_manifests(operator: &Operator, args: ManifestsArgs) -> anyhow::Result<()> {
    let identity = operator.identity();
    let image = args
        .image
        .filter(|image| !image.is_empty())
        .unwrap_or_else(|| format!("{}:v{}", identity.image, identity.version));
    if args.stdout || args.olm || args.crds || args.output_dir == Path::new("-") {
        let text = if args.crds {
            manifests::crd_documents(operator, args.webhook_url.as_ref())?
        } else if args.olm {
            manifests::documents_for_olm(operator, &image)?
        } else {
            manifests::documents(operator, &image)?
        };
        return match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::new(error).context("failed to write to standard output"))
            }
            _ => Ok(()),
        };
    }
    let tree = manifests::tree(operator, &image)?;
    let changed = write::write(&args.output_dir, &tree)?;
    eprintln!("{}: {} files, {changed} changed", args.output_dir.display(), tree.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::IDENTITY;

    #[test]
    fn command_line_is_consistent_and_has_examples() {
        let mut command = command::<NoArgs>(&IDENTITY);
        command.clone().debug_assert();
        for name in ["run", "manifests"] {
            let help = command.find_subcommand_mut(name).unwrap().render_long_help().to_string();
            assert!(help.contains(&format!("Examples:\n  test-operator {name}")), "{help}");
        }
        assert!(command.try_get_matches_from(["test-operator", "run", "--sync-period", "1"]).is_err());
    }
}
