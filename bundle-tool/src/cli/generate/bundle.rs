//! `bundle-tool generate bundle`: reads manifests and the bundle that is there, writes the bundle anew.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use super::output::{self, DOCKERFILE, Output};
use super::pins::{LOCK_FILE, Lock};
use super::project::{Project, rfc3339, source_date_epoch};
use crate::cli::Exit;
use crate::cli::images::Registries;
use crate::generate::{self, Document, Generated, Input, Options, Rewrite, Upgrade};
use crate::model::catalog::Catalog;
use crate::read;
use crate::read::manifests::{self, Manifest};

/// Where a bundle is written that nobody says a place for.
const DEFAULT_FOLDER: &str = "bundle";

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
    /// The operator's Cargo.toml, whose [package.metadata.olm] names the package, dependencies, properties and the
    /// scorecard [default: Cargo.toml where it has such a part]
    #[arg(long, value_name = "FILE")]
    manifest_path: Option<PathBuf>,
    /// Print what became of each object of the input
    #[arg(long)]
    explain: bool,
    /// Take warnings for errors: write nothing and exit with 1
    #[arg(long)]
    strict: bool,
    /// Write nothing; print how the bundle that is there differs from what would be written, and exit with 1 where it does
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Remove manifests from the bundle that are not made from the input
    #[arg(long, conflicts_with = "stdout")]
    prune: bool,
    /// Call an image otherwise: with its tag, or by its name alone; may be given several times
    #[arg(long, value_name = "OLD=NEW")]
    image: Vec<Rewrite>,
    /// Name images by digest: as bundle-tool.lock has them, else as their registries say
    #[arg(long)]
    use_image_digests: bool,
    /// Ask the registries anew, whatever bundle-tool.lock has
    #[arg(long, requires = "use_image_digests")]
    update_image_digests: bool,
    /// The CSV, or the version, that this one takes the place of
    #[arg(long, value_name = "NAME")]
    replaces: Option<String>,
    /// CSVs, or versions, that an upgrade leaves out, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    skips: Vec<String>,
    /// The versions from which an upgrade leads straight to this one: '>=1.0.0 <1.2.0'
    #[arg(long, value_name = "RANGE")]
    skip_range: Option<String>,
    /// Take the place of the highest lower version in the first of the bundle's channels of this catalogue
    #[arg(long, value_name = "DIR", conflicts_with = "replaces")]
    from_catalog: Option<PathBuf>,
    #[command(flatten)]
    registries: Registries,
}

