//! `bundle-tool explain`: what a rule checks, why, and how to mend what it finds.

use std::io::{self, Write as _};

use anyhow::{Result, bail};
use clap::Args;

use super::Exit;
use crate::{report, rules};

/// Says what a rule checks, why, and how to mend what it finds.
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The rules' names, as findings print them: owned-crd-missing
    #[arg(required = true, value_name = "RULE")]
    rules: Vec<String>,
}

impl Explain {
    pub(super) fn run(self) -> Result<Exit> {
        let mut texts = Vec::new();
        for id in &self.rules {
            let Some(rule) = rules::find(id) else {
                let near = nearest(id).map(|near| format!(", did you mean '{near}'?")).unwrap_or_default();
                bail!("there is no rule '{id}'{near}; `bundle-tool rules` lists them all");
            };
            texts.push(report::rules::explanation(&rule.text()));
        }
        io::stdout().lock().write_all(texts.join("\n").as_bytes())?;
        Ok(Exit::Success)
    }
}

/// The rule whose name looks most like what was asked for.
fn nearest(asked: &str) -> Option<&'static str> {
    let likeness = |id: &str| similar::TextDiff::from_chars(asked, id).ratio();
    let best = rules::all().map(|rule| (likeness(rule.id), rule.id)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.6).then_some(best.1)
}
