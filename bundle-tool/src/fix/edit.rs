//! Turns a fix into a replacement of bytes.

use std::ops::Range;

use serde_json::Value as Json;

use crate::model::yaml::{Position, Scalar, Style, is_plain_string, is_same_name, resolve};
use crate::read::spans::{self, Content, Span};
use crate::read::yaml;
use crate::report::fix::{Change, Fix, Place, PlaceStep};

/// A replacement of bytes.
#[derive(Debug)]
pub(super) struct Edit {
    /// The bytes that are replaced.
    pub(super) range: Range<usize>,
    /// What replaces them.
    pub(super) text: String,
    /// What is changed.
    pub(super) place: Vec<PlaceStep>,
    /// How it is changed.
    pub(super) meaning: Meaning,
}

/// What an edit does to the value of the document.
#[derive(Debug)]
pub(super) enum Meaning {
    Set(Json),
    Insert(String, String),
    Rename(String),
    Remove,
    RemoveDuplicate,
}

/// The value that a fix changes, and what holds it.
struct Target<'s> {
    place: Vec<PlaceStep>,
    /// The map or list that holds the value, and its index there; nothing for the root.
    parent: Option<(&'s Span, usize)>,
    value: &'s Span,
}

/// Returns the edit that a fix stands for; nothing if it cannot be written.
pub(super) fn edit(text: &str, root: &Span, fix: &Fix) -> Option<Edit> {
    let target = match &fix.place {
        Place::Path(steps) => at_path(root, steps)?,
        Place::Position(position) => at_position(root, *position)?,
    };
    let Target { place, parent, value } = target;
    let edit = |range, text, meaning| Some(Edit { range, text, place: place.clone(), meaning });
    let in_flow = parent.is_some_and(|(parent, _)| is_flow(parent));
    match &fix.change {
        Change::SetString(new) => {
            let Content::Scalar(style, _, true) = &value.content else { return None };
            if matches!(style, Style::Literal | Style::Folded) {
                return None;
            }
            let new_text = scalar(new, *style, in_flow);
            edit(value.range.clone(), spaced(text, value, new_text), Meaning::Set(new.as_str().into()))
        }
        Change::SetPlain(new) => {
            let Content::Scalar(_, _, true) = &value.content else { return None };
            edit(value.range.clone(), spaced(text, value, new.clone()), Meaning::Set(plain(new)))
        }
        Change::Insert(key, new) => {
            let (at, inserted) = insertion(text, value, key, new)?;
            edit(at..at, inserted, Meaning::Insert(key.clone(), new.clone()))
        }
        Change::Rename(name) => {
            let (Span { content: Content::Mapping(_, entries), .. }, index) = parent? else { return None };
            let (key, _) = &entries[index];
            let Content::Scalar(style, _, true) = &key.content else { return None };
            edit(key.range.clone(), scalar(name, *style, in_flow), Meaning::Rename(name.clone()))
        }
        Change::Remove => {
            let (parent, index) = parent?;
            edit(removal(text, parent, index)?, String::new(), Meaning::Remove)
        }
        Change::RemoveDuplicate => {
            let (parent, index) = parent?;
            let Content::Mapping(_, entries) = &parent.content else { return None };
            let Some(PlaceStep::Key(name)) = place.last() else { return None };
            let is_duplicate = entries.iter().filter(|(key, _)| is_key(key, name)).count() > 1;
            if !is_duplicate {
                return None;
            }
            edit(removal(text, parent, index)?, String::new(), Meaning::RemoveDuplicate)
        }
        Change::SetLabel(..) | Change::ObjectsToMetadata | Change::Untab => None,
    }
}

fn is_flow(span: &Span) -> bool {
    matches!(span.content, Content::Sequence(true, _) | Content::Mapping(true, _))
}

fn is_key(key: &Span, name: &str) -> bool {
    matches!(&key.content, Content::Scalar(_, text, _) if text == name)
}

/// Returns the entry of a map with the key `name`, or with one that differs in case alone, which Go reads as the same. The last of
/// several equal keys counts.
fn entry<'s>(entries: &'s [(Span, Span)], name: &str) -> Option<(usize, &'s str, &'s Span)> {
    let text = |key: &'s Span| match &key.content {
        Content::Scalar(_, text, _) => Some(text.as_str()),
        _ => None,
    };
    let mut all =
        entries.iter().enumerate().rev().filter_map(|(index, (key, value))| Some((index, text(key)?, value)));
    all.clone().find(|(_, key, _)| *key == name).or_else(|| all.find(|(_, key, _)| is_same_name(key, name)))
}

fn at_path<'s>(root: &'s Span, steps: &[PlaceStep]) -> Option<Target<'s>> {
    let mut target = Target { place: Vec::new(), parent: None, value: root };
    for step in steps {
        let here = target.value;
        let (step, index, value) = match (step, &here.content) {
            (PlaceStep::Key(name), Content::Mapping(_, entries)) => {
                let (index, key, value) = entry(entries, name)?;
                (PlaceStep::Key(key.to_owned()), index, value)
            }
            (PlaceStep::Index(index), Content::Sequence(_, items)) => {
                (step.clone(), *index, items.get(*index)?)
            }
            _ => return None,
        };
        target.place.push(step);
        target.parent = Some((here, index));
        target.value = value;
    }
    Some(target)
}

