//! Catalog templates, as `opm alpha render-template` has them: short files that become a catalog.
//!
//! A template names bundles by their images. [`Template::images`] says which; with them rendered, [`Template::build`] makes
//! the catalog. The semver template may name its channels freely, which opm does not know.
//!
//! Source: `alpha/template` of operator-registry v1.73.

mod basic;
mod parts;
mod semver;
mod substitutes;

use std::collections::BTreeSet;

use self::basic::Basic;
use self::semver::Semver;
use self::substitutes::Substitutes;
use kube_yaml::{Value, string};
use olm_model::catalog::Catalog;

pub use self::parts::{Bundles, Rendered, TemplateError};

/// The schemas of templates.
pub const SCHEMAS: [&str; 3] = [basic::SCHEMA, semver::SCHEMA, substitutes::SCHEMA];

/// A template.
#[derive(Debug)]
pub struct Template(Kind);

#[derive(Debug)]
enum Kind {
    Basic(Box<Basic>),
    Semver(Box<Semver>),
    Substitutes(Box<Substitutes>),
}

impl Template {
    /// Parses a template, which must have the schema `expected` if one is given.
    ///
    /// # Errors
    /// It is not YAML or has no document; the schema is not known, or a field is wrong.
    pub fn parse(bytes: &[u8], expected: Option<&str>) -> Result<Self, TemplateError> {
        let parsed = kube_yaml::parse(bytes);
        let Some(tree) = parsed.documents.first() else {
            return Err(parsed.error.map_or(TemplateError::NoDocument, TemplateError::Syntax));
        };
        let root = tree.root();
        let found = string(root, "schema");
        if found.is_empty() {
            return Err(TemplateError::SchemaMissing { position: root.position() });
        }
        match expected.filter(|expected| *expected != found) {
            Some(expected) => {
                Err(TemplateError::OtherSchema { expected: expected.to_owned(), found: found.to_owned() })
            }
            None => Self::read(root),
        }
    }

    /// Reads a template; names of fields match whatever their case, as opm's documentation writes them.
    ///
    /// # Errors
    /// The schema is not known, or a field is wrong.
    fn read(root: Value<'_>) -> Result<Self, TemplateError> {
        let kind = match string(root, "schema") {
            basic::SCHEMA => Kind::Basic(Box::new(Basic::read(root)?)),
            semver::SCHEMA => Kind::Semver(Box::new(Semver::read(root)?)),
            substitutes::SCHEMA => Kind::Substitutes(Box::new(Substitutes::read(root)?)),
            other => return Err(TemplateError::Schema(other.to_owned())),
        };
        Ok(Self(kind))
    }

    /// Returns the images that must be rendered.
    #[must_use]
    pub fn images(&self) -> BTreeSet<&str> {
        match &self.0 {
            Kind::Basic(template) => template.images(),
            Kind::Semver(template) => template.images(),
            Kind::Substitutes(template) => template.images(),
        }
    }

    /// Returns the catalog.
    ///
    /// # Errors
    /// The bundles do not fit the template.
    pub fn build(self, bundles: &Bundles) -> Result<Catalog, TemplateError> {
        match self.0 {
            Kind::Basic(template) => template.build(bundles),
            Kind::Semver(template) => template.build(bundles),
            Kind::Substitutes(template) => template.build(bundles),
        }
    }
}
