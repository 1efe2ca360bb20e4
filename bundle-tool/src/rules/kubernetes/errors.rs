//! Where validation functions put what they find wrong with an object.

use crate::model::Object;
use crate::model::yaml::{Path, Step, Value};
use crate::rules::Reporter;

/// Takes the defects of one object for one rule.
#[derive(Debug)]
pub struct Errors<'e, 'r> {
    object: Object<'e>,
    reporter: &'e mut Reporter<'r>,
}

impl<'e, 'r> Errors<'e, 'r> {
    /// Defects of `object` go to `reporter`.
    pub fn new(object: Object<'e>, reporter: &'e mut Reporter<'r>) -> Self {
        Self { object, reporter }
    }

    /// Whether something other than null stands at a path of the object as it is written.
    #[must_use]
    pub fn is_written(&self, path: &Path<'_>) -> bool {
        let found = path.steps().into_iter().try_fold(self.object.root, |value, step| match step {
            Step::Field(name) => name.split('.').try_fold(value, Value::get),
            Step::Key(name) => value.get(name),
            Step::Index(index) => value.items().nth(index),
        });
        found.is_some_and(|value| !value.is_null())
    }

    /// Something is wrong with the field at `path`.
    pub fn add(&mut self, path: &Path<'_>, message: impl Into<String>) {
        self.reporter.field(&self.object, path, message);
    }

    /// Reports why a value is not valid; whether it is.
    pub fn check(&mut self, path: &Path<'_>, result: Result<(), String>) -> bool {
        match result {
            Ok(()) => true,
            Err(message) => {
                self.add(path, message);
                false
            }
        }
    }

    /// Reports a field that must be set and is not; whether it is.
    pub fn required(&mut self, path: &Path<'_>, value: &str) -> bool {
        if value.is_empty() {
            self.add(path, format!("{} is missing", last(path)));
        }
        !value.is_empty()
    }

    /// Reports a value that is none of the allowed ones.
    pub fn one_of(&mut self, path: &Path<'_>, value: &str, allowed: &[&str]) {
        if !allowed.contains(&value) {
            let message = if value.is_empty() {
                format!("{} is missing: it is one of {}", last(path), allowed.join(", "))
            } else {
                format!("'{value}' is none of {}", allowed.join(", "))
            };
            self.add(path, message);
        }
    }

    /// Reports a number below zero.
    pub fn not_negative(&mut self, path: &Path<'_>, value: impl Into<i64>) {
        let value = value.into();
        if value < 0 {
            self.add(path, format!("{value} is below 0"));
        }
    }
}

/// The name of the field that a path leads to.
fn last(path: &Path<'_>) -> String {
    let text = path.to_string();
    text.rsplit('.').next().unwrap_or_default().to_owned()
}
