//! The variables of Makefiles and scripts: which of them name a tool, and which contain flags.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::files::File;
use super::{makefile, shell};
use crate::cli::dropin::Tool;

/// The variable with the name of the program in changed Makefiles.
pub(super) const VARIABLE: &str = "BUNDLE_TOOL";

/// The maximum number of variables that are followed one after the other.
const MAX_DEPTH: usize = 16;
/// The maximum number of definitions of a variable.
const MAX_DEFINITIONS: usize = 100;
/// The maximum number of variables that are searched for flags.
const MAX_SEARCHED: usize = 1000;
/// The maximum number of words of a definition that are searched for flags.
const MAX_WORDS: usize = 1000;
/// The endings of files that are no programs.
const FILES: [&str; 9] = [".sh", ".py", ".md", ".mk", ".yaml", ".yml", ".json", ".gz", ".txt"];

/// A definition.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    /// The position of the file in the list of files.
    pub(super) file: usize,
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    pub(super) text: String,
    /// Whether a Makefile contains it.
    pub(super) is_make: bool,
}

/// The definitions of all files, by name.
#[derive(Debug, Default)]
pub(super) struct Variables {
    definitions: BTreeMap<String, Vec<Definition>>,
    /// The variables whose definitions refer to a variable, by its name.
    users: BTreeMap<String, BTreeSet<String>>,
    /// The tools that variables name, by name and file. A variable is in here while it is resolved, which ends cycles.
    tools: RefCell<BTreeMap<(String, usize), Option<Tool>>>,
    /// Whether variables contain flags, by name and file.
    flags: RefCell<BTreeMap<(String, usize), bool>>,
}

/// What a word that is a program names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    Tool(Tool),
    /// A variable that by its name should be a tool, but is not defined as one.
    Unresolved(Tool, String),
    Other,
}

impl Variables {
    /// Adds a definition. Those above the maximum number are ignored.
    pub(super) fn add(&mut self, name: &str, definition: Definition) {
        let definitions = self.definitions.entry(name.to_owned()).or_default();
        if definitions.len() < MAX_DEFINITIONS {
            for (_, used) in shell::references(&definition.text) {
                self.users.entry(used.to_owned()).or_default().insert(name.to_owned());
            }
            definitions.push(definition);
        }
    }

    /// Adds the variables whose definitions refer to one of `names`, directly or through other variables.
    pub(super) fn add_users<'v>(&'v self, names: &mut BTreeSet<&'v str>) {
        let mut new: Vec<&str> = names.iter().copied().collect();
        while let Some(name) = new.pop() {
            let users = self.users.get(name).into_iter().flatten().map(String::as_str);
            new.extend(users.filter(|user| names.insert(user)));
        }
    }

    /// Returns the names and definitions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[Definition])> {
        self.definitions.iter().map(|(name, definitions)| (name.as_str(), definitions.as_slice()))
    }

    /// Returns the definitions of a variable: those in the file or, if it has none, those in Makefiles, or those in scripts.
    pub(super) fn definitions(&self, name: &str, file: usize) -> Vec<&Definition> {
        let all = self.definitions.get(name).map_or(&[][..], Vec::as_slice);
        let of = |is_nearest: &dyn Fn(&Definition) -> bool| -> Vec<&Definition> {
            all.iter().filter(|definition| is_nearest(definition)).collect()
        };
        let own = of(&|definition| definition.file == file);
        let makefiles = if own.is_empty() { of(&|definition| definition.is_make) } else { own };
        if makefiles.is_empty() { all.iter().collect() } else { makefiles }
    }

    /// Returns the definitions of a variable in all files.
    pub(super) fn of_name(&self, name: &str) -> &[Definition] {
        self.definitions.get(name).map_or(&[][..], Vec::as_slice)
    }

    /// Returns whether all definitions of a variable name a program.
    pub(super) fn is_always(&self, name: &str, program: &str) -> bool {
        self.of_name(name).iter().all(|definition| {
            let value = shell::unquoted(&definition.text);
            let value = looked_up(&value).unwrap_or(&value);
            value.rsplit('/').next().is_some_and(|name| name.starts_with(program))
        })
    }

    /// Returns what a word in a file names as a program.
    pub(super) fn program(&self, raw: &str, file: usize) -> Program {
        let word = shell::unquoted(raw);
        if let Some(tool) = self.tool(&word, file, 0) {
            return Program::Tool(tool);
        }
        match shell::variable(&word).and_then(|name| Some((by_name(name)?, name))) {
            Some((tool, name)) => Program::Unresolved(tool, name.to_owned()),
            None => Program::Other,
        }
    }

    /// Returns the tool that a value names.
    pub(super) fn tool(&self, value: &str, file: usize, depth: usize) -> Option<Tool> {
        if depth > MAX_DEPTH {
            return None;
        }
        let value = value.trim().trim_matches(['"', '\'']);
        if let Some(name) = shell::variable(value) {
            let key = (name.to_owned(), file);
            if let Some(found) = self.tools.borrow().get(&key) {
                return *found;
            }
            self.tools.borrow_mut().insert(key.clone(), None);
            let found = self.named(name, file, depth);
            self.tools.borrow_mut().insert(key, found);
            return found;
        }
        if let Some(program) = looked_up(value) {
            return self.tool(program, file, depth + 1);
        }
        if let Some((_, default)) =
            value.strip_prefix("${").and_then(|rest| rest.split_once(":-").or(rest.split_once(":=")))
        {
            return self.tool(default.strip_suffix('}')?, file, depth + 1);
        }
        let name = value.rsplit('/').next()?;
        let is_file = FILES.iter().any(|ending| name.ends_with(ending));
        let is_word = !name.contains(|char: char| char.is_whitespace() && !name.contains("$("));
        Tool::of_program(name).filter(|_| !is_file && is_word)
    }
}

