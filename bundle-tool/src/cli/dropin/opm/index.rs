//! `opm index` for file-based catalogs: index images contain a file-based catalog instead of an `SQLite` database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use atomic_files::Pending;

use super::super::cobra::Matches;
use super::super::images::{BuiltImage, deliver};
use super::super::registries::{is_insecure, is_on_this_machine, registries};
use super::super::{Status, UsageError, log, native};
use super::OPM_IMAGE;
use super::dockerfile;
use crate::cli::images::Location;
use crate::cli::runtime::runtime;
use kube_yaml::text::printable;
use olm_model::disk;

/// The default name of an index image.
const DEFAULT_TAG: &str = "operator-registry-index:latest";
/// The default name of the Dockerfile that `--generate` writes.
const DOCKERFILE: &str = "index.Dockerfile";
/// The directory that `--generate` writes the catalog to.
const CATALOG: &str = "index";

pub(crate) fn add(matches: &Matches) -> Result<Status> {
    let edges = match matches.text("mode") {
        "replaces" => "csv",
        "semver" => "semver",
        "semver-skippatch" => bail!(
            "--mode semver-skippatch is not supported for file-based catalogs; use a template of schema olm.semver with \
             `bundle-tool catalog template`, or --mode semver"
        ),
        other => bail!(UsageError(format!("invalid update mode: {other:?}"))),
    };
    check_tools(matches)?;
    let bundles: Vec<&str> =
        matches.list("bundles").iter().map(String::as_str).filter(|bundle| !bundle.is_empty()).collect();
    if bundles.is_empty() && matches.some("from-index").is_none() {
        bail!("the index would be empty: --bundles names no bundle, and --from-index is not set");
    }
    for bundle in &bundles {
        let location =
            Location::of_image(bundle).with_context(|| format!("invalid --bundles value {bundle:?}"))?;
        if location.as_ref().and_then(Location::registry).is_none() {
            bail!("invalid --bundles value {bundle:?}: expected the name of an image in a registry");
        }
    }
    check_outputs(matches)?;
    note();
    log::info("building the index");
    let work = start(matches)?;
    let directory = work.path().display().to_string();
    if bundles.is_empty() {
        // An empty list is valid: the result is the catalog of `--from-index`.
        return finish(matches, &work);
    }
    let edges = format!("--edges={edges}");
    let mut words = vec!["catalog", "add", &edges];
    if matches.bool("permissive") {
        words.push("--no-validate");
    }
    if is_insecure(matches)? || bundles.iter().all(|bundle| is_on_this_machine(bundle)) {
        words.push("--insecure");
    }
    match native(words, [directory.as_str()].into_iter().chain(bundles))? {
        Status::SUCCESS => finish(matches, &work),
        failed => Ok(failed),
    }
}

pub(crate) fn remove(matches: &Matches) -> Result<Status> {
    check_tools(matches)?;
    check_outputs(matches)?;
    note();
    log::info("building the index");
    let work = start(matches)?;
    let removed = matches.list("operators");
    let mut kept = packages(matches, &work, removed)?;
    for package in removed {
        kept.remove(package);
    }
    if kept.is_empty() {
        bail!(
            "--operators lists all packages of {}, so the index would be empty",
            matches.text("from-index")
        );
    }
    keep_only(matches, &work, &kept)
}

/// Returns the packages of an index, which must include those that a flag names.
fn packages(matches: &Matches, work: &tempfile::TempDir, named: &[String]) -> Result<BTreeSet<String>> {
    let found = disk::catalog::read(work.path())?.packages;
    let found: BTreeSet<String> = found.into_iter().map(|package| package.name).collect();
    match named.iter().find(|name| !found.contains(*name)) {
        Some(missing) => bail!("package {missing:?} is not in {}", matches.text("from-index")),
        None => Ok(found),
    }
}

pub(crate) fn prune(matches: &Matches) -> Result<Status> {
    if matches.text("container-tool") == "none" {
        bail!(UsageError("none is not a valid container-tool for index prune".to_owned()));
    }
    let kept = matches.list("packages");
    if kept.is_empty() {
        bail!("--packages lists no package, so the index would be empty");
    }
    check_outputs(matches)?;
    note();
    log::info("pruning the index");
    let work = start(matches)?;
    packages(matches, &work, kept)?;
    keep_only(matches, &work, &kept.iter().cloned().collect())
}

fn keep_only(matches: &Matches, work: &tempfile::TempDir, packages: &BTreeSet<String>) -> Result<Status> {
    let directory = work.path().display().to_string();
    let mut words = vec!["catalog".to_owned(), "prune".to_owned()];
    words.extend(packages.iter().map(|package| format!("--keep={package}")));
    if matches.bool("permissive") {
        words.push("--no-validate".to_owned());
    }
    match native(words.iter().map(String::as_str), [directory.as_str()])? {
        Status::SUCCESS => finish(matches, work),
        failed => Ok(failed),
    }
}

