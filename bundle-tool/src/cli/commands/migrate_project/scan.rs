//! Finds the calls in all files of a project.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::calls::{Call, CallPlace, Context, Found, Outcome};
use super::files::{File, Kind};
use super::makefile::{self, Makefile};
use super::report::ReportNote;
use super::shell::{self, Command, Dialect};
use super::variables::{Definition, Program, Variables};
use super::{dockerfile, yaml};
use crate::cli::dropin::{ProjectFacts, Tool};

/// What is found in the files of a project.
pub(crate) struct Scan<'p> {
    pub(crate) files: &'p [File],
    pub(crate) project: &'p ProjectFacts,
    /// The Makefiles among the files.
    pub(crate) makefiles: Vec<Option<Makefile>>,
    pub(crate) variables: Variables,
    pub(crate) calls: Vec<Call>,
    /// How often variables that name a tool occur in commands that are not understood, such as strings that a shell runs.
    pub(crate) mentions: BTreeMap<String, usize>,
    pub(crate) notes: Vec<ReportNote>,
}

impl<'p> Scan<'p> {
    pub(crate) fn new(files: &'p [File], project: &'p ProjectFacts, notes: Vec<ReportNote>) -> Self {
        let mut variables = Variables::default();
        let mut makefiles = Vec::with_capacity(files.len());
        for (file, content) in files.iter().enumerate() {
            let text = &content.text;
            let is_make = content.kind == Kind::Makefile;
            let mut add = |name: &str, start: usize, value: Range<usize>| {
                let text = text[value.clone()].to_owned();
                let definition = Definition { file, start, value, text, is_make };
                variables.add(name, definition);
            };
            let makefile = (content.kind == Kind::Makefile).then(|| makefile::parse(text));
            for definition in makefile.iter().flat_map(|makefile| &makefile.definitions) {
                if !definition.is_command {
                    add(&definition.name, definition.start, definition.value.clone());
                }
            }
            if content.kind == Kind::Shell {
                for command in shell::commands(text, 0..text.len(), Dialect::Shell) {
                    for (name, value) in assignments(text, &command) {
                        add(name, value.start - name.len() - 1, without_quotes(text, value));
                    }
                }
            }
            makefiles.push(makefile);
        }
        Self { files, project, makefiles, variables, calls: Vec::new(), mentions: BTreeMap::new(), notes }
    }

    /// Finds the calls in a file.
    pub(crate) fn file(&mut self, file: usize) {
        let content = &self.files[file];
        let text = content.text.as_str();
        match content.kind {
            Kind::Makefile => self.makefile(file),
            Kind::Shell => self.script(file, 0..text.len(), Dialect::Shell, CallPlace::Script),
            Kind::Pipeline | Kind::Tekton => {
                let found = yaml::scripts(text);
                if found.is_incomplete {
                    let reason =
                        "the file is not valid YAML, so some calls in it may not be found".to_owned();
                    self.notes.push(ReportNote::warning(&content.path, 1, reason));
                }
                for (range, dialect, is_tool_image) in found.texts {
                    let place = if is_tool_image { CallPlace::ToolImage } else { CallPlace::Script };
                    self.script(file, range, dialect, place);
                }
                for list in &found.lists {
                    self.list(file, list);
                }
                for (range, reason) in found.kept {
                    self.keep(file, range, reason);
                }
            }
            Kind::Dockerfile => {
                let found = dockerfile::parse(text);
                for (range, is_tool_image) in found.scripts {
                    let place = if is_tool_image { CallPlace::ToolImage } else { CallPlace::Script };
                    self.script(file, range, Dialect::Shell, place);
                }
                for list in &found.lists {
                    self.list(file, list);
                }
                for (at, image) in found.images {
                    let message = format!(
                        "uses the image {image}; `bundle-tool push catalog DIR IMAGE` and `push bundle DIR IMAGE` push images without \
                         a Dockerfile"
                    );
                    self.notes.push(ReportNote::info(&content.path, content.line(at), message));
                }
            }
        }
    }

    fn makefile(&mut self, file: usize) {
        let text = self.files[file].text.as_str();
        let Some(makefile) = self.makefiles[file].take() else { return };
        for (index, rule) in makefile.rules.iter().enumerate() {
            let download = self.download_of_rule(file, &makefile, index);
            let notes = self.notes.len();
            for line in &rule.recipe {
                let before = self.calls.len();
                self.script(file, line.clone(), Dialect::Make, CallPlace::Recipe(index));
                for call in &mut self.calls[before..] {
                    if download == Some(call.tool) {
                        call.outcome = Outcome::Kept("part of the rule that downloads the tool".to_owned());
                    }
                }
            }
            if download.is_some() {
                // The rule as a whole is noted.
                self.notes.truncate(notes);
            }
        }
        for line in &makefile.canned {
            self.script(file, line.clone(), Dialect::Make, CallPlace::Script);
        }
        for definition in makefile.definitions.iter().filter(|definition| definition.is_command) {
            self.script(file, definition.value.clone(), Dialect::Make, CallPlace::Expanded);
        }
        let values = makefile.definitions.iter().filter(|definition| !definition.is_command);
        for range in makefile.expanded.iter().chain(values.map(|definition| &definition.value)) {
            for command in shell::commands_of_functions(text, range.clone()) {
                self.command(file, &command, CallPlace::Expanded);
            }
        }
        self.makefiles[file] = Some(makefile);
    }

