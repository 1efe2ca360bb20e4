//! The functions that JavaScript calls. Errors are strings.

use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Workspace, choices, decompressed, workspace};

/// A [`Workspace`], as JavaScript sees it.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Engine(Workspace);

#[wasm_bindgen]
impl Engine {
    /// Returns an engine without files.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Workspace::new(name))
    }

    /// Adds a file, or replaces its bytes.
    pub fn set(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.set(path, bytes);
    }

    /// Sets the `bundle-tool.toml` that applies unless the files have one.
    #[wasm_bindgen(js_name = setProject)]
    pub fn set_project(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.set_project(path, bytes);
    }

    /// Returns whether the files are those of a catalog.
    #[must_use]
    #[wasm_bindgen(js_name = isCatalog)]
    pub fn is_catalog(&self) -> bool {
        self.0.is_catalog()
    }

    /// Validates the files.
    ///
    /// # Errors
    /// The settings are invalid, or a catalog cannot be read.
    pub fn validate(&mut self, settings: &str) -> Result<String, String> {
        with_message(self.0.validate(settings))
    }

    /// Returns the files that the fix of a finding changes.
    ///
    /// # Errors
    /// It has no fix that can be applied.
    pub fn fix(&self, finding: usize) -> Result<String, String> {
        with_message(self.0.fix(finding))
    }

    /// Returns the files that the safe fixes change.
    ///
    /// # Errors
    /// No fix can be applied.
    #[wasm_bindgen(js_name = fixAll)]
    pub fn fix_all(&self) -> Result<String, String> {
        with_message(self.0.fix_all())
    }

    /// Returns what a preview needs.
    pub fn preview(&mut self) -> String {
        self.0.preview()
    }

    /// Compares an older bundle with this one.
    pub fn compare(&mut self, old: &mut Engine) -> String {
        self.0.compare(&mut old.0)
    }

    /// Returns the packages of a catalog.
    ///
    /// # Errors
    /// The catalog cannot be read.
    pub fn packages(&self) -> Result<String, String> {
        with_message(self.0.packages())
    }

    /// Returns what pages show of a package, with the graph of its bundles from the one at `from` on.
    ///
    /// # Errors
    /// The catalog cannot be read, or does not have the package.
    pub fn package(&self, package: &str, from: usize) -> Result<String, String> {
        with_message(self.0.package(package, from))
    }

    /// Returns the entries of a channel.
    ///
    /// # Errors
    /// The catalog cannot be read, or does not have the package.
    pub fn channel(&self, package: &str, channel: &str) -> Result<String, String> {
        with_message(self.0.channel(package, channel))
    }
}

/// Returns what can be chosen.
#[wasm_bindgen(js_name = choices)]
#[must_use]
pub fn exported_choices() -> String {
    choices()
}

/// Returns bytes without gzip or zstd; nothing if there are more of them than `limit`.
///
/// # Errors
/// The bytes are damaged.
#[wasm_bindgen(js_name = decompressed)]
pub fn exported_decompressed(bytes: &[u8], limit: usize) -> Result<Option<Vec<u8>>, String> {
    decompressed(bytes, limit).map_err(|error| error.to_string())
}

/// Returns the page of a rule.
///
/// # Errors
/// There is no rule of this name.
#[wasm_bindgen]
pub fn explain(rule: &str) -> Result<String, String> {
    with_message(workspace::explain(rule))
}

fn with_message(answer: Result<String, crate::Error>) -> Result<String, String> {
    answer.map_err(|error| error.to_string())
}
