//! `bundle-tool catalog template`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, anyhow, bail};
use clap::{Args, ValueEnum};

use super::load;
use super::validate::{Next, print_invalid, validate};
use crate::cli::commands::render::Output;
use crate::cli::exit::Exit;
use crate::cli::format::OutputOption;
use crate::cli::images::RegistryArgs;
use crate::cli::openshift::OpenshiftRange;
use crate::cli::rendering::{MigrateLevel, Rendering};
use crate::cli::runtime::SharedRuntime;
use crate::cli::stdin;
use kube_yaml::text::source_name;
use kube_yaml::{Kind, Position, Value};
use olm_catalog::template::{Bundles, Rendered, Template};
use olm_model::catalog::Catalog;
use olm_model::disk::file;
use olm_model::kubernetes::Minor;
use olm_model::names::check_label;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Content, Limits, Source};
use olm_model::report::Finding;
use olm_rules::Selection;

/// The first version of OpenShift whose catalogs have `olm.csv.metadata` instead of `olm.bundle.object`.
const WITHOUT_OBJECTS: Minor = Minor::openshift(17);
/// The maximum size of a template in bytes.
const MAX_TEMPLATE: u64 = 16 << 20;

/// Build a catalog from a template
///
/// Accepts the templates of `opm alpha render-template` (basic, semver and substitutes) and prints the same catalogs.
/// In a semver template, you may list your own channels (`channels: [{name, bundles}]`, least stable first) instead of
/// candidate, fast and stable. `generatePlainChannels: true` creates channels with exactly these names.
///
/// Exit status: 0 on success, 1 if the catalog is invalid, 2 if the template or a bundle cannot be read.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Build a catalog from a template
  bundle-tool catalog template template.yaml --output yaml \\
    > catalog/my-operator/catalog.yaml

  # Read the bundles that the catalog contains from it instead of pulling them
  bundle-tool catalog template template.yaml --bundles-from catalog \\
    --output yaml > new.yaml

  # Write the catalogs of a catalog repository for several versions
  bundle-tool catalog template template.yaml --output yaml \\
    --openshift 4.16..4.18 --output-dir catalogs

  # Use a bundle that has not been pushed yet
  bundle-tool catalog template template.yaml \\
    --bundle quay.io/example/gizmo-bundle:v1.2.0=./bundle")]
pub(crate) struct TemplateCommand {
    /// Type of the template, or its file
    #[arg(value_name = "TYPE|FILE")]
    first: Option<String>,
    /// Template file [default: standard input]
    #[arg(value_name = "FILE")]
    second: Option<String>,
    /// Bundle to use for an image: a directory, `oci:DIR`, `oci-archive:FILE` or an image name (repeatable)
    #[arg(long, value_name = "IMAGE=REF", value_parser = bundle)]
    bundle: Vec<(String, String)>,
    /// Read bundles from these catalogs instead of pulling their images (repeatable)
    #[arg(long, value_name = "REF")]
    bundles_from: Vec<String>,
    /// Directory of a catalog repository in which to write vVERSION/PACKAGE/catalog.yaml for each of --openshift, instead of
    /// printing the catalog
    #[arg(long, value_name = "DIR", requires = "openshift")]
    output_dir: Option<PathBuf>,
    /// OpenShift versions to write catalogs for, such as `4.16,4.18` or `4.16..4.18`; those before 4.17 keep olm.bundle.object
    #[arg(
        long,
        value_name = "VERSIONS",
        value_delimiter = ',',
        requires = "output_dir",
        alias = "openshift-versions"
    )]
    openshift: Vec<OpenshiftRange>,
    /// Write the catalog even if it is invalid
    #[arg(long)]
    no_validate: bool,
    #[command(flatten)]
    format: OutputOption<Output>,
    #[command(flatten)]
    rendering: Rendering,
    #[command(flatten)]
    registries: RegistryArgs,
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
    pub(crate) fn run(self) -> Result<Exit> {
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
        let shown = source_name(path);
        let failed = || format!("failed to read {shown}");
        let bytes = read(path).with_context(failed)?;
        let template = || {
            Template::parse(&bytes, wanted.map(Type::schema)).map_err(|error| {
                if error.has_position() {
                    anyhow!("{shown}:{error}")
                } else {
                    Error::new(error).context(failed())
                }
            })
        };
        let Some(to) = &self.output_dir else {
            let Some((_, text)) = self.build(template()?, &self.rendering, path, &bytes, None)? else {
                return Ok(Exit::Findings);
            };
            let mut out = io::stdout().lock();
            out.write_all(&text)?;
            out.flush()?;
            return Ok(Exit::Success);
        };
        // Built before anything is written: in one of two forms.
        let mut files: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
        let mut versions: Vec<Minor> = self.openshift.iter().flat_map(|range| range.versions()).collect();
        versions.sort_unstable();
        versions.dedup();
        let mut built: Option<(bool, BTreeMap<String, Catalog>)> = None;
        for version in versions {
            let has_objects = version < WITHOUT_OBJECTS && self.rendering.is_default();
            if built.as_ref().is_none_or(|(had_objects, _)| *had_objects != has_objects) {
                let rendering =
                    if has_objects { &Rendering::at(MigrateLevel::None) } else { &self.rendering };
                let Some((catalog, _)) = self.build(template()?, rendering, path, &bytes, Some(version))?
                else {
                    return Ok(Exit::Findings);
                };
                built = Some((has_objects, catalog.by_package()));
            }
            for (package, part) in built.iter().flat_map(|(_, packages)| packages) {
                if let Err(reason) = check_label(package) {
                    bail!("invalid package name `{package}`: {reason}");
                }
                let mut text = Vec::new();
                self.format.output.write(part, &mut text)?;
                let extension = match self.format.output {
                    Output::Json => "json",
                    Output::Yaml => "yaml",
                };
                let file = to.join(format!("v{version}")).join(package).join(format!("catalog.{extension}"));
                files.insert(file, text);
            }
        }
        for (file, text) in files {
            atomic_files::file(&file, &text)?;
        }
        Ok(Exit::Success)
    }

    /// Builds a catalog, for a version of OpenShift if one is given, and returns it with its text; `None` if it is invalid, which is
    /// reported.
    fn build(
        &self,
        template: Template,
        rendering: &Rendering,
        path: &str,
        bytes: &[u8],
        openshift: Option<Minor>,
    ) -> Result<Option<(Catalog, Vec<u8>)>> {
        let bundles = self.render(&template.images(), rendering)?;
        let failed = || format!("failed to build a catalog from {}", source_name(path));
        let mut catalog = template.build(&bundles).with_context(failed)?;
        rendering.apply_to_template(&mut catalog.bundles)?;
        let mut text = Vec::new();
        self.format.output.write(&catalog, &mut text)?;
        if !self.no_validate {
            let source = || Source { name: path.into(), content: Content::Bytes(text.clone()) };
            let mut report = validate(path, None, vec![source()], openshift, &Selection::default())?;
            if !report.passed() {
                report.findings.retain(Finding::is_failure);
                locate(&mut report.findings, source(), path, bytes)?;
                print_invalid(&report, if self.output_dir.is_some() { Next::Write } else { Next::Print })?;
                return Ok(None);
            }
        }
        Ok(Some((catalog, text)))
    }

    /// Renders the bundles that the template names.
    fn render(&self, images: &BTreeSet<&str>, rendering: &Rendering) -> Result<Bundles> {
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
        if images.contains("") {
            bail!("a bundle of the template has an empty `image`: set it to the bundle's image");
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
                (reference, _) => rendering
                    .rendered(reference.copied().unwrap_or(image), Some(image), &self.registries, &runtime)
                    .with_context(|| format!("failed to render {image}"))?,
            };
            bundles.insert(image.to_owned(), rendered);
        }
        Ok(bundles)
    }
}

