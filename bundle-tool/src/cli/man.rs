//! `bundle-tool man`: a manual page for each command.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Command};

use super::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Install the manual pages for the current user
  bundle-tool man ~/.local/share/man/man1
  man bundle-tool-validate")]
pub(super) struct Man {
    /// Directory to write to; it is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(super) fn run(self, mut command: Command) -> Result<Exit> {
        let directory = &self.directory;
        if directory.exists() && !directory.is_dir() {
            bail!("{} is not a directory: pass a directory for the manual pages", directory.display());
        }
        command.build();
        let name = command.get_name().to_owned();
        write(&command, &name, &self.directory)?;
        Ok(Exit::Success)
    }
}

/// Writes the page of a command and those of its subcommands: `bundle-tool-push-image.1`.
fn write(command: &Command, name: &str, directory: &Path) -> Result<()> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone().display_name(name)).title(name.to_uppercase()).render(&mut page)?;
    let path = directory.join(format!("{name}.1"));
    atomic_files::file(&path, &page).with_context(|| format!("failed to write {}", path.display()))?;
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        write(subcommand, &format!("{name}-{}", subcommand.get_name()), directory)?;
    }
    Ok(())
}
