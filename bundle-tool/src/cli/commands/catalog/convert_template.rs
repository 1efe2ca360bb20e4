//! `bundle-tool catalog convert-template`: a template of a catalog that exists.
//!
//! Source: `alpha/template/converter` of operator-registry v1.73.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value as Json, json};

use super::load;
use crate::cli::commands::render::Output;
use crate::cli::exit::Exit;
use crate::cli::format::OutputOption;
use crate::cli::images::RegistryArgs;
use kube_yaml::text::{excerpt, source_name};
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Limits, Source};
use olm_model::report::suggest;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Maintain a published catalog as a template from now on
  bundle-tool catalog convert-template basic quay.io/example/catalog:latest \\
    --output yaml > template.yaml")]
pub(crate) struct ConvertTemplate {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Convert a catalog to a basic template
    ///
    /// The template contains the packages, the channels and, for each bundle, only its image. `catalog template` renders
    /// the bundles from these images again.
    ///
    /// Exit status: 0 on success, 2 if the catalog cannot be read or converted.
    #[command(after_long_help = "Examples:
  # Maintain a published catalog as a template from now on
  bundle-tool catalog convert-template basic quay.io/example/catalog:latest \\
    --output yaml > template.yaml

  # Build the catalog from it
  bundle-tool catalog template template.yaml --output yaml > catalog.yaml")]
    Basic(Convert),
    /// Convert a catalog to a substitutes template
    ///
    /// The template contains all blobs of the catalog and an empty list of substitutions.
    ///
    /// Exit status: 0 on success, 2 if the catalog cannot be read or converted.
    #[command(after_long_help = "Examples:
  # Print a template, and then add substitutions to it
  bundle-tool catalog convert-template substitutes catalog --output yaml")]
    Substitutes(Convert),
}

#[derive(Debug, Args)]
struct Convert {
    /// Catalog: a directory, a file, `oci:DIR`, `oci-archive:FILE` or an image name [default: standard input]
    #[arg(value_name = "REF", default_value = "-", hide_default_value = true)]
    catalog: String,
    /// Package to convert [default: all]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// The types of templates that a catalog can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TemplateType {
    /// Packages, channels and the images of bundles.
    Basic,
    /// All blobs, and substitutions of bundles.
    Substitutes,
}

impl TemplateType {
    fn schema(self) -> &'static str {
        match self {
            Self::Basic => "olm.template.basic",
            Self::Substitutes => "olm.template.substitutes",
        }
    }
}

impl ConvertTemplate {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.kind {
            Kind::Basic(convert) => convert.run(TemplateType::Basic),
            Kind::Substitutes(convert) => convert.run(TemplateType::Substitutes),
        }
    }
}

impl Convert {
    fn run(&self, kind: TemplateType) -> Result<Exit> {
        let failed = || format!("failed to convert {}", source_name(&self.catalog));
        let sources = load::sources(&self.catalog, &self.registries).with_context(failed)?;
        let mut blobs = blobs(sources, &self.catalog).with_context(failed)?;
        if let Some(package) = &self.package {
            let of = |blob: &Json| {
                let name = if blob["schema"] == "olm.package" { &blob["name"] } else { &blob["package"] };
                name.as_str().unwrap_or_default().to_owned()
            };
            let known: BTreeSet<String> = blobs.iter().map(of).filter(|name| !name.is_empty()).collect();
            if !known.contains(package) {
                let known = known.iter().map(String::as_str);
                let known = suggest::or_known(package, "its packages are", known);
                bail!("package `{}` is not in the catalog{known}", excerpt(package));
            }
            blobs.retain(|blob| of(blob) == *package);
        }
        let text = self.format.output.template(&template(kind, blobs))?;
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(Exit::Success)
    }
}

impl Output {
    /// Returns a template as opm writes it.
    pub(crate) fn template(self, template: &Json) -> Result<String> {
        Ok(match self {
            Self::Json => {
                let mut text = Vec::new();
                kube_yaml::go_json::write_in_order_with(template, "    ", &mut text)?;
                // Go escapes these characters because of their meaning in HTML. In JSON, they occur in strings only.
                let text = String::from_utf8_lossy(&text);
                let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
                format!("{text}\n")
            }
            Self::Yaml => format!("---\n{}\n", kube_yaml::emit(template)),
        })
    }
}

/// Returns the blobs of a catalog in their order. opm converts YAML to JSON, which sorts keys; JSON is kept as it is.
pub(crate) fn blobs(sources: Vec<Source>, name: &str) -> Result<Vec<Json>> {
    let documents = reader::documents(sources, Limits::default(), |document| {
        document.content.map(|parsed| parsed.tree.root().to_json()).map_err(|error| error.to_string())
    })?;
    let mut blobs = Vec::with_capacity(documents.len());
    for document in documents {
        let blob = document.map_err(|reason| anyhow!(reason))?;
        if blob["schema"].as_str().unwrap_or_default().is_empty() {
            bail!("{name}: a document has no schema");
        }
        let is_bundle = blob["schema"] == "olm.bundle";
        for field in ["name", "package", "image"].into_iter().filter(|field| is_bundle || *field != "image") {
            if !blob[field].is_string() && !blob[field].is_null() {
                bail!("{name}: field `{field}` of a document: expected a string");
            }
        }
        blobs.push(blob);
    }
    Ok(blobs)
}

/// Returns a template of blobs.
pub(crate) fn template(kind: TemplateType, mut blobs: Vec<Json>) -> Json {
    for blob in &mut blobs {
        if kind == TemplateType::Basic && blob["schema"] == "olm.bundle" {
            *blob = json!({ "schema": "olm.bundle", "image": blob["image"].as_str().unwrap_or_default() });
        }
    }
    let mut template = Map::from_iter([
        ("schema".to_owned(), kind.schema().into()),
        ("entries".to_owned(), Json::Array(blobs)),
    ]);
    if kind == TemplateType::Substitutes {
        template.insert("substitutions".to_owned(), Json::Array(Vec::new()));
    }
    Json::Object(template)
}
