//! `bundle-tool generate manifests`: writes and updates the base CSV of a project.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use clap::Args;
use serde_json::{Value as Json, json};

use super::files;
use super::input::{self, CSV_SUFFIX, GENERATED_SUFFIX};
use super::output::{self, Output};
use crate::cli::exit::Exit;
use crate::cli::lock::lock;
use crate::terminal::{WARNING, stderr};
use kube_yaml::{Tree, edit};
use olm_generate::{Base, Document, GenerateReport, Icon, Project, UpdatedBase};

/// The default directory of the CRDs.
const DEFAULT_CRDS: &str = "config/crd/bases";

/// Create or update the base CSV of a project
///
/// Writes config/manifests/bases/PACKAGE.clusterserviceversion.yaml from Cargo.toml ([package] and
/// [package.metadata.olm]), the schemas of the CRDs, and a file of overrides (a partial CSV). Manual changes to the
/// base are kept, including comments; generated values that you have not changed are updated from their source.
/// PACKAGE.generated.yaml beside the base records what was generated. An existing base that was not generated is only
/// extended by the owned CRDs that it lacks, unless Cargo.toml has [package.metadata.olm].
///
/// Exit status: 0 if the base is up to date, 1 if --check found a difference, 2 on an error.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  # Create or update the base CSV from Cargo.toml and config/crd/bases
  bundle-tool generate manifests

  # Use CRDs in another directory
  bundle-tool generate manifests --crds-dir deploy/crds

  # Check in CI that the base is up to date
  bundle-tool generate manifests --check")]
pub(crate) struct Manifests {
    /// Cargo.toml of the operator; without it, a new base has only what a CSV requires
    #[arg(long, value_name = "FILE", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// Directory of the CRDs [default: config/crd/bases]
    #[arg(long, value_name = "DIR", alias = "input-dir")]
    crds_dir: Option<PathBuf>,
    /// Directory to write bases/PACKAGE.clusterserviceversion.yaml to
    #[arg(long, value_name = "DIR", default_value = "config/manifests", alias = "output-dir")]
    kustomize_dir: PathBuf,
    /// Partial CSV that overrides generated values [default: overrides.yaml in the kustomize directory]
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Package name [default: from Cargo.toml]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Prompt for missing values
    #[arg(long)]
    interactive: bool,
    /// Write nothing, print how the base would change, and exit with 1 if it would
    #[arg(long)]
    check: bool,
}

/// Returns the files of a new base CSV, below `config/manifests/bases`, of the operator in `directory`, whose CRDs are in `crds`
/// below it.
pub(crate) fn new_base(directory: &Path, crds: &str, package: &str) -> Result<Vec<(String, Vec<u8>)>> {
    let crds = directory.join(crds);
    let manifests = Manifests {
        manifest_path: directory.join("Cargo.toml"),
        crds_dir: None,
        kustomize_dir: directory.join("config/manifests"),
        overrides: None,
        package: Some(package.to_owned()),
        interactive: false,
        check: false,
    };
    let project = project(&manifests.manifest_path)?;
    let inputs = manifests.inputs(project.as_ref(), &crds)?;
    Ok(base(&inputs, package, None, None)?.into_iter().collect())
}

impl Manifests {
    pub(crate) fn run(self) -> Result<Exit> {
        let project = project(&self.manifest_path)?;
        let package = match (&self.package, &project) {
            (Some(package), _) => package.clone(),
            (None, Some(project)) => project.package().to_owned(),
            (None, None) => bail!(
                "{} does not exist; set --manifest-path to the operator's Cargo.toml, or --package to the package name",
                self.manifest_path.display()
            ),
        };
        olm_generate::check_package_name(&package)?;
        let bases = self.kustomize_dir.join("bases");
        let path = bases.join(format!("{package}{CSV_SUFFIX}"));
        let record = bases.join(format!("{package}{GENERATED_SUFFIX}"));
        let crds = self.crds_dir.as_deref().unwrap_or(Path::new(DEFAULT_CRDS));
        let inputs = self.inputs(project.as_ref(), crds)?;
        let locked = if self.check { None } else { Some(lock(&bases)?) };
        let mut output = Output { directory: bases, ..Output::default() };
        for path in [&path, &record] {
            output.read.insert(path.clone(), files::expected(path)?);
        }
        let there = files::document(&path)?;
        let last = files::document(&record)?.map(|(_, tree)| tree.root().to_json());
        output.files = base(&inputs, &package, there.as_ref(), last.as_ref())?;
        if let Some(locked) = locked {
            output.write(&format!("base of {package}"), locked)?;
            return Ok(Exit::Success);
        }
        let differs = output.check(&mut io::BufWriter::new(io::stdout().lock()))?;
        Ok(if differs { Exit::Findings } else { Exit::Success })
    }

