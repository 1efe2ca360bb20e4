//! The calls of operator-sdk and opm in a file, and what each becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::files::{File, Kind};
use super::makefile;
use super::shell::{self, Command};
use super::variables::{Definition, Program, VARIABLE, Variables};
use super::wrappers;
use crate::cli::dropin::{Edit, NativeLine, ProjectFacts, Tool, Translation, Word, translate};

/// The maximum number of words of a call, with those of its variables.
const MAX_WORDS: usize = 1000;
/// The maximum number of words of all calls.
pub(super) const MAX_TOTAL_WORDS: usize = 200_000;
/// The maximum number of words before the program of a call.
const MAX_PREFIX: usize = 100;
/// The maximum length of a call in the report, in bytes.
const MAX_LINE: usize = 2000;
/// The maximum number of variables that are followed one after the other.
const MAX_DEPTH: usize = 8;

/// The native command that keeps what a bundle contains.
const GENERATE_BUNDLE: [&str; 2] = ["generate", "bundle"];

/// Where a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallPlace {
    /// In the recipe of a rule, by its position in the Makefile.
    Recipe(usize),
    /// In a condition or the value of a variable of a Makefile.
    Expanded,
    /// In a script.
    Script,
    /// In a script that runs in an image of the tool.
    ToolImage,
    /// In a list of words, which is not changed.
    List,
}

/// A call.
#[derive(Debug)]
pub(super) struct Call {
    /// The position of the file in the list of files.
    pub(super) file: usize,
    pub(super) tool: Tool,
    pub(super) place: CallPlace,
    /// The word that is the name of the tool.
    pub(super) program: Range<usize>,
    /// The words that follow.
    pub(super) words: Vec<Range<usize>>,
    /// The words, with those of variables that contain flags.
    expanded: Vec<Expanded>,
    /// The references to variables that contain flags.
    pub(super) references: Vec<Reference>,
    pub(super) outcome: Outcome,
    /// Whether `$(BUNDLE_TOOL)` can be the program: no file defines it as something else.
    has_variable: bool,
    /// The command line, for the report.
    pub(super) line: String,
}

/// A reference to a variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) file: usize,
    pub(super) at: usize,
}

/// The words of a call, while its variables are replaced with their definitions.
#[derive(Debug, Default)]
struct Expansion {
    words: Vec<Expanded>,
    references: Vec<Reference>,
    /// A word that may stand for flags that are not known.
    unknown: Option<String>,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Native(NativeLine),
    /// The same arguments after `bundle-tool TOOL`, and why.
    Adapter(String),
    /// No change, and why.
    Kept(String),
}

/// A word of a call.
#[derive(Debug, Clone)]
struct Expanded {
    word: Word,
    /// The position among the words of the call, or of the variable that contains it.
    own: usize,
    /// Where the definition contains it, if it is one of a variable.
    defined: Option<(usize, Range<usize>)>,
}

/// A change of a file: the text that replaces a range.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Change {
    pub(super) file: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

/// What a command is.
pub(super) enum Found {
    Call(Box<Call>),
    /// It calls a variable that is not defined as the tool that it is named after.
    Unresolved(Tool, String, usize),
}

/// What calls are found with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'p> {
    pub(super) files: &'p [File],
    pub(super) variables: &'p Variables,
    pub(super) project: &'p ProjectFacts,
}

