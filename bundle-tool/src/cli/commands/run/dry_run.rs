//! `--dry-run` and its output: the objects of an installation, printed instead of created.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::cli::exit::Exit;
use kube_yaml::text::write_json;

// Whether the objects are printed instead of created.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct DryRunArgs {
    /// Print the objects without creating them: as they are sent (client), or as the API server would store them (server)
    #[arg(long, value_name = "WHERE", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub(crate) dry_run: Option<DryRun>,
    /// Output format of --dry-run
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t = Format::Yaml, requires = "dry_run")]
    output: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// Print the objects as they are sent
    Client,
    /// Have the API server validate the objects, and print them as it would store them
    Server,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// YAML documents
    #[default]
    Yaml,
    /// One JSON list
    Json,
}

impl DryRunArgs {
    /// Prints the objects.
    pub(crate) fn print(self, objects: &[Value]) -> Result<Exit> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.output {
            Format::Yaml => {
                for object in objects {
                    write!(out, "---\n{}", kube_yaml::emit(object))?;
                }
            }
            Format::Json => {
                let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
                write_json(&list, &mut out)?;
            }
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}
