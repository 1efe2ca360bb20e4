//! Findings for people, as rustc prints errors: the message, the place, the line with the place underlined, the field, and
//! what to do. Errors come before warnings, and what one rule repeats is folded.

use std::collections::HashMap;

use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Subject};
use kube_yaml::text::{printable, source_name};
use olm_model::report::Excerpt;
use olm_model::report::wrap::wrap;
use olm_model::report::{IgnoredBy, Severity};

/// How many findings of one rule are shown for one bundle or catalog before the others are folded.
const SHOWN: usize = 3;
/// The number of columns that lines of files are cut to where the width of the terminal is not known.
const WIDTH: usize = 140;
/// Narrower terminals are treated as if they had this number of columns.
const MIN_WIDTH: usize = 40;

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// Errors and warnings, folded; no information and no summary.
    Quiet,
    /// Errors and warnings, folded, and a summary; no information.
    #[default]
    Normal,
    /// Everything: nothing is folded, and information and ignored findings are shown.
    Verbose,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// Whether escape sequences for colors are printed.
    pub color: bool,
    /// The width of the terminal; text is not wrapped where there is none.
    pub width: Option<usize>,
    /// How much is printed.
    pub verbosity: Verbosity,
}

/// Formats everything that was found in one bundle or catalog.
#[must_use]
pub fn diagnostics(subject: &Subject<'_>, style: Style) -> String {
    let counts = |diagnostic: &&Diagnostic<'_>| match style.verbosity {
        Verbosity::Quiet | Verbosity::Normal => {
            diagnostic.ignored.is_none() && diagnostic.severity != Severity::Info
        }
        Verbosity::Verbose => true,
    };
    let mut shown: Vec<_> = subject.diagnostics.iter().filter(counts).collect();
    // Within a severity, the order of the findings stays: by file and place.
    shown.sort_by_key(|diagnostic| (diagnostic.ignored.is_some(), diagnostic.severity));
    let key = |diagnostic: &Diagnostic<'_>| (diagnostic.severity, diagnostic.rule.to_owned());
    let mut totals: HashMap<_, usize> = HashMap::new();
    for diagnostic in &shown {
        *totals.entry(key(diagnostic)).or_default() += 1;
    }
    let renderer = renderer(style);
    let mut printed: HashMap<_, usize> = HashMap::new();
    let mut text = String::new();
    for diagnostic in shown {
        let total = totals.get(&key(diagnostic)).copied().unwrap_or_default();
        let count = printed.entry(key(diagnostic)).or_default();
        *count += 1;
        // What is folded is more than the line that says so.
        let folded =
            if style.verbosity == Verbosity::Verbose || total <= SHOWN + 1 { 0 } else { total - SHOWN };
        if folded > 0 && *count > SHOWN {
            continue;
        }
        let more = if *count == SHOWN { folded } else { 0 };
        text.push_str(&rendered(diagnostic, more, &renderer, style.width));
        text.push_str("\n\n");
    }
    text
}

fn renderer(style: Style) -> Renderer {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width.map_or(WIDTH, |width| width.max(MIN_WIDTH)))
}

/// Formats one finding; `folded` are the further ones of its rule that are not shown.
fn rendered(diagnostic: &Diagnostic<'_>, folded: usize, renderer: &Renderer, width: Option<usize>) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    // `error[rule]: ` precedes the message, `   = help: ` the notes.
    let title_indent = diagnostic.severity.to_string().len() + diagnostic.rule.len() + 4;
    let gutter = diagnostic.place.map_or(1, |(line, _)| line.to_string().len());
    let title = level.primary_title(wrapped(diagnostic.message, width, title_indent)).id(diagnostic.rule);
    let mut group = title.elements(place(
        &diagnostic.file,
        diagnostic.place,
        diagnostic.excerpt,
        AnnotationKind::Primary,
    ));
    let note = |level: Level<'static>, name: &'static str, text: &str| {
        let text = wrapped(text, width, gutter + name.len() + 5);
        if name.is_empty() { level.no_name().message(text) } else { level.with_name(name).message(text) }
    };
    if !diagnostic.path.is_empty() {
        group = group.element(note(Level::NOTE, "field", diagnostic.path));
    }
    if let Some(ignored) = diagnostic.ignored {
        let by = match ignored.by {
            IgnoredBy::Rule => "its rule is ignored",
            IgnoredBy::Settings => "by an entry in bundle-tool.toml",
            IgnoredBy::Comment => "by a comment here",
        };
        let reason = if ignored.reason.is_empty() { String::new() } else { format!(": {}", ignored.reason) };
        group = group.element(note(Level::NOTE, "ignored", &format!("{by}{reason}")));
    }
    if !diagnostic.help.is_empty() {
        group = group.element(note(Level::HELP, "help", diagnostic.help));
    }
    if folded > 0 {
        group =
            group.element(note(Level::NOTE, "", &format!("… and {folded} more: show them with --verbose")));
    }
    let mut groups = vec![group];
    for related in &diagnostic.related {
        let title = Level::NOTE.secondary_title(wrapped(related.message, width, "note: ".len()));
        groups.push(title.elements(place(
            &related.file,
            Some(related.place),
            related.excerpt,
            AnnotationKind::Context,
        )));
    }
    let text = renderer.render(&groups);
    let is_cut = |excerpt: Option<&Excerpt>| excerpt.is_some_and(|excerpt| excerpt.is_cut);
    if is_cut(diagnostic.excerpt) || diagnostic.related.iter().any(|related| is_cut(related.excerpt)) {
        without_empty_origins(&text)
    } else {
        text
    }
}

