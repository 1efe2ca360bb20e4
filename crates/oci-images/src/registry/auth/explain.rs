//! Why an image is read and written with the credentials it is, without any secret.

use std::path::PathBuf;

use super::credentials::{Credentials, Secret};
use super::error::Error;
use super::file::AuthFile;
use super::helper;
use super::resolver::Resolver;
use crate::message::escape;
use crate::reference::Reference;

/// What was found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The file does not exist.
    Missing,
    /// The file has neither an entry nor a credential helper for the image.
    NoEntry,
    /// The credentials that are used.
    Used {
        /// The entry or the credential helper: `the credentials of quay.io/org in …`.
        origin: String,
        /// The user's name, or `None` for an identity token.
        user: Option<String>,
    },
    /// The file was not read, because an earlier one has credentials.
    NotReached,
}

/// What [`Resolver::explain`] found, by file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The credentials that were given and are used instead of those in files, without their secret.
    pub given: Option<String>,
    /// The files in the order in which they are read, and what was found.
    pub files: Vec<(PathBuf, Outcome)>,
}

impl Explanation {
    /// Returns whether no file has credentials.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.given.is_none() && !self.files.iter().any(|(_, outcome)| matches!(outcome, Outcome::Used { .. }))
    }
}

impl Resolver {
    /// Returns what [`Resolver::resolve`] finds in each file.
    ///
    /// # Errors
    ///
    /// As [`Resolver::resolve`].
    pub fn explain(&self, reference: &Reference) -> Result<Explanation, Error> {
        let mut files = Vec::new();
        let given = self.given(reference).filter(|credentials| !credentials.is_anonymous());
        let given = given.map(ToString::to_string);
        let mut is_found = self.given(reference).is_some();
        for (path, required) in &self.files {
            let outcome = if is_found {
                Outcome::NotReached
            } else {
                match AuthFile::read(path, *required)? {
                    None => Outcome::Missing,
                    Some(file) => match self.resolve_in(&file, path, reference, helper::TIMEOUT)? {
                        None => Outcome::NoEntry,
                        Some(credentials) => {
                            is_found = true;
                            used(&credentials)
                        }
                    },
                }
            };
            files.push((path.clone(), outcome));
        }
        Ok(Explanation { given, files })
    }
}

fn used(credentials: &Credentials) -> Outcome {
    let user = match &credentials.secret {
        Secret::Basic { user, .. } => Some(escape(user)),
        Secret::IdentityToken(_) | Secret::Anonymous => None,
    };
    Outcome::Used { origin: credentials.to_string(), user }
}
