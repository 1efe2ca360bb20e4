//! `bundle-tool generate bundle`: reads manifests and the existing bundle, and writes the bundle.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use atomic_files::Expected;
use clap::Args;

use super::input::{self, CSV_SUFFIX};
use super::output::{self, DOCKERFILE, Output};
use super::pins::{LOCK_FILE, Lock};
use super::project::{read_project, rfc3339, source_date_epoch};
use super::{files, manifests::project};
use crate::cli::exit::Exit;
use crate::cli::images::RegistryArgs;
use crate::cli::lock::lock;
use crate::terminal::{ERROR, NOTE, WARNING, messages, stderr};
use kube_yaml::text::printable;
use olm_generate::{
    Destination, Document, Generated, Manifests, Options, Origin, PreviousBundle, Replaces, Rewrite,
    SortedManifests, Upgrade,
};
use olm_model::disk;
use olm_model::read::manifests;
use operator_scaffold::KubebuilderProject;

/// The default output directory.
const DEFAULT_DIRECTORY: &str = "bundle";

/// The annotations, below the directory of a bundle.
const ANNOTATIONS: &str = "metadata/annotations.yaml";

/// The scorecard's configuration, below the directory of a bundle.
const TESTS: &str = "tests/scorecard/config.yaml";

/// The file that describes a crate, in the current directory.
const CARGO_TOML: &str = "Cargo.toml";

/// Generate a bundle from the manifests that install an operator
///
/// Reads plain manifests from a directory or from standard input, and writes the CSV, the CRDs and the other objects to
/// manifests/, metadata/annotations.yaml, and bundle.Dockerfile in the current directory. A CSV among the manifests, or in
/// the kustomize directory, is the base that everything else is merged into. The same input always produces the same
/// output: createdAt changes only if something else does.
///
/// Either all files of the bundle are written or none; if the command is killed, the next run reverts what it had
/// begun. Files that are not generated are preserved, and so are edits that are saved while the command runs. A
/// symbolic link in place of a generated file is replaced. If two runs write to the same directory, the second waits
/// for the first. Files in the input that bundle-tool generated itself are skipped.
///
/// Exit status: 0 if the bundle was written, 1 if --strict found warnings or --check found differences, 2 if the bundle
/// could not be generated.
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_long_help = "\
Examples:
  # Generate a bundle from the manifests in deploy/
  bundle-tool generate bundle --input-dir deploy --package lake-operator \\
    --version 0.1.0 --channels stable

  # Generate a bundle from what kustomize prints
  kubectl kustomize config/manifests |
    bundle-tool generate bundle --package lake-operator --version 0.1.0

  # Check in CI that the bundle in git is up to date
  bundle-tool generate bundle --input-dir deploy --check"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Bundle {
    /// Directory of the manifests, including all directories below it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["deploy_dir", "crds_dir"])]
    input_dir: Option<PathBuf>,
    /// Same as --input-dir; if --crds-dir is set, CRDs are read only from there
    #[arg(long, value_name = "DIR")]
    deploy_dir: Option<PathBuf>,
    /// Directory of the CRDs
    #[arg(long, value_name = "DIR", requires = "deploy_dir")]
    crds_dir: Option<PathBuf>,
    /// Directory whose bases/PACKAGE.clusterserviceversion.yaml is the base if no manifest is a CSV
    #[arg(long, value_name = "DIR", default_value = "config/manifests")]
    kustomize_dir: PathBuf,
    /// Output directory [default: bundle]
    #[arg(long, value_name = "DIR", conflicts_with = "stdout")]
    output_dir: Option<PathBuf>,
    /// Package name [default: from PROJECT, the base CSV or Cargo.toml]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,
    /// Semantic version of the operator [default: from the base CSV or Cargo.toml]
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Channels of the bundle, separated by commas [default: those of the existing bundle, or alpha]
    #[arg(long, value_name = "CHANNELS")]
    channels: Option<String>,
    /// Default channel of the package
    #[arg(long, value_name = "CHANNEL")]
    default_channel: Option<String>,
    /// Service accounts whose roles become permissions of the CSV, in addition to those of the Deployments
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    extra_service_accounts: Vec<String>,
    /// Overwrite existing metadata and Dockerfile
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
    /// Write the manifests only
    #[arg(long)]
    manifests: bool,
    /// Write the metadata and the Dockerfile only
    #[arg(long)]
    metadata: bool,
    /// Cargo.toml of the operator, whose [package.metadata.olm] sets package, dependencies, properties and scorecard
    /// [default: Cargo.toml]
    #[arg(long, value_name = "FILE")]
    manifest_path: Option<PathBuf>,
    /// Show where each input object ended up in the bundle
    #[arg(long)]
    explain: bool,
    /// Treat warnings as errors: write nothing and exit with 1
    #[arg(long)]
    strict: bool,
    /// Write nothing, print how the bundle differs from what would be generated, and exit with 1 if it does
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Remove manifests from the bundle that are not generated from the input
    #[arg(long, conflicts_with = "stdout")]
    prune: bool,
    /// Replace an image reference, given with or without its tag (repeatable)
    #[arg(long, value_name = "OLD=NEW")]
    replace_image: Vec<Rewrite>,
    /// Replace tags with digests, read from bundle-tool.lock or else from the registries
    #[arg(long)]
    use_image_digests: bool,
    /// Read all digests from the registries again and update bundle-tool.lock
    #[arg(long, requires = "use_image_digests")]
    update_image_digests: bool,
    /// CSV name or version that this version replaces
    #[arg(long, value_name = "NAME")]
    replaces: Option<String>,
    /// CSV names or versions that an upgrade skips, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    skips: Vec<String>,
    /// Range of versions that upgrade directly to this one, such as '>=1.0.0 <1.2.0'
    #[arg(long, value_name = "RANGE")]
    skip_range: Option<String>,
    /// Set `replaces` from this catalog: the closest lower version in the bundle's first channel
    #[arg(long, value_name = "DIR", conflicts_with = "replaces")]
    from_catalog: Option<PathBuf>,
    #[command(flatten)]
    registries: RegistryArgs,
    /// How operator-sdk generates the bundle, if the command runs as it.
    #[arg(skip)]
    sdk: Option<OperatorSdk>,
}