impl Context<'_> {
    /// Returns the call that a command is.
    pub(super) fn call(&self, file: usize, command: &Command, place: CallPlace) -> Option<Found> {
        let text = &self.files[file].text;
        let (at, program) = self.program(text, file, &command.words)?;
        let range = command.words[at].clone();
        let tool = match program {
            Program::Tool(tool) => tool,
            Program::Unresolved(tool, name) => return Some(Found::Unresolved(tool, name, range.start)),
            Program::Other => return None,
        };
        let words = &command.words[at + 1..];
        let is_long = words.len() > MAX_WORDS;
        let words = if is_long { Vec::new() } else { words.to_vec() };
        let mut expansion = Expansion::default();
        for (own, range) in words.iter().enumerate() {
            self.expand(&text[range.clone()], range, file, own, 0, &mut expansion);
        }
        let mut call = Call {
            file,
            tool,
            place,
            line: command_line(text, &range, &words),
            program: range,
            words,
            expanded: expansion.words,
            references: expansion.references,
            has_variable: self.variables.is_always(VARIABLE, "bundle-tool"),
            outcome: Outcome::Kept(format!("it has more than {MAX_WORDS} words")),
        };
        if !is_long && call.expanded.len() < MAX_WORDS {
            call.outcome = self.outcome(&call, command.is_read, expansion.unknown)?;
        }
        Some(Found::Call(Box::new(call)))
    }

    /// Returns the call that a list of words is.
    pub(super) fn list(&self, file: usize, list: &[(Range<usize>, String)]) -> Option<Call> {
        let [(range, program), rest @ ..] = list else { return None };
        let Program::Tool(tool) = self.variables.program(program, file) else { return None };
        let plain = |text: &String| Word {
            raw: text.clone(),
            text: text.clone(),
            is_own: true,
            has_variable: text.contains('$'),
        };
        let words: Vec<Word> = rest.iter().map(|(_, text)| plain(text)).collect();
        let outcome = match translate(tool, &words, self.project, false) {
            Translation::Native(line) => {
                let line = &line.command_line("bundle-tool", &words);
                Outcome::Kept(format!(
                    "replace the list with the words of `{line}`, and use an image that contains bundle-tool"
                ))
            }
            Translation::Adapter(reason) => Outcome::Kept(format!(
                "{reason}; insert `bundle-tool` as the first word of the list, and use an image that contains it"
            )),
            Translation::Unsupported(reason) => Outcome::Kept(reason),
            Translation::Invalid(_) => return None,
        };
        let line = list.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ");
        let program = range.clone();
        Some(Call {
            file,
            tool,
            place: CallPlace::List,
            program,
            words: Vec::new(),
            expanded: Vec::new(),
            references: Vec::new(),
            has_variable: false,
            outcome,
            line,
        })
    }

    /// Returns the position of the program that a command runs, behind assignments, keywords and programs that run others.
    fn program(&self, text: &str, file: usize, words: &[Range<usize>]) -> Option<(usize, Program)> {
        let texts: Vec<&str> = words.iter().take(MAX_PREFIX).map(|word| &text[word.clone()]).collect();
        let mut at = 0;
        while let Some(word) = texts.get(at) {
            at += match *word {
                word if is_assignment(word) => 1,
                "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" => 1,
                // The name of the function follows.
                "function" => 2,
                // An option of RUN.
                word if word.starts_with("--") && at == 0 => 1,
                word => match self.variables.program(word, file) {
                    Program::Other => wrappers::words(&texts[at..])?,
                    program => return Some((at, program)),
                },
            };
        }
        None
    }

    /// Adds a word, or the words in the definitions of the variable that it is.
    fn expand(
        &self,
        raw: &str,
        range: &Range<usize>,
        file: usize,
        own: usize,
        depth: usize,
        expansion: &mut Expansion,
    ) {
        if expansion.words.len() >= MAX_WORDS {
            return;
        }
        let variable = shell::variable(raw);
        if let Some(name) = variable
            && depth < MAX_DEPTH
            && self.variables.has_flags(name, file, self.files)
        {
            expansion.references.push(Reference { name: name.to_owned(), file, at: range.start });
            for definition in self.variables.definitions(name, file) {
                let text = &self.files[definition.file].text;
                for range in makefile::words(text, definition.value.clone()) {
                    self.expand(&text[range.clone()], &range, definition.file, own, depth + 1, expansion);
                }
            }
            return;
        }
        let is_undefined = variable.is_some_and(|name| {
            let definitions = self.variables.definitions(name, file);
            let is_computed =
                |one: &&Definition| one.text.contains(['(', '`']) && shell::variable(&one.text).is_none();
            // An empty one is there for others to set.
            let is_empty = |one: &&Definition| one.text.trim().is_empty();
            let is_unknown = |one: &&Definition| is_computed(one) || is_empty(one);
            is_named_after_flags(name) && (definitions.is_empty() || definitions.iter().any(is_unknown))
        });
        if is_undefined || self.is_list(raw, file) {
            expansion.unknown.get_or_insert_with(|| raw.to_owned());
        }
        let word = Word {
            raw: raw.to_owned(),
            text: shell::unquoted(raw),
            is_own: depth == 0,
            has_variable: shell::has_expansion(raw),
        };
        let defined = (depth > 0).then(|| (file, range.clone()));
        expansion.words.push(Expanded { word, own, defined });
    }

    /// Returns whether a word may stand for several words that include flags.
    fn is_list(&self, raw: &str, file: usize) -> bool {
        const VALUES: [&str; 10] = [
            "shell",
            "abspath",
            "realpath",
            "dir",
            "notdir",
            "basename",
            "firstword",
            "lastword",
            "word",
            "wildcard",
        ];
        let is_make = self.files[file].kind == Kind::Makefile;
        let inner = raw.trim_matches('"');
        if is_make && raw.starts_with("$(") && raw.contains([' ', '\t']) {
            let function = raw[2..].split([' ', '\t']).next().unwrap_or_default();
            return !VALUES.contains(&function);
        }
        let inner = if is_make { inner.strip_prefix('$').unwrap_or("") } else { inner };
        let is_all = matches!(inner, "$@" | "$*" | "${@}" | "${*}")
            || ["${@:", "${*:", "${@-", "${@+"].iter().any(|start| inner.starts_with(start));
        // A workflow's expression, or a variable that is replaced if it is set.
        let is_expression = inner.starts_with("${{") && is_named_after_flags(inner);
        let is_conditional = inner.starts_with("${") && (inner.contains(":+") || inner.contains("+-"));
        is_all || is_expression || is_conditional || raw.contains("[@]") || raw.contains("[*]")
    }

    /// Returns whether nothing but spaces and continued lines separates the words that the native command replaces.
    fn is_continuous(&self, call: &Call, line: &NativeLine) -> bool {
        let text = &self.files[call.file].text;
        let mut end = call.program.end;
        let mut owns = call.expanded[..line.replaced].iter().map(|word| &call.words[word.own]);
        owns.all(|word| is_space(&text[std::mem::replace(&mut end, word.end)..word.start]))
    }

    /// Returns what becomes of a call; `None` if it is none.
    fn outcome(&self, call: &Call, is_read: bool, unknown: Option<String>) -> Option<Outcome> {
        let words: Vec<Word> = call.expanded.iter().map(|expanded| expanded.word.clone()).collect();
        let is_version = words.iter().any(|word| word.text == "version");
        let outcome = match translate(call.tool, &words, self.project, is_read) {
            Translation::Native(line) => {
                let is_own = |word: &Expanded| word.defined.is_none();
                if let Some(unknown) = unknown {
                    Outcome::Adapter(format!("the flags in `{unknown}` are unknown"))
                } else if !call.expanded[..line.replaced].iter().all(is_own) {
                    Outcome::Adapter("a variable contains flags before the command".to_owned())
                } else if !self.is_continuous(call, &line) {
                    Outcome::Adapter("a redirection separates the words of the command".to_owned())
                } else if line.command == GENERATE_BUNDLE && self.files.iter().any(|file| file.edits_bundle) {
                    let reason = "`generate bundle` keeps edits to annotations.yaml and bundle.Dockerfile, so the changes that the project makes to them would accumulate";
                    Outcome::Adapter(reason.to_owned())
                } else {
                    Outcome::Native(line)
                }
            }
            Translation::Adapter(_) if is_version => Outcome::Kept(format!(
                "another program reads the version; `bundle-tool {0} version` prints the one that a variable sets \
                 (docs/migrating.md)",
                call.tool.name()
            )),
            Translation::Adapter(reason) => Outcome::Adapter(reason),
            // Such as a variable with the whole command line.
            Translation::Invalid(reason) if words.first().is_some_and(|word| word.has_variable) => {
                Outcome::Adapter(reason)
            }
            Translation::Invalid(_) if words.is_empty() && self.files[call.file].kind == Kind::Makefile => {
                return None;
            }
            Translation::Unsupported(reason) | Translation::Invalid(reason) => Outcome::Kept(reason),
        };
        Some(match (outcome, call.place) {
            (Outcome::Native(_) | Outcome::Adapter(_), CallPlace::ToolImage) => {
                let instead = if self.files[call.file].kind == Kind::Dockerfile {
                    "`bundle-tool push catalog DIR IMAGE` and `push bundle DIR IMAGE` push images without a Dockerfile"
                } else {
                    "use an image that contains it"
                };
                Outcome::Kept(format!(
                    "runs in an image of the tool, which does not contain bundle-tool; {instead}"
                ))
            }
            (outcome, _) => outcome,
        })
    }
}

