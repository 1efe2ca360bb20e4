//! Tests and their results, in operator-sdk's form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `apiVersion` of configurations and results.
pub const API_VERSION: &str = "scorecard.operatorframework.io/v1alpha3";

/// A test of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSpec {
    /// The image that contains the test.
    pub image: String,
    /// The command in the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entrypoint: Vec<String>,
    /// What selectors select by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestResult {
    /// The name of the test.
    pub name: String,
    /// What the test did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub log: String,
    /// How it ended.
    pub state: State,
    /// What is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// What could be better.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

impl TestResult {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            log: String::new(),
            state: State::Pass,
            errors: Vec::new(),
            suggestions: Vec::new(),
        }
    }

    pub(super) fn fail(&mut self, error: String) {
        self.errors.push(error);
        self.state = State::Fail;
    }

    pub(super) fn error(mut self, error: String) -> Self {
        self.errors.push(error);
        self.state = State::Error;
        self
    }
}
