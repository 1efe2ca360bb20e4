//! The calls of operator-sdk and opm in a file, and what each becomes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::files::{File, Kind};
use super::makefile;
use super::shell::{self, Command};
use super::variables::{Definition, Program, Variables};
use crate::cli::dropin::{Edit, NativeLine, Project, Tool, Translation, Word, translate};

/// The maximum number of words of a call, with those of its variables.
const MAX_WORDS: usize = 1000;
/// The maximum number of variables that are followed one after the other.
const MAX_DEPTH: usize = 8;

/// The native command that keeps what a bundle contains.
const GENERATE_BUNDLE: [&str; 2] = ["generate", "bundle"];

/// Where a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
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
    pub(super) place: Place,
    /// The word that is the name of the tool.
    pub(super) program: Range<usize>,
    /// The words that follow.
    pub(super) words: Vec<Range<usize>>,
    /// The words, with those of variables that contain flags.
    expanded: Vec<Expanded>,
    pub(super) outcome: Outcome,
    /// The command line, for the report.
    pub(super) line: String,
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
    pub(super) project: &'p Project,
}

impl Context<'_> {
    /// Returns the call that a command is.
    pub(super) fn call(&self, file: usize, command: &Command, place: Place) -> Option<Found> {
        let text = &self.files[file].text;
        let (at, program) = self.program(text, file, &command.words)?;
        let range = command.words[at].clone();
        let tool = match program {
            Program::Tool(tool) => tool,
            Program::Unresolved(tool, name) => return Some(Found::Unresolved(tool, name, range.start)),
            Program::Other => return None,
        };
        let words = command.words[at + 1..].to_vec();
        let raws: Vec<&str> = words.iter().map(|word| &text[word.clone()]).collect();
        let mut expanded = Vec::new();
        let mut unknown = None;
        for (own, (raw, range)) in raws.iter().zip(&words).enumerate() {
            self.expand(raw, range, file, own, 0, &mut expanded, &mut unknown);
        }
        let line =
            [&text[range.clone()]].into_iter().chain(raws.iter().copied()).collect::<Vec<_>>().join(" ");
        let mut call = Call {
            file,
            tool,
            place,
            program: range,
            words,
            expanded,
            outcome: Outcome::Kept(String::new()),
            line,
        };
        call.outcome = self.outcome(&call, command.is_read, unknown)?;
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
                let line = native_line("bundle-tool", &line, &words);
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
            place: Place::List,
            program,
            words: Vec::new(),
            expanded: Vec::new(),
            outcome,
            line,
        })
    }

    /// Returns the position of the program that a command runs, behind assignments, keywords and programs that run others.
    fn program(&self, text: &str, file: usize, words: &[Range<usize>]) -> Option<(usize, Program)> {
        let mut is_wrapped = false;
        for (at, range) in words.iter().enumerate() {
            let word = &text[range.clone()];
            if is_assignment(word) {
                continue;
            }
            match self.variables.program(word, file) {
                Program::Other => {}
                program => return Some((at, program)),
            }
            match word {
                "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "time" | "exec"
                | "nohup" => {}
                "xargs" | "sudo" | "env" | "timeout" | "retry" => is_wrapped = true,
                // A command with `-v` only looks a program up.
                "command" if words.get(at + 1).is_none_or(|next| !text[next.clone()].starts_with('-')) => {}
                // An option of RUN.
                _ if word.starts_with("--") && at == 0 => {}
                // The words that follow are its arguments.
                _ if is_wrapped && !word.contains("bundle-tool") && !word.contains("BUNDLE_TOOL") => {}
                _ => return None,
            }
        }
        None
    }

    /// Adds a word, or the words in the definitions of the variable that it is.
    #[expect(clippy::too_many_arguments, reason = "a recursive function with two results")]
    fn expand(
        &self,
        raw: &str,
        range: &Range<usize>,
        file: usize,
        own: usize,
        depth: usize,
        expanded: &mut Vec<Expanded>,
        unknown: &mut Option<String>,
    ) {
        let variable = shell::variable(raw);
        if let Some(name) = variable
            && self.has_flags(name, file, &mut BTreeSet::new())
            && depth < MAX_DEPTH
        {
            for definition in self.variables.definitions(name, file) {
                let text = &self.files[definition.file].text;
                for range in makefile::words(text, definition.value.clone()) {
                    if expanded.len() >= MAX_WORDS {
                        return;
                    }
                    self.expand(
                        &text[range.clone()],
                        &range,
                        definition.file,
                        own,
                        depth + 1,
                        expanded,
                        unknown,
                    );
                }
            }
            return;
        }
        let is_list = raw.contains("[@]") || raw.contains("[*]") || raw.starts_with("$(if ");
        let is_undefined = variable.is_some_and(|name| {
            let upper = name.to_ascii_uppercase();
            let is_named = ["FLAG", "OPT", "ARG", "PARAM"].iter().any(|part| upper.contains(part));
            let definitions = self.variables.definitions(name, file);
            let is_computed =
                |one: &&Definition| one.text.contains(['(', '`']) && shell::variable(&one.text).is_none();
            is_named && (definitions.is_empty() || definitions.iter().any(is_computed))
        });
        if is_list || is_undefined {
            unknown.get_or_insert_with(|| raw.to_owned());
        }
        let word = Word {
            raw: raw.to_owned(),
            text: shell::unquoted(raw),
            is_own: depth == 0,
            has_variable: shell::has_expansion(raw),
        };
        let defined = (depth > 0).then(|| (file, range.clone()));
        expanded.push(Expanded { word, own, defined });
    }

    /// Returns whether a variable contains flags. `seen` are the variables that were looked at, which ends cycles.
    fn has_flags(&self, name: &str, file: usize, seen: &mut BTreeSet<(String, usize)>) -> bool {
        if seen.len() >= MAX_WORDS || !seen.insert((name.to_owned(), file)) {
            return false;
        }
        self.variables.definitions(name, file).iter().any(|definition| {
            let text = &self.files[definition.file].text;
            makefile::words(text, definition.value.clone()).iter().take(MAX_WORDS).any(|word| {
                let word = &text[word.clone()];
                word.starts_with('-')
                    || shell::variable(word).is_some_and(|other| self.has_flags(other, definition.file, seen))
            })
        })
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
                } else if line.command == GENERATE_BUNDLE && appends_to_bundle(&self.files[call.file].text) {
                    let reason = "the file appends to annotations.yaml or bundle.Dockerfile, and `generate bundle` keeps what is appended";
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
            (Outcome::Native(_) | Outcome::Adapter(_), Place::ToolImage) => Outcome::Kept(
                "runs in an image of the tool, which does not contain bundle-tool; `bundle-tool push catalog DIR IMAGE` and \
                 `push bundle DIR IMAGE` push images without a Dockerfile"
                    .to_owned(),
            ),
            (outcome, _) => outcome,
        })
    }
}

