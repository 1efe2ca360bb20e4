//! Tests and their results, in operator-sdk's form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use kube_yaml::text::without_serde_terms;

/// `apiVersion` of configurations and results.
pub const API_VERSION: &str = "scorecard.operatorframework.io/v1alpha3";

/// A test of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSpec {
    /// The image that contains the test.
    pub image: String,
    /// What tells it from other tests in the image.
    #[serde(rename = "uniqueID", skip_serializing_if = "String::is_empty")]
    pub unique_id: String,
    /// The command in the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// What selectors select by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Where it may write to.
    pub storage: Storage,
}

/// A directory that a test may write to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Storage {
    /// What it consists of.
    pub spec: StorageSpec,
}

/// What the storage of a test consists of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StorageSpec {
    /// Where it is mounted.
    pub mount_path: MountPath,
}

/// Where the storage of a test is mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MountPath {
    /// The absolute path in the container; no storage if it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
}

impl Storage {
    /// Returns the path at which a directory is mounted, if one is.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        Some(self.spec.mount_path.path.as_str()).filter(|path| !path.is_empty())
    }
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing is wrong.
    Pass,
    /// Something is wrong with the bundle.
    Fail,
    /// The test could not be run.
    Error,
}

impl State {
    /// Returns the state as operator-sdk prints it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// What a test found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResult {
    /// The name of the test.
    #[serde(default)]
    pub name: String,
    /// What the test did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// How it ended.
    pub state: State,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// What could be better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// A test with its results; none if it was only listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The test.
    pub spec: TestSpec,
    /// What it found.
    pub results: Vec<TestResult>,
}

/// Reads the results that a test in an image printed: a `TestStatus`.
///
/// # Errors
/// It printed something else, or no result.
pub fn results(printed: &str) -> Result<Vec<TestResult>, String> {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        results: Vec<TestResult>,
    }
    match kube_yaml::json::from_str(printed) {
        Ok(Status { results }) if results.is_empty() => Err("the test printed no results".to_owned()),
        Ok(Status { results }) => Ok(results),
        Err(error) => {
            let reason = without_serde_terms(&error.to_string());
            Err(format!("the test did not print its results as JSON, as a `TestStatus`: {reason}"))
        }
    }
}

impl TestResult {
    /// Returns the result of a test that could not be run; `log` is what it printed.
    #[must_use]
    pub fn not_run(name: &str, reason: String, log: String) -> Self {
        Self { log, ..Self::new(name).error(reason) }
    }

    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            log: String::new(),
            state: State::Pass,
            errors: Vec::new(),
            suggestions: Vec::new(),
        }
    }

    pub(crate) fn fail(&mut self, error: String) {
        self.errors.push(error);
        self.state = State::Fail;
    }

    pub(crate) fn error(mut self, error: String) -> Self {
        self.errors.push(error);
        self.state = State::Error;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_prints_is_read() {
        let found = results(
            r#"{"results": [{"name": "a", "state": "fail", "errors": ["b"], "creationTimestamp": null}]}"#,
        );
        let expected = TestResult { state: State::Fail, errors: vec!["b".into()], ..TestResult::new("a") };
        assert_eq!(found, Ok(vec![expected]));
        for (printed, reason) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("panic: no", "expected value at line 1 column 1"),
            (r#"{"results": [{"state": "maybe"}]}"#, "unknown variant `maybe`"),
            ("{}", "printed no results"),
        ] {
            let error = results(printed).unwrap_err();
            assert!(error.contains(reason), "{printed}: {error}");
        }
    }
}
