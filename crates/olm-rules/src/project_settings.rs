//! `bundle-tool.toml`: which suites validate a project's bundles, what findings of a rule count as, and which findings are
//! ignored at one place. `docs/schemas/bundle-tool.json` describes the file to editors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ignores::Ignore;
use super::profile::Profile;
use super::rule::UNREAD_INPUT;
use super::{Selection, all, find};
use kube_yaml::Position;
use kube_yaml::text::without_serde_terms;
use olm_model::Level;
use olm_model::report::{Suite, suggest};

/// The name of the file.
pub const SETTINGS_FILE: &str = "bundle-tool.toml";

/// What a file says. What names rules and suites is checked by [`apply`](Self::apply).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[non_exhaustive]
pub struct ProjectSettings {
    /// The URI of the schema, for editors.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// A set of suites to enable.
    pub profile: Option<String>,
    /// Suites to enable.
    pub suites: Vec<String>,
    /// Whether warnings are errors.
    pub deny_warnings: bool,
    /// Levels of rules.
    pub rules: BTreeMap<String, Level>,
    /// Findings to ignore.
    pub ignore: Vec<IgnoreEntry>,
}

/// Findings to ignore at one place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct IgnoreEntry {
    /// The rule.
    pub rule: String,
    /// The path of the file below the bundle, in which `*` stands for anything.
    pub file: Option<String>,
    /// The field, in which `*` stands for anything.
    pub path: Option<String>,
    /// Why.
    pub reason: String,
}

/// Why a file is not valid, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidSettings {
    /// Where.
    pub position: Position,
    /// What is wrong.
    pub message: String,
}

/// Why settings cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownSetting {
    /// There is no such suite or profile.
    #[error("{0}")]
    Name(String),
    /// There is no such rule, or its findings cannot be ignored.
    #[error(transparent)]
    Rule(#[from] LevelError),
}

/// Why a rule cannot have a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LevelError {
    /// There is no such rule.
    #[error("{}", unknown_rule(.0))]
    Unknown(String),
    /// Its findings say that nothing was validated.
    #[error("rule `{0}` cannot be ignored: input that cannot be read is not validated")]
    Unread(String),
}

impl ProjectSettings {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// The file is not valid.
    pub fn parse(bytes: &[u8]) -> Result<Self, InvalidSettings> {
        let invalid = |offset: usize, message: String| InvalidSettings {
            position: Position::behind(&bytes[..offset.min(bytes.len())]),
            message,
        };
        let text = std::str::from_utf8(bytes)
            .map_err(|error| invalid(error.valid_up_to(), "invalid UTF-8".to_owned()))?;
        let settings: Self = toml::from_str(text).map_err(|error| {
            let message = without_serde_terms(error.message());
            invalid(error.span().map_or(0, |span| span.start), message)
        })?;
        for entry in &settings.ignore {
            if entry.reason.trim().is_empty() {
                return Err(invalid(0, format!("missing reason to ignore `{}`", entry.rule)));
            }
        }
        Ok(settings)
    }

    /// Adds the settings to a selection. Levels that are added later take precedence.
    ///
    /// # Errors
    /// They name what does not exist, or ignore what cannot be ignored.
    pub fn apply(&self, selection: &mut Selection) -> Result<(), UnknownSetting> {
        for name in &self.suites {
            if name == "all" {
                selection.suites.extend(Suite::ALL);
                continue;
            }
            let Some(suite) = Suite::ALL.into_iter().find(|suite| suite.name() == name) else {
                let names: Vec<_> = Suite::ALL.iter().map(|suite| suite.name()).chain(["all"]).collect();
                return Err(UnknownSetting::Name(suggest::unknown("suite", name, &names)));
            };
            selection.suites.push(suite);
        }
        if let Some(name) = &self.profile {
            let Some(profile) = Profile::ALL.into_iter().find(|profile| profile.name() == name) else {
                let names = Profile::ALL.map(Profile::name);
                return Err(UnknownSetting::Name(suggest::unknown("profile", name, &names)));
            };
            selection.suites.extend(profile.suites());
        }
        selection.deny_warnings |= self.deny_warnings;
        for (id, level) in &self.rules {
            check_level(id, *level)?;
            selection.levels.push((id.clone(), *level));
        }
        let mut ignores = Vec::new();
        for IgnoreEntry { rule, file, path, reason } in self.ignore.clone() {
            check_level(&rule, Level::Allow)?;
            ignores.push(Ignore::new(rule, file, path, reason));
        }
        selection.ignores = ignores.into();
        Ok(())
    }
}

/// Checks that a rule can have a level.
///
/// # Errors
/// There is no such rule, or its findings cannot be ignored.
pub fn check_level(id: &str, level: Level) -> Result<(), LevelError> {
    if find(id).is_none() {
        return Err(LevelError::Unknown(id.to_owned()));
    }
    if UNREAD_INPUT.contains(&id) && level != Level::Deny {
        return Err(LevelError::Unread(id.to_owned()));
    }
    Ok(())
}

/// Returns the error message for an unknown rule id, with the nearest one.
#[must_use]
pub fn unknown_rule(id: &str) -> String {
    let near = suggest::did_you_mean(id, all().map(|rule| rule.id));
    let list = if near.is_empty() { ": run `bundle-tool rules` for a list of all rules" } else { "" };
    format!("unknown rule `{id}`{near}{list}")
}
