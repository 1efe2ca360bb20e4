//! What users decide about findings after the rules have run: levels of rules, and findings that are ignored at one
//! place, by an entry of the settings or by a comment:
//!
//! ```yaml
//! containers:
//! - name: manager
//!   # bundle-tool: ignore[container-resources-missing] the node is dedicated
//!   image: quay.io/example/manager:v1
//! ```
//!
//! A comment on a line of its own applies to the next line that is not a comment, one at the end of a line to that line;
//! if a scalar of several lines begins there, to all of its lines. Rules run in any case, so that what one of them finds is
//! never changed by what is ignored of another.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem;

use super::rule::Rule;
use crate::model::{Bundle, File, Level};
use crate::report::suggest::did_you_mean;
use crate::report::{Finding, Ignored, IgnoredBy, Lines, Severity};

/// What a comment begins with.
const MARKER: &str = "# bundle-tool:";
/// The maximum number of comments in one file that are read.
const MAX_COMMENTS: usize = 1000;

/// The rules about input that could not be read: nothing else looks at it, so that they cannot be ignored.
pub const UNREAD_INPUT: [&str; 3] = ["csv-undecodable", "object-undecodable", "yaml-syntax"];

/// The rules about the comments themselves.
const ABOUT_COMMENTS: [&str; 2] = ["ignore-invalid", "ignore-unused"];

/// A finding that is ignored at one place, as the settings name it.
#[derive(Debug)]
pub struct Ignore {
    rule: String,
    file: Option<String>,
    path: Option<String>,
    reason: String,
    used: AtomicBool,
}

impl Ignore {
    /// Returns an entry for the findings of a rule, in files and at fields that match the patterns, in which `*` stands
    /// for anything.
    #[must_use]
    pub fn new(rule: String, file: Option<String>, path: Option<String>, reason: String) -> Self {
        Self { rule, file, path, reason, used: AtomicBool::new(false) }
    }

    /// Returns the rule.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns whether the entry has matched a finding of any bundle so far.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    fn matches(&self, finding: &Finding) -> bool {
        let fits = |pattern: &Option<String>, text: &Option<String>| {
            pattern.as_ref().is_none_or(|pattern| matches(pattern, text.as_deref().unwrap_or_default()))
        };
        let is_match =
            self.rule == finding.rule && fits(&self.file, &finding.file) && fits(&self.path, &finding.path);
        if is_match {
            self.used.store(true, Ordering::Relaxed);
        }
        is_match
    }
}

/// Returns whether a text matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Which rules findings may be about.
pub(super) struct Known<'r> {
    /// Finds a rule by its id.
    pub(super) find: fn(&str) -> Option<&'static Rule>,
    /// All ids.
    pub(super) ids: &'r [&'static str],
    /// Whether a rule was run.
    pub(super) runs: &'r dyn Fn(&Rule) -> bool,
}

/// A comment that ignores findings, as it was read.
struct Written<'b> {
    file: &'b File,
    line: u32,
    column: u32,
    applies_to: RangeInclusive<u32>,
    rules: Vec<(&'static Rule, bool)>,
    reason: &'b str,
}

/// Something that is wrong with a comment.
pub(super) struct Fault<'b> {
    pub(super) file: &'b File,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) message: String,
    /// Whether the comment is valid and ignores nothing.
    pub(super) is_unused: bool,
}

