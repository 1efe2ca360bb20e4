//! `bundle-tool lsp`: a language server on standard input and output.

use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::path::Path;

use anyhow::Result;
use clap::Args;

use super::catalog::validate::{OpenshiftOption, validate as validate_catalog};
use super::exit::Exit;
use super::remedy::with_help;
use super::settings::Choice;
use super::validate::validate_directory;
use crate::lsp::{self, End, Failure, Item, Validated};
use crate::model::bundle::ANNOTATIONS_FILE;
use crate::model::dockerfile::BESIDE;
use crate::read;
use crate::read::file::MAX_FILE_SIZE;
use crate::read::format::Root;
use crate::read::overlay::Overlay;
use crate::read::settings::SettingsError;
use crate::report::Lines;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Run the server, as an editor does
  bundle-tool lsp

  # Validate as OperatorHub.io does
  bundle-tool lsp --profile operatorhub")]
pub(super) struct Lsp {
    #[command(flatten)]
    choice: Choice,
    /// The only transport; many editors name it
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    pub(super) fn run(self) -> Result<Exit> {
        let Self { choice, stdio: _ } = self;
        // Options that are invalid are reported at once.
        choice.selections()?;
        let validate = move |root: &Root, overlay: &Overlay| match root {
            Root::Bundle(path) => bundle(&choice, path, overlay),
            Root::Catalog(path) => catalog(path, overlay),
        };
        let end = lsp::serve(BufReader::new(io::stdin()), &mut io::stdout().lock(), Box::new(validate))?;
        Ok(match end {
            End::Orderly => Exit::Success,
            End::Abrupt => Exit::Findings,
        })
    }
}

/// Validates a bundle. Settings are read each time: they may have changed.
fn bundle(choice: &Choice, path: &Path, overlay: &Overlay) -> Result<Validated, Failure> {
    let selections = choice.selections().map_err(|error| failed(&error))?;
    let selection = selections.of(Some(path)).map_err(|error| {
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
    })?;
    let bundle = read::bundle::directory_with(path, overlay).map_err(|error| failed(&error.into()))?;
    let (bundle, report) = validate_directory(bundle, path, overlay, &selection);
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

/// Validates a catalog.
fn catalog(path: &Path, overlay: &Overlay) -> Result<Validated, Failure> {
    let sources = read::catalog::sources_with(path, overlay);
    let openshift = OpenshiftOption::default().of(path);
    let report = sources.and_then(|sources| validate_catalog(sources, openshift));
    let report = report.map_err(|error| failed(&error.into()))?;
    let mut items: Vec<Item> = report.problems.into_iter().map(Item::from).collect();
    let mut texts = BTreeMap::new();
    for name in items.iter().filter_map(|item| item.file.as_ref()) {
        if !texts.contains_key(name) {
            // Without its text, a file has its problems without their extent.
            let text = overlay.read(&path.join(name), MAX_FILE_SIZE).unwrap_or_default();
            texts.insert(name.clone(), text);
        }
    }
    let lines: BTreeMap<&str, Lines<'_>> =
        texts.iter().map(|(name, text)| (name.as_str(), Lines::new(text))).collect();
    for item in &mut items {
        let lines = item.file.as_deref().and_then(|file| lines.get(file));
        if let (Some(lines), Some((line, column))) = (lines, item.place) {
            item.end_column = lines.excerpt(line, column).map(|excerpt| excerpt.end_column);
        }
    }
    Ok(Validated { items, texts, main: None })
}

fn failed(error: &anyhow::Error) -> Failure {
    Failure { message: with_help(error.as_ref()), place: None }
}
