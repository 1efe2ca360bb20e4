//! `bundle-tool rules`: lists the rules.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::exit::Exit;
use super::format::{Formats, OutputOption};
use super::suites::SuiteName;
use crate::report::rules::{RuleText, markdown, table};

/// List the rules with their severities and suites
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Rules {
    /// Suites to list, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "SUITE")]
    suite: Vec<SuiteName>,
    #[command(flatten)]
    format: OutputOption<Output>,
}

const EXAMPLES: &str = "\
Examples:
  # List the rules of two suites
  bundle-tool rules --suite operatorhubv2,good-practices

  # Print the names of all rules that report errors
  bundle-tool rules --output json | jq -r '.[] | select(.severity == \"error\").id'";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A table of names, severities and suites
    Text,
    /// One JSON list with the rules' documentation
    Json,
    /// The rule reference, docs/rules.md
    Markdown,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Rules {
    pub(super) fn run(self) -> Result<Exit> {
        let suites = SuiteName::suites(&self.suite);
        let mut rules: Vec<RuleText> = crate::rules::all()
            .filter(|rule| suites.is_empty() || suites.contains(&rule.suite))
            .map(crate::rules::Rule::text)
            .collect();
        rules.sort_by_key(|rule| rule.id);
        let text = match self.format.output {
            Output::Text => table(&rules),
            Output::Json => serde_json::to_string_pretty(&rules)? + "\n",
            Output::Markdown => markdown(&rules),
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        Ok(Exit::Success)
    }
}