/// Marks the findings that comments ignore; returns what is wrong with the comments.
pub(super) fn apply_comments<'b>(
    bundle: &'b Bundle,
    findings: &mut [Finding],
    known: &Known<'_>,
) -> Vec<Fault<'b>> {
    let mut faults = Vec::new();
    let mut comments = Vec::new();
    for file in &bundle.files {
        if memmem::find(&file.bytes, MARKER.as_bytes()).is_some() {
            read(file, known, &mut comments, &mut faults);
        }
    }
    if comments.is_empty() {
        return faults;
    }
    let mut by_place: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if let Some(file) = &finding.file {
            by_place.entry((file, finding.rule)).or_default().push(index);
        }
    }
    let mut ignored = Vec::new();
    for comment in &mut comments {
        for (rule, is_used) in &mut comment.rules {
            let found = by_place.get(&(comment.file.path.as_str(), rule.id));
            for &index in found.into_iter().flatten() {
                if findings[index].line.is_some_and(|line| comment.applies_to.contains(&line)) {
                    *is_used = true;
                    ignored.push((index, comment.reason));
                }
            }
        }
    }
    for (index, reason) in ignored {
        findings[index].ignored = Some(Ignored::new(IgnoredBy::Comment, reason));
    }
    for comment in &comments {
        for (rule, _) in comment.rules.iter().filter(|(rule, is_used)| !is_used && (known.runs)(rule)) {
            let message = format!("no finding of `{}` to ignore here", rule.id);
            let Written { file, line, column, .. } = *comment;
            faults.push(Fault { file, line, column, message, is_unused: true });
        }
    }
    faults
}

/// A comment on a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// The byte before which it is inserted, not counting a byte order mark.
    pub offset: usize,
    /// The comment with its indentation and line break.
    pub text: String,
}

/// Returns the comment that ignores a rule's findings at a line of a file, from 1. Nothing if they cannot be ignored: JSON
/// has no comments, and what was not read is not validated.
#[must_use]
pub fn comment(file: &File, line: u32, rule: &str, reason: &str) -> Option<Comment> {
    let is_json = file.bytes.trim_ascii_start().starts_with(b"{")
        || Path::new(&file.path).extension().is_some_and(|extension| extension == "json");
    if is_json || UNREAD_INPUT.contains(&rule) || ABOUT_COMMENTS.contains(&rule) {
        return None;
    }
    let lines = Lines::new(&file.bytes);
    let line_at = |index| lines.iter().nth(index);
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let (start, _) = line_at(index)?;
    // Within a scalar, a comment would be text.
    let mut scalars = file.documents().iter().flat_map(crate::model::yaml::Tree::scalars);
    let target = scalars
        .find(|scalar| scalar.start < start && start < scalar.end)
        .map_or(index, |scalar| lines.line_of(scalar.start) - 1);
    let (offset, bytes) = line_at(target)?;
    let text = std::str::from_utf8(bytes).ok()?;
    let content = text.trim_start_matches(' ');
    // What is not part of a document cannot be ignored there.
    if content.is_empty() || content.starts_with(['#', '%']) || content.starts_with("---") {
        return None;
    }
    let line_break = if file.bytes.contains(&b'\r') { "\r\n" } else { "\n" };
    let indent = " ".repeat(text.len() - content.len());
    Some(Comment { offset, text: format!("{indent}{MARKER} ignore[{rule}] {reason}{line_break}") })
}

/// Reads the comments of a file.
fn read<'b>(file: &'b File, known: &Known<'_>, comments: &mut Vec<Written<'b>>, faults: &mut Vec<Fault<'b>>) {
    let scalars: Vec<_> = file.documents().iter().flat_map(crate::model::yaml::Tree::scalars).collect();
    let lines = Lines::new(&file.bytes);
    let all: Vec<_> = lines.iter().collect();
    let mut count = 0;
    for (index, (start, bytes)) in all.iter().enumerate() {
        let Some(at) = memmem::find(bytes, MARKER.as_bytes()) else { continue };
        let (Ok(before), Ok(after)) =
            (std::str::from_utf8(&bytes[..at]), std::str::from_utf8(&bytes[at + MARKER.len()..]))
        else {
            continue;
        };
        let is_comment = before.is_empty() || before.ends_with([' ', '\t']);
        // The line where a block scalar begins has no text of it.
        let is_text = |scalar: &Range<usize>| {
            let is_header =
                scalar.start >= *start && matches!(file.bytes.get(scalar.start), Some(b'|' | b'>'));
            scalar.contains(&(start + at)) && !is_header
        };
        if !is_comment || scalars.iter().any(is_text) {
            continue;
        }
        count += 1;
        if count > MAX_COMMENTS {
            break;
        }
        let number = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        let (line, column) = (number(index), number(before.chars().count()));
        let target = if before.trim().is_empty() { next_line(&all, index) } else { index };
        let (target_start, target_line) = all.get(target).copied().unwrap_or((*start, b""));
        // A scalar that begins on the line may have further lines.
        let end = scalars
            .iter()
            .filter(|scalar| (target_start..=target_start + target_line.len()).contains(&scalar.start))
            .map(|scalar| lines.line_of(scalar.end.saturating_sub(1)))
            .max();
        let last =
            end.map_or(number(target), |line| u32::try_from(line).unwrap_or(u32::MAX)).max(number(target));
        let mut fault = |message| faults.push(Fault { file, line, column, message, is_unused: false });
        match parse(after, known) {
            Ok((rules, reason)) => {
                let applies_to = number(target)..=last;
                let rules = rules.into_iter().map(|rule| (rule, false)).collect();
                comments.push(Written { file, line, column, applies_to, rules, reason });
            }
            Err(message) => fault(message),
        }
    }
}

