//! Collects findings: the first [`MAX_FINDINGS`] of each rule are kept, the others are counted, so that no number of
//! findings of one rule hides another rule's.

use std::collections::BTreeMap;

use super::inputs::SchemaNode;
use kube_yaml::{Path, Position, Unknown};
use kubernetes_cel::Server;
use olm_model::crd::Keyword;
use olm_model::report::suggest::{did_you_mean, nearest};
use olm_model::report::{Change, Finding, Fix, Related, Safety, Severity, Suite};
use olm_model::{Annotations, Document, File, Object};

/// How many findings of one rule are kept for one bundle or catalog.
pub const MAX_FINDINGS: usize = 500;
/// How many bytes of a message are kept: values are quoted in it, and a value can be of any length.
const MAX_MESSAGE: usize = 600;
/// How many bytes of a field path are kept.
const MAX_PATH: usize = 2000;

/// What a finding takes from its rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleMeta {
    /// The rule's id.
    pub(crate) id: &'static str,
    /// The suite that enables the rule.
    pub(crate) suite: Suite,
    /// The severity of its findings.
    pub(crate) severity: Severity,
    /// An instruction that fixes a finding.
    pub(crate) help: &'static str,
}

/// Returns the message for a field that its type does not declare.
pub(crate) fn unknown_field(field: &Unknown) -> String {
    let near = did_you_mean(&field.name, field.declared.iter().copied());
    format!("unknown field `{}`{near}", field.name)
}

/// Returns the fix that renames an unknown field to the declared one with a similar name.
pub(crate) fn rename(field: &Unknown) -> Option<Fix> {
    let name = nearest(&field.name, field.declared.iter().copied())?;
    Some(Fix::at(Safety::Unsafe, field.position, &field.name, Change::Rename(name.to_owned())))
}

/// The findings of several rules.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    kept: Vec<Finding>,
    counts: BTreeMap<&'static str, (RuleMeta, usize)>,
}

impl Findings {
    /// Whether a rule of the suite `bundle` found an error.
    pub(crate) fn has_error(&self) -> bool {
        self.counts.values().any(|(rule, _)| rule.severity == Severity::Error && rule.suite == Suite::Bundle)
    }

    /// Whether one of the rules that `wanted` picks found something.
    pub(crate) fn any(&self, wanted: impl Fn(&RuleMeta) -> bool) -> bool {
        self.counts.values().any(|(rule, _)| wanted(rule))
    }

    /// Keeps only the findings of the rules that `wanted` picks.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&RuleMeta) -> bool) {
        self.counts.retain(|_, (rule, _)| wanted(rule));
        self.kept.retain(|finding| self.counts.contains_key(finding.rule));
    }

    /// Adds the findings of `other`, in time in proportion to their number.
    pub(crate) fn merge(&mut self, other: Self) {
        for finding in other.kept {
            // As many findings of a rule are kept as are counted, up to the limit.
            let (_, count) = match self.counts.get_mut(finding.rule) {
                Some(entry) => entry,
                None => match other.counts.get(finding.rule) {
                    Some((rule, _)) => self.counts.entry(rule.id).or_insert((*rule, 0)),
                    None => continue,
                },
            };
            *count += 1;
            if *count <= MAX_FINDINGS {
                self.kept.push(finding);
            }
        }
        for (id, (rule, count)) in other.counts {
            let more = count.saturating_sub(MAX_FINDINGS);
            if more > 0 {
                self.counts.entry(id).or_insert((rule, 0)).1 += more;
            }
        }
    }

    /// Adds a finding.
    pub(crate) fn add(&mut self, rule: RuleMeta, finding: Finding) {
        if self.count(rule) {
            self.kept.push(finding);
        }
    }

    /// Returns the findings that were kept and, for each rule with more of them, a finding with the number of the others.
    pub(crate) fn into_list(self) -> Vec<Finding> {
        let Self { mut kept, counts } = self;
        for (rule, count) in counts.into_values() {
            if count > MAX_FINDINGS {
                let more = count - MAX_FINDINGS;
                let message = format!("{more} more findings of this rule are not listed");
                kept.push(finding(rule, None, None, None, message));
            }
        }
        kept
    }

    fn is_full(&self, rule: RuleMeta) -> bool {
        self.counts.get(rule.id).is_some_and(|(_, count)| *count >= MAX_FINDINGS)
    }

    /// Counts the findings in `counts`, and returns those that were kept.
    pub(crate) fn drain_into(self, counts: &mut Self) -> Vec<Finding> {
        for (id, (rule, count)) in self.counts {
            let (_, most) = counts.counts.entry(id).or_insert((rule, 0));
            *most = (*most).max(count);
        }
        self.kept
    }

    /// Keeps a finding that is counted already.
    pub(crate) fn keep(&mut self, finding: Finding) {
        self.kept.push(finding);
    }

    /// Counts one more finding of a rule; whether it is to be kept.
    fn count(&mut self, rule: RuleMeta) -> bool {
        let (_, count) = self.counts.entry(rule.id).or_insert((rule, 0));
        *count += 1;
        *count <= MAX_FINDINGS
    }
}

