use crate::prelude::*;
use kube_yaml::edit::replace_tabs;
use kube_yaml::{First, Position};
use memchr::memmem;
use olm_model::Content;
use olm_model::bundle::ANNOTATIONS_FILE;

pub(crate) static RULE: Rule = Rule {
    id: "yaml-syntax",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A file in `manifests/`, or metadata/annotations.yaml, is not valid YAML for Kubernetes and OLM.",
    impacts: &[
        Impact::UnpackFails,
        Impact::Specific("Other tools report a missing CSV or missing annotations instead."),
    ],
    help: "correct the syntax at this position",
    sources: &[Source::file(Project::GoYaml, "decode.go").since("2.0")],
    check: Check::Bundle(check),
};

/// What makes a text invalid, where it is one of the usual accidents.
struct Cause {
    position: Position,
    message: String,
    help: &'static str,
    is_tab: bool,
}

impl Cause {
    /// Looks for a cause of an error that a parser reports at `position`, which is often behind it.
    fn find(bytes: &[u8], message: &str, position: Position) -> Option<Self> {
        let at = |line: usize, column: usize| Position {
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            column: u32::try_from(column + 1).unwrap_or(u32::MAX),
        };
        let lines = || bytes.split(|byte| *byte == b'\n');
        let is_conflict = |line: &[u8]| {
            let line = line.trim_ascii_end();
            let marker = |marker: &[u8]| {
                line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest[0] == b' ')
            };
            marker(b"<<<<<<<") || marker(b">>>>>>>")
        };
        if let Some((line, _)) = lines().enumerate().find(|(_, line)| is_conflict(line)) {
            return Some(Self {
                position: at(line, 0),
                message: "unresolved merge conflict".into(),
                help: "resolve the conflict, and remove the lines with `<<<<<<<`, `=======` and `>>>>>>>`",
                is_tab: false,
            });
        }
        if message.contains("flow")
            && let Some((line, column, open)) = unclosed(bytes, position)
        {
            let (open, help) = match open {
                b'[' => ('[', "add the missing `]`"),
                _ => ('{', "add the missing `}`"),
            };
            return Some(Self {
                position: at(line, column),
                message: format!("`{open}` is never closed"),
                help,
                is_tab: false,
            });
        }
        let last = usize::try_from(position.line).unwrap_or(usize::MAX);
        let before: Vec<(usize, &[u8])> = lines().enumerate().take(last).collect();
        let nearest = before.iter().rev().take(NEAR).filter_map(|(line, text)| {
            let text = str::from_utf8(text).ok()?;
            let indent = text.chars().take_while(|char| char.is_whitespace() || is_invisible(*char));
            let (column, char) = indent.enumerate().find(|(_, char)| !matches!(char, ' ' | '\r'))?;
            Some((*line, column, char))
        });
        if let Some((line, column, char)) = nearest.into_iter().next() {
            let (message, help, is_tab) = match char {
                '\t' => ("tab in the indentation".into(), "indent with spaces instead of tabs", true),
                '\u{a0}' => ("non-breaking space U+00A0 in the indentation".into(), SPACES, false),
                char => (format!("character U+{:04X} in the indentation", u32::from(char)), SPACES, false),
            };
            return Some(Self { position: at(line, column), message, help, is_tab });
        }
        let template = before.iter().rev().take(NEAR).find_map(|(line, text)| {
            Some((*line, memmem::find(text, b"{{").or_else(|| memmem::find(text, b"{%"))?))
        });
        template.map(|(line, column)| Self {
            position: at(line, column),
            message: "unrendered template".into(),
            help: "render the template first, for example with `helm template`",
            is_tab: false,
        })
    }
}

/// Returns the line, the column and the bracket of the innermost list or map in flow style that is open at `position`.
fn unclosed(bytes: &[u8], position: Position) -> Option<(usize, usize, u8)> {
    let last = usize::try_from(position.line).unwrap_or(usize::MAX);
    let mut open = Vec::new();
    let mut quote = None;
    for (line, text) in bytes.split(|byte| *byte == b'\n').take(last).enumerate() {
        if text.starts_with(b"---") {
            open.clear();
        }
        let mut before = b' ';
        for (column, byte) in text.iter().copied().enumerate() {
            let starts = matches!(before, b' ' | b'\t' | b'[' | b'{' | b',' | b':');
            match (quote, byte) {
                (Some(end), _) => quote = (byte != end).then_some(end),
                (None, b'\'' | b'"') if starts => quote = Some(byte),
                (None, b'#') if matches!(before, b' ' | b'\t') => break,
                (None, b'[' | b'{') if starts => open.push((line, column, byte)),
                (None, b']' | b'}') => {
                    open.pop();
                }
                _ => {}
            }
            before = byte;
        }
    }
    open.pop()
}

/// How many lines before the place of an error are searched for its cause.
const NEAR: usize = 3;
/// What to do about a tab that cannot be replaced without a decision, such as one before the first line.
const TAB: &str = "remove the tab, or indent with as many spaces as the lines around it";
/// What to do about other white space.
const SPACES: &str =
    "replace the character with a space: text from web pages and word processors contains it";

/// Returns whether a character is not shown, although it is no white space.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// What the other tools do with a file in UTF-16: they read it line by line.
const UTF_16: &str = "save the file in UTF-8, for example with `iconv -f UTF-16 -t UTF-8`";

/// Returns whether a file begins with a byte order mark of UTF-16.
fn is_utf_16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// What to do about a file that cannot be read.
const UNREADABLE: &str = "replace it with a regular file that can be read, or remove it";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for file in context.bundle.manifests().chain(context.bundle.file(ANNOTATIONS_FILE)) {
        match &file.content {
            Content::Documents { .. } if is_utf_16(&file.bytes) => {
                reporter.help(UTF_16);
                reporter.path(&file.path, "the file is encoded in UTF-16: must be UTF-8");
            }
            Content::Documents { error: Some(error), first: First::Unreadable, .. } => {
                let tab = ["tab", "cannot start any token"].iter().any(|what| error.message.contains(what));
                let cause = Cause::find(&file.bytes, &error.message, error.position);
                let is_tab = tab && cause.as_ref().is_none_or(|cause| cause.is_tab);
                // Without a fix where it is uncertain which tabs indent the text, or where it stays invalid.
                let is_fixable =
                    is_tab && str::from_utf8(&file.bytes).is_ok_and(|text| replace_tabs(text).is_some());
                let fix = || Fix::at(Safety::Safe, error.position, &file.path, Change::ReplaceTabs);
                reporter.fix(is_fixable.then(fix));
                match cause {
                    Some(cause) => {
                        reporter.help(if cause.is_tab && !is_fixable { TAB } else { cause.help });
                        reporter.place(file, cause.position, format!("invalid YAML: {}", cause.message));
                    }
                    None => reporter.place(file, error.position, format!("invalid YAML: {}", error.message)),
                }
            }
            Content::Unreadable(reason) => {
                reporter.help(UNREADABLE);
                reporter.path(&file.path, format!("failed to read the file: {reason}"));
            }
            Content::Documents { .. } | Content::Other => {}
        }
    }
    let around = context.bundle.submission.iter().flat_map(|submission| &submission.files);
    for file in context.bundle.dockerfile.iter().chain(around) {
        if let Content::Unreadable(reason) = &file.content {
            reporter.help(UNREADABLE);
            reporter.path(&file.path, format!("failed to read the file: {reason}"));
        }
    }
}