    /// Finds the calls in a script.
    fn script(&mut self, file: usize, range: Range<usize>, dialect: Dialect, place: CallPlace) {
        let content = &self.files[file];
        let script = shell::script(&content.text, range.clone(), dialect);
        if script.is_unclosed {
            return self.keep(file, range, "a quote or a substitution in the script has no end");
        }
        let before = self.calls.len();
        for command in script.commands {
            self.command(file, &command, place);
            self.misunderstood(file, &command);
            let (Some(first), Some(last)) = (command.words.first(), command.words.last()) else { continue };
            let is_recipe = matches!(place, CallPlace::Recipe(_));
            if let Some(tool) = download(&content.text[first.start..last.end]).filter(|_| !is_recipe) {
                let message = format!(
                    "downloads {0}: download bundle-tool instead; a link to it with the name {0} accepts calls that are kept",
                    tool.name()
                );
                self.notes.push(ReportNote::info(&content.path, content.line(first.start), message));
            }
        }
        let functions: BTreeSet<&str> =
            script.functions.iter().map(|name| &content.text[name.clone()]).collect();
        for call in &mut self.calls[before..] {
            let name = shell::unquoted(&content.text[call.program.clone()]);
            if functions.contains(name.as_str()) {
                call.outcome = Outcome::Kept(format!("the script defines a function `{name}`"));
            }
        }
    }

    /// Adds a warning for each line of a script that mentions a tool and is kept.
    fn keep(&mut self, file: usize, range: Range<usize>, reason: &str) {
        let content = &self.files[file];
        let mut at = range.start;
        for line in content.text[range].split_inclusive('\n') {
            for tool in Tool::ALL.into_iter().filter(|tool| line.contains(tool.name())) {
                let message = format!("mentions {}, and is kept: {reason}", tool.name());
                self.notes.push(ReportNote::warning(&content.path, content.line(at), message));
            }
            at += line.len();
        }
    }

    /// Adds a warning for a command that mentions a tool, unless a call in it is known.
    fn misunderstood(&mut self, file: usize, command: &Command) {
        let content = &self.files[file];
        let (Some(first), Some(last)) = (command.words.first(), command.words.last()) else { return };
        let range = first.start..last.end;
        let text = &content.text[range.clone()];
        let Some((tool, name)) = self.mentioned(file, text) else { return };
        let is_known =
            self.calls.last().is_some_and(|call| call.file == file && call.program.start >= range.start);
        let words: Vec<&str> = command.words.iter().map(|word| &content.text[word.clone()]).collect();
        let Some(reason) = reason(&words).filter(|_| !is_known) else { return };
        let at = text.find(name).map_or(range.start, |at| range.start + at);
        let line = content.line(at);
        let is_noted =
            self.notes.iter().rev().take(10).any(|note| note.file == content.path && note.line == line);
        if download(text).is_some() {
            return;
        }
        if name != tool.name() {
            *self.mentions.entry(name.to_owned()).or_default() += 1;
        }
        if !is_noted {
            let message = format!("mentions {}, and is kept: {reason}", tool.name());
            self.notes.push(ReportNote::warning(&content.path, line, message));
        }
    }

    /// Returns the tool that a command names, itself or through a variable, and the name.
    fn mentioned<'t>(&self, file: usize, command: &'t str) -> Option<(Tool, &'t str)> {
        if let Some(tool) = Tool::ALL.into_iter().find(|tool| has_program(command, *tool)) {
            return Some((tool, tool.name()));
        }
        shell::references(command).find_map(|(_, name)| {
            match self.variables.program(&format!("${{{name}}}"), file) {
                Program::Tool(tool) | Program::Unresolved(tool, _) => Some((tool, name)),
                Program::Other => None,
            }
        })
    }

    fn context(&self) -> Context<'_> {
        Context { files: self.files, variables: &self.variables, project: self.project }
    }

    fn command(&mut self, file: usize, command: &Command, place: CallPlace) {
        match self.context().call(file, command, place) {
            Some(Found::Call(call)) => self.calls.push(*call),
            Some(Found::Unresolved(tool, name, at)) => {
                let content = &self.files[file];
                let message = format!(
                    "cannot tell whether `{name}` is {0}, so the line is kept: define it as a path that ends with {0}, or change \
                     the line manually",
                    tool.name()
                );
                self.notes.push(ReportNote::warning(&content.path, content.line(at), message));
            }
            None => {}
        }
    }

    fn list(&mut self, file: usize, list: &[(Range<usize>, String)]) {
        let call = self.context().list(file, list);
        self.calls.extend(call);
    }

    /// Returns the tool that the recipe of a rule downloads.
    pub(crate) fn download_of_rule(&self, file: usize, makefile: &Makefile, rule: usize) -> Option<Tool> {
        let text = &self.files[file].text;
        makefile.rules[rule].recipe.iter().find_map(|line| download(&text[line.clone()]))
    }
}

