//! `bundle-tool catalog template`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueEnum};

use super::load;
use super::validate::{Next, check};
use crate::catalog::template::{Bundles, Rendered, Template};
use crate::cli::exit::Exit;
use crate::cli::format::OutputOption;
use crate::cli::images::Registries;
use crate::cli::render::Output;
use crate::cli::rendering::Rendering;
use crate::cli::runtime::SharedRuntime;
use crate::cli::stdin;
use crate::read::catalog::{self as reader, Content, Limits, Source};
use crate::read::{file, yaml};

/// The maximum size of a template in bytes.
const MAX_TEMPLATE: u64 = 16 << 20;

/// Build a catalog from a template
///
/// Accepts the templates of `opm alpha render-template` (basic, semver and substitutes) and prints the same catalogs. A semver
/// template may name its own channels instead of candidate, fast and stable: `channels` is a list of {name, bundles}, the least
/// stable first, and `generatePlainChannels` makes one channel of each, without a version in its name.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Build a catalog from a template
  bundle-tool catalog template template.yaml --output yaml \\
    > catalog/my-operator/catalog.yaml

  # Read the bundles that the catalog contains from it instead of pulling them
  bundle-tool catalog template template.yaml --bundles-from catalog \\
    --output yaml > new.yaml

  # Use a bundle that has not been pushed yet
  bundle-tool catalog template template.yaml \\
    --bundle quay.io/example/gizmo-bundle:v1.2.0=./bundle")]
pub(super) struct TemplateCommand {
    /// Type of the template, or its file
    #[arg(value_name = "TYPE|FILE")]
    first: Option<String>,
    /// Template file [default: standard input]
    #[arg(value_name = "FILE")]
    second: Option<String>,
    /// Bundle to use for an image: a directory, `oci:DIR`, `oci-archive:FILE` or an image name (repeatable)
    #[arg(long, value_name = "IMAGE=REF", value_parser = bundle)]
    bundle: Vec<(String, String)>,
    /// Catalogs whose bundles are used instead of pulling their images (repeatable)
    #[arg(long, value_name = "REF")]
    bundles_from: Vec<String>,
    /// Print the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    rendering: Rendering,
    #[command(flatten)]
    registries: Registries,
}

/// The templates by the names that opm has for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Type {
    Basic,
    Semver,
    Substitutes,
}

impl Type {
    fn schema(self) -> &'static str {
        match self {
            Self::Basic => "olm.template.basic",
            Self::Semver => "olm.semver",
            Self::Substitutes => "olm.template.substitutes",
        }
    }
}

fn bundle(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((image, reference)) if !image.is_empty() && !reference.is_empty() => {
            Ok((image.to_owned(), reference.to_owned()))
        }
        _ => Err("expected IMAGE=REF".to_owned()),
    }
}

impl TemplateCommand {
    pub(super) fn run(self) -> Result<Exit> {
        let (wanted, path) = match (self.first.as_deref(), self.second.as_deref()) {
            (Some(first), Some(path)) => match Type::from_str(first, false) {
                Ok(wanted) => (Some(wanted), path),
                Err(_) => bail!("unknown template type `{first}`: expected basic, semver or substitutes"),
            },
            (Some(first), None) => match Type::from_str(first, false) {
                Ok(wanted) => (Some(wanted), "-"),
                Err(_) => (None, first),
            },
            (None, _) => (None, "-"),
        };
        let failed = || format!("failed to read the template {path}");
        let template = read(path, wanted).with_context(failed)?;
        let bundles = self.render(&template.images())?;
        let failed = || format!("failed to build a catalog from {path}");
        let mut catalog = template.build(&bundles).with_context(failed)?;
        self.rendering.apply_to_template(&mut catalog.bundles)?;
        let mut text = Vec::new();
        self.format.output.write(&catalog, &mut text)?;
        if !self.no_validate {
            let source = Source { name: path.into(), content: Content::Bytes(text.clone()) };
            if !check(path, vec![source], Next::Print)? {
                return Ok(Exit::Findings);
            }
        }
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()?;
        Ok(Exit::Success)
    }

    /// Renders the bundles that the template names.
    fn render(&self, images: &BTreeSet<&str>) -> Result<Bundles> {
        let mut known = BTreeMap::new();
        let mut packages = BTreeMap::new();
        for reference in &self.bundles_from {
            let sources = load::sources(reference, &self.registries)?;
            let catalog = reader::blobs(sources, Limits::default())
                .with_context(|| format!("failed to read {reference}"))?;
            for package in catalog.packages {
                packages.entry(package.name.clone()).or_insert(package);
            }
            for bundle in catalog.bundles {
                known.entry(bundle.image.clone()).or_insert(bundle);
            }
        }
        let given: BTreeMap<&str, &str> =
            self.bundle.iter().map(|(image, reference)| (image.as_str(), reference.as_str())).collect();
        if let Some(unused) = given.keys().find(|image| !images.contains(**image)) {
            bail!("--bundle {unused}: the template does not contain this image");
        }
        let runtime = SharedRuntime::default();
        let mut bundles = Bundles::new();
        for &image in images {
            let rendered = match (given.get(image), known.remove(image)) {
                (None, Some(bundle)) => {
                    // Bundles of catalogs have no icon, and not all have a description: their package has those of its newest
                    // bundle.
                    let package = packages.get(&bundle.package);
                    let description = bundle.property("olm.csv.metadata")["description"].as_str();
                    let description = description.filter(|text| !text.is_empty());
                    let description = description.or(package.map(|package| package.description.as_str()));
                    let description = description.unwrap_or_default().to_owned();
                    let icon = package.and_then(|package| package.icon.clone());
                    Rendered { bundle, description, icon }
                }
                (reference, _) => self
                    .rendering
                    .rendered(reference.copied().unwrap_or(image), Some(image), &self.registries, &runtime)
                    .with_context(|| format!("failed to render {image}"))?,
            };
            bundles.insert(image.to_owned(), rendered);
        }
        Ok(bundles)
    }
}

fn read(path: &str, wanted: Option<Type>) -> Result<Template> {
    let bytes =
        if path == "-" { stdin::read(MAX_TEMPLATE)? } else { file::read(Path::new(path), MAX_TEMPLATE)? };
    let parsed = yaml::parse(&bytes);
    let Some(tree) = parsed.documents.first() else {
        return Err(match parsed.error {
            Some(error) => anyhow!("{}:{}: {}", error.position.line, error.position.column, error.message),
            None => anyhow!("the template is empty"),
        });
    };
    let root = tree.root();
    let schema = crate::model::yaml::string(root, "schema");
    if let Some(wanted) = wanted.filter(|wanted| wanted.schema() != schema) {
        bail!("expected schema `{}`, found `{schema}`", wanted.schema());
    }
    Ok(Template::read(root)?)
}
