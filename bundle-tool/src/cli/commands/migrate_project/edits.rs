//! Decides on the changes of all files, once all calls are known.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::calls::{self, Call, CallPlace, Change, Outcome};
use super::files::{File, Kind};
use super::makefile::Rule;
use super::report::{CallResult, CallRow, FileChange, Report, ReportNote};
use super::scan::Scan;
use super::variables::{Definition, Program, VARIABLE};
use super::{shell, yaml};
use crate::cli::dropin::Tool;

impl Scan<'_> {
    /// Decides on all changes.
    pub(crate) fn finish(mut self) -> Report {
        self.calls.sort_by_key(|call| (call.file, call.program.start));
        let mut changes = self.changes();
        // A file that would no longer be the same YAML is kept.
        let broken: BTreeSet<usize> =
            (0..self.files.len()).filter(|file| self.is_broken(*file, &changes)).collect();
        if !broken.is_empty() {
            for call in self.calls.iter_mut().filter(|call| broken.contains(&call.file)) {
                call.outcome =
                    Outcome::Kept("the file would not be the same YAML with the change".to_owned());
            }
            changes = self.changes();
        }
        for file in 0..self.files.len() {
            self.prerequisites(file, &mut changes);
        }
        self.definitions();
        self.notes.sort();
        self.notes.dedup();
        changes.sort();
        changes.dedup();
        let rows = self.calls.iter().map(|call| self.row(call)).collect();
        let files: BTreeSet<usize> = changes.iter().map(|change| change.file).collect();
        let changes = files.into_iter().map(|file| {
            let File { path, text, .. } = &self.files[file];
            let of_file = changes.iter().filter(|change| change.file == file);
            FileChange { path: path.clone(), old: text.clone(), new: apply(text, of_file) }
        });
        let changes = changes.filter(|change| change.old != change.new).collect();
        Report { calls: rows, notes: self.notes, changes }
    }

    /// Returns the sorted changes that the calls require.
    fn changes(&mut self) -> Vec<Change> {
        let mut changes = calls::agree(&mut self.calls, self.files);
        for call in &self.calls {
            changes.extend(call.changes(self.files));
        }
        for file in 0..self.files.len() {
            self.variable(file, &mut changes);
        }
        changes.sort();
        changes.dedup();
        changes
    }

    /// Returns whether a YAML file would have another structure with its changes.
    fn is_broken(&self, file: usize, changes: &[Change]) -> bool {
        let File { kind, text, .. } = &self.files[file];
        let mut of_file = changes.iter().filter(|change| change.file == file).peekable();
        matches!(kind, Kind::Pipeline | Kind::Tekton)
            && of_file.peek().is_some()
            && !yaml::has_same_shape(text, &apply(text, of_file))
    }

    fn row(&self, call: &Call) -> CallRow {
        let content = &self.files[call.file];
        let (result, reason) = match &call.outcome {
            Outcome::Native(_) => (CallResult::Native, None),
            Outcome::Adapter(reason) => (CallResult::Adapter, Some(reason.clone())),
            Outcome::Kept(reason) => (CallResult::Kept, Some(reason.clone())),
        };
        CallRow {
            file: content.path.clone(),
            line: content.line(call.program.start),
            tool: call.tool.name(),
            call: call.line.clone(),
            result,
            replacement: call.new_line(self.files),
            reason,
        }
    }

    /// Removes the rules that download a tool from the prerequisites of rules that no longer call it.
    fn prerequisites(&mut self, file: usize, changes: &mut Vec<Change>) {
        let Some(makefile) = &self.makefiles[file] else { return };
        let content = &self.files[file];
        let text = &content.text;
        let mut downloads: Vec<(usize, Tool)> = Vec::new();
        for rule in 0..makefile.rules.len() {
            downloads.extend(self.download_of_rule(file, makefile, rule).map(|tool| (rule, tool)));
        }
        for tool in Tool::ALL {
            let downloads: Vec<&Rule> = downloads
                .iter()
                .filter(|(_, downloaded)| *downloaded == tool)
                .map(|(rule, _)| &makefile.rules[*rule])
                .collect();
            if downloads.is_empty() {
                continue;
            }
            let mut targets: BTreeSet<&str> =
                downloads.iter().flat_map(|rule| &rule.targets).map(String::as_str).collect();
            // A rule without a recipe is another name of its prerequisite.
            for rule in &makefile.rules {
                if let [prerequisite] = &rule.prerequisites[..]
                    && rule.recipe.is_empty()
                    && targets.contains(&text[prerequisite.clone()])
                {
                    targets.extend(
                        rule.targets.iter().map(String::as_str).filter(|name| !name.starts_with('.')),
                    );
                }
            }
            let mut calls: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
            for call in self.calls.iter().filter(|call| call.file == file && call.tool == tool) {
                if let CallPlace::Recipe(rule) = call.place {
                    calls.entry(rule).or_default().push(call.is_replaced());
                }
            }
            let names = self.names(file, tool);
            let mut is_required = false;
            for (index, rule) in makefile.rules.iter().enumerate() {
                let required = |word: &&Range<usize>| targets.contains(&text[(*word).clone()]);
                if rule.recipe.is_empty() || !rule.prerequisites.iter().any(|word| required(&word)) {
                    continue;
                }
                let calls = calls.get(&index).map_or(&[][..], Vec::as_slice);
                let mentions = |line: &Range<usize>| mentions(&text[line.clone()], tool, &names);
                let is_free = !calls.is_empty()
                    && calls.iter().all(|is_replaced| *is_replaced)
                    && !rule.recipe.iter().any(|line| runs_others(&text[line.clone()]))
                    && rule.recipe.iter().map(mentions).sum::<usize>() == calls.len();
                is_required |= !is_free;
                for word in rule.prerequisites.iter().filter(|word| is_free && required(word)) {
                    let start = text[..word.start].trim_end_matches([' ', '\t']).len();
                    changes.push(Change { file, start, end: word.end, text: String::new() });
                }
            }
            for rule in downloads {
                let (rule_name, tool) = (rule.targets.join(" "), tool.name());
                let message = if is_required {
                    format!("`{rule_name}` downloads {tool}, which other rules still require")
                } else {
                    format!(
                        "`{rule_name}` downloads {tool}, which no rule requires any longer; remove the rule, and install \
                         bundle-tool instead"
                    )
                };
                self.notes.push(ReportNote::info(&content.path, content.line(rule.start), message));
            }
        }
    }

    /// Returns the variables that name a tool in a file, or whose value contains such a variable or the name of the tool.
    fn names(&self, file: usize, tool: Tool) -> BTreeSet<&str> {
        let is_tool = |name: &str| self.variables.program(&format!("$({name})"), file) == Program::Tool(tool);
        let is_named = |definition: &Definition| mentions(&definition.text, tool, &BTreeSet::new()) > 0;
        let variables = self.variables.iter();
        let own = variables.filter(|(name, definitions)| is_tool(name) || definitions.iter().any(is_named));
        let mut names = own.map(|(name, _)| name).collect();
        self.variables.add_users(&mut names);
        names
    }

    /// Defines the variable with the name of the program in a Makefile that uses it.
    fn variable(&mut self, file: usize, changes: &mut Vec<Change>) {
        let File { kind, text, .. } = &self.files[file];
        let is_used = self.calls.iter().any(|call| call.file == file && call.is_replaced());
        let is_defined =
            |definition: &Definition| definition.file == file && is_global(text, definition.start);
        let definitions = self.variables.of_name(VARIABLE);
        let is_other = !self.variables.is_always(VARIABLE, "bundle-tool");
        if *kind != Kind::Makefile || !is_used || is_other || definitions.iter().any(is_defined) {
            return;
        }
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let at = behind_header(text);
        let text = format!("{VARIABLE} ?= bundle-tool{newline}{newline}");
        changes.push(Change { file, start: at, end: at, text });
    }

    /// Adds notes on the definitions of variables that name a tool.
    fn definitions(&mut self) {
        let mut notes = Vec::new();
        let mut called: BTreeMap<String, usize> = BTreeMap::new();
        for call in self.calls.iter().filter(|call| call.place != CallPlace::List) {
            let program = shell::unquoted(&self.files[call.file].text[call.program.clone()]);
            if let Some(name) = shell::variable(&program) {
                *called.entry(name.to_owned()).or_default() += usize::from(!call.is_replaced());
            }
        }
        for (name, count) in &self.mentions {
            *called.entry(name.clone()).or_default() += count;
        }
        for (name, definitions) in self.variables.iter() {
            let Some(kept) = called.get(name) else { continue };
            for definition in definitions {
                let Some(tool) = self.variables.tool(&definition.text, definition.file, 0) else { continue };
                let content = &self.files[definition.file];
                let tool = tool.name();
                let message = match kept {
                    0 => format!(
                        "no call uses `{name}` ({tool}) any longer; remove the variable if nothing else uses it"
                    ),
                    1 => format!("`{name}` ({tool}) is still used by 1 command that is kept"),
                    kept => format!("`{name}` ({tool}) is still used by {kept} commands that are kept"),
                };
                notes.push(ReportNote::info(&content.path, content.line(definition.start), message));
            }
        }
        for (file, content) in self.files.iter().enumerate() {
            let mut replaced = self.calls.iter().filter(|call| call.file == file && call.is_replaced());
            if let Some(call) = replaced
                .next()
                .filter(|_| matches!(content.kind, Kind::Pipeline | Kind::Tekton | Kind::Dockerfile))
            {
                let line = content.line(call.program.start);
                let message = "bundle-tool must be installed where this command runs".to_owned();
                notes.push(ReportNote::info(&content.path, line, message));
            }
        }
        self.notes.extend(notes);
    }
}

