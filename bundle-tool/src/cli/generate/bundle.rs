//! `bundle-tool generate bundle`: reads manifests and the bundle that is there, writes the bundle anew.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cli::Exit;
use crate::generate::{self, Document, Fate, Generated, Input, Options, Severity};
use crate::model::yaml::Value;
use crate::read::manifests::{self, Manifest};
use crate::write;

/// Where a bundle is written that nobody says a place for.
const DEFAULT_FOLDER: &str = "bundle";
const DOCKERFILE: &str = "bundle.Dockerfile";

/// Makes a bundle from plain manifests: of a folder, or on standard input.
///
/// The bundle is the CSV, CRDs and other objects in manifests/, metadata/annotations.yaml, and bundle.Dockerfile in
/// the current folder. A CSV among the manifests, or in the kustomize folder, is the base that everything else is put
/// into. The same input gives the same bytes; createdAt changes only where something else does.
///
/// Exit status: 0 where the bundle was written, 1 where --strict or --check found something, 2 where none can be made.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct Bundle {
    /// Folder of the manifests, read with all folders below it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["deploy_dir", "crds_dir"])]
    input_dir: Option<PathBuf>,
    /// As --input-dir; its CRDs do not count where --crds-dir is given
    #[arg(long, value_name = "DIR")]
    deploy_dir: Option<PathBuf>,
    /// Folder of the CRDs
    #[arg(long, value_name = "DIR", requires = "deploy_dir")]
    crds_dir: Option<PathBuf>,
    /// Folder whose bases/PACKAGE.clusterserviceversion.yaml is the base where no manifest is a CSV
    #[arg(long, value_name = "DIR", default_value = "config/manifests")]
    kustomize_dir: PathBuf,
    /// Folder of the bundle [default: bundle]
    #[arg(long, value_name = "DIR", conflicts_with = "stdout")]
    output_dir: Option<PathBuf>,
    /// Name of the package; else that of the PROJECT file or of the base CSV
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Semantic version of the operator; else the base CSV's
    #[arg(long, short, value_name = "VERSION")]
    version: Option<String>,
    /// Channels of the bundle, separated by commas; else those of the bundle that is there, else alpha
    #[arg(long, value_name = "CHANNELS")]
    channels: Option<String>,
    /// Channel that the package is installed from by default
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
    /// Service accounts, beside those of the Deployments, whose roles go into the CSV
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    extra_service_accounts: Vec<String>,
    /// Write metadata and Dockerfile also where they are there already
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    overwrite: bool,
    /// Print the manifests instead of writing the bundle
    #[arg(long)]
    stdout: bool,
    /// Say nothing but warnings and errors
    #[arg(long, short)]
    quiet: bool,
    /// Write only the manifests
    #[arg(long)]
    manifests: bool,
    /// Write only the metadata and the Dockerfile
    #[arg(long)]
    metadata: bool,
    /// Print what became of each object of the input
    #[arg(long)]
    explain: bool,
    /// Take warnings for errors: write nothing and exit with 1
    #[arg(long)]
    strict: bool,
}

impl Bundle {
    pub(super) fn run(self) -> Result<Exit> {
        let folder = self.output_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
        let project = Project::read(Path::new("PROJECT"))?;
        let options = self.options(&folder, project)?;
        let input = self.input(&folder, options.package.as_deref())?;
        let generated = generate::bundle(&input, &options)?;

        self.say(&generated)?;
        if self.strict && generated.ledger.has_warnings() {
            writeln!(io::stderr(), "nothing was written: --strict takes the warnings above for errors")?;
            return Ok(Exit::Findings);
        }
        if self.stdout {
            print(&generated)?;
        } else {
            self.write(&folder, &generated, &input)?;
        }
        Ok(Exit::Success)
    }

    fn options(&self, folder: &Path, project: Project) -> Result<Options> {
        let version = self.version.as_deref().map(|version| {
            semver::Version::parse(version)
                .with_context(|| format!("--version {version:?} is no semantic version; write it as 1.2.3"))
        });
        let current = std::env::current_dir().context("failed to find the current folder")?;
        let relative = folder.strip_prefix(&current).unwrap_or(folder);
        Ok(Options {
            package: self.package.clone().or(project.name),
            version: version.transpose()?,
            channels: self.channels.clone(),
            default_channel: self.default_channel.clone().filter(|channel| !channel.is_empty()),
            extra_service_accounts: self
                .extra_service_accounts
                .iter()
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
            layout: project.layout,
            folder: relative.display().to_string(),
            epoch: source_date_epoch()?,
            now: rfc3339(jiff::Timestamp::now()),
        })
    }