/// How operator-sdk generates a bundle.
#[derive(Debug)]
pub(crate) struct OperatorSdk {
    /// The builder that the annotations name: operator-sdk with its version.
    pub(crate) builder: String,
    /// Whether nothing but errors is reported.
    pub(crate) is_quiet: bool,
}

/// What operator-sdk reports about a bundle that it has generated.
#[derive(Debug, Default)]
pub(crate) struct SdkBundle {
    /// Whether there is a base CSV.
    pub(crate) has_base: bool,
    /// Whether the metadata and the Dockerfile were written.
    pub(crate) wrote_metadata: bool,
}

impl Bundle {
    /// Generates the bundle as operator-sdk does: from the input alone, without keeping anything of an existing bundle.
    pub(crate) fn run_as_operator_sdk(mut self, sdk: OperatorSdk) -> Result<SdkBundle> {
        self.sdk = Some(sdk);
        let mut bundle = SdkBundle::default();
        self.generate(&mut bundle)?;
        Ok(bundle)
    }

    pub(crate) fn run(self) -> Result<Exit> {
        self.generate(&mut SdkBundle::default())
    }

    fn generate(self, reported: &mut SdkBundle) -> Result<Exit> {
        let directory = self.output_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIRECTORY));
        let project = read_project(Path::new("PROJECT"))?.unwrap_or_default();
        let cargo = self.cargo_manifest()?;
        let options = self.options(&directory, project, cargo.as_ref())?;
        let epoch = source_date_epoch()?;
        let manifests = self.manifests(&directory, options.package.as_deref())?;
        reported.has_base = manifests.base.is_some()
            || manifests.documents.iter().any(|document| is_kind(document, "ClusterServiceVersion"));
        let mut sorted = SortedManifests::new(&manifests, &options)?;
        let expected_lock_file = files::expected(Path::new(LOCK_FILE))?;
        let pins = self.pins(&mut sorted)?;
        let pinned = sorted.pin(&pins.as_ref().map(Lock::pins).unwrap_or_default());
        // What is there is read under the lock, so that nothing else changes it until it is replaced.
        let writes = !self.check && (!self.stdout || self.writes_beside_stdout());
        let locked = if writes { Some(lock(&directory)?) } else { None };
        let existing = Existing::read(&directory, !self.stdout || writes, self.sdk.is_some())?;
        let paths: Vec<String> = existing.bundle.files.keys().cloned().collect();
        let mut read = existing.expected;
        read.insert(LOCK_FILE.into(), expected_lock_file);
        let generated = pinned.generate(&self.destination(existing.bundle, epoch))?;

        if !self.sdk.as_ref().is_some_and(|sdk| sdk.is_quiet) {
            output::notes(&generated.report, self.explain)?;
        }
        origin(&generated, cargo.as_ref().map(|cargo| cargo.path.as_str()))?;
        if self.explain && (self.stdout || self.check) {
            output::explain(&generated.report, &mut messages())?;
        } else if self.explain {
            output::explain(&generated.report, &mut io::stdout().lock())?;
        }
        if self.strict && generated.report.has_warnings() {
            writeln!(stderr(), "{ERROR} nothing was written because --strict treats warnings as errors")?;
            return Ok(Exit::Findings);
        }
        if self.stdout {
            if self.sdk.is_none() || self.manifests || !self.metadata {
                output::print(&generated, self.sdk.is_some())?;
            }
            if self.sdk.is_some() {
                self.write_tests(&generated)?;
            }
            if !writes {
                return Ok(Exit::Success);
            }
        }
        let name = generated.name.clone();
        let pins = pins.filter(|_| self.sdk.is_none());
        let mut output = self.output(directory, generated, &paths, pins)?;
        output.read = read;
        reported.wrote_metadata = output.files.contains_key(ANNOTATIONS);
        if let Some(locked) = locked {
            output.write(&name, locked)?;
            return Ok(Exit::Success);
        }
        if output.check(&mut io::BufWriter::new(io::stdout().lock()))? {
            writeln!(
                stderr(),
                "{ERROR} the bundle is not up to date; run the command again without --check"
            )?;
            return Ok(Exit::Findings);
        }
        Ok(Exit::Success)
    }

    /// Finds the digests of all images, if requested.
    fn pins(&self, sorted: &mut SortedManifests<'_>) -> Result<Option<Lock>> {
        if !self.use_image_digests {
            return Ok(None);
        }
        let images = sorted.unpinned_images();
        let lock = if self.sdk.is_some() { Lock::default() } else { Lock::read(Path::new(LOCK_FILE))? };
        let lock = crate::cli::runtime::runtime()?.block_on(lock.update(
            &images,
            self.update_image_digests,
            &self.registries,
        ))?;
        Ok(Some(lock))
    }

    /// Reads the Cargo.toml of the operator, if there is one.
    fn cargo_manifest(&self) -> Result<Option<CargoManifest>> {
        let path = self.manifest_path.as_deref().unwrap_or(Path::new(CARGO_TOML));
        let project = match project(path) {
            Ok(Some(project)) => project,
            Ok(None) if self.manifest_path.is_some() => bail!("{} does not exist", path.display()),
            // The operator need not be the workspace that the command runs in.
            Err(error) if self.manifest_path.is_none() && is_virtual(&error) => return Ok(None),
            Err(error) => return Err(error),
            Ok(None) => return Ok(None),
        };
        Ok(Some(CargoManifest { path: path.display().to_string(), project }))
    }

    /// Returns what options, PROJECT and Cargo.toml say about the bundle.
    fn options(
        &self,
        directory: &Path,
        project: KubebuilderProject,
        cargo: Option<&CargoManifest>,
    ) -> Result<Options> {
        let cargo = cargo.map(|cargo| &cargo.project);
        let olm = cargo.and_then(|cargo| cargo.olm.as_ref());
        let of_operator = cargo.filter(|_| olm.is_some() || self.manifest_path.is_some());
        let version = self.version.as_deref().map(|version| {
            // Never the parser's own words.
            semver::Version::parse(version).ok().with_context(|| {
                format!(
                    "invalid --version `{}`: expected a semantic version such as 1.2.3",
                    version.escape_debug()
                )
            })
        });
        let (_, relative) = dockerfile_place(directory)?;
        let layout = project.layout();
        if let Some(channels) = &self.channels
            && channels.split(',').all(|channel| channel.trim().is_empty())
        {
            bail!(
                "invalid --channels `{}`: expected the names of channels, such as stable,fast",
                printable(channels)
            );
        }
        // operator-sdk writes any name.
        let names =
            self.channels.iter().flat_map(|list| list.split(',')).chain(self.default_channel.as_deref());
        let is_blank = |name: &&str| name.trim().contains(|c: char| c.is_whitespace() || c.is_control());
        if let Some(name) = names.filter(|_| self.sdk.is_none()).find(is_blank) {
            bail!(
                "invalid channel `{}`: must not contain whitespace or control characters; separate channels with commas",
                printable(name.trim())
            );
        }
        Ok(Options {
            package: self
                .package
                .clone()
                .or(project.name)
                .or_else(|| of_operator.map(|cargo| cargo.package().to_owned())),
            version: version.transpose()?,
            fallback_package: cargo.map(|cargo| cargo.package().to_owned()),
            fallback_version: cargo.and_then(|cargo| cargo.version.as_deref()?.parse().ok()),
            dependencies: olm.map(|olm| olm.dependencies.clone()).unwrap_or_default(),
            properties: olm.map(|olm| olm.properties.clone()).unwrap_or_default(),
            scorecard: olm.is_some_and(|olm| olm.scorecard),
            channels: self.channels.clone(),
            default_channel: self.default_channel.clone().filter(|channel| !channel.is_empty()),
            extra_service_accounts: self
                .extra_service_accounts
                .iter()
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
            layout,
            images: self.replace_image.clone(),
            upgrade: Upgrade {
                replaces: self.replaces()?,
                skips: self
                    .skips
                    .iter()
                    .map(|skip| skip.trim().to_owned())
                    .filter(|skip| !skip.is_empty())
                    .collect(),
                skip_range: self.skip_range.clone(),
            },
            directory: relative.display().to_string(),
            builder: self.sdk.as_ref().map(|sdk| sdk.builder.clone()),
        })
    }

    /// Returns where the bundle is written, in place of the `previous` one.
    fn destination(&self, previous: PreviousBundle, mut epoch: Option<String>) -> Destination {
        let mut now = rfc3339(jiff::Timestamp::now());
        if self.check {
            // The difference should not show that the check runs today.
            let csv = previous.files.iter().find(|(path, _)| path.ends_with(CSV_SUFFIX));
            let created_at = csv.and_then(|(_, bytes)| olm_generate::created_at(bytes));
            (epoch, now) = (None, created_at.unwrap_or(now));
        }
        let previous = if self.sdk.is_some() { only_tests(previous) } else { previous };
        let has_test_annotations = self.has_test_annotations(&previous);
        Destination { previous, epoch, now, has_test_annotations }
    }

    /// Returns whether the metadata is written although the manifests are printed, as by operator-sdk.
    fn writes_beside_stdout(&self) -> bool {
        self.sdk.is_some() && (self.metadata || !self.manifests)
    }

    /// Returns whether the annotations say where the scorecard's tests are, if that is not determined by the bundle.
    ///
    /// operator-sdk looks for the tests in the input directory, if one is set, and prints no tests.
    fn has_test_annotations(&self, previous: &PreviousBundle) -> Option<bool> {
        self.sdk.as_ref()?;
        match &self.input_dir {
            Some(input) => Some(input.join(TESTS).exists()),
            None if self.stdout => Some(previous.files.contains_key(TESTS)),
            None => None,
        }
    }

    /// Writes the scorecard's configuration below the current directory, as operator-sdk does when it prints the manifests.
    fn write_tests(&self, generated: &Generated) -> Result<()> {
        let Some(bytes) = generated.files.get(TESTS).filter(|_| self.manifests || !self.metadata) else {
            return Ok(());
        };
        let path = Path::new(TESTS);
        let directory = path.parent().unwrap_or(path);
        fs::create_dir_all(directory).with_context(|| format!("failed to write {}", directory.display()))?;
        atomic_files::file(path, bytes)?;
        Ok(())
    }

    fn replaces(&self) -> Result<Option<Replaces>> {
        Ok(match &self.from_catalog {
            Some(path) => Some(Replaces::HighestIn(disk::catalog::read(path)?)),
            None => self.replaces.clone().map(Replaces::Csv),
        })
    }

    /// Reads the manifests and the base CSV.
    fn manifests(&self, directory: &Path, package: Option<&str>) -> Result<Manifests> {
        let documents = self.documents(directory)?;
        let has_csv = documents.iter().any(|document| is_kind(document, "ClusterServiceVersion"));
        let base = if has_csv { None } else { self.base(package)? };
        Ok(Manifests { documents, base })
    }

    fn documents(&self, output: &Path) -> Result<Vec<Document>> {
        let mut skipped = Vec::new();
        let mut directory = |path: &Path| -> Result<Vec<Document>> {
            let found = input::read(path, output)?;
            skipped.extend(found.skipped);
            Ok(found.list)
        };
        let mut read = match (self.input_dir.as_ref().or(self.deploy_dir.as_ref()), io::stdin().is_terminal())
        {
            (Some(path), _) => directory(path)?,
            (None, false) => manifests::stream("standard input", io::stdin().lock())?,
            (None, true) => bail!(
                "no manifests: pass --input-dir, or pipe them to standard input, such as from \
                 `kubectl kustomize config/manifests`"
            ),
        };
        if let Some(path) = &self.crds_dir {
            let is_crd = |manifest: &Document| {
                manifest.tree.root().get("kind").is_some_and(|kind| kind.text() == "CustomResourceDefinition")
            };
            read.retain(|manifest| !is_crd(manifest));
            read.extend(directory(path)?.into_iter().filter(is_crd));
        }
        for path in skipped {
            let path = path.display().to_string();
            writeln!(messages(), "{NOTE} skipped {}: it is output of this tool", printable(&path))?;
        }
        if read.is_empty() {
            match self.input_dir.as_ref().or(self.deploy_dir.as_ref()) {
                Some(path) => bail!("no manifests found in {}", path.display()),
                None => bail!(
                    "no manifests found on standard input: pipe the output of `kubectl kustomize config/manifests` to it, or pass \
                     --input-dir"
                ),
            }
        }
        Ok(read)
    }

    /// Reads the base CSV of the kustomize directory: the package's, or the only one if there is no package name.
    fn base(&self, package: Option<&str>) -> Result<Option<Document>> {
        let bases = self.kustomize_dir.join("bases");
        let path = if let Some(package) = package {
            bases.join(format!("{package}{CSV_SUFFIX}"))
        } else {
            let Ok(entries) = fs::read_dir(&bases) else { return Ok(None) };
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.to_string_lossy().ends_with(CSV_SUFFIX))
                .collect();
            match (found.pop(), found.is_empty()) {
                (Some(path), true) => path,
                _ => return Ok(None),
            }
        };
        if !path.exists() {
            return Ok(None);
        }
        let found = disk::manifests::directory(&path)?
            .into_iter()
            .find(|document| is_kind(document, "ClusterServiceVersion"));
        found.map(Some).with_context(|| format!("no ClusterServiceVersion found in {}", path.display()))
    }

    /// Returns what is to be written.
    fn output(
        &self,
        directory: PathBuf,
        generated: Generated,
        existing: &[String],
        lock: Option<Lock>,
    ) -> Result<Output> {
        let all = !self.manifests && !self.metadata;
        let has_metadata = existing.iter().any(|path| path.starts_with("metadata/"));
        let with_metadata = (all || self.metadata) && (self.overwrite || !has_metadata);
        let with_manifests = (all || self.manifests) && !self.stdout;
        let wanted = |path: &str| if path.starts_with("metadata/") { with_metadata } else { with_manifests };
        let mut output = Output { directory, ..Output::default() };
        let stray = |path: &&String| path.starts_with("manifests/") && !generated.files.contains_key(*path);
        for path in existing.iter().filter(stray) {
            if self.prune {
                output.removed.push(path.clone());
            } else if self.sdk.is_none() {
                let path = output.directory.join(path).display().to_string();
                writeln!(
                    stderr(),
                    "{WARNING} {} is not generated from the input; remove it or pass --prune",
                    printable(&path)
                )?;
            }
        }
        if with_metadata {
            let (dockerfile, _) = dockerfile_place(&output.directory)?;
            output.beside.insert(dockerfile, generated.dockerfile.into_bytes());
        }
        if let Some(lock) = lock {
            output.beside.insert(LOCK_FILE.into(), lock.to_toml().into_bytes());
        }
        output.files = generated.files;
        output.files.retain(|path, _| wanted(path));
        Ok(output)
    }
}