fn read(path: &str) -> Result<Vec<u8>> {
    Ok(if path == "-" {
        stdin::read(MAX_TEMPLATE, "a catalog template")?
    } else {
        file::read_in_project(Path::new(path), MAX_TEMPLATE)?
    })
}

/// A document of the rendered catalog.
struct RenderedDocument {
    /// How many lines precede it.
    line: u32,
    schema: String,
    package: String,
    name: String,
    image: String,
    /// Where the entries of a channel begin.
    entries: Vec<Position>,
}

/// Moves findings from the rendered catalog to the positions in the template that they are about; they have none if it is unknown.
fn locate(findings: &mut [Finding], catalog: Source, path: &str, template: &[u8]) -> Result<()> {
    let text = |root: Value<'_>, name: &str| kube_yaml::string(root, name).to_owned();
    let documents = reader::documents([catalog], Limits::default(), |document| {
        let parsed = document.content.ok()?;
        let root = parsed.tree.root();
        let entries = kube_yaml::field(root, "entries").into_iter().flat_map(Value::items);
        Some(RenderedDocument {
            line: parsed.line,
            schema: text(root, "schema"),
            package: text(root, "package"),
            name: text(root, "name"),
            image: text(root, "image"),
            entries: entries.map(|entry| parsed.in_file(entry.position())).collect(),
        })
    })?;
    let documents: Vec<RenderedDocument> = documents.into_iter().flatten().collect();
    let parsed = kube_yaml::parse(template);
    let root = parsed.documents.first().map(kube_yaml::Tree::root);
    for finding in findings.iter_mut() {
        finding.file = Some(path.to_owned());
        let at = finding.line.take().zip(finding.column.take());
        let Some(((line, column), root)) = at.zip(root) else { continue };
        let behind = documents.partition_point(|document| document.line < line);
        let Some(document) = behind.checked_sub(1).and_then(|index| documents.get(index)) else { continue };
        let place = if document.image.is_empty() {
            let entry = document.entries.iter().position(|entry| *entry == Position { line, column });
            blob(root, document).map(|blob| {
                let entries = kube_yaml::field(blob, "entries");
                let entry = entry.and_then(|index| entries?.items().nth(index));
                entry.unwrap_or(blob)
            })
        } else {
            scalar(root, &document.image)
        };
        if let Some(Position { line, column }) = place.map(Value::position) {
            (finding.line, finding.column) = (Some(line), Some(column));
        }
    }
    olm_rules::add_excerpts(findings, |_| Some(template));
    Ok(())
}

/// Returns the blob of a basic template that a document was copied from.
fn blob<'t>(template: Value<'t>, document: &RenderedDocument) -> Option<Value<'t>> {
    kube_yaml::field(template, "entries")?.items().find(|item| {
        let is = |name: &str, value: &str| kube_yaml::string(*item, name) == value;
        is("schema", &document.schema) && is("name", &document.name) && is("package", &document.package)
    })
}

/// Returns the first scalar that is the string `text`.
fn scalar<'t>(value: Value<'t>, text: &str) -> Option<Value<'t>> {
    match value.kind() {
        Kind::Object => value.entries().find_map(|(_, value)| scalar(value, text)),
        Kind::Array => value.items().find_map(|item| scalar(item, text)),
        _ => Some(value).filter(|value| value.as_str() == Some(text)),
    }
}