/// Returns whether a text has only spaces and continued lines.
fn is_space(text: &str) -> bool {
    text.chars().all(is_space_char)
}

fn is_space_char(char: char) -> bool {
    char.is_whitespace() || char == '\\'
}

/// Returns whether a script or a recipe appends to the metadata or the Dockerfile of a bundle after it was generated. operator-sdk
/// generates these files again from nothing; the native command keeps what they contain, so the lines would accumulate.
fn appends_to_bundle(text: &str) -> bool {
    text.lines().any(|line| {
        let target = line.split_once(">>").or_else(|| line.split_once("tee -a")).map(|(_, target)| target);
        target.is_some_and(|target| {
            target.contains("annotations.yaml") || target.contains("bundle") && target.contains("Dockerfile")
        })
    })
}

/// Returns whether a word assigns a variable.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
    })
}

/// Returns a native command line.
fn native_line(program: &str, line: &NativeLine, words: &[Word]) -> String {
    let mut parts = vec![program.to_owned()];
    parts.extend(line.command.iter().chain(&line.moved).cloned());
    for (word, edit) in words[line.replaced..].iter().zip(&line.edits) {
        match edit {
            Edit::Keep => parts.push(word.raw.clone()),
            Edit::Replace(text) => parts.push(text.clone()),
            Edit::Remove => {}
        }
    }
    parts.extend(line.added.iter().cloned());
    parts.join(" ")
}

impl Call {
    /// Returns the name of the program in the changed line.
    fn new_program(&self, files: &[File]) -> &'static str {
        if files[self.file].kind == Kind::Makefile { "$(BUNDLE_TOOL)" } else { "bundle-tool" }
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

/// Decides on the changes of definitions: if calls require different ones, their lines keep their arguments. Returns the changes.
pub(super) fn agree(calls: &mut [Call], files: &[File]) -> Vec<Change> {
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
