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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::memmem;

use super::rule::{Rule, UNREAD_INPUT};
use kube_yaml::{Position, Tree};
use olm_model::report::suggest::did_you_mean;
use olm_model::report::{Finding, Ignored, IgnoredBy, Lines, Severity};
use olm_model::{Bundle, Level};

/// What a comment begins with.
const MARKER: &str = "# bundle-tool:";
/// The maximum number of comments in one file that are read.
const MAX_COMMENTS: usize = 1000;

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

/// A comment that ignores findings, as it was read.
#[derive(Debug)]
pub struct IgnoreComment {
    file: Arc<str>,
    position: Position,
    /// The rules and the reason, or what is wrong with the comment.
    content: Result<(Vec<&'static Rule>, String), String>,
    applies_to: RangeInclusive<u32>,
}

/// Something that is wrong with a comment.
pub(crate) struct Fault {
    pub(crate) file: Arc<str>,
    pub(crate) position: Position,
    pub(crate) message: String,
    /// Whether the comment is valid and ignores nothing.
    pub(crate) is_unused: bool,
}

/// Returns the comments in the files of a bundle.
pub(crate) fn comments_of(bundle: &Bundle) -> Vec<IgnoreComment> {
    let files = bundle.files.iter();
    files
        .flat_map(|file| IgnoreComment::read(&file.path.as_str().into(), &file.bytes, file.documents(), 0))
        .collect()
}

/// Marks the findings that comments ignore; returns what is wrong with the comments. `runs` tells whether a rule was run.
pub(crate) fn apply_comments(
    comments: Vec<IgnoreComment>,
    findings: &mut [Finding],
    runs: impl Fn(&Rule) -> bool,
) -> Vec<Fault> {
    let mut faults = Vec::new();
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
    for IgnoreComment { file, position, content, applies_to } in comments {
        let mut fault = |message, is_unused| {
            faults.push(Fault { file: Arc::clone(&file), position, message, is_unused });
        };
        let (rules, reason) = match content {
            Ok(content) => content,
            Err(message) => {
                fault(message, false);
                continue;
            }
        };
        for rule in rules {
            let found = by_place.get(&(&*file, rule.id)).into_iter().flatten().copied();
            let here: Vec<usize> = found
                .filter(|index| findings[*index].line.is_some_and(|line| applies_to.contains(&line)))
                .collect();
            if here.is_empty() && runs(rule) {
                fault(format!("no finding of `{}` to ignore here", rule.id), true);
            }
            ignored.extend(here.into_iter().map(|index| (index, reason.clone())));
        }
    }
    for (index, reason) in ignored {
        findings[index].ignored = Some(Ignored::new(IgnoredBy::Comment, reason));
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

/// Returns the comment that ignores a rule's findings at a line of a file, from 1; `None` if they cannot be ignored: JSON
/// has no comments, and what was not read is not validated.
#[must_use]
pub fn comment(name: &str, text: &[u8], line: u32, rule: &str, reason: &str) -> Option<Comment> {
    let is_json = text.trim_ascii_start().starts_with(b"{")
        || Path::new(name).extension().is_some_and(|extension| extension == "json");
    if is_json || UNREAD_INPUT.contains(&rule) || ABOUT_COMMENTS.contains(&rule) {
        return None;
    }
    let lines = Lines::new(text);
    let line_at = |index| lines.iter().nth(index);
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let (start, _) = line_at(index)?;
    // Within a scalar, a comment would be text.
    let documents = kube_yaml::parse(text).documents;
    let mut scalars = documents.iter().flat_map(Tree::scalars);
    let target = scalars
        .find(|scalar| scalar.start < start && start < scalar.end)
        .map_or(index, |scalar| lines.line_of(scalar.start) - 1);
    let (offset, bytes) = line_at(target)?;
    let target = std::str::from_utf8(bytes).ok()?;
    let content = target.trim_start_matches(' ');
    // What is not part of a document cannot be ignored there.
    if content.is_empty() || content.starts_with(['#', '%']) || content.starts_with("---") {
        return None;
    }
    let line_break = if text.contains(&b'\r') { "\r\n" } else { "\n" };
    let indent = " ".repeat(target.len() - content.len());
    Some(Comment { offset, text: format!("{indent}{MARKER} ignore[{rule}] {reason}{line_break}") })
}

impl IgnoreComment {
    /// Reads the comments of a file, or of one document of it that `preceding` lines precede. `documents` are those of the text.
    #[must_use]
    pub fn read(file: &Arc<str>, text: &[u8], documents: &[Tree], preceding: u32) -> Vec<Self> {
        let mut comments = Vec::new();
        if memmem::find(text, MARKER.as_bytes()).is_none() {
            return comments;
        }
        let mut scalars: Vec<_> = documents.iter().flat_map(Tree::scalars).collect();
        scalars.sort_unstable_by_key(|scalar| scalar.start);
        let lines = Lines::new(text);
        let all: Vec<_> = lines.iter().collect();
        let mut next_lines = None;
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
                let is_header = scalar.start >= *start && matches!(text.get(scalar.start), Some(b'|' | b'>'));
                scalar.contains(&(start + at)) && !is_header
            };
            if !is_comment || last_before(&scalars, start + at, |scalar| scalar.start).is_some_and(is_text) {
                continue;
            }
            if comments.len() == MAX_COMMENTS {
                break;
            }
            let number =
                |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX).saturating_add(preceding);
            let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
            let target = if before.trim().is_empty() {
                next_lines.get_or_insert_with(|| next_content_lines(&all))[index]
            } else {
                index
            };
            let (target_start, target_line) = all.get(target).copied().unwrap_or((*start, b""));
            // A scalar that begins on the line may have further lines.
            let end = last_before(&scalars, target_start + target_line.len(), |scalar| scalar.start)
                .filter(|scalar| scalar.start >= target_start)
                .map(|scalar| lines.line_of(scalar.end.saturating_sub(1)) - 1);
            comments.push(Self {
                file: Arc::clone(file),
                position: Position { line: number(index), column },
                content: parse(after).map(|(rules, reason)| (rules, reason.to_owned())),
                applies_to: number(target)..=number(end.unwrap_or(target).max(target)),
            });
        }
        comments
    }
}

