//! The configuration: which tests are run.

use oci_images::labels;
use serde::Deserialize;

use super::stock::STOCK;
use super::test::{Storage, TestSpec};
use kube_yaml::text::without_serde_terms;
use olm_model::bundle::Annotations;
use olm_model::report::suggest::did_you_mean;
use olm_model::{Bundle, LabelSelector};

/// The directory without the annotation.
const DEFAULT_DIRECTORY: &str = "tests/scorecard/";
/// The maximum number of tests of a configuration.
const MAX_TESTS: usize = 10_000;

/// `Configuration` of `scorecard.operatorframework.io/v1alpha3`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// The stages, in their order.
    pub stages: Vec<Stage>,
    /// The storage of the tests that have none of their own.
    pub storage: Storage,
    /// The service account of the tests in images; `default` if it is empty.
    #[serde(rename = "serviceaccount")]
    pub service_account: String,
}

/// A stage.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Stage {
    /// Whether the tests run at the same time.
    pub parallel: bool,
    /// The tests.
    pub tests: Vec<TestSpec>,
}

impl Stage {
    /// Rejects fields of stages that do not exist: their tests would not run.
    fn check(document: &serde_json::Value) -> Result<(), String> {
        const CONFIG: [&str; 8] =
            ["apiVersion", "kind", "metadata", "spec", "stages", "status", "storage", "serviceaccount"];
        const STAGE: [&str; 2] = ["parallel", "tests"];
        const TEST: [&str; 5] = ["entrypoint", "image", "labels", "storage", "uniqueID"];
        let check = |value: &serde_json::Value, place: &str, known: &[&str]| -> Result<(), String> {
            let mut names = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
            // encoding/json ignores case.
            match names.find(|name| !known.iter().any(|one| one.eq_ignore_ascii_case(name))) {
                Some(name) => {
                    let near = did_you_mean(name, known.iter().copied());
                    Err(format!("{place}unknown field `{name}`{near}"))
                }
                None => Ok(()),
            }
        };
        check(document, "", &CONFIG)?;
        let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
        for (index, stage) in list(&document["stages"]).iter().enumerate() {
            let place = format!("stages[{index}]: ");
            check(stage, &place, &STAGE)?;
            for (test, value) in list(&stage["tests"]).iter().enumerate() {
                check(value, &format!("stages[{index}].tests[{test}]: "), &TEST)?;
            }
        }
        Ok(())
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not a configuration.
    #[error("{path} is not a scorecard configuration: {reason}")]
    Invalid {
        /// The file.
        path: String,
        /// The reason.
        reason: String,
    },
    /// It has too many tests.
    #[error("{path} has more than {MAX_TESTS} tests")]
    TooMany {
        /// The file.
        path: String,
    },
}

/// Returns the configuration in a bundle; `None` if it has none.
///
/// # Errors
/// The file is not a configuration.
pub fn config(bundle: &Bundle) -> Result<Option<Config>, ConfigError> {
    let directory = bundle
        .annotations()
        .and_then(|annotations: Annotations<'_>| annotations.get(labels::SCORECARD_CONFIG))
        .filter(|directory| !directory.is_empty())
        .unwrap_or(DEFAULT_DIRECTORY);
    let path = format!("{}/config.yaml", directory.trim_matches('/'));
    let Some(file) = bundle.file(&path) else { return Ok(None) };
    let invalid = |reason: String| ConfigError::Invalid { path: path.clone(), reason };
    let document = file.document().ok_or_else(|| invalid("expected a YAML document".into()))?;
    Config::parse(&path, document.root().to_json()).map(Some)
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// The document is not a configuration.
    pub fn parse(path: &str, document: serde_json::Value) -> Result<Self, ConfigError> {
        let invalid = |reason: String| ConfigError::Invalid { path: path.to_owned(), reason };
        if document["kind"] != "Configuration" {
            return Err(invalid("expected kind `Configuration`".into()));
        }
        Stage::check(&document).map_err(invalid)?;
        let mut config: Self = serde_json::from_value(document)
            .map_err(|error| invalid(without_serde_terms(&error.to_string())))?;
        for test in config.stages.iter_mut().flat_map(|stage| &mut stage.tests) {
            if test.storage.path().is_none() {
                test.storage = config.storage.clone();
            }
        }
        if config.stages.iter().map(|stage| stage.tests.len()).sum::<usize>() > MAX_TESTS {
            return Err(ConfigError::TooMany { path: path.to_owned() });
        }
        Ok(config)
    }

    /// Returns the six stock tests, as `operator-sdk init` configures them.
    #[must_use]
    pub fn stock() -> Self {
        let tests = STOCK
            .iter()
            .map(|name| TestSpec {
                image: "quay.io/operator-framework/scorecard-test:v1.42.3".into(),
                entrypoint: vec!["scorecard-test".into(), (*name).to_owned()],
                labels: [
                    ("suite".to_owned(), name.split('-').next().unwrap_or_default().to_owned()),
                    ("test".to_owned(), format!("{name}-test")),
                ]
                .into(),
                ..TestSpec::default()
            })
            .collect();
        Self { stages: vec![Stage { tests, ..Stage::default() }], ..Self::default() }
    }

    /// Returns the configuration with those tests only that a selector selects.
    #[must_use]
    pub fn selected(mut self, selector: &LabelSelector) -> Self {
        for stage in &mut self.stages {
            stage.tests.retain(|test| selector.matches(|key| test.labels.get(key).map(String::as_str)));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_by_labels() {
        let names = |selector: &str| -> Vec<String> {
            let config = Config::stock().selected(&selector.parse().unwrap());
            config.stages[0].tests.iter().map(|test| test.entrypoint[1].clone()).collect()
        };
        assert_eq!(names("").len(), 6);
        assert_eq!(names("suite=basic"), ["basic-check-spec"]);
        assert_eq!(names("suite==olm,test!=olm-bundle-validation-test").len(), 4);
        assert_eq!(names("!suite").len() + names("missing").len(), 0);
    }

    #[test]
    fn a_configuration_is_checked() {
        let parse = |text: &str| Config::parse("config.yaml", serde_json::from_str(text).unwrap());
        assert!(parse(r#"{"kind": "Other"}"#).unwrap_err().to_string().contains("expected kind"));
        assert!(parse(r#"{"kind": "Configuration", "stages": 1}"#).is_err());
        let storage = r#"{"spec": {"mountPath": {"path": "/output"}}}"#;
        let stages = r#"[{"parallel": true, "tests": [{"image": "a", "uniqueID": "b"}]}]"#;
        let config = format!(
            r#"{{"kind": "Configuration", "serviceaccount": "c", "storage": {storage}, "stages": {stages}}}"#
        );
        let config = parse(&config).unwrap();
        let test = &config.stages[0].tests[0];
        assert_eq!((config.service_account.as_str(), test.storage.path()), ("c", Some("/output")));
        assert_eq!((test.image.as_str(), test.unique_id.as_str()), ("a", "b"));
        assert!(config.stages[0].parallel);
    }
}