    fn input(&self, folder: &Path, package: Option<&str>) -> Result<Input> {
        let documents = self.documents()?;
        let has_csv = documents.iter().any(|document| is_kind(document, "ClusterServiceVersion"));
        let base = if has_csv { None } else { self.base(package)? };
        let previous = if self.stdout { BTreeMap::new() } else { previous(folder)? };
        let annotations =
            previous.get("metadata/annotations.yaml").map(|bytes| crate::read::yaml::parse(bytes));
        let previous_annotations = match annotations {
            Some(parsed) => match parsed.error {
                Some(error) => {
                    let file = folder.join("metadata/annotations.yaml");
                    bail!("{} is no YAML, so what it says cannot be kept: {error}", file.display())
                }
                None => parsed.documents.into_iter().next(),
            },
            None => None,
        };
        let previous_dockerfile = match fs::read_to_string(DOCKERFILE) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).context(format!("failed to read {DOCKERFILE}")),
        };
        Ok(Input { documents, base, previous, previous_annotations, previous_dockerfile })
    }

    fn documents(&self) -> Result<Vec<Document>> {
        let mut read = match (self.input_dir.as_ref().or(self.deploy_dir.as_ref()), io::stdin().is_terminal())
        {
            (Some(folder), _) => manifests::folder(folder)?,
            (None, false) => manifests::stream("standard input", io::stdin().lock())?,
            (None, true) => bail!(
                "no manifests: give a folder with --input-dir, or pipe them to standard input, \
                 for instance from `kustomize build config/manifests`"
            ),
        };
        if let Some(folder) = &self.crds_dir {
            let is_crd = |manifest: &Manifest| {
                manifest.tree.root().get("kind").is_some_and(|kind| kind.text() == "CustomResourceDefinition")
            };
            read.retain(|manifest| !is_crd(manifest));
            read.extend(manifests::folder(folder)?.into_iter().filter(is_crd));
        }
        if read.is_empty() {
            match &self.input_dir {
                Some(folder) => bail!("{} holds no manifests", folder.display()),
                None => bail!("the input holds no manifests"),
            }
        }
        Ok(read.into_iter().map(|manifest| Document { file: manifest.file, tree: manifest.tree }).collect())
    }

    /// The base CSV of the kustomize folder: the package's, or where nobody named one the only one.
    fn base(&self, package: Option<&str>) -> Result<Option<Document>> {
        const SUFFIX: &str = ".clusterserviceversion.yaml";
        let bases = self.kustomize_dir.join("bases");
        let path = if let Some(package) = package {
            bases.join(format!("{package}{SUFFIX}"))
        } else {
            let Ok(entries) = fs::read_dir(&bases) else { return Ok(None) };
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.to_string_lossy().ends_with(SUFFIX))
                .collect();
            match (found.pop(), found.is_empty()) {
                (Some(path), true) => path,
                _ => return Ok(None),
            }
        };
        if !path.exists() {
            return Ok(None);
        }
        let found = manifests::folder(&path)?
            .into_iter()
            .map(|manifest| Document { file: manifest.file, tree: manifest.tree })
            .find(|document| is_kind(document, "ClusterServiceVersion"));
        found.map(Some).with_context(|| format!("{} holds no ClusterServiceVersion", path.display()))
    }

    /// Prints the notes and, where asked for, what became of each object.
    fn say(&self, generated: &Generated) -> Result<()> {
        let mut err = io::BufWriter::new(io::stderr().lock());
        for note in &generated.ledger.notes {
            let kind = match note.severity {
                Severity::Warning => "warning",
                Severity::Info if self.explain => "info",
                Severity::Info => continue,
            };
            match &note.place {
                Some(place) => writeln!(err, "{kind}: {place}: {}", note.message)?,
                None => writeln!(err, "{kind}: {}", note.message)?,
            }
        }
        err.flush()?;
        if self.explain && !self.stdout {
            explain(generated, &mut io::stdout().lock())?;
        } else if self.explain {
            explain(generated, &mut io::stderr().lock())?;
        }
        Ok(())
    }

    fn write(&self, folder: &Path, generated: &Generated, input: &Input) -> Result<()> {
        let all = !self.manifests && !self.metadata;
        let has_metadata = input.previous.keys().any(|path| path.starts_with("metadata/"));
        let with_metadata = (all || self.metadata) && (self.overwrite || !has_metadata);
        let mut tree = write::Tree::new();
        for (path, bytes) in &generated.files {
            let wanted = if path.starts_with("metadata/") { with_metadata } else { all || self.manifests };
            if wanted {
                tree.file(path.as_str(), bytes.as_slice());
            }
        }
        for path in input.previous.keys().filter(|path| path.starts_with("manifests/")) {
            if !generated.files.contains_key(path) {
                writeln!(
                    io::stderr(),
                    "warning: {} is not made from the input; remove it where it is a left-over",
                    folder.join(path).display()
                )?;
            }
        }
        let changes = tree.write(folder)?;
        if with_metadata {
            write::file(Path::new(DOCKERFILE), generated.dockerfile.as_bytes())?;
        }
        if !self.quiet {
            writeln!(
                io::stderr(),
                "{} in {}: {} new, {} changed, {} as before",
                generated.name,
                folder.display(),
                changes.created.len(),
                changes.replaced.len(),
                changes.unchanged.len()
            )?;
        }
        Ok(())
    }
}