impl Bundle {
    pub(super) fn run(self) -> Result<Exit> {
        let folder = self.output_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_FOLDER));
        let project = Project::read(Path::new("PROJECT"))?;
        let mut options = self.options(&folder, project)?;
        self.read_crate(&mut options)?;
        let input = self.input(&folder, options.package.as_deref())?;
        let lock = self.pin(&input, &mut options)?;
        if self.check {
            // A bundle that differs would be of today, which is not what a person looks for in the difference.
            let csv = input.previous.iter().find(|(path, _)| path.ends_with(".clusterserviceversion.yaml"));
            options.epoch = None;
            options.now = csv.and_then(|(_, bytes)| generate::created_at(bytes)).unwrap_or(options.now);
        }
        let mut generated = generate::bundle(&input, &options)?;
        if let Some(catalog) = &self.from_catalog {
            options.upgrade.replaces = predecessor(catalog, &generated)?;
            generated = generate::bundle(&input, &options)?;
        }

        output::notes(&generated.ledger, self.explain)?;
        if self.explain && (self.stdout || self.check) {
            output::explain(&generated.ledger, &mut io::stderr().lock())?;
        } else if self.explain {
            output::explain(&generated.ledger, &mut io::stdout().lock())?;
        }
        if self.strict && generated.ledger.has_warnings() {
            writeln!(io::stderr(), "nothing was written: --strict takes the warnings above for errors")?;
            return Ok(Exit::Findings);
        }
        if self.stdout {
            output::print(&generated)?;
            return Ok(Exit::Success);
        }
        let output = self.output(folder, &generated, &input, lock)?;
        if !self.check {
            output.write(&generated.name, self.quiet)?;
            return Ok(Exit::Success);
        }
        if output.check(&mut io::BufWriter::new(io::stdout().lock()))? {
            writeln!(
                io::stderr(),
                "the bundle is not what the input gives: run the command again without --check"
            )?;
            return Ok(Exit::Findings);
        }
        Ok(Exit::Success)
    }

    /// Finds the digests of all images, where that was asked for.
    fn pin(&self, input: &Input, options: &mut Options) -> Result<Option<Lock>> {
        if !self.use_image_digests {
            return Ok(None);
        }
        let images = generate::unpinned_images(input, options)?;
        let lock = Lock::read(Path::new(LOCK_FILE))?;
        let lock =
            crate::cli::runtime()?.block_on(lock.of(&images, self.update_image_digests, &self.registries))?;
        options.digests = lock.digests();
        options.platforms = lock.platforms();
        Ok(Some(lock))
    }

    /// Takes over what the operator's Cargo.toml says.
    fn read_crate(&self, options: &mut Options) -> Result<()> {
        let project = match &self.manifest_path {
            Some(path) => match super::manifests::project(path)? {
                Some(project) => project,
                None => bail!("there is no file {}", path.display()),
            },
            // Only a crate that says so is an operator's.
            None => match super::manifests::project(Path::new("Cargo.toml")) {
                Ok(Some(project)) if project.olm.is_some() => project,
                Err(error) if !is_virtual(&error) => return Err(error),
                Ok(_) | Err(_) => return Ok(()),
            },
        };
        options.package.get_or_insert_with(|| project.package().to_owned());
        if let Some(olm) = project.olm {
            options.dependencies = olm.dependencies;
            options.properties = olm.properties;
            options.scorecard = olm.scorecard;
        }
        Ok(())
    }

    fn options(&self, folder: &Path, project: Project) -> Result<Options> {
        let version = self.version.as_deref().map(|version| {
            semver::Version::parse(version)
                .with_context(|| format!("--version {version:?} is no semantic version; write it as 1.2.3"))
        });
        let (_, relative) = dockerfile_place(folder)?;
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
            images: self.image.clone(),
            upgrade: Upgrade {
                replaces: self.replaces.clone(),
                skips: self
                    .skips
                    .iter()
                    .map(|skip| skip.trim().to_owned())
                    .filter(|skip| !skip.is_empty())
                    .collect(),
                skip_range: self.skip_range.clone(),
            },
            folder: relative.display().to_string(),
            epoch: source_date_epoch()?,
            now: rfc3339(jiff::Timestamp::now()),
            ..Options::default()
        })
    }

    fn input(&self, folder: &Path, package: Option<&str>) -> Result<Input> {
        let documents = self.documents()?;
        let has_csv = documents.iter().any(|document| is_kind(document, "ClusterServiceVersion"));
        let base = if has_csv { None } else { self.base(package)? };
        let previous = if self.stdout { BTreeMap::new() } else { output::previous(folder)? };
        let annotations = previous.get("metadata/annotations.yaml").map(|bytes| read::yaml::parse(bytes));
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
        let (dockerfile, _) = dockerfile_place(folder)?;
        let previous_dockerfile = match fs::read_to_string(&dockerfile) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).context(format!("failed to read {}", dockerfile.display())),
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

    /// What is to be written.
    fn output(
        &self,
        folder: PathBuf,
        generated: &Generated,
        input: &Input,
        lock: Option<Lock>,
    ) -> Result<Output> {
        let all = !self.manifests && !self.metadata;
        let has_metadata = input.previous.keys().any(|path| path.starts_with("metadata/"));
        let with_metadata = (all || self.metadata) && (self.overwrite || !has_metadata);
        let wanted = |path: &str| {
            if path.starts_with("metadata/") { with_metadata } else { all || self.manifests }
        };
        let mut output = Output { folder, ..Output::default() };
        for (path, bytes) in generated.files.iter().filter(|(path, _)| wanted(path)) {
            output.files.insert(path.clone(), bytes.clone());
        }
        let stray = |path: &&String| path.starts_with("manifests/") && !generated.files.contains_key(*path);
        for path in input.previous.keys().filter(stray) {
            if self.prune {
                output.removed.push(path.clone());
            } else {
                writeln!(
                    io::stderr(),
                    "warning: {} is not made from the input; where it is a left-over, remove it or give --prune",
                    output.folder.join(path).display()
                )?;
            }
        }
        if with_metadata {
            let (dockerfile, _) = dockerfile_place(&output.folder)?;
            output.beside.insert(dockerfile, generated.dockerfile.clone().into_bytes());
        }
        if let Some(lock) = lock {
            output.beside.insert(LOCK_FILE.into(), lock.text().into_bytes());
        }
        Ok(output)
    }
}

/// Where the Dockerfile of the bundle in `folder` lies, and how it names that folder: in the current folder where the
/// bundle is below it, as operator-sdk has it, else beside the bundle.
fn dockerfile_place(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let current = std::env::current_dir().context("failed to find the current folder")?;
    if folder.is_relative() && !folder.starts_with("..") {
        return Ok((DOCKERFILE.into(), folder.to_owned()));
    }
    if let Ok(relative) = folder.strip_prefix(&current) {
        return Ok((DOCKERFILE.into(), relative.to_owned()));
    }
    let name = folder.file_name().map(PathBuf::from).unwrap_or_default();
    Ok((folder.with_file_name(DOCKERFILE), name))
}

/// The CSV of a catalogue that the bundle takes the place of.
fn predecessor(path: &Path, generated: &Generated) -> Result<Option<String>> {
    let catalog = read::catalog::read(path)?;
    let channel = generated.channels.first().map(String::as_str).unwrap_or_default();
    let entries = versions(&catalog, &generated.package, channel);
    Ok(generate::predecessor(&entries, &generated.version).map(str::to_owned))
}

/// The CSVs of a channel with their versions.
fn versions(catalog: &Catalog, package: &str, channel: &str) -> Vec<(String, semver::Version)> {
    let names = catalog
        .channels
        .iter()
        .filter(|other| other.package == package && other.name == channel)
        .flat_map(|channel| &channel.entries)
        .map(|entry| entry.name.as_str());
    let version = |name: &str| {
        let bundle =
            catalog.bundles.iter().find(|bundle| bundle.package == package && bundle.name == name)?;
        let property = bundle.properties.iter().find(|property| property.r#type == "olm.package")?;
        property.value["version"].as_str()?.parse().ok()
    };
    names.filter_map(|name| Some((name.to_owned(), version(name)?))).collect()
}

/// Whether a Cargo.toml is a workspace's, which has no package of its own.
fn is_virtual(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(generate::ProjectError::NoPackage(_)))
}

fn is_kind(document: &Document, kind: &str) -> bool {
    document.tree.root().get("kind").is_some_and(|value| value.text() == kind)
}
