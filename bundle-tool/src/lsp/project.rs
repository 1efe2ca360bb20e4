//! A bundle or a catalog as it was validated last: its files with what was found in them, in the protocol's terms.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::item::{Failure, Item, Validated};
use super::position::{self, Position, Range};
use super::protocol::{Client, Diagnostic, Location, RelatedInformation};
use super::uri;
use olm_model::Severity;
use serde_json::json;

/// The source of all diagnostics.
const SOURCE: &str = "bundle-tool";

/// What was found, by the paths of files.
#[derive(Debug, Default)]
pub(crate) struct Checked(pub(crate) BTreeMap<PathBuf, CheckedFile>);

/// What was found in a file.
#[derive(Debug, Default)]
pub(crate) struct CheckedFile {
    /// The file's path below the bundle or the catalog.
    pub(crate) name: String,
    /// The text that was validated; empty where it is not known.
    pub(crate) text: Vec<u8>,
    /// The width of the byte order mark that the client's document begins with.
    pub(crate) mark: u32,
    pub(crate) found: Vec<Found>,
}

/// A finding, and how it is shown.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) item: Item,
    pub(crate) diagnostic: Diagnostic,
}

/// The URIs by which the client knows its open documents.
pub(crate) type Uris = BTreeMap<PathBuf, String>;

/// Returns the URI of a file: the client's, if the file is open.
pub(crate) fn uri_of(path: &Path, uris: &Uris) -> String {
    uris.get(path).cloned().unwrap_or_else(|| uri::from_path(path))
}

/// A line and column, from 1.
type LineColumn = (u32, u32);

impl Checked {
    /// Arranges what was found below `root` by files, and converts the places.
    pub(crate) fn new(root: &Path, validated: Validated, uris: &Uris, client: Client) -> Self {
        let Validated { mut items, texts, main } = validated;
        for item in &mut items {
            // A directory, or a file that is missing, has no text to show a finding in.
            if item.file.as_ref().is_none_or(|file| file.ends_with('/') || !texts.contains_key(file)) {
                item.file.clone_from(&main);
                (item.place, item.end_column) = (None, None);
                // It edits another file.
                item.fix = None;
            }
        }
        // The text of a file that is open is the client's.
        let mark = |file: &str| match texts.get(file) {
            Some(text) if uris.contains_key(&root.join(file)) => position::mark(text, client.encoding),
            _ => 0,
        };
        let positions = positions(&items, &texts, mark, client);
        let marks: HashMap<String, u32> =
            texts.keys().map(|file| (file.clone(), mark(file))).filter(|(_, mark)| *mark > 0).collect();
        let range = |file: &str, place: Option<LineColumn>, end_column: Option<u32>| {
            let (Some(place), Some(known)) = (place, positions.get(file)) else { return Range::default() };
            let at = |place| known.get(&place).copied().unwrap_or_default();
            Range { start: at(place), end: at((place.0, end_column.unwrap_or(place.1))) }
        };
        let mut shown = Vec::with_capacity(items.len());
        for item in &items {
            let related = item.related.iter().filter(|_| client.related).map(|related| RelatedInformation {
                location: Location {
                    uri: uri_of(&root.join(&related.file), uris),
                    range: range(&related.file, Some(related.place), related.end_column),
                },
                message: related.message.clone(),
            });
            let help = if item.help.is_empty() { String::new() } else { format!("\nhelp: {}", item.help) };
            shown.push(Diagnostic {
                range: range(item.file.as_deref().unwrap_or_default(), item.place, item.end_column),
                severity: match item.severity {
                    Severity::Error => 1,
                    Severity::Warning => 2,
                    Severity::Info => 3,
                },
                code: item.rule,
                source: SOURCE,
                message: format!("{}{help}", item.message),
                data: item.versions.map(|versions| json!({"versions": versions})),
                related_information: related.collect(),
            });
        }
        drop(positions);
        let mut texts = texts;
        let mut files = BTreeMap::new();
        for (item, diagnostic) in items.into_iter().zip(shown) {
            let name = item.file.clone().unwrap_or_default();
            let path = if name.is_empty() { root.to_owned() } else { root.join(&name) };
            let file: &mut CheckedFile = files.entry(path).or_insert_with(|| CheckedFile {
                text: texts.remove(&name).unwrap_or_default(),
                mark: marks.get(&name).copied().unwrap_or_default(),
                name,
                found: Vec::new(),
            });
            file.found.push(Found { item, diagnostic });
        }
        Self(files)
    }

    /// Returns why nothing was validated, in the file that is at fault.
    pub(crate) fn failed(failure: &Failure) -> Option<(PathBuf, Diagnostic)> {
        let (path, (line, column)) = failure.place.clone()?;
        let start = Position { line: line.saturating_sub(1), character: column.saturating_sub(1) };
        let diagnostic = Diagnostic {
            range: Range { start, end: start },
            severity: 1,
            code: "settings",
            source: SOURCE,
            message: failure.message.clone(),
            related_information: Vec::new(),
            data: None,
        };
        Some((path, diagnostic))
    }
}

/// Converts all places of items.
fn positions<'i>(
    items: &'i [Item],
    texts: &BTreeMap<String, Vec<u8>>,
    mark: impl Fn(&str) -> u32,
    client: Client,
) -> HashMap<&'i str, HashMap<LineColumn, Position>> {
    let mut places: HashMap<&str, Vec<LineColumn>> = HashMap::new();
    let mut add = |file: &'i str, place: LineColumn, end_column: Option<u32>| {
        let known = places.entry(file).or_default();
        known.push(place);
        known.extend(end_column.map(|column| (place.0, column)));
    };
    for item in items {
        if let (Some(file), Some(place)) = (&item.file, item.place) {
            add(file, place, item.end_column);
        }
        for related in &item.related {
            add(&related.file, related.place, related.end_column);
        }
    }
    let convert = |(file, places): (&'i str, Vec<LineColumn>)| {
        let text = texts.get(file).map(Vec::as_slice).unwrap_or_default();
        let positions = position::of_places(text, &places, client.encoding);
        let mark = mark(file);
        let positions = positions.into_iter().map(|position| position.behind(mark));
        (file, places.into_iter().zip(positions).collect())
    };
    places.into_iter().map(convert).collect()
}