/// Returns how many words of a line name a tool: by its name, or by a reference to one of the variables.
fn mentions(line: &str, tool: Tool, names: &BTreeSet<&str>) -> usize {
    let variables = shell::references(line).filter(|(_, name)| names.contains(name)).count();
    let is_end = |rest: &str| !rest.starts_with(|char: char| char.is_ascii_alphanumeric() || char == '_');
    let is_start =
        |before: &str| before.is_empty() || before.ends_with(|char: char| " \t/\"'`(;|&=".contains(char));
    let programs = line
        .match_indices(tool.name())
        .filter(|(at, name)| is_start(&line[..*at]) && is_end(&line[at + name.len()..]));
    variables + programs.count()
}

/// Returns whether a line of a recipe may run what other lines of the project define: functions, scripts, other Makefiles.
fn runs_others(line: &str) -> bool {
    const OTHERS: [&str; 7] = ["$(MAKE)", "${MAKE}", "$(call ", "${call ", "$(shell ", "${shell ", "PATH="];
    let is_program = |command: &str| command.trim_start_matches(['@', '-', '+', ' ', '\t']).starts_with("./");
    let is_script = |word: &str| word.trim_matches(['"', '\'', ')', ';']).strip_suffix(".sh").is_some();
    OTHERS.iter().any(|part| line.contains(part))
        || line.split([';', '&', '|', '(', '`']).any(is_program)
        || line.split_whitespace().any(is_script)
}