/// Returns the entry whose key, or the scalar that begins at a position.
fn at_position(root: &Span, position: Position) -> Option<Target<'_>> {
    let mut pending = vec![Target { place: Vec::new(), parent: None, value: root }];
    while let Some(target) = pending.pop() {
        let here = target.value;
        let child = |step: PlaceStep, index, value| {
            let place = target.place.iter().cloned().chain([step]).collect();
            Target { place, parent: Some((here, index)), value }
        };
        match &here.content {
            Content::Mapping(_, entries) => {
                for (index, (key, value)) in entries.iter().enumerate() {
                    let Content::Scalar(_, name, _) = &key.content else { continue };
                    let entry = child(PlaceStep::Key(name.clone()), index, value);
                    let is_scalar = matches!(value.content, Content::Scalar(..));
                    if key.position == position || is_scalar && value.position == position {
                        return Some(entry);
                    }
                    pending.push(entry);
                }
            }
            Content::Sequence(_, items) => {
                for (index, value) in items.iter().enumerate() {
                    let item = child(PlaceStep::Index(index), index, value);
                    // A map in a list begins where its first key does.
                    if matches!(value.content, Content::Scalar(..)) && value.position == position {
                        return Some(item);
                    }
                    pending.push(item);
                }
            }
            Content::Scalar(..) | Content::Alias => {}
        }
    }
    None
}

/// Returns the value of a plain scalar.
fn plain(text: &str) -> Json {
    match resolve(text) {
        Scalar::Null => Json::Null,
        Scalar::Bool(value) => value.into(),
        Scalar::Int(value) => value.into(),
        Scalar::UInt(value) => value.into(),
        Scalar::Float(value) => value.into(),
        Scalar::String => text.into(),
    }
}

/// Writes a string, in the style of the scalar that it replaces where that is possible.
fn scalar(text: &str, style: Style, in_flow: bool) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '+' | ' ');
    let bare = !text.is_empty()
        && is_plain_string(text)
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')
        && !text.ends_with(' ')
        && text.chars().all(|c| is_safe(c) || !in_flow && c == ',');
    let printable = !text.chars().any(char::is_control);
    match style {
        Style::Plain if bare => text.to_owned(),
        Style::SingleQuoted if printable => format!("'{}'", text.replace('\'', "''")),
        // JSON strings are YAML in double quotes.
        _ => Json::from(text).to_string(),
    }
}

/// Returns a value with a space before it, if it replaces nothing after a colon.
fn spaced(text: &str, value: &Span, new: String) -> String {
    let is_empty = value.range.is_empty();
    if is_empty && text[..value.range.start].ends_with(':') { format!(" {new}") } else { new }
}

/// Returns where an entry is added to a map, and the text.
fn insertion(text: &str, map: &Span, key: &str, value: &str) -> Option<(usize, String)> {
    let Content::Mapping(flow, entries) = &map.content else { return None };
    let (first, _) = entries.first()?;
    let (last_key, last) = entries.last()?;
    // JSON stays JSON.
    let style = match first.content {
        Content::Scalar(Style::DoubleQuoted, ..) if *flow => Style::DoubleQuoted,
        _ => Style::Plain,
    };
    let key = scalar(key, style, *flow);
    let value = scalar(value, style, *flow);
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if *flow {
        let line = text[..last_key.range.start].rfind('\n').map(|newline| newline + 1);
        let indent = line.map(|line| &text[line..last_key.range.start]);
        let separator = match indent.filter(|indent| indent.trim().is_empty()) {
            Some(indent) => format!(",{line_break}{indent}"),
            None => ", ".to_owned(),
        };
        return Some((last.range.end, format!("{separator}{key}: {value}")));
    }
    let column = first.position.column as usize - 1;
    let end = line_end(text, last.range.end);
    let is_open = !text[..end].ends_with('\n');
    let indent = " ".repeat(column);
    Some(if is_open {
        (end, format!("{line_break}{indent}{key}: {value}"))
    } else {
        (end, format!("{indent}{key}: {value}{line_break}"))
    })
}

