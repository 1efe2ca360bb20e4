//! `bundle-tool generate manifests`: writes and updates the base CSV of a project.

use std::fs;
use std::io::{self, BufRead as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use clap::Args;
use serde_json::{Value as Json, json};

use super::output::{self, Output};
use crate::cli::Exit;
use crate::generate::{self, Base, Document, Icon, Ledger, Project};
use crate::model::yaml;
use crate::read;
use crate::read::manifests;

/// Where the definitions of custom resources are that nobody says a place for.
const DEFAULT_CRDS: &str = "config/crd/bases";

/// Writes and updates the base CSV of a project: config/manifests/bases/PACKAGE.clusterserviceversion.yaml.
///
/// It is made from Cargo.toml ([package] and [package.metadata.olm]), the schemas of the CRDs, and one file of
/// overrides, which is a piece of a CSV. What a person wrote into the base stays, comments too; what was generated and
/// not touched since follows its source. PACKAGE.generated.yaml beside it remembers which is which.
///
/// Exit status: 0 where the base is up to date, 1 where --check found a difference, 2 where none can be made.
#[derive(Debug, Args)]
pub(super) struct Manifests {
    /// The operator's Cargo.toml; without one the base is a bare one
    #[arg(long, value_name = "FILE", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// Folder of the CRDs [default: config/crd/bases]
    #[arg(long, value_name = "DIR", alias = "input-dir")]
    crds_dir: Option<PathBuf>,
    /// Folder whose bases/ the CSV is written into
    #[arg(long, value_name = "DIR", default_value = "config/manifests", alias = "output-dir")]
    kustomize_dir: PathBuf,
    /// A piece of a CSV that is put over what is generated [default: overrides.yaml in the kustomize folder]
    #[arg(long, value_name = "FILE")]
    overrides: Option<PathBuf>,
    /// Name of the package; else the one in Cargo.toml
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Ask for what is not known
    #[arg(long)]
    interactive: bool,
    /// Write nothing; print how the base would change, and exit with 1 where it would
    #[arg(long)]
    check: bool,
    /// Say nothing but warnings and errors
    #[arg(long, short)]
    quiet: bool,
}

impl Manifests {
    pub(super) fn run(self) -> Result<Exit> {
        let project = project(&self.manifest_path)?;
        let package = match (&self.package, &project) {
            (Some(package), _) => package.clone(),
            (None, Some(project)) => project.package().to_owned(),
            (None, None) => bail!(
                "there is no {}: give the operator's with --manifest-path, or the name of the package with --package",
                self.manifest_path.display()
            ),
        };
        if package.contains(['/', '\\']) || package.starts_with('.') {
            bail!("{package:?} is no name for a package: use letters, digits, dots and hyphens");
        }
        let bases = self.kustomize_dir.join("bases");
        let path = bases.join(format!("{package}.clusterserviceversion.yaml"));
        let memory = bases.join(format!("{package}.generated.yaml"));
        let (description, icon) = project.as_ref().map_or(Ok((None, None)), |project| self.files(project))?;
        let mut overrides = self.overrides()?;
        if self.interactive {
            ask(project.as_ref(), &mut overrides)?;
        }
        let there = document(&path)?;
        let last = document(&memory)?.map(|(_, tree)| tree.root().to_json());
        let there_json = there.as_ref().map(|(_, tree)| tree.root().to_json());
        let mut ledger = Ledger::default();
        let (wanted, now) = generate::base(
            &Base {
                project: project.as_ref(),
                package: &package,
                description: description.as_deref(),
                icon: icon.as_ref(),
                documents: &self.documents()?,
                overrides: overrides.as_ref(),
                there: there_json.as_ref(),
                last: last.as_ref(),
            },
            &mut ledger,
        )?;
        output::notes(&ledger, false)?;
        let text = match &there {
            Some((text, tree)) => {
                let text = generate::patch(text, tree.root(), &wanted);
                let parsed = read::yaml::parse(text.as_bytes());
                let same = parsed.error.is_none()
                    && parsed.documents.len() == 1
                    && parsed.documents.iter().all(|tree| tree.root().to_json() == wanted);
                if !same {
                    bail!(
                        "{} cannot be updated without losing its comments; write it in block style, a key a line, \
                         or move it away and run the command again",
                        path.display()
                    );
                }
                text
            }
            None => yaml::emit(&wanted),
        };
        let remembered = format!(
            "# What `bundle-tool generate manifests` generated last, to tell it from what people wrote into the base.\n{}",
            yaml::emit(&now)
        );
        let mut output = Output { folder: bases, ..Output::default() };
        for (path, text) in [(&path, text), (&memory, remembered)] {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            output.files.insert(name, text.into_bytes());
        }
        if !self.check {
            output.write(&format!("the base of {package}"), self.quiet)?;
            return Ok(Exit::Success);
        }
        let differs = output.check(&mut io::BufWriter::new(io::stdout().lock()))?;
        Ok(if differs { Exit::Findings } else { Exit::Success })
    }

    fn documents(&self) -> Result<Vec<Document>> {
        let folder = self.crds_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_CRDS));
        if self.crds_dir.is_none() && !folder.exists() {
            return Ok(Vec::new());
        }
        let is_crd = |manifest: &manifests::Manifest| {
            manifest.tree.root().get("kind").is_some_and(|kind| kind.text() == "CustomResourceDefinition")
        };
        let read = manifests::folder(&folder)?.into_iter().filter(is_crd);
        Ok(read.map(|manifest| Document { file: manifest.file, tree: manifest.tree }).collect())
    }

    fn overrides(&self) -> Result<Option<Json>> {
        let path = self.overrides.clone().unwrap_or_else(|| self.kustomize_dir.join("overrides.yaml"));
        match document(&path)? {
            Some((_, tree)) if tree.root().kind() == yaml::Kind::Object => Ok(Some(tree.root().to_json())),
            Some(_) => bail!("{} is no piece of a ClusterServiceVersion: it is no map", path.display()),
            None if self.overrides.is_some() => bail!("there is no file {}", path.display()),
            None => Ok(None),
        }
    }

    /// The files that the project names: its description and its picture.
    fn files(&self, project: &Project) -> Result<(Option<String>, Option<Icon>)> {
        let Some(olm) = &project.olm else { return Ok((None, None)) };
        let folder = self.manifest_path.parent().unwrap_or(Path::new(""));
        let description = olm.description_file.as_ref().map(|file| {
            let path = folder.join(file);
            fs::read_to_string(&path)
                .with_context(|| format!("failed to read {}, the description", path.display()))
        });
        let icon = olm.icon.as_ref().map(|file| {
            let path = folder.join(file);
            let Some(media_type) = Icon::media_type(file) else {
                bail!("{} is no picture that consoles show: use SVG, PNG, JPEG or GIF", path.display());
            };
            let bytes =
                fs::read(&path).with_context(|| format!("failed to read {}, the icon", path.display()))?;
            let data = base64::engine::general_purpose::STANDARD.encode(bytes);
            Ok(Icon { data, media_type })
        });
        Ok((description.transpose()?, icon.transpose()?))
    }
}