/// Returns a finding of a rule; a long message or path loses its middle.
pub(crate) fn finding(
    rule: RuleMeta,
    file: Option<String>,
    position: Option<Position>,
    path: Option<String>,
    message: String,
) -> Finding {
    Finding {
        rule: rule.id,
        suite: rule.suite,
        severity: rule.severity,
        message: shortened(message, MAX_MESSAGE),
        help: rule.help.into(),
        file,
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        end_column: None,
        path: path.map(|path| shortened(path, MAX_PATH)),
        versions: None,
        related: Vec::new(),
        fix: None,
        ignored: None,
        excerpt: None,
        at_text_position: false,
    }
}

/// The text, without its middle where it has more than `limit` bytes.
fn shortened(text: String, limit: usize) -> String {
    if text.len() <= limit {
        return text;
    }
    let head = text.floor_char_boundary(limit / 3);
    let tail = text.ceil_char_boundary(text.len() - limit / 3);
    format!("{}… ({} bytes omitted) …{}", &text[..head], tail - head, &text[tail..])
}

/// Takes the findings of one rule.
#[derive(Debug)]
pub(crate) struct Reporter<'r> {
    rule: RuleMeta,
    findings: &'r mut Findings,
    /// The version that is validated for.
    server: &'r Server,
    /// The fix of the next finding.
    fix: Option<Box<Fix>>,
    /// The help of the next finding, if it is not that of the rule.
    help: Option<&'static str>,
}

impl<'r> Reporter<'r> {
    /// A reporter for `rule` that adds to `findings`.
    pub(crate) fn new(rule: RuleMeta, findings: &'r mut Findings, server: &'r Server) -> Self {
        Self { rule, findings, server, fix: None, help: None }
    }

