//! `bundle-tool completions`: completions of the command line for shells.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::cli::exit::Exit;

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Load completions into the current bash
  source <(bundle-tool completions bash)

  # Install them for zsh and fish
  bundle-tool completions zsh > \"${fpath[1]}/_bundle-tool\"
  bundle-tool completions fish > ~/.config/fish/completions/bundle-tool.fish")]
pub(crate) struct Completions {
    /// Shell to print completions for
    #[arg(value_name = "SHELL", value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command) -> Result<Exit> {
        let name = command.get_name().to_owned();
        let mut script = Vec::new();
        generate(self.shell, &mut command, name, &mut script);
        io::stdout().lock().write_all(&script)?;
        Ok(Exit::Success)
    }
}