/// The Cargo.toml of an operator.
struct CargoManifest {
    /// Its path as shown to the user.
    path: String,
    project: olm_generate::Project,
}

/// The existing bundle and its Dockerfile, which the generated ones update.
struct Existing {
    bundle: PreviousBundle,
    /// The bytes that were read, by path: a file is replaced only if it still contains them.
    expected: BTreeMap<PathBuf, Expected>,
}

impl Existing {
    /// Reads the Dockerfile and, if `with_files` is set, the files of the bundle in `directory`.
    fn read(directory: &Path, with_files: bool, is_of_sdk: bool) -> Result<Self> {
        let files = if with_files { output::previous(directory, is_of_sdk)? } else { BTreeMap::new() };
        let mut expected: BTreeMap<_, _> =
            files.iter().map(|(path, bytes)| (directory.join(path), Expected::from(Some(bytes)))).collect();
        let mut annotations = None;
        if let Some(bytes) = files.get(ANNOTATIONS).filter(|_| !is_of_sdk) {
            let parsed = kube_yaml::parse(bytes);
            if let Some(error) = parsed.error {
                let file = directory.join(ANNOTATIONS);
                bail!("{} is not valid YAML, so its annotations cannot be kept: {error}", file.display());
            }
            annotations = parsed.documents.into_iter().next();
        }
        let (path, _) = dockerfile_place(directory)?;
        let dockerfile = files::read_text(&path)?;
        expected.insert(path, dockerfile.as_ref().into());
        Ok(Self { bundle: PreviousBundle { files, annotations, dockerfile }, expected })
    }
}