/// The CSV, then all other manifests, each as a document of its own.
fn print(generated: &Generated) -> Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let rest =
        generated.files.iter().filter(|(path, _)| **path != generated.csv && path.starts_with("manifests/"));
    let csv = generated.files.get(&generated.csv);
    for bytes in csv.into_iter().chain(rest.map(|(_, bytes)| bytes)) {
        out.write_all(b"---\n")?;
        out.write_all(bytes)?;
    }
    out.flush()?;
    Ok(())
}

/// A table of all objects of the input: where each stands, what it is and what became of it.
fn explain(generated: &Generated, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<[String; 3]> = generated
        .ledger
        .sources
        .iter()
        .map(|source| {
            let fates: Vec<String> = source.fates.iter().map(Fate::to_string).collect();
            [
                format!("{}:{}", source.place.file, source.place.position.line),
                source.title(),
                fates.join(", "),
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (first, second) = (width(0), width(1));
    for [place, object, fate] in &rows {
        writeln!(out, "{place:first$}  {object:second$}  {fate}")?;
    }
    Ok(())
}

fn is_kind(document: &Document, kind: &str) -> bool {
    document.tree.root().get("kind").is_some_and(|value| value.text() == kind)
}

/// The files of the bundle that is in `folder` now.
fn previous(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(error).with_context(|| format!("failed to read {}", folder.display())),
    };
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()
        .with_context(|| format!("failed to read {}", folder.display()))?;
    names.sort();
    let is_bundle = names.iter().any(|name| matches!(name.as_str(), "manifests" | "metadata" | "tests"));
    if let Some(other) = names.iter().find(|name| *name != DOCKERFILE)
        && !is_bundle
    {
        bail!(
            "{} is no bundle: it holds {other} but neither manifests/ nor metadata/; give another folder, or an \
             empty one, with --output-dir",
            folder.display()
        );
    }
    for part in ["manifests", "metadata", "tests/scorecard"] {
        let Ok(entries) = fs::read_dir(folder.join(part)) else { continue };
        for entry in entries {
            let path =
                entry.with_context(|| format!("failed to read {}", folder.join(part).display()))?.path();
            if path.is_file()
                && let Some(name) = path.file_name().and_then(|name| name.to_str())
            {
                let bytes = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
                files.insert(format!("{part}/{name}"), bytes);
            }
        }
    }
    Ok(files)
}

/// What a project's PROJECT file says.
#[derive(Debug, Default)]
struct Project {
    name: Option<String>,
    layout: Option<String>,
}

impl Project {
    fn read(path: &Path) -> Result<Self> {
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("failed to read {}", path.display())),
        };
        let parsed = crate::read::yaml::parse(&bytes);
        if let Some(error) = parsed.error {
            bail!("{} is no YAML: {error}", path.display());
        }
        let Some(document) = parsed.documents.first() else { return Ok(Self::default()) };
        let root = document.root();
        let text = |value: Value<'_>| value.as_str().map(str::to_owned);
        // Version 3 of the file lists the plugins, version 2 names one.
        let layout = root.get("layout").and_then(|layout| {
            let plugins: Vec<&str> = layout.items().filter_map(Value::as_str).collect();
            if plugins.is_empty() { text(layout) } else { Some(plugins.join(",")) }
        });
        Ok(Self { name: root.get("projectName").and_then(text), layout })
    }
}

/// The time that `SOURCE_DATE_EPOCH` sets, in RFC 3339.
fn source_date_epoch() -> Result<Option<String>> {
    let Ok(value) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    if value.is_empty() {
        return Ok(None);
    }
    let time = value.parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    match time {
        Some(time) => Ok(Some(rfc3339(time))),
        None => bail!("SOURCE_DATE_EPOCH is {value:?}, which is no number of seconds since 1970"),
    }
}

fn rfc3339(time: jiff::Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
