//! `bundle-tool rules`: lists all rules.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Args, ValueEnum};

use super::Exit;
use crate::report::Suite;
use crate::report::rules::{RuleText, markdown, table};

/// Lists all rules, with their suites and severities.
#[derive(Debug, Args)]
pub(super) struct Rules {
    /// Only rules of these suites, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SUITE")]
    suite: Vec<Suite>,
    /// How the rules are printed
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Names, severities and suites
    Text,
    /// One JSON list with all texts
    Json,
    /// The page docs/rules.md
    Markdown,
}

impl Rules {
    pub(super) fn run(self) -> Result<Exit> {
        let mut rules: Vec<RuleText> = crate::rules::all()
            .filter(|rule| self.suite.is_empty() || self.suite.contains(&rule.suite))
            .map(crate::rules::Rule::text)
            .collect();
        rules.sort_by_key(|rule| rule.id);
        let text = match self.output {
            Output::Text => table(&rules),
            Output::Json => serde_json::to_string_pretty(&rules)? + "\n",
            Output::Markdown => markdown(&rules),
        };
        io::stdout().lock().write_all(text.as_bytes())?;
        Ok(Exit::Success)
    }
}