/// What Cargo.toml says; nothing where there is none.
pub(super) fn project(path: &Path) -> Result<Option<Project>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    // The workspace is the nearest folder above whose Cargo.toml has one.
    let absolute = std::path::absolute(path).with_context(|| format!("failed to find {}", path.display()))?;
    let above = absolute.ancestors().skip(2).map(|folder| folder.join("Cargo.toml"));
    let workspace = std::iter::once(absolute.clone())
        .chain(above)
        .filter_map(|path| fs::read_to_string(path).ok())
        .find(|text| text.lines().any(|line| line.trim_start().starts_with("[workspace")));
    Ok(Some(Project::parse(&path.display().to_string(), &text, workspace.as_deref())?))
}

/// The text of a YAML file and its first document; nothing where there is no file.
fn document(path: &Path) -> Result<Option<(String, yaml::Tree)>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
    };
    let parsed = read::yaml::parse(text.as_bytes());
    if let Some(error) = parsed.error {
        bail!("{} is no YAML: {error}", path.display());
    }
    if parsed.documents.len() > 1 {
        bail!("{} holds {} documents, and one was looked for", path.display(), parsed.documents.len());
    }
    Ok(parsed.documents.into_iter().next().map(|tree| (text, tree)))
}

/// Asks on the terminal for what the project does not say; an empty answer leaves it so.
fn ask(project: Option<&Project>, overrides: &mut Option<Json>) -> Result<()> {
    let olm = project.and_then(|project| project.olm.clone()).unwrap_or_default();
    let mut spec = serde_json::Map::new();
    let mut lines = io::stdin().lock().lines();
    let mut question = |known: bool, text: &str| -> Result<Option<String>> {
        if known {
            return Ok(None);
        }
        write!(io::stderr(), "{text}: ")?;
        let answer = lines.next().transpose().context("failed to read the answer")?.unwrap_or_default();
        Ok(Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()))
    };
    if let Some(name) = question(olm.display_name.is_some(), "The operator's name, as people see it")? {
        spec.insert("displayName".to_owned(), name.into());
    }
    let described = olm.description.is_some() || olm.description_file.is_some();
    if let Some(text) = question(described, "What it does, in a sentence or two")? {
        spec.insert("description".to_owned(), text.into());
    }
    if let Some(name) = question(olm.provider.is_some(), "Who publishes it")? {
        spec.insert("provider".to_owned(), json!({ "name": name }));
    }
    if let Some(words) = question(!olm.keywords.is_empty(), "Words to find it by, separated by commas")? {
        let words: Vec<&str> = words.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        spec.insert("keywords".to_owned(), json!(words));
    }
    let known = !olm.maintainers.is_empty() || project.is_some_and(|project| !project.authors.is_empty());
    if let Some(people) = question(known, "Maintainers, as Name <address>, separated by commas")? {
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
        generate::overlay(&mut merged, over);
        *over = merged;
    }
    Ok(())
}