/// Returns whether the name of a variable says that it contains flags.
fn is_named_after_flags(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    ["FLAG", "OPT", "ARG", "PARAM"].iter().any(|part| upper.contains(part))
}

/// Returns a command line for the report, which is shortened.
fn command_line(text: &str, program: &Range<usize>, words: &[Range<usize>]) -> String {
    let mut line = text[program.clone()].to_owned();
    for word in words {
        if line.len() > MAX_LINE {
            line.push_str(" …");
            break;
        }
        line.push(' ');
        line.push_str(&text[word.clone()]);
    }
    line
}

/// Returns whether a text has only spaces and continued lines.
fn is_space(text: &str) -> bool {
    text.chars().all(is_space_char)
}

fn is_space_char(char: char) -> bool {
    char.is_whitespace() || char == '\\'
}

/// Returns whether a word assigns a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}

impl Call {
    /// Returns the name of the program in the changed line.
    fn new_program(&self, files: &[File]) -> &'static str {
        if files[self.file].kind == Kind::Makefile && self.has_variable {
            "$(BUNDLE_TOOL)"
        } else {
            "bundle-tool"
        }
    }

    /// Returns whether the line is changed.
    pub(super) fn is_replaced(&self) -> bool {
        !matches!(self.outcome, Outcome::Kept(_))
    }

    /// Returns the changed command line; `None` if it is kept.
    pub(super) fn new_line(&self, files: &[File]) -> Option<String> {
        let text = &files[self.file].text;
        let program = self.new_program(files);
        match &self.outcome {
            Outcome::Kept(_) => None,
            Outcome::Adapter(_) => {
                let words = self.words.iter().map(|word| &text[word.clone()]);
                Some([program, self.tool.name()].into_iter().chain(words).collect::<Vec<_>>().join(" "))
            }
            Outcome::Native(line) => {
                let mut parts = vec![program.to_owned()];
                parts.extend(line.command.iter().chain(&line.moved).cloned());
                let mut last = None;
                for (expanded, edit) in self.expanded[line.replaced..].iter().zip(&line.edits) {
                    let is_repeated = last == Some(expanded.own);
                    last = Some(expanded.own);
                    match (edit, &expanded.defined) {
                        (Edit::Keep, None) => parts.push(expanded.word.raw.clone()),
                        (Edit::Replace(text), None) => parts.push(text.clone()),
                        (Edit::Remove, None) => {}
                        (_, Some(_)) if is_repeated => {}
                        (_, Some(_)) => parts.push(text[self.words[expanded.own].clone()].to_owned()),
                    }
                }
                parts.extend(line.added.iter().cloned());
                Some(parts.join(" "))
            }
        }
    }

    /// Returns the changes of the line itself.
    pub(super) fn changes(&self, files: &[File]) -> Vec<Change> {
        let program = self.new_program(files);
        let text = &files[self.file].text;
        let change = |start: usize, end: usize, text: String| Change { file: self.file, start, end, text };
        let line = match &self.outcome {
            Outcome::Kept(_) => return Vec::new(),
            Outcome::Adapter(_) => {
                let text = format!("{program} {}", self.tool.name());
                return vec![change(self.program.start, self.program.end, text)];
            }
            Outcome::Native(line) => line,
        };
        let command: Vec<&str> =
            [program].into_iter().chain(line.command.iter().chain(&line.moved).map(String::as_str)).collect();
        let mut end = match line.replaced.checked_sub(1) {
            Some(last) => self.words[self.expanded[last].own].end,
            None => self.program.end,
        };
        let mut changes = vec![change(self.program.start, end, command.join(" "))];
        for (expanded, edit) in self.expanded[line.replaced..].iter().zip(&line.edits) {
            let word = &self.words[expanded.own];
            match edit {
                _ if expanded.defined.is_some() => {}
                Edit::Keep => {}
                Edit::Replace(new) => changes.push(change(word.start, word.end, new.clone())),
                Edit::Remove => {
                    let before = text[end..word.start].trim_end_matches(is_space_char);
                    let start = end + before.len();
                    changes.push(change(start, word.end, String::new()));
                }
            }
            end = word.end;
        }
        if !line.added.is_empty() {
            changes.push(change(end, end, format!(" {}", line.added.join(" "))));
        }
        changes
    }

    /// Returns what the call requires of the words in the definitions of variables.
    fn demands(&self) -> Vec<((usize, usize, usize), Edit)> {
        let keep = Edit::Keep;
        let edit = |index: usize| match &self.outcome {
            Outcome::Native(line) => {
                index.checked_sub(line.replaced).and_then(|at| line.edits.get(at)).unwrap_or(&keep)
            }
            _ => &keep,
        };
        self.expanded
            .iter()
            .enumerate()
            .filter_map(|(index, expanded)| {
                let (file, range) = expanded.defined.clone()?;
                Some(((file, range.start, range.end), edit(index).clone()))
            })
            .collect()
    }
}