/// Returns the last item that does not begin after `offset`. The items are sorted by where they begin.
fn last_before<T>(items: &[T], offset: usize, start: impl Fn(&T) -> usize) -> Option<&T> {
    items[..items.partition_point(|item| start(item) <= offset)].last()
}

/// Returns, for each line, the index of the next line that is neither empty nor a comment.
fn next_content_lines(lines: &[(usize, &[u8])]) -> Vec<usize> {
    let is_content = |line: &[u8]| {
        let line = line.trim_ascii_start();
        !line.is_empty() && !line.starts_with(b"#")
    };
    let mut next = lines.len();
    let mut found = vec![next; lines.len()];
    for (index, (_, line)) in lines.iter().enumerate().rev() {
        found[index] = next;
        if is_content(line) {
            next = index;
        }
    }
    found
}

/// Reads what follows the marker: ` ignore[RULE, …] REASON`.
fn parse(text: &str) -> Result<(Vec<&'static Rule>, &str), String> {
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
        match super::find(id) {
            Some(rule) if UNREAD_INPUT.contains(&rule.id) => {
                return Err(format!(
                    "rule `{id}` cannot be ignored: input that cannot be read is not validated"
                ));
            }
            Some(rule) => rules.push(rule),
            None if id.is_empty() => return Err(format!("missing rule: {EXPECTED}")),
            None => {
                let near = did_you_mean(id, super::all().map(|rule| rule.id));
                return Err(format!("unknown rule `{id}`{near}"));
            }
        }
    }
    Ok((rules, reason))
}

/// Marks the findings that entries of the settings ignore, and gives all findings the levels that users chose; the last
/// level of a rule counts.
pub(crate) fn apply(
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
    use std::cell::Cell;

    use super::{last_before, matches, next_content_lines};

    #[test]
    fn item_at_an_offset_is_found_without_visiting_all() {
        let items: Vec<usize> = (0..1 << 16).map(|index| index * 10).collect();
        let visited = Cell::new(0);
        let start = |item: &usize| {
            visited.set(visited.get() + 1);
            *item
        };
        assert_eq!(last_before(&items, 25, start), Some(&20));
        assert!(visited.get() <= 17, "{}", visited.get());
        assert_eq!(last_before(&[5], 4, |item| *item), None);
    }

    #[test]
    fn next_content_line_skips_comments_and_empty_lines() {
        let lines = ["# a", "", "  # b", "c: 1", "# d"].map(|line| (0, line.as_bytes()));
        assert_eq!(next_content_lines(&lines), [3, 3, 3, 5, 5]);
    }

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