/// Returns what operator-sdk keeps of a bundle: only its tests, but neither its annotations nor its Dockerfile.
fn only_tests(previous: PreviousBundle) -> PreviousBundle {
    let mut files = previous.files;
    files.retain(|path, _| path.starts_with("tests/"));
    PreviousBundle { files, ..PreviousBundle::default() }
}

/// Prints where package and version come from, if neither an option nor a CSV sets them.
fn origin(generated: &Generated, cargo_toml: Option<&str>) -> io::Result<()> {
    let Generated { package, version, package_origin, version_origin, .. } = generated;
    let file = cargo_toml.unwrap_or(CARGO_TOML);
    let mut err = messages();
    if *package_origin == Origin::Fallback {
        writeln!(err, "{NOTE} using package name `{package}` from {file}")?;
    }
    match version_origin {
        Origin::Fallback => writeln!(err, "{NOTE} using version {version} from {file}"),
        Origin::Default => {
            writeln!(err, "{NOTE} using version {version} because none was found; pass --version")
        }
        Origin::Option | Origin::Csv => Ok(()),
    }
}

/// Returns the path of the Dockerfile of the bundle in `directory`, and the path of the bundle relative to it.
///
/// The Dockerfile is in the current directory if the bundle is below it, as with operator-sdk, and beside the bundle
/// otherwise.
fn dockerfile_place(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let current = std::env::current_dir().context("failed to find the current directory")?;
    if directory.is_relative() && !directory.starts_with("..") {
        return Ok((DOCKERFILE.into(), directory.to_owned()));
    }
    if let Ok(relative) = directory.strip_prefix(&current) {
        return Ok((DOCKERFILE.into(), relative.to_owned()));
    }
    let name = directory.file_name().map(PathBuf::from).unwrap_or_default();
    Ok((directory.with_file_name(DOCKERFILE), name))
}

/// Returns whether a Cargo.toml is that of a workspace without a package.
pub(crate) fn is_virtual(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(olm_generate::ProjectError::NoPackage(_)))
}

fn is_kind(document: &Document, kind: &str) -> bool {
    document.tree.root().get("kind").is_some_and(|value| value.text() == kind)
}