    /// Returns the API server that findings are for.
    pub(crate) fn server(&self) -> &'r Server {
        self.server
    }

    /// Returns whether the API server is that of Kubernetes `1.minor` or newer. Ask only where the answer makes a difference.
    pub(crate) fn since(&self, minor: u16) -> bool {
        self.server.since(minor)
    }

    /// Attaches a fix to the finding that is reported next.
    pub(crate) fn fix(&mut self, fix: impl Into<Option<Fix>>) -> &mut Self {
        self.fix = fix.into().map(Box::new);
        self
    }

    /// Replaces the rule's help for the finding that is reported next.
    pub(crate) fn help(&mut self, help: &'static str) -> &mut Self {
        self.help = Some(help);
        self
    }

    /// Reports something that is wrong with the bundle as a whole.
    pub(crate) fn bundle(&mut self, message: impl Into<String>) {
        self.push(|| (None, None, None, message.into()));
    }

    /// Reports something that is wrong with a file or directory, named by its path below the bundle.
    pub(crate) fn path(&mut self, path: &str, message: impl Into<String>) {
        self.push(|| (Some(path.to_owned()), None, None, message.into()));
    }

    /// Reports something that is wrong at a place of a file.
    pub(crate) fn place(&mut self, file: &File, position: Position, message: impl Into<String>) {
        let count = self.findings.kept.len();
        self.push(|| (Some(file.path.clone()), Some(position), None, message.into()));
        if let Some(last) = self.findings.kept.get_mut(count) {
            last.at_text_position = true;
        }
    }

    /// Reports something that is wrong with a field of an object; the place is that of the field, or of its nearest
    /// ancestor.
    pub(crate) fn field(&mut self, object: &Object<'_>, path: &Path<'_>, message: impl Into<String>) {
        self.push(|| {
            let text = Some(path.to_string()).filter(|path| !path.is_empty());
            (Some(object.file.path.clone()), Some(object.locate(path)), text, message.into())
        });
    }

    /// Reports something that is wrong at a byte of a string: in an expression, or in JSON.
    pub(crate) fn within(
        &mut self,
        object: &Object<'_>,
        path: &Path<'_>,
        offset: usize,
        message: impl Into<String>,
    ) {
        let count = self.findings.kept.len();
        let position = object.root.at_path(path).map_or_else(
            || object.locate(path),
            |text| text.position_within_text(offset, &object.file.bytes),
        );
        self.at(object.file, &path.to_string(), position, message);
        if let Some(last) = self.findings.kept.get_mut(count) {
            last.at_text_position = true;
        }
    }

    /// Reports something that is wrong with a keyword of a schema.
    pub(crate) fn keyword(
        &mut self,
        node: &SchemaNode<'_, '_>,
        keyword: Keyword,
        message: impl Into<String>,
    ) {
        self.field(&node.crd.object, &node.path.field(keyword.name()), message);
    }

    /// Reports something that is wrong with a field whose path and place are known already.
    pub(crate) fn at(&mut self, file: &File, path: &str, position: Position, message: impl Into<String>) {
        self.push(|| (Some(file.path.clone()), Some(position), Some(path.to_owned()), message.into()));
    }

    /// Reports something that is wrong at a place of a document beside the bundle.
    pub(crate) fn document(
        &mut self,
        document: &Document,
        path: &Path<'_>,
        position: Position,
        message: impl Into<String>,
    ) {
        self.push(|| {
            let text = Some(path.to_string()).filter(|path| !path.is_empty());
            (Some(document.file.clone()), Some(position), text, message.into())
        });
    }

    /// Reports something that is wrong with an annotation in `metadata/annotations.yaml`, at its place or, if it is missing,
    /// at that of its map.
    pub(crate) fn annotation(
        &mut self,
        annotations: &Annotations<'_>,
        key: &str,
        message: impl Into<String>,
    ) {
        let root = Path::ROOT;
        let parent = root.field("annotations");
        let path = parent.key(key);
        self.at(annotations.file, &path.to_string(), annotations.root.locate(&path), message);
    }

    /// Attaches the fix that sets an annotation in `metadata/annotations.yaml` to a value, and adds it where it is missing.
    pub(crate) fn fix_annotation(
        &mut self,
        annotations: &Annotations<'_>,
        safety: Safety,
        key: &str,
        value: &str,
    ) -> &mut Self {
        let root = Path::ROOT;
        let parent = root.field("annotations");
        self.fix(if annotations.values.get(key).is_some() {
            Fix::new(safety, &parent.key(key), Change::SetString(value.to_owned()))
        } else {
            Fix::new(safety, &parent, Change::Insert(key.to_owned(), value.to_owned()))
        })
    }

    /// Counts a finding and returns true if findings of the rule are only counted, so that the caller need not write its
    /// message: a suggestion takes time in the number of candidates.
    pub(crate) fn skip_if_full(&mut self) -> bool {
        let is_full = self.findings.is_full(self.rule);
        if is_full {
            self.findings.count(self.rule);
        }
        is_full
    }

    /// Adds a place to the finding that was reported last, unless that was only counted: `first defined here`.
    pub(crate) fn related(&mut self, object: &Object<'_>, path: &Path<'_>, message: &str) {
        self.related_place(object.file, object.locate(path), message);
    }

    /// Adds a place, as [`Self::related`] does, that is not known as a field.
    pub(crate) fn related_place(&mut self, file: &File, position: Position, message: &str) {
        let is_kept = self.findings.counts.get(self.rule.id).is_some_and(|(_, count)| *count <= MAX_FINDINGS);
        if let Some(last) = self.findings.kept.last_mut().filter(|last| is_kept && last.rule == self.rule.id)
        {
            last.related.push(Related::new(message, file.path.as_str(), position.line, position.column));
        }
    }

    fn push(&mut self, what: impl FnOnce() -> (Option<String>, Option<Position>, Option<String>, String)) {
        let fix = self.fix.take();
        let help = self.help.take().unwrap_or(self.rule.help);
        if self.findings.count(self.rule) {
            let (file, position, path, message) = what();
            let finding = finding(self.rule, file, position, path, message);
            self.findings.kept.push(Finding { help: help.into(), fix, ..finding });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(shortened("short".to_owned(), 5), "short");
        let text = shortened("é".repeat(1000), 30);
        assert_eq!(text, format!("{}… (1980 bytes omitted) …{}", "é".repeat(5), "é".repeat(5)));
    }

    #[test]
    fn merging_keeps_the_first_findings_and_counts_all() {
        let rule = crate::all().next().unwrap();
        let findings = |number| {
            let mut findings = Findings::default();
            for index in 0..number {
                Reporter::new(rule.head(), &mut findings, &Server::new(34))
                    .bundle(format!("{number}-{index}"));
            }
            findings
        };
        let mut all = findings(400);
        all.merge(findings(600));
        all.merge(findings(3));
        let list = all.into_list();
        assert_eq!(list.len(), MAX_FINDINGS + 1);
        assert_eq!(list[499].message, "600-99");
        assert_eq!(list[500].message, "503 more findings of this rule are not listed");
    }
}
