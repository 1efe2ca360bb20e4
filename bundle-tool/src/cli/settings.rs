//! What users decide about rules: options of the command line, and the `bundle-tool.toml` that applies to a bundle.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result, anyhow, bail};
use clap::Args;

use super::openshift::OpenshiftOption;
use super::selection::SelectionOptions;
use crate::settings;
use crate::terminal::{WARNING, stderr};
use kube_yaml::text::printable;
use olm_model::Level;
use olm_model::report::Suite;
use olm_rules::{ProjectSettings, Selection, UnknownSetting, check_level};

/// The name that stands for all warnings.
const WARNINGS: &str = "warnings";

// What users decide about rules.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rule options")]
pub(crate) struct RuleArgs {
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    levels: LevelOptions,
}

// How findings of rules count.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rule options")]
pub(crate) struct LevelOptions {
    /// Rules to ignore, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    allow: Vec<String>,
    /// Rules to report as warnings, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    warn: Vec<String>,
    /// Rules to report as errors, separated by commas; `warnings` for all warnings
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    deny: Vec<String>,
    /// Settings to use for all bundles and catalogs [default: the nearest bundle-tool.toml in or above each directory]
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Ignore all bundle-tool.toml files
    #[arg(long)]
    no_config: bool,
    /// Report findings that comments in files ignore
    #[arg(long)]
    no_ignore_comments: bool,
}

/// The settings that were read, by their files.
#[derive(Debug)]
pub(crate) struct Selections {
    base: Selection,
    levels: Vec<(String, Level)>,
    source: Source,
    read: Mutex<HashMap<PathBuf, Arc<Selection>>>,
    /// The suites that were enabled for any bundle.
    enabled: Mutex<BTreeSet<Suite>>,
}

#[derive(Debug)]
enum Source {
    None,
    File(PathBuf),
    Nearest,
}

impl RuleArgs {
    /// Returns the files besides the settings that options name.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.selection.files()
    }

    /// Returns the versions of OpenShift that catalogs are for.
    pub(crate) fn openshift(&self) -> Result<OpenshiftOption> {
        self.selection.openshift()
    }

    /// Checks the options.
    pub(crate) fn selections(&self) -> Result<Selections> {
        let settings = self.selection.settings()?;
        let mut suites = self.selection.suites()?;
        // What only these rules read enables them.
        if settings.extension.is_some() && !suites.contains(&Suite::Olmv1) {
            suites.push(Suite::Olmv1);
            suites.sort_unstable();
        }
        self.levels.selections(Selection { suites, settings, ..Selection::default() })
    }
}

impl LevelOptions {
    /// Checks the options, and adds them to a selection of suites.
    pub(crate) fn selections(&self, base: Selection) -> Result<Selections> {
        let lists = [(&self.allow, Level::Allow), (&self.warn, Level::Warn), (&self.deny, Level::Deny)];
        let mut levels: Vec<(String, Level)> = Vec::new();
        let mut deny_warnings = false;
        for (list, level) in lists {
            for id in list {
                if id == WARNINGS && level == Level::Deny {
                    deny_warnings = true;
                    continue;
                }
                check_level(id, level)?;
                if levels.iter().any(|(other, other_level)| other == id && *other_level != level) {
                    bail!("rule `{id}` is in several of --allow, --warn and --deny");
                }
                levels.push((id.clone(), level));
            }
        }
        let source = match &self.config {
            Some(path) => Source::File(path.clone()),
            None if self.no_config => Source::None,
            None => Source::Nearest,
        };
        let base = Selection { deny_warnings, without_comments: self.no_ignore_comments, ..base };
        let selections =
            Selections { base, levels, source, read: Mutex::default(), enabled: Mutex::default() };
        if let Source::File(path) = &selections.source {
            selections.of_file(path)?;
        }
        Ok(selections)
    }
}

impl Selections {
    /// Returns what applies to a bundle or a catalog in a directory; for images that is the current one.
    pub(crate) fn for_directory(&self, directory: Option<&Path>) -> Result<Arc<Selection>> {
        match self.file(directory) {
            Some(path) => self.of_file(&path),
            None => Ok(self.with(&ProjectSettings::default(), "")?.into()),
        }
    }

    /// Returns the settings that apply to a bundle in a directory.
    pub(crate) fn file(&self, directory: Option<&Path>) -> Option<PathBuf> {
        match &self.source {
            Source::None => None,
            Source::File(path) => Some(path.clone()),
            Source::Nearest => settings::find(directory.unwrap_or(Path::new("."))),
        }
    }

    /// Returns the files that apply to a bundle in a directory, or would if they existed.
    pub(crate) fn candidates(&self, directory: &Path) -> Vec<PathBuf> {
        match &self.source {
            Source::None => Vec::new(),
            Source::File(path) => vec![path.clone()],
            Source::Nearest => settings::candidates(directory),
        }
    }

    fn of_file(&self, path: &Path) -> Result<Arc<Selection>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(selection) = read.get(path) {
            return Ok(Arc::clone(selection));
        }
        let selection = Arc::new(self.with(&settings::read(path)?, &path.display().to_string())?);
        read.insert(path.to_owned(), Arc::clone(&selection));
        Ok(selection)
    }

    /// Adds settings to the options, which take precedence.
    fn with(&self, settings: &ProjectSettings, name: &str) -> Result<Selection> {
        let mut selection = self.base.clone();
        settings.apply(&mut selection).map_err(|error| match error {
            UnknownSetting::Rule(error) => Error::new(error).context(name.to_owned()),
            error => anyhow!("{name}: {error}"),
        })?;
        selection.levels.extend(self.levels.iter().cloned());
        self.enabled.lock().unwrap_or_else(PoisonError::into_inner).extend(&selection.suites);
        Ok(selection)
    }

    /// Warns about options for rules that were not run, and about entries of settings that matched no finding of any bundle,
    /// although their rules were run.
    pub(crate) fn report_unused(self) -> io::Result<()> {
        let read = self.read.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<_> = read.into_iter().collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out = stderr();
        let suites = self.enabled.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect();
        let any = Selection { suites, ..Selection::default() };
        for (id, level) in self.levels.iter().filter(|(_, level)| *level != Level::Allow) {
            if let Some(rule) = olm_rules::find(id).filter(|rule| !any.runs(rule)) {
                let option = if *level == Level::Deny { "--deny" } else { "--warn" };
                let suite = rule.suite;
                writeln!(
                    out,
                    "{WARNING} {option} {id} has no effect: the suite `{suite}` is not enabled; pass --suite {suite}"
                )?;
            }
        }
        for (path, selection) in files {
            for (index, entry) in selection.ignores.iter().enumerate() {
                let is_run = olm_rules::find(entry.rule()).is_some_and(|rule| selection.runs(rule));
                if is_run && !entry.is_used() {
                    let path = path.display().to_string();
                    writeln!(
                        out,
                        "{WARNING} {}: ignore[{index}]: no finding of `{}` to ignore; remove the entry",
                        printable(&path),
                        entry.rule()
                    )?;
                }
            }
        }
        Ok(())
    }
}