impl Variables {
    /// Returns whether a variable contains flags.
    pub(super) fn has_flags(&self, name: &str, file: usize, files: &[File]) -> bool {
        let mut seen = BTreeSet::new();
        let has_flags = self.search_flags(name, file, files, &mut seen);
        if !has_flags && seen.len() < MAX_SEARCHED {
            // All that was reached was searched completely.
            self.flags.borrow_mut().extend(seen.into_iter().map(|key| (key, false)));
        }
        has_flags
    }

    /// Searches the definitions of a variable. `seen` are the variables that were looked at, which ends cycles.
    fn search_flags(
        &self,
        name: &str,
        file: usize,
        files: &[File],
        seen: &mut BTreeSet<(String, usize)>,
    ) -> bool {
        let key = (name.to_owned(), file);
        if let Some(found) = self.flags.borrow().get(&key) {
            return *found;
        }
        if seen.len() >= MAX_SEARCHED || !seen.insert(key.clone()) {
            return false;
        }
        let has_flags = self.definitions(name, file).iter().any(|definition| {
            let text = &files[definition.file].text;
            makefile::words(text, definition.value.clone()).iter().take(MAX_WORDS).any(|word| {
                let word = &text[word.clone()];
                word.starts_with('-')
                    || shell::variable(word)
                        .is_some_and(|other| self.search_flags(other, definition.file, files, seen))
            })
        });
        if has_flags {
            self.flags.borrow_mut().insert(key, true);
        }
        has_flags
    }

    /// Returns the tool that all definitions of a variable name.
    fn named(&self, name: &str, file: usize, depth: usize) -> Option<Tool> {
        let definitions = self.definitions(name, file);
        let mut tools = definitions.iter().map(|one| self.tool(&one.text, one.file, depth + 1));
        let first = tools.next()??;
        tools.all(|tool| tool == Some(first)).then_some(first)
    }
}

/// Returns the program that `which` or `command -v` looks up in a substitution.
fn looked_up(value: &str) -> Option<&str> {
    let inner = value
        .trim_start_matches('$')
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
        .or_else(|| value.strip_prefix('`')?.strip_suffix('`'))?;
    let mut words = inner.split_whitespace().filter(|word| *word != "shell");
    match (words.next()?, words.next()?) {
        ("which", program) => Some(program),
        ("command" | "type", "-v" | "-p" | "-P") => words.next(),
        _ => None,
    }
}

/// Returns the tool that a variable names by its own name.
fn by_name(name: &str) -> Option<Tool> {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let rest = |prefix: &str| upper.strip_prefix(prefix).map(str::to_owned);
    let is_program =
        |rest: String| matches!(rest.as_str(), "" | "_BIN" | "_BINARY" | "_PATH" | "_CMD" | "_TOOL" | "_CLI");
    if rest("OPERATOR_SDK").is_some_and(is_program) {
        Some(Tool::OperatorSdk)
    } else if rest("OPM").is_some_and(is_program) {
        Some(Tool::Opm)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_in_linear_time() {
        // Each variable refers to the one before.
        let chain = |length: usize| {
            let mut variables = Variables::default();
            for number in 1..length {
                let text = format!("$(V{})", number - 1);
                let definition = Definition { file: 0, start: 0, value: 0..0, text, is_make: true };
                variables.add(&format!("V{number}"), definition);
            }
            variables
        };
        let users = |variables: Variables| {
            let mut names = BTreeSet::from(["V0"]);
            variables.add_users(&mut names);
            names.len()
        };
        assert_eq!(users(chain(1000)), 1000);
        let growth = test_support::growth(2000, chain, |variables| assert!(users(variables) > 0));
        assert!(growth < test_support::LINEAR, "{growth}");
    }

    #[test]
    fn values_name_tools() {
        let mut variables = Variables::default();
        let mut add = |name: &str, text: &str| {
            variables.add(
                name,
                Definition { file: 0, start: 0, value: 0..0, text: text.to_owned(), is_make: true },
            );
        };
        add("OPERATOR_SDK", "$(LOCALBIN)/operator-sdk");
        add("OPERATOR_SDK", "$(shell which operator-sdk 2>/dev/null)");
        add("SDK", "$(OPERATOR_SDK)");
        add("LOOP", "$(LOOP)");
        add("OPM", "$(call path,opm)");
        add("MIXED", "opm");
        add("MIXED", "operator-sdk");
        let program = |word: &str| variables.program(word, 0);
        for (word, tool) in [
            ("operator-sdk", Tool::OperatorSdk),
            ("./bin/operator-sdk-v1.2", Tool::OperatorSdk),
            ("$(OPERATOR_SDK)", Tool::OperatorSdk),
            ("\"${SDK}\"", Tool::OperatorSdk),
            ("$(LOCALBIN)/opm", Tool::Opm),
            ("$(shell command -v opm)", Tool::Opm),
            ("${OPM_X:-/usr/bin/opm}", Tool::Opm),
            ("$(LOCALBIN)/opm-$(OPM_VERSION)", Tool::Opm),
        ] {
            assert_eq!(program(word), Program::Tool(tool), "{word}");
        }
        assert_eq!(program("$(OPM)"), Program::Unresolved(Tool::Opm, "OPM".to_owned()));
        assert_eq!(program("${OPM_BIN}"), Program::Unresolved(Tool::Opm, "OPM_BIN".to_owned()));
        for word in ["$(LOOP)", "$(MIXED)", "opm.sh", "opmx", "$(OPM_VERSION)", "hack/opm.tar.gz"] {
            assert_eq!(program(word), Program::Other, "{word}");
        }
    }
}