/// Returns the bytes of an entry or an item, so that what is left is valid.
fn removal(text: &str, parent: &Span, index: usize) -> Option<Range<usize>> {
    let ranges: Vec<Range<usize>> = match &parent.content {
        Content::Mapping(_, entries) => {
            entries.iter().map(|(key, value)| key.range.start..value.range.end.max(key.range.end)).collect()
        }
        Content::Sequence(_, items) => items.iter().map(|item| item.range.clone()).collect(),
        Content::Scalar(..) | Content::Alias => return None,
    };
    // An empty collection in block style is null.
    if ranges.len() < 2 && !is_flow(parent) {
        return None;
    }
    let range = ranges.get(index)?;
    if is_flow(parent) {
        let from = index.checked_sub(1).map_or(parent.range.start, |before| ranges[before].end);
        let to = ranges.get(index + 1).map_or(parent.range.end, |next| next.start);
        if text[from..range.start].contains('#') || text[range.end..to].contains('#') {
            return whole_lines(text, range);
        }
        return Some(
            match (ranges.get(index + 1), index.checked_sub(1).and_then(|before| ranges.get(before))) {
                (Some(next), _) => range.start..next.start,
                (None, Some(before)) => before.end..range.end,
                (None, None) => range.clone(),
            },
        );
    }
    let line = text[..range.start].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..range.start];
    let is_item = matches!(parent.content, Content::Sequence(..));
    let marker = before.trim_start();
    // Only the indentation, and the dash of an item, precede what is removed.
    if if is_item { marker.trim_end() == "-" } else { marker.is_empty() } {
        return Some(line..line_end(text, range.end));
    }
    // The first entry follows a dash, which the next one takes over.
    let next = ranges.get(index + 1)?;
    let between = &text[range.end..next.start];
    (index == 0 && !between.contains('#')).then_some(range.start..next.start)
}

/// Returns the lines of an entry of a flow collection, with its comma and its comment; nothing if they contain anything else. A
/// comma may be left before the end of the collection.
fn whole_lines(text: &str, entry: &Range<usize>) -> Option<Range<usize>> {
    let line = text[..entry.start].rfind('\n').map_or(0, |newline| newline + 1);
    let end = line_end(text, entry.end);
    let before = text[line..entry.start].trim();
    let after = text[entry.end..end].trim_start();
    let after = after.strip_prefix(',').unwrap_or(after).trim_start();
    (before.is_empty() && (after.is_empty() || after.starts_with('#'))).then_some(line..end)
}

/// Returns where the line ends that contains the byte before `at`, after its line break.
fn line_end(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Replaces the tabs that indent lines with spaces, as many that the text becomes valid. Those of block scalars that are part of
/// their text stay.
///
/// Returns nothing if it is not certain which tabs indent a text and which belong to it.
pub(super) fn untab(text: &str) -> Option<String> {
    const WIDTHS: [usize; 3] = [2, 4, 8];
    WIDTHS.into_iter().find_map(|width| {
        let spaced: String =
            text.split_inclusive('\n').map(|line| untabbed(line, width, usize::MAX)).collect();
        if spaced == text || yaml::parse(spaced.as_bytes()).error.is_some() {
            return None;
        }
        let (old, new): (Vec<_>, Vec<_>) =
            (text.split_inclusive('\n').collect(), spaced.split_inclusive('\n').collect());
        let mut lines: Vec<String> = new.iter().map(|&line| line.to_owned()).collect();
        for block in spans::block_scalars(spaced.as_bytes())? {
            let is_text = |&number: &usize| new.get(number).is_some_and(|line| !line.trim().is_empty());
            let Some(first) = (block.start + 1..block.end).find(is_text) else { continue };
            let has_tab = |line: &&str| line.trim_start_matches(' ').starts_with('\t');
            let header = old[block.start];
            let is_uncertain = if has_explicit_indentation(header) {
                old[first..block.end.min(old.len())].iter().any(has_tab)
            } else {
                has_tab(&old[first]) && !is_indentation(header, old[first])
            };
            if is_uncertain {
                return None;
            }
            let indent = indentation(new[first]);
            for number in first..block.end.min(new.len()) {
                lines[number] = untabbed(old[number], width, indent);
            }
        }
        let changed = lines.concat();
        (changed != text && yaml::parse(changed.as_bytes()).error.is_none()).then_some(changed)
    })
}

/// Returns a line whose first tabs are replaced with spaces, until it is indented by `indent`.
fn untabbed(line: &str, width: usize, indent: usize) -> String {
    let mut spaces = 0;
    let rest = line.trim_start_matches(|c| {
        let is_replaced = spaces < indent && matches!(c, ' ' | '\t');
        if is_replaced {
            spaces += if c == '\t' { width } else { 1 };
        }
        is_replaced
    });
    format!("{}{rest}", " ".repeat(spaces))
}

/// Returns how many spaces a line begins with.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns whether the header of a block scalar has an indentation indicator: its first line may be indented further then.
fn has_explicit_indentation(header: &str) -> bool {
    let header = header.split(" #").next().unwrap_or_default();
    header
        .rsplit(['|', '>'])
        .next()
        .is_some_and(|indicators| indicators.contains(|c: char| c.is_ascii_digit()))
}

/// Returns whether all tabs at the start of a block scalar's first line indent it: tabs after spaces, or more of them than one
/// level, may belong to the text.
fn is_indentation(header: &str, first: &str) -> bool {
    let tabs = |line: &str| line.len() - line.trim_start_matches('\t').len();
    let rest = &first[tabs(first)..];
    tabs(first) == tabs(header) + 1 && !rest.starts_with([' ', '\t'])
}