/// Decides on the changes of definitions: if calls require different ones, or other commands use a variable, the lines keep their
/// arguments. Returns the changes.
pub(super) fn agree(calls: &mut [Call], files: &[File]) -> Vec<Change> {
    let shared = shared(calls, files);
    for call in calls.iter_mut() {
        let is_changed = call.demands().iter().any(|(_, edit)| *edit != Edit::Keep);
        let name = call.references.iter().map(|one| &one.name).find(|name| shared.contains(*name));
        if let Some(name) = name.filter(|_| is_changed) {
            call.outcome = Outcome::Adapter(format!("other commands use the variable `{name}` as well"));
        }
    }
    loop {
        let mut demands: BTreeMap<(usize, usize, usize), BTreeSet<String>> = BTreeMap::new();
        let mut edits = BTreeMap::new();
        for call in &*calls {
            for (place, edit) in call.demands() {
                demands.entry(place).or_default().insert(format!("{edit:?}"));
                edits.insert(place, edit);
            }
        }
        let conflict = |call: &Call| {
            call.demands().into_iter().find(|(place, edit)| *edit != Edit::Keep && demands[place].len() > 1)
        };
        let mut has_changed = false;
        for call in calls.iter_mut() {
            if let Some(((file, start, end), _)) = conflict(call) {
                let word = &files[file].text[start..end];
                call.outcome =
                    Outcome::Adapter(format!("other commands use the variable with `{word}` as well"));
                has_changed = true;
            }
        }
        if has_changed {
            continue;
        }
        let change = |((file, start, end), edit): ((usize, usize, usize), Edit)| {
            let text = &files[file].text;
            match edit {
                Edit::Keep => None,
                Edit::Replace(text) => Some(Change { file, start, end, text }),
                Edit::Remove => {
                    let before = text[..start].trim_end_matches([' ', '\t']).len();
                    let is_first = text[..before].ends_with('=');
                    let start = if is_first { start } else { before };
                    Some(Change { file, start, end, text: String::new() })
                }
            }
        };
        return edits.into_iter().filter_map(change).collect();
    }
}

/// Returns the variables with flags that not only calls use.
fn shared(calls: &[Call], files: &[File]) -> BTreeSet<String> {
    let known: BTreeSet<&Reference> = calls.iter().flat_map(|call| &call.references).collect();
    let names: BTreeSet<&str> = known.iter().map(|one| one.name.as_str()).collect();
    let mut found = BTreeSet::new();
    if names.is_empty() {
        return found;
    }
    for (file, content) in files.iter().enumerate() {
        for (at, name) in shell::references(&content.text) {
            let reference = Reference { name: name.to_owned(), file, at };
            if names.contains(name) && !found.contains(name) && !known.contains(&reference) {
                found.insert(reference.name);
            }
        }
    }
    found
}
