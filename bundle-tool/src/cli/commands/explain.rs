//! `bundle-tool explain`: what a rule checks, why, and how to fix what it finds.

mod markdown;

use std::io::{self, IsTerminal as _, Write as _};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use crate::cli::report::terminal_width;
use crate::terminal::{has_color, stdout};
use kube_yaml::text::write_json;
use markdown::render;
use olm_model::report;

#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Explain {
    /// Names of rules, as shown in brackets in findings
    #[arg(required = true, value_name = "RULE")]
    rules: Vec<String>,
    #[command(flatten)]
    format: OutputOption<Format>,
}

/// The number of columns of a terminal that does not tell it.
const WIDTH: usize = 80;

const EXAMPLES: &str = "\
Examples:
  # Explain one rule
  bundle-tool explain owned-crd-missing

  # Explain several rules
  bundle-tool explain owned-crd-missing crd-not-owned";

impl Explain {
    pub(crate) fn run(self) -> Result<Exit> {
        let mut rules = Vec::new();
        for id in &self.rules {
            let Some(rule) = olm_rules::find(id) else { bail!(olm_rules::unknown_rule(id)) };
            rules.push(rule.documentation());
        }
        if self.format.output == Format::Json {
            let mut out = io::BufWriter::new(io::stdout().lock());
            write_json(&json!({ "version": 1, "rules": rules }), &mut out)?;
            out.flush()?;
            return Ok(Exit::Success);
        }
        let mut text = rules.iter().map(report::rules::page).collect::<Vec<_>>().join("\n");
        // A file or another program gets Markdown.
        if io::stdout().is_terminal() || has_color(&io::stdout()) {
            text = render(&text, terminal_width(&io::stdout()).unwrap_or(WIDTH));
        }
        stdout().lock().write_all(text.as_bytes())?;
        Ok(Exit::Success)
    }
}
