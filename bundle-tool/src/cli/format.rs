//! `--output`, the option of commands that print in several formats.

use clap::{Args, ValueEnum};

/// The formats of a command.
pub(crate) trait Formats: ValueEnum + Clone + Send + Sync + 'static {
    /// The name of the format that is printed without the option.
    const DEFAULT: &'static str;
}

// The option, for the formats of one command.
#[derive(Debug, Args)]
pub(crate) struct OutputOption<F: Formats> {
    /// Output format
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value = F::DEFAULT)]
    pub(crate) output: F,
}

/// The formats of most commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Human-readable text
    Text,
    /// One JSON document
    Json,
}

impl Formats for Format {
    const DEFAULT: &'static str = "text";
}