    /// Reads what a base is generated from.
    fn inputs<'p>(&self, project: Option<&'p Project>, crds: &Path) -> Result<Inputs<'p>> {
        let (description, icon) = project.map_or(Ok((None, None)), |project| self.files(project))?;
        let mut overrides = self.overrides()?;
        if self.interactive {
            ask(project, &mut overrides)?;
        }
        Ok(Inputs { project, description, icon, overrides, documents: self.documents(crds)? })
    }

    /// Reads the CRDs, with a warning if there are none.
    fn documents(&self, directory: &Path) -> Result<Vec<Document>> {
        let mut crds = Vec::new();
        if self.crds_dir.is_some() || directory.exists() {
            crds = input::read(directory, &self.kustomize_dir)?.list;
            crds.retain(|manifest| {
                manifest.tree.root().get("kind").is_some_and(|kind| kind.text() == "CustomResourceDefinition")
            });
        }
        if crds.is_empty() {
            writeln!(
                stderr(),
                "{WARNING} no CRDs found in {}, so the base owns none; set --crds-dir to the directory of the CRDs",
                directory.display()
            )?;
        }
        Ok(crds)
    }

    fn overrides(&self) -> Result<Option<Json>> {
        let path = self.overrides.clone().unwrap_or_else(|| self.kustomize_dir.join("overrides.yaml"));
        match files::document(&path)? {
            Some((_, tree)) if tree.root().kind() == kube_yaml::Kind::Object => {
                Ok(Some(tree.root().to_json()))
            }
            Some(_) => bail!("{}: expected a map, part of a ClusterServiceVersion", path.display()),
            None if self.overrides.is_some() => bail!("{} does not exist", path.display()),
            None => Ok(None),
        }
    }

    /// Reads the files that the project names: its description and its icon.
    fn files(&self, project: &Project) -> Result<(Option<String>, Option<Icon>)> {
        let Some(olm) = &project.olm else { return Ok((None, None)) };
        let directory = self.manifest_path.parent().unwrap_or(Path::new(""));
        let description = olm.description_file.as_ref().map(|file| {
            let path = directory.join(file);
            String::from_utf8(files::required(&path, "description")?)
                .with_context(|| format!("{} is not valid UTF-8", path.display()))
        });
        let icon = olm.icon.as_ref().map(|file| {
            let path = directory.join(file);
            let Some(media_type) = Icon::media_type(file) else {
                bail!("unsupported icon {}: expected SVG, PNG, JPEG or GIF", path.display());
            };
            let data = base64::engine::general_purpose::STANDARD.encode(files::required(&path, "icon")?);
            Ok(Icon { data, media_type })
        });
        Ok((description.transpose()?, icon.transpose()?))
    }
}

/// What a base is generated from.
struct Inputs<'p> {
    project: Option<&'p Project>,
    description: Option<String>,
    icon: Option<Icon>,
    overrides: Option<Json>,
    documents: Vec<Document>,
}

