//! `bundle-tool rules`: lists the rules.

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::format::{Formats, OutputOption};
use crate::cli::pages;
use crate::cli::suites::SuiteName;
use kube_yaml::text::write_json;
use olm_model::report::rules::{GENERATED, RuleText, reference, table};

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Rules {
    /// Suites to list, separated by commas [default: all]
    #[arg(long, value_delimiter = ',', value_name = "SUITE", value_parser = SuiteName::listed())]
    suite: Vec<SuiteName>,
    #[command(flatten)]
    format: OutputOption<Output>,
    /// Write the rule reference to this directory as Markdown, instead of printing the list
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  # List the rules of two suites
  bundle-tool rules --suite operatorhubv2,good-practices

  # Write the rule reference as Markdown
  bundle-tool rules --output-dir docs/rules

  # Print the names of all rules that report errors
  bundle-tool rules --output json |
    jq -r '.rules[] | select(.severity == \"error\").id'";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A table of names, severities and suites
    Text,
    /// One JSON document with the rules' documentation
    Json,
}

impl Formats for Output {
    const DEFAULT: &'static str = "text";
}

impl Rules {
    pub(crate) fn run(self) -> Result<Exit> {
        let suites = SuiteName::suites(&self.suite);
        let mut rules: Vec<RuleText> = olm_rules::all()
            .filter(|rule| suites.is_empty() || suites.contains(&rule.suite))
            .map(olm_rules::Rule::documentation)
            .collect();
        rules.sort_by_key(|rule| rule.id);
        if let Some(directory) = &self.output_dir {
            pages::write(directory, reference(&rules), GENERATED)?;
            return Ok(Exit::Success);
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        match self.format.output {
            Output::Text => out.write_all(table(&rules).as_bytes())?,
            Output::Json => write_json(&json!({ "version": 1, "rules": rules }), &mut out)?,
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}
