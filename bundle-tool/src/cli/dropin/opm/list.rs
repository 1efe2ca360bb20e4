//! `opm alpha list`: packages, channels and bundles in columns.
//!
//! Source: `alpha/action/list.go` of operator-registry v1.73.

use std::io::{self, Write as _};

use anyhow::{Context as _, Result, bail};

use super::super::Status;
use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand};
use super::super::registries::{INSECURE, registries};
use super::render::require_catalog;
use super::validate::problems_in;
use crate::cli::commands::catalog::list;
use crate::cli::commands::catalog::load;
use olm_model::catalog::Catalog;
use olm_model::read::catalog as reader;
use olm_model::read::catalog::{Content, Limits, Source};

/// What the flags of all three commands become.
const SHARED: &[(&str, Becomes)] =
    &[("skip-tls", INSECURE), ("skip-tls-verify", INSECURE), ("use-http", INSECURE)];

/// The native command of `alpha list packages`.
pub(crate) const PACKAGES: NativeCommand = native(&["catalog", "list", "packages"]);
/// The native command of `alpha list channels`.
pub(crate) const CHANNELS: NativeCommand = native(&["catalog", "list", "channels"]);
/// The native command of `alpha list bundles`.
pub(crate) const BUNDLES: NativeCommand = native(&["catalog", "list", "bundles"]);

const fn native(words: &'static [&'static str]) -> NativeCommand {
    NativeCommand { reads_images: true, ..NativeCommand::new(words, SHARED) }
}

pub(crate) fn packages(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    // As for opm, `olm.csv.metadata` is not read.
    print(&list::packages(&catalog, None, list::display_name_in_objects).rows)
}

pub(crate) fn channels(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    print(&list::channels(&catalog, package(&catalog, matches)?).rows)
}

pub(crate) fn bundles(matches: &Matches) -> Result<Status> {
    let catalog = read(matches)?;
    print(&list::bundles(&catalog, package(&catalog, matches)?).rows)
}

/// Reads a catalog, which must be valid.
fn read(matches: &Matches) -> Result<Catalog> {
    let reference = matches.argument(0);
    require_catalog(reference)?;
    let registries = registries(matches, [reference])?;
    let failed = || format!("render reference {reference:?}");
    let sources = load::sources(reference, &registries).with_context(failed)?;
    let catalog = reader::blobs(sources, Limits::default()).with_context(failed)?;
    let mut bytes = Vec::new();
    catalog.write_json(&mut bytes)?;
    let content = Source { name: "catalog.json".into(), content: Content::Bytes(bytes) };
    let problems = problems_in(reference, None, vec![content])?;
    if !problems.is_empty() {
        bail!("invalid index: {}", problems.join("; "));
    }
    Ok(catalog)
}

/// Returns the package that the command line names.
fn package<'m>(catalog: &Catalog, matches: &'m Matches) -> Result<Option<&'m str>> {
    let package = matches.argument(1);
    if !package.is_empty() && catalog.packages.iter().all(|other| other.name != package) {
        bail!("package {package:?} not found");
    }
    Ok(Some(package).filter(|package| !package.is_empty()))
}

fn print(rows: &[Vec<String>]) -> Result<Status> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    list::write(rows, &mut out)?;
    out.flush()?;
    Ok(Status::SUCCESS)
}
