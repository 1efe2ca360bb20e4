//! `bundle-tool man`: a manual page or a page of Markdown for each command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Command};

use crate::cli::exit::Exit;
use crate::cli::{pages, reference};

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Install the manual pages for the current user
  bundle-tool man --output-dir ~/.local/share/man/man1
  man bundle-tool-validate

  # Write the command reference as Markdown
  bundle-tool man --markdown --output-dir docs/reference")]
// The hidden argument would take its place.
#[command(override_usage = "bundle-tool man [OPTIONS] --output-dir <DIR>")]
pub(crate) struct Man {
    /// Write Markdown instead: a page for each command, and pages about exit codes, environment variables and
    /// bundle-tool.toml
    #[arg(long)]
    markdown: bool,
    /// Directory to write to; it is created if it does not exist
    #[arg(long, value_name = "DIR", required_unless_present = "directory")]
    output_dir: Option<PathBuf>,
    /// The same as --output-dir
    #[arg(value_name = "DIR", hide = true, conflicts_with = "output_dir")]
    directory: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, mut command: Command) -> Result<Exit> {
        // clap requires one of them.
        let directory = &self.output_dir.or(self.directory).unwrap_or_default();
        if directory.exists() && !directory.is_dir() {
            bail!("{} is not a directory: pass a directory for the manual pages", directory.display());
        }
        command.build();
        let name = command.get_name().to_owned();
        if self.markdown {
            pages::write(directory, reference::pages(&command)?, reference::GENERATED)?;
            return Ok(Exit::Success);
        }
        let mut pages = BTreeMap::new();
        render(&command, &name, &mut pages)?;
        atomic_files::tree(directory, pages)?;
        Ok(Exit::Success)
    }
}

/// Adds the page of a command and those of its subcommands: `bundle-tool-push-image.1`.
fn render(command: &Command, name: &str, pages: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().display_name(name)).title(name.to_uppercase()).render(&mut page)?;
    pages.insert(format!("{name}.1"), page);
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        render(subcommand, &format!("{name}-{}", subcommand.get_name()), pages)?;
    }
    Ok(())
}