/// Returns the files of the base, by their names. `there` is the existing one, and `last` what was generated for it.
fn base(
    inputs: &Inputs<'_>,
    package: &str,
    there: Option<&(String, Tree)>,
    last: Option<&Json>,
) -> Result<BTreeMap<String, Vec<u8>>> {
    let name = format!("{package}{CSV_SUFFIX}");
    let there_json = there.map(|(_, tree)| tree.root().to_json());
    let mut report = GenerateReport::default();
    let UpdatedBase { csv, generated, missing } = olm_generate::base(
        &Base {
            project: inputs.project,
            package,
            description: inputs.description.as_deref(),
            icon: inputs.icon.as_ref(),
            documents: &inputs.documents,
            overrides: inputs.overrides.as_ref(),
            there: there_json.as_ref(),
            last,
        },
        &mut report,
    )?;
    output::notes(&report, false)?;
    if !missing.is_empty() {
        writeln!(
            stderr(),
            "{WARNING} {name} has no {}: catalogs show these fields; add them to it",
            missing.join(", ")
        )?;
    }
    let text = match there {
        Some((text, _)) => edit::rewrite(text, &csv).with_context(|| format!("failed to update {name}"))?,
        None => kube_yaml::emit(&csv),
    };
    let mut files = BTreeMap::from([(name, text.into_bytes())]);
    let recorded = match &generated {
        Some(generated) => Some(kube_yaml::emit(generated)),
        // What was recorded is gone.
        None => last.map(|_| "{}\n".to_owned()),
    };
    if let Some(recorded) = recorded {
        let header = "# What `bundle-tool generate manifests` last generated. It is compared with the base to keep manual changes.\n";
        files.insert(format!("{package}{GENERATED_SUFFIX}"), format!("{header}{recorded}").into_bytes());
    }
    Ok(files)
}

/// Reads a Cargo.toml. Returns nothing if it does not exist.
pub(crate) fn project(path: &Path) -> Result<Option<Project>> {
    let Some(text) = files::read_text(path)? else { return Ok(None) };
    // The workspace is the nearest directory above whose Cargo.toml has one.
    let absolute = std::path::absolute(path).with_context(|| format!("failed to find {}", path.display()))?;
    let above = absolute.ancestors().skip(2).map(|directory| directory.join("Cargo.toml"));
    let workspace = std::iter::once(absolute.clone())
        .chain(above)
        .filter_map(|path| files::read_text(&path).ok().flatten())
        .find(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")));
    Ok(Some(Project::parse(&path.display().to_string(), &text, workspace.as_deref())?))
}

/// Asks on the terminal for what the project does not say. An empty answer sets nothing.
fn ask(project: Option<&Project>, overrides: &mut Option<Json>) -> Result<()> {
    let olm = project.and_then(|project| project.olm.clone()).unwrap_or_default();
    let mut spec = serde_json::Map::new();
    let mut lines = io::stdin().lock().lines();
    let mut question = |known: bool, text: &str| -> Result<Option<String>> {
        if known {
            return Ok(None);
        }
        write!(stderr(), "{text}: ")?;
        let answer = lines.next().transpose().context("failed to read the answer")?.unwrap_or_default();
        Ok(Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()))
    };
    if let Some(name) = question(olm.display_name.is_some(), "Display name of the operator")? {
        spec.insert("displayName".to_owned(), name.into());
    }
    let described = olm.description.is_some() || olm.description_file.is_some();
    if let Some(text) = question(described, "Description, one or two sentences")? {
        spec.insert("description".to_owned(), text.into());
    }
    if let Some(name) = question(olm.provider.is_some(), "Provider")? {
        spec.insert("provider".to_owned(), json!({ "name": name }));
    }
    if let Some(words) = question(!olm.keywords.is_empty(), "Keywords, separated by commas")? {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        spec.insert("keywords".to_owned(), json!(words));
    }
    let known = !olm.maintainers.is_empty() || project.is_some_and(|project| !project.authors.is_empty());
    if let Some(people) = question(known, "Maintainers, as Name <email>, separated by commas")? {
        let people: Vec<Json> = people
            .split(',')
            .filter_map(|person| {
                let (name, email) = person.split_once('<')?;
                Some(json!({"name": name.trim(), "email": email.trim().trim_end_matches('>')}))
            })
            .collect();
        spec.insert("maintainers".to_owned(), json!(people));
    }
    if !spec.is_empty() {
        let answers = json!({ "spec": spec });
        let over = overrides.get_or_insert_with(|| json!({}));
        let mut merged = answers;
        olm_generate::overlay(&mut merged, over);
        *over = merged;
    }
    Ok(())
}