/// Removes the lines that the renderer writes between a place and lines of a file without a name: `  ::: `.
fn without_empty_origins(text: &str) -> String {
    let is_empty = |line: &&str| anstream::adapter::strip_str(line).to_string().trim() == ":::";
    text.lines().filter(|line| !is_empty(line)).collect::<Vec<_>>().join("\n")
}

/// The line `--> file:line:column`, and the line of the file with the place underlined.
fn place<'a>(
    file: &str,
    place: Option<(u32, u32)>,
    excerpt: Option<&'a Excerpt>,
    kind: AnnotationKind,
) -> Vec<Element<'a>> {
    let file = printable(source_name(file));
    let origin = Origin::path(file.to_string());
    let Some((line, column)) = place else { return vec![origin.into()] };
    let origin = origin.line(line as usize).char_column(column as usize);
    let Some(excerpt) = excerpt else { return vec![origin.into()] };
    let snippet = Snippet::source(excerpt.text.as_str())
        .line_start(line as usize)
        .annotation(kind.span(excerpt.span.clone()));
    if excerpt.is_cut {
        vec![origin.into(), snippet.into()]
    } else {
        vec![snippet.path(file.into_owned()).into()]
    }
}

/// The text, printable, on lines that fit behind `indent` columns of a terminal.
fn wrapped(text: &str, width: Option<usize>, indent: usize) -> String {
    let text = printable(text);
    match width {
        Some(width) => wrap(&text, width.max(MIN_WIDTH).saturating_sub(indent).max(MIN_WIDTH / 2)).join("\n"),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use olm_model::report::Lines;
    use olm_model::report::{BundleReport, Finding, Ignored, Related, Suite};

    fn finding(rule: &'static str, severity: Severity, line: u32) -> Finding {
        Finding {
            rule,
            suite: Suite::Bundle,
            severity,
            message: "a message of several words that does not fit on one line of a terminal".to_owned(),
            help: "do something about it, which takes a longer sentence to describe than a line has room for"
                .into(),
            file: Some("manifests/a.yaml".to_owned()),
            line: Some(line),
            column: Some(3),
            end_column: None,
            path: Some("spec.x".to_owned()),
            versions: None,
            fix: None,
            related: Vec::new(),
            ignored: None,
            excerpt: Lines::new(b"\n  x: y\n").excerpt(2, 3),
            at_text_position: false,
        }
    }

    fn printed(findings: Vec<Finding>, style: Style) -> String {
        let report = BundleReport {
            path: "bundle/".to_owned(),
            parent: Some(String::new()),
            name: None,
            package: None,
            findings,
        };
        diagnostics(&Subject::from(&report), style)
    }

    #[test]
    fn errors_come_first_and_what_is_repeated_is_folded() {
        let mut findings = vec![finding("a-warning", Severity::Warning, 1)];
        findings.extend((1..=5).map(|line| finding("an-error", Severity::Error, line)));
        let mut other = finding("ignored", Severity::Error, 9);
        other.ignored = Some(Ignored::new(IgnoredBy::Comment, "known"));
        findings.push(other);
        let text = printed(findings.clone(), Style::default());
        let titles: Vec<_> =
            text.lines().filter(|line| line.contains("]: ")).map(|line| &line[..10]).collect();
        assert_eq!(titles, ["error[an-e", "error[an-e", "error[an-e", "warning[a-"], "{text}");
        assert!(text.contains("  = … and 2 more: show them with --verbose\n"), "{text}");
        let verbose = Style { verbosity: Verbosity::Verbose, ..Style::default() };
        let text = printed(findings, verbose);
        assert_eq!(text.matches("error[an-error]").count(), 5, "{text}");
        assert!(text.contains("  = ignored: by a comment here: known\n"), "{text}");
    }

    #[test]
    fn text_is_wrapped_to_the_terminal() {
        let mut finding = finding("a-rule", Severity::Error, 2);
        finding.related.push(Related::new("first defined here", "manifests/b.yaml", 7, 1));
        for width in [60, 80, 120] {
            let style = Style { width: Some(width), ..Style::default() };
            let text = printed(vec![finding.clone()], style);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            insta::assert_snapshot!(format!("text-{width}"), text);
        }
        let style = Style { width: Some(80), color: true, ..Style::default() };
        insta::assert_snapshot!("text-color", printed(vec![finding], style));
    }

    #[test]
    fn foreign_text_cannot_forge_a_line() {
        let mut finding = finding("yaml-syntax", Severity::Warning, 1);
        finding.message = "a\u{1b}[2J\nb".to_owned();
        finding.file = Some("x\n/fine: error[none]: forged\r".to_owned());
        finding.path = Some("spec.\u{202e}x".to_owned());
        finding.excerpt = None;
        finding.help = "".into();
        let text = printed(vec![finding], Style::default());
        assert_eq!(
            text,
            "warning[yaml-syntax]: a\\u{1b}[2J\\nb\n--> bundle/x\\n/fine: error[none]: forged\\r:1:3\n = field: spec.\\u{202e}x\n\n"
        );
    }
}
