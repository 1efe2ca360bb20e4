//! The settings of the page, as its form and its links have them.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use olm_model::kubernetes::{self, Versions, VersionsError};
use olm_model::report::Suite;
use olm_rules::{Profile, Selection, Settings as RuleSettings};

/// The settings; what is missing has the command line's default.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// Suites besides `bundle`, by name; `all` for all of them.
    suites: Vec<String>,
    /// Profiles by name.
    profiles: Vec<String>,
    /// Versions of Kubernetes, `1.30` or `1.30..1.34`; empty for those that the bundle claims.
    kubernetes: String,
}

/// Why settings are invalid.
#[derive(Debug)]
#[non_exhaustive]
pub enum SettingsError {
    /// They are not the JSON that is expected.
    Json(serde_json::Error),
    /// There is no suite or profile of this name.
    Unknown(&'static str, String),
    /// The versions of Kubernetes are invalid.
    Versions(VersionsError),
}

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Json(error) => write!(f, "invalid settings: {error}"),
            Self::Unknown(what, name) => write!(f, "unknown {what} `{name}`"),
            Self::Versions(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SettingsError {}

/// Returns the selection of rules that settings stand for.
pub(crate) fn selection(json: &str) -> Result<Selection, SettingsError> {
    let settings: Settings = serde_json::from_str(json).map_err(SettingsError::Json)?;
    let mut suites = Vec::new();
    for name in settings.suites {
        if name == "all" {
            suites.extend(Suite::ALL);
            continue;
        }
        let suite = Suite::ALL.into_iter().find(|suite| suite.name() == name);
        suites.push(suite.ok_or(SettingsError::Unknown("suite", name))?);
    }
    for name in settings.profiles {
        let profile = Profile::ALL.into_iter().find(|profile| profile.name() == name);
        suites.extend(profile.ok_or(SettingsError::Unknown("profile", name))?.suites());
    }
    suites.sort_unstable();
    suites.dedup();
    let versions = settings.kubernetes.trim();
    let versions = if versions.is_empty() {
        None
    } else {
        Some(Versions::parse(versions).map_err(SettingsError::Versions)?)
    };
    Ok(Selection {
        suites,
        settings: RuleSettings { versions, ..RuleSettings::default() },
        ..Selection::default()
    })
}

/// Returns what can be chosen, as JSON: suites and profiles with their descriptions, and versions of Kubernetes.
#[must_use]
pub fn choices() -> String {
    let suites = Suite::ALL.into_iter().filter(|suite| !matches!(suite, Suite::Bundle | Suite::Catalog));
    let suites = suites.map(|suite| json!({"name": suite.name(), "description": suite.description()}));
    let profiles = Profile::ALL.into_iter().map(|profile| {
        let suites = profile.suites().iter().map(|suite| suite.name());
        json!({
            "name": profile.name(),
            "description": profile.description(),
            "suites": suites.collect::<Vec<_>>(),
        })
    });
    let versions = Versions::reproduced().iter().map(|minor| Json::String(minor.to_string()));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "reproduces": kubernetes::reproduced(),
        "suites": suites.collect::<Vec<_>>(),
        "profiles": profiles.collect::<Vec<_>>(),
        "versions": versions.collect::<Vec<_>>(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_profiles_are_selected_by_name() {
        let selected = selection(r#"{"suites": ["olmv1"], "profiles": ["openshift"]}"#).unwrap();
        let names: Vec<_> = selected.suites.iter().map(|suite| suite.name()).collect();
        assert_eq!(names, ["good-practices", "deprecated-apis", "olmv1", "openshift", "multiarch"]);
        let versions = selection(r#"{"kubernetes": "1.30..1.31"}"#).unwrap().settings.versions.unwrap();
        assert_eq!(versions.iter().map(|minor| minor.to_string()).collect::<Vec<_>>(), ["1.30", "1.31"]);
        for (json, message) in [
            (r#"{"suites": ["olmv2"]}"#, "unknown suite `olmv2`"),
            (r#"{"profiles": ["x"]}"#, "unknown profile `x`"),
            (r#"{"kubernetes": "new"}"#, "`new`"),
            (r#"{"content": "x"}"#, "unknown field `content`"),
        ] {
            let error = selection(json).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn every_choice_is_accepted() {
        let choices: Json = serde_json::from_str(&choices()).unwrap();
        for (list, field) in [("suites", "suites"), ("profiles", "profiles")] {
            for one in choices[list].as_array().unwrap() {
                selection(&json!({field: [one["name"]]}).to_string()).unwrap();
            }
        }
        for version in choices["versions"].as_array().unwrap() {
            selection(&json!({"kubernetes": version}).to_string()).unwrap();
        }
    }
}