/// Warns that the index is a file-based catalog.
fn note() {
    log::warn("building a file-based catalog, because SQLite indexes are not supported");
}

/// Checks the container tools as opm does: `--container-tool` excludes `--build-tool` and `--pull-tool`.
fn check_tools(matches: &Matches) -> Result<()> {
    if matches.text("build-tool") == "none" {
        bail!(UsageError("none is not a valid container-tool for index add".to_owned()));
    }
    if matches.some("container-tool").is_some()
        && (matches.some("build-tool").is_some() || matches.some("pull-tool").is_some())
    {
        bail!(UsageError("container-tool cannot be set alongside pull-tool or build-tool".to_owned()));
    }
    Ok(())
}

/// Returns a directory with the catalog of `--from-index`, or an empty one.
fn start(matches: &Matches) -> Result<tempfile::TempDir> {
    let work = tempfile::tempdir().context("failed to create a temporary directory")?;
    if let Some(index) = matches.some("from-index") {
        let registries = registries(matches, [index])?;
        let contents = runtime()?
            .block_on(Location::parse(index)?.contents(&registries))
            .with_context(|| format!("failed to read {index}"))?;
        if !contents.is_catalog() {
            bail!("{index} is not an index image");
        }
        atomic_files::tree(work.path(), contents.files)?;
    }
    Ok(work)
}

/// Builds the image of the catalog, or writes the catalog with a Dockerfile.
fn finish(matches: &Matches, work: &tempfile::TempDir) -> Result<Status> {
    if matches.bool("generate") {
        return generate(matches, work.path());
    }
    let directory = work.path().display().to_string();
    let tag = matches.some("tag").unwrap_or(DEFAULT_TAG);
    let mut words = vec!["push".to_owned(), "catalog".to_owned()];
    words.extend(matches.some("binary-image").map(|image| format!("--base={image}")));
    if matches.bool("permissive") {
        words.push("--no-validate".to_owned());
    }
    let values = vec![directory, tag.to_owned()];
    let tool =
        ["container-tool", "build-tool"].iter().find_map(|name| matches.some(name)).unwrap_or("podman");
    deliver(&BuiltImage { tag, words, values }, tool, is_insecure(matches)?)
}

/// Returns the path and the text of the Dockerfile that `--generate` writes.
fn dockerfile_of(matches: &Matches) -> Result<(&Path, String)> {
    let base = matches.some("binary-image").unwrap_or(OPM_IMAGE);
    let path = Path::new(matches.some("out-dockerfile").unwrap_or(DOCKERFILE));
    Ok((path, dockerfile::render(CATALOG, base, base, &BTreeMap::new())?))
}

/// Checks that everything that `--generate` writes can be written.
fn check_outputs(matches: &Matches) -> Result<()> {
    if !matches.bool("generate") {
        return Ok(());
    }
    match fs::read_dir(CATALOG) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                bail!(
                    "cannot write the catalog to {CATALOG}, because the directory is not empty; remove its files"
                );
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error).context(format!("failed to write the catalog to {CATALOG}")),
    }
    let (path, text) = dockerfile_of(matches)?;
    let failed = || format!("failed to write {}", path.display());
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !fs::metadata(parent).with_context(failed)?.is_dir() {
        bail!("{}: {} is not a directory", failed(), parent.display());
    }
    if atomic_files::compare(path, text.as_bytes())? == atomic_files::Change::Replaced {
        log::warn(&format!(
            "{} already exists and will be overwritten",
            printable(&path.display().to_string())
        ));
    }
    Ok(())
}

/// Writes the catalog, and the Dockerfile of its image.
fn generate(matches: &Matches, catalog: &Path) -> Result<Status> {
    let mut files = BTreeMap::new();
    for entry in disk::walk::walk(catalog, disk::walk::Options::default())? {
        let path = catalog.join(&entry.below);
        if path.is_file() {
            files.insert(entry.name.clone(), fs::read(&path)?);
        }
    }
    let (path, text) = dockerfile_of(matches)?;
    // The Dockerfile is on the disk before the catalog is written, and renamed after.
    let mut pending = Pending::new(path)?;
    pending.append(text.as_bytes())?;
    atomic_files::tree(Path::new(CATALOG), files)?;
    pending.commit()?;
    log::info(&format!("wrote the catalog to {CATALOG} and {}", path.display()));
    Ok(Status::SUCCESS)
}
