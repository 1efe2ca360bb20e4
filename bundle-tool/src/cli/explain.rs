//! `bundle-tool explain`: what a rule checks, why, and how to fix what it finds.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::Args;

use super::exit::Exit;
use super::suites::unknown_rule;
use crate::{catalog, report, rules};

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Explain {
    /// Names of rules, as findings show them in brackets
    #[arg(required = true, value_name = "RULE")]
    rules: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  # Explain one rule
  bundle-tool explain owned-crd-missing

  # Explain several rules
  bundle-tool explain owned-crd-missing crd-not-owned";

impl Explain {
    pub(super) fn run(self) -> Result<Exit> {
        let mut texts = Vec::new();
        for id in &self.rules {
            if let Some(rule) = rules::find(id) {
                texts.push(report::rules::page(&rule.text()));
            } else if let Some(rule) = catalog::validate::RULES.iter().find(|rule| rule.id == *id) {
                texts.push(rule.page());
            } else {
                bail!(unknown_rule(id));
            }
        }
        io::stdout().lock().write_all(texts.join("\n").as_bytes())?;
        Ok(Exit::Success)
    }
}