/// Returns whether a definition begins its line, so that it is not one for a single target.
fn is_global(text: &str, start: usize) -> bool {
    text[..start].rsplit('\n').next().is_none_or(|before| before.trim().is_empty())
}

/// Returns the position behind the comment at the beginning of a file that is not that of the first line.
fn behind_header(text: &str) -> usize {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    // The first line may name the interpreter.
    let interpreter = if text[start..].starts_with("#!") {
        text[start..].find('\n').map_or(text.len(), |end| start + end + 1)
    } else {
        start
    };
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        if line.trim().is_empty() {
            return if at == start { start } else { at + line.len() };
        }
        if !line.starts_with('#') {
            break;
        }
        at += line.len();
    }
    interpreter
}

/// Returns a text with its changes, which are sorted. Of changes that overlap, the first is made.
fn apply<'c>(text: &str, changes: impl Iterator<Item = &'c Change>) -> String {
    let mut new = String::with_capacity(text.len());
    let mut at = 0;
    for change in changes {
        if change.start >= at {
            new.push_str(&text[at..change.start]);
            new.push_str(&change.text);
            at = change.end;
            // A definition without its only words has no space at its end.
            if change.text.is_empty() && text[at..].starts_with(['\n', '\r']) {
                new.truncate(new.trim_end_matches([' ', '\t']).len());
            }
        }
    }
    new.push_str(&text[at..]);
    new
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cli::dropin::ProjectFacts;

    /// Parts of Makefiles, scripts, YAML and Dockerfiles.
    const PARTS: [&str; 52] = [
        "operator-sdk bundle validate x",
        "opm render $(A) x --verbose",
        "$(OPM) index add -b x",
        "operator-sdk -n y run bundle x --skip-tls",
        "operator-sdk",
        "opm",
        "$(OPM)",
        "${OPERATOR_SDK}",
        "OPM = bin/opm",
        "A = --verbose",
        "$(A)",
        " bundle",
        " validate",
        " render",
        " index add",
        " version",
        " --verbose",
        " -q",
        " -o yaml",
        " -n",
        " x",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "\\\n",
        "\n\t",
        "a: b\n",
        "\"",
        "'",
        "$",
        "(",
        ")",
        "{",
        "}",
        "|",
        ">",
        "<<E",
        "\nE\n",
        "#",
        "`",
        "\\",
        ";",
        "&&",
        "=",
        ":",
        "é",
        "- run: ",
        "RUN ",
        "xargs ",
        "$(shell ",
    ];

    fn scanned(files: &[File]) -> Report {
        let project = ProjectFacts::default();
        let mut scan = Scan::new(files, &project, Vec::new());
        for file in 0..files.len() {
            scan.file(file);
        }
        scan.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_file_is_read_and_replaced_calls_are_not_found_again(
            parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40)
        ) {
            let text = parts.concat();
            for kind in [Kind::Makefile, Kind::Shell, Kind::Pipeline, Kind::Tekton, Kind::Dockerfile] {
                let report = scanned(&[File::new("f".to_owned(), kind, text.clone())]);
                let Some(change) = report.changes.first() else { continue };
                let again = scanned(&[File::new("f".to_owned(), kind, change.new.clone())]);
                prop_assert!(again.changes.is_empty(), "{kind:?} {text:?} {:?} {:?}", change.new, again.changes);
            }
        }
    }
}