/// Returns whether a command names the program of a tool, and not only a file or an image whose name contains that of the tool.
fn has_program(command: &str, tool: Tool) -> bool {
    let is_before =
        |text: &str| text.is_empty() || text.ends_with(|char: char| " \t\n/\"'`(;|&=".contains(char));
    let is_behind =
        |text: &str| text.is_empty() || text.starts_with(|char: char| " \t\n\"'`);|&".contains(char));
    command
        .match_indices(tool.name())
        .any(|(at, name)| is_before(&command[..at]) && is_behind(&command[at + name.len()..]))
}

const LOOKS_FOR_PROGRAM: &str =
    "it looks for the program; look for bundle-tool instead if the calls become native";

/// Returns why a command that mentions a tool is not understood; `None` if it only prints, tests or moves something.
fn reason(words: &[&str]) -> Option<&'static str> {
    const HARMLESS: [&str; 26] = [
        "echo", "printf", "[", "[[", "test", "chmod", "chown", "rm", "mv", "cp", "ln", "mkdir", "tar",
        "unzip", "install", "export", "cd", "cat", "grep", "git", "for", "case", "function", "local", "sed",
        "make",
    ];
    let is_keyword = |word: &&str| {
        matches!(*word, "if" | "then" | "else" | "elif" | "while" | "until" | "do" | "!" | "{" | "sudo")
    };
    let start = words.iter().take_while(|word| is_keyword(word)).count();
    let [program, rest @ ..] = &words[start..] else { return None };
    let program = program.trim_start_matches(['@', '-', '+']);
    let is_name = |name: &str| name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    if program.split_once('=').is_some_and(|(name, _)| is_name(name)) {
        return None;
    }
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_string =
        rest.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
    let is_file_test = matches!(program, "[" | "[[" | "test")
        && rest.iter().any(|word| matches!(*word, "-x" | "-f" | "-e" | "-s" | "-r"));
    match program {
        _ if is_file_test => Some(LOOKS_FOR_PROGRAM),
        "command" | "which" | "type" | "hash" => Some(LOOKS_FOR_PROGRAM),
        "eval" => Some("`eval` runs a string; change it manually"),
        name if shell::is_posix(name) && is_string => Some("a shell runs a string; change it manually"),
        // Calls that were replaced before.
        name if name.contains("bundle-tool") || name.contains("BUNDLE_TOOL") => None,
        name if HARMLESS.contains(&name) || name.contains('=') => None,
        _ => Some("the command is not understood; change it manually if it runs the program"),
    }
}

/// Returns the tool that a command downloads.
fn download(command: &str) -> Option<Tool> {
    const PROGRAMS: [&str; 7] =
        ["curl", "wget", "go install", "go get", "go-install-tool", "go-get-tool", "gh release"];
    if !PROGRAMS.iter().any(|program| command.contains(program)) {
        return None;
    }
    // The releases of operator-sdk also contain other programs.
    let is_program = |(at, name): (usize, &str)| !command[at + name.len()..].starts_with('/');
    let has_variable =
        |name: &str| [format!("$({name})"), format!("${{{name}}}")].iter().any(|word| command.contains(word));
    let has_word =
        |name: &str| command.split(|char: char| !char.is_ascii_alphanumeric()).any(|part| part == name);
    if command.match_indices("operator-sdk").any(is_program) || has_variable("OPERATOR_SDK") {
        Some(Tool::OperatorSdk)
    } else if command.contains("operator-registry") || has_word("opm") || has_variable("OPM") {
        Some(Tool::Opm)
    } else {
        None
    }
}

/// Returns the assignments at the beginning of a command of a script: names, and the ranges of values.
fn assignments<'t>(text: &'t str, command: &Command) -> Vec<(&'t str, Range<usize>)> {
    let mut found = Vec::new();
    for word in &command.words {
        let raw = &text[word.clone()];
        if matches!(raw, "export" | "local" | "readonly" | "declare") || raw.starts_with('-') {
            continue;
        }
        match raw.split_once('=') {
            Some((name, _)) if name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_') => {
                found.push((name, word.start + name.len() + 1..word.end));
            }
            _ => break,
        }
    }
    found
}

/// Returns the range of a value without the quotes around it.
fn without_quotes(text: &str, value: Range<usize>) -> Range<usize> {
    let raw = &text[value.clone()];
    let inner = ['"', '\''].iter().find_map(|quote| raw.strip_prefix(*quote)?.strip_suffix(*quote));
    match inner {
        Some(inner) if !inner.contains(['"', '\'', '\\']) => value.start + 1..value.end - 1,
        _ => value,
    }
}