/// The index of the next line that is neither empty nor a comment.
fn next_line(lines: &[(usize, &[u8])], index: usize) -> usize {
    let is_content = |line: &[u8]| {
        let line = line.trim_ascii_start();
        !line.is_empty() && !line.starts_with(b"#")
    };
    (index + 1..lines.len()).find(|index| is_content(lines[*index].1)).unwrap_or(lines.len())
}

/// Reads what follows the marker: ` ignore[RULE, …] REASON`.
fn parse<'t>(text: &'t str, known: &Known<'_>) -> Result<(Vec<&'static Rule>, &'t str), String> {
    const EXPECTED: &str = "expected `# bundle-tool: ignore[RULE] REASON`";
    let text = text.trim();
    let Some((list, reason)) = text.strip_prefix("ignore[").and_then(|rest| rest.split_once(']')) else {
        return Err(format!("invalid comment: {EXPECTED}"));
    };
    let reason = reason.trim_start_matches(':').trim();
    if reason.is_empty() {
        return Err(format!("missing reason: {EXPECTED}"));
    }
    let mut rules = Vec::new();
    for id in list.split(',').map(str::trim) {
        match (known.find)(id) {
            Some(rule) if UNREAD_INPUT.contains(&rule.id) => {
                return Err(format!(
                    "rule `{id}` cannot be ignored: input that cannot be read is not validated"
                ));
            }
            Some(rule) => rules.push(rule),
            None if id.is_empty() => return Err(format!("missing rule: {EXPECTED}")),
            None => {
                let near = did_you_mean(id, known.ids.iter().copied());
                return Err(format!("unknown rule `{id}`{near}"));
            }
        }
    }
    Ok((rules, reason))
}

/// Marks the findings that entries of the settings ignore, and gives all findings the levels that users chose; the last
/// level of a rule counts.
pub(super) fn apply(
    findings: &mut [Finding],
    ignores: &[Ignore],
    levels: &[(String, Level)],
    deny_warnings: bool,
) {
    for finding in findings {
        if deny_warnings && finding.severity == Severity::Warning {
            finding.severity = Severity::Error;
        }
        match levels.iter().rev().find(|(rule, _)| rule == finding.rule) {
            Some((_, Level::Allow)) => finding.ignored = Some(Ignored::new(IgnoredBy::Rule, "")),
            Some((_, Level::Warn)) => finding.severity = Severity::Warning,
            Some((_, Level::Deny)) => finding.severity = Severity::Error,
            None => {}
        }
        if finding.ignored.is_none()
            && let Some(entry) = ignores.iter().find(|entry| entry.matches(finding))
        {
            finding.ignored = Some(Ignored::new(IgnoredBy::Settings, entry.reason.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, text, expected) in [
            ("manifests/*.crd.yaml", "manifests/a.crd.yaml", true),
            ("manifests/*.crd.yaml", "manifests/a.yaml", false),
            ("spec.*.owned[*].x", "spec.a.b.owned[12].x", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("a*a", "a", false),
            ("*a", "ba", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
