//! The list of errors that validation functions add to.

use super::reporter::Reporter;
use kube_yaml::Path;
use olm_model::Object;
use olm_model::report::{Fix, suggest};

/// Reports the errors of one object for one rule.
#[derive(Debug)]
pub(crate) struct ErrorReporter<'e, 'r> {
    object: Object<'e>,
    reporter: &'e mut Reporter<'r>,
}

impl<'e, 'r> ErrorReporter<'e, 'r> {
    /// Creates a list whose errors about `object` go to `reporter`.
    pub(crate) fn new(object: Object<'e>, reporter: &'e mut Reporter<'r>) -> Self {
        Self { object, reporter }
    }

    /// Returns whether the API server is that of Kubernetes `1.minor` or newer. Ask only where the answer makes a difference.
    pub(crate) fn since(&self, minor: u16) -> bool {
        self.reporter.since(minor)
    }

    /// Returns whether the object as written has a value other than null at a path.
    #[must_use]
    pub(crate) fn is_written(&self, path: &Path<'_>) -> bool {
        self.object.root.at_path(path).is_some_and(|value| !value.is_null())
    }

    /// Attaches a fix to the error that is reported next.
    pub(crate) fn fix(&mut self, fix: impl Into<Option<Fix>>) -> &mut Self {
        self.reporter.fix(fix);
        self
    }

    /// Reports an error about the field at `path`.
    pub(crate) fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.reporter.field(&self.object, path, message);
    }

    /// Adds the place of a field of the same object to the error that was reported last.
    pub(crate) fn related(&mut self, path: &Path<'_>, message: &str) {
        self.reporter.related(&self.object, path, message);
    }

    /// Reports the error of a validation function; returns whether the value is valid.
    pub(crate) fn check(&mut self, path: &Path<'_>, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => true,
            Err(message) => {
                self.add(path, message);
                false
            }
        }
    }

    /// Reports a required field that is not set; returns whether it is set.
    pub(crate) fn required(&mut self, path: &Path<'_>, value: &str) -> bool {
        if value.is_empty() {
            self.add(path, format!("missing required field `{}`", last(path)));
        }
        !value.is_empty()
    }

    /// Reports a value that is not one of the allowed ones.
    pub(crate) fn one_of(&mut self, path: &Path<'_>, value: &str, allowed: &[&str]) {
        if !allowed.contains(&value) {
            let message = if value.is_empty() {
                format!("missing required field `{}`: must be {}", last(path), suggest::alternatives(allowed))
            } else {
                let name = last(path);
                let name = name.split('[').next().unwrap_or_default();
                format!("unsupported {name} `{value}`: must be {}", suggest::alternatives(allowed))
            };
            self.add(path, message);
        }
    }

    /// Reports a negative number.
    pub(crate) fn not_negative(&mut self, path: &Path<'_>, value: impl Into<i64>) {
        let value = value.into();
        if value < 0 {
            self.add(path, format!("invalid value {value}: must not be negative"));
        }
    }
}

/// Returns the name of the last field of a path.
fn last(path: &Path<'_>) -> String {
    let text = path.to_string();
    text.rsplit('.').next().unwrap_or_default().to_owned()
}
