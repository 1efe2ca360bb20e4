//! `bundle-tool lsp`: a language server on standard input and output.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::catalog::load::decoded;
use crate::cli::bundles;
use crate::cli::error_help::with_help;
use crate::cli::exit::Exit;
use crate::cli::settings::RuleArgs;
use crate::lsp::{self, End, Failure, Item, Validated};
use crate::settings::SettingsError;
use olm_model::bundle::ANNOTATIONS_FILE;
use olm_model::disk;
use olm_model::disk::Directory;
use olm_model::disk::format::Root;
use olm_model::disk::overlay::Overlay;
use olm_model::dockerfile::BESIDE;
use olm_model::read::MAX_FILE_SIZE;
use olm_rules::Selection;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Run the server, as an editor does
  bundle-tool lsp

  # Validate as OperatorHub.io does
  bundle-tool lsp --profile operatorhub")]
pub(crate) struct Lsp {
    #[command(flatten)]
    choice: RuleArgs,
    /// The only transport; many editors name it
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { choice, stdio: _ } = self;
        // Options that are invalid are reported at once.
        choice.selections()?;
        let validate = move |root: &Root, overlay: &Overlay| match root {
            Root::Bundle(path) => bundle(&choice, path, overlay),
            Root::Catalog(path) => catalog(&choice, path, overlay),
        };
        let end = lsp::serve(BufReader::new(io::stdin()), &mut io::stdout().lock(), Box::new(validate))?;
        Ok(match end {
            End::Orderly => Exit::Success,
            End::Abrupt => Exit::Findings,
        })
    }
}

/// Validates a bundle. Settings are read each time: they may have changed.
fn bundle(choice: &RuleArgs, path: &Path, overlay: &Overlay) -> Result<Validated, Failure> {
    let selection = selection(choice, path)?;
    let bundle = bundles::whole(path, overlay, &selection).map_err(|error| failed(&error.into()))?;
    let report = olm_rules::validate(&bundle, &selection);
    let mut names = bundle.files.iter().filter(|file| file.is_manifest()).map(|file| &file.path);
    let main = bundle.file(ANNOTATIONS_FILE).map(|file| &file.path).or_else(|| names.next()).cloned();
    let findings = report.findings.into_iter().filter(|finding| finding.ignored.is_none());
    let items = findings.map(Item::from).collect();
    let mut texts: BTreeMap<_, _> = bundle.files.into_iter().map(|file| (file.path, file.bytes)).collect();
    // A Dockerfile beside the bundle is not a document of it.
    if let Some(file) = bundle.dockerfile.filter(|file| file.path != BESIDE) {
        texts.insert(file.path, file.bytes);
    }
    Ok(Validated { items, texts, main })
}

/// Returns the user's settings for a bundle or a catalog.
fn selection(choice: &RuleArgs, path: &Path) -> Result<Arc<Selection>, Failure> {
    let selections = choice.selections().map_err(|error| failed(&error))?;
    selections.for_directory(Some(path)).map_err(|error| {
        let mut failure = failed(&error);
        let settings = selections.file(Some(path));
        failure.place = settings.map(|file| match error.downcast_ref() {
            Some(SettingsError::Invalid { position, message, .. }) => {
                failure.message.clone_from(message);
                (file, (position.line, position.column))
            }
            _ => (file, (1, 1)),
        });
        failure
    })
}

/// Validates a catalog.
fn catalog(choice: &RuleArgs, path: &Path, overlay: &Overlay) -> Result<Validated, Failure> {
    let selection = selection(choice, path)?;
    let sources = disk::catalog::sources_with(path, overlay);
    let directory = Directory::open(path);
    let openshift = choice.openshift().map_err(|error| failed(&error))?.for_catalog(path);
    let report = sources
        .and_then(|sources| Ok(olm_catalog::validate::report("", decoded(sources)?, openshift, &selection)));
    let mut report = report.map_err(|error| failed(&error.into()))?;
    let mut texts = BTreeMap::new();
    for name in report.findings.iter().filter_map(|finding| finding.file.as_ref()) {
        if !texts.contains_key(name) {
            // If a file cannot be read, its findings are reported without their extent.
            let text = match &directory {
                Ok(directory) => overlay.read(directory, name, MAX_FILE_SIZE).unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            texts.insert(name.clone(), text);
        }
    }
    olm_rules::add_excerpts(&mut report.findings, |name| texts.get(name).map(Vec::as_slice));
    let findings = report.findings.into_iter().filter(|finding| finding.ignored.is_none());
    let items = findings.map(|finding| Item { is_of_catalog: true, ..Item::from(finding) }).collect();
    Ok(Validated { items, texts, main: None })
}

fn failed(error: &anyhow::Error) -> Failure {
    Failure { message: with_help(error.as_ref()), place: None }
}
