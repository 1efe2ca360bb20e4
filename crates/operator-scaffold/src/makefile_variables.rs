//! The variables of a Makefile, as far as they can be known without running it.
//!
//! Source: "How to Use Variables", "Including Other Makefiles" and "Conditional Parts of Makefiles" of the manual of GNU make.

use std::collections::{BTreeMap, BTreeSet};

/// The names of the Makefile, of which make reads the first that exists.
const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// The maximum size of a Makefile and of what it includes together, in bytes; what exceeds it is not read.
const MAX_SIZE: usize = 16 << 20;
/// The maximum number of names and patterns of included files.
const MAX_PATTERNS: usize = 1000;
/// The maximum number of assignments to a variable.
const MAX_ASSIGNMENTS: usize = 100;
/// The maximum depth of references.
const MAX_DEPTH: usize = 8;
/// The maximum length of a value in bytes; longer ones are ignored.
const MAX_VALUE: usize = 1024;

/// The maximum number of references that are followed for a variable.
const MAX_LOOKUPS: usize = 1000;

/// The assignments of a Makefile and of the files that it includes, outside recipes and `define`.
#[derive(Debug, Default)]
pub(crate) struct Makefile {
    assignments: BTreeMap<String, Vec<Assignment>>,
}

#[derive(Debug)]
struct Assignment {
    operator: Operator,
    /// Whether it depends on a condition.
    is_conditional: bool,
    value: String,
}

#[derive(Debug, Clone, Copy)]
enum Operator {
    /// `=`, `:=` or `::=`
    Set,
    /// `?=`
    IfUnset,
    /// `+=`
    Add,
}

/// Where a line is.
#[derive(Default)]
struct State {
    is_defining: bool,
    /// The number of conditions around it.
    conditions: usize,
}

impl Makefile {
    /// Reads the Makefile among `files`, whose texts `text` returns.
    ///
    /// # Errors
    /// As `text`.
    pub(crate) fn read<E>(
        files: &[String],
        text: &mut impl FnMut(&str) -> Result<Option<String>, E>,
    ) -> Result<Self, E> {
        // Nothing else is read of them.
        let matters = |line: &&str| {
            line.contains('=') || ["define", "endef", "include", "if"].iter().any(|word| line.contains(word))
        };
        let mut size = 0;
        let mut reversed = |text: String| {
            size += text.len();
            let text = if size <= MAX_SIZE { text } else { String::new() };
            let (mut lines, mut whole) = (Vec::new(), String::new());
            for line in text.trim_start_matches('\u{feff}').lines() {
                if let Some(start) = line.strip_suffix('\\') {
                    whole.extend([start, " "]);
                } else {
                    whole.push_str(line);
                    lines.push(std::mem::take(&mut whole));
                }
            }
            lines.push(whole);
            lines.retain(|line| matters(&line.as_str()));
            lines.reverse();
            lines
        };
        let (mut included, mut patterns) = (BTreeSet::new(), 0);
        let name = NAMES.into_iter().find(|name| files.iter().any(|file| file == name)).unwrap_or_default();
        let mut rest = reversed(text(name)?.unwrap_or_default());
        let (mut makefile, mut state) = (Self::default(), State::default());
        while let Some(line) = rest.pop() {
            let mut words = line.split_whitespace();
            if line.starts_with('\t') {
                continue;
            }
            if !matches!(words.next(), Some("include" | "-include" | "sinclude")) {
                makefile.add(&line, &mut state);
                continue;
            }
            for pattern in words.rev().map(in_project).take(MAX_PATTERNS.saturating_sub(patterns)) {
                patterns += 1;
                for path in matching(files, pattern).rev() {
                    if included.insert(path.to_owned()) {
                        rest.extend(reversed(text(path)?.unwrap_or_default()));
                    }
                }
            }
        }
        Ok(makefile)
    }

    fn add(&mut self, line: &str, state: &mut State) {
        let mut line = line.trim();
        match line.split([' ', '\t', '(']).next() {
            Some("define") => state.is_defining = true,
            Some("endef") => state.is_defining = false,
            Some("ifeq" | "ifneq" | "ifdef" | "ifndef") => state.conditions += 1,
            Some("endif") => state.conditions = state.conditions.saturating_sub(1),
            _ => {}
        }
        while let Some(rest) = ["export ", "override "].iter().find_map(|word| line.strip_prefix(word)) {
            line = rest.trim_start();
        }
        let Some((before, value)) = line.split_once('=').filter(|_| !state.is_defining) else { return };
        let value = value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        if value.chars().any(char::is_control) {
            return;
        }
        let before = before.trim_end();
        let operator = match before.chars().next_back() {
            Some('?') => Operator::IfUnset,
            Some('+') => Operator::Add,
            _ => Operator::Set,
        };
        let name = before.trim_end_matches(['?', ':', '+', ' ', '\t']).to_owned();
        let is_conditional = state.conditions > 0;
        let assignment = Assignment { operator, is_conditional, value: value.to_owned() };
        let all = self.assignments.entry(name).or_default();
        if all.len() < MAX_ASSIGNMENTS && assignment.value.len() <= MAX_VALUE {
            all.push(assignment);
        }
    }

    /// Returns the values that a variable may have: first the one that it has whatever the conditions are, then those that depend on
    /// conditions, in order. References to other variables are replaced, if their values are known.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        self.values_below(name, MAX_DEPTH, &mut { MAX_LOOKUPS })
    }

    fn values_below(&self, name: &str, depth: usize, lookups: &mut usize) -> Vec<String> {
        let (mut always, mut sometimes) = (None::<String>, Vec::new());
        for Assignment { operator, is_conditional, value } in self.assignments.get(name).into_iter().flatten()
        {
            match operator {
                _ if *is_conditional => sometimes.push(value.clone()),
                Operator::IfUnset => _ = always.get_or_insert_with(|| value.clone()),
                Operator::Add => {
                    let all = always.get_or_insert_default();
                    if all.len() + value.len() < MAX_VALUE {
                        all.push_str(if all.is_empty() { "" } else { " " });
                        all.push_str(value);
                    }
                }
                Operator::Set => always = Some(value.clone()),
            }
        }
        let values = always.into_iter().chain(sometimes).map(|value| self.expanded(&value, depth, lookups));
        values.filter(|value| !value.is_empty()).collect()
    }

    /// Returns a value with the values of the variables that it refers to; references to others are kept.
    fn expanded(&self, value: &str, depth: usize, lookups: &mut usize) -> String {
        if depth == 0 || value.len() > MAX_VALUE {
            return value.to_owned();
        }
        let mut text = String::new();
        let mut rest = value;
        while let Some(at) = rest.find('$') {
            let (before, reference) = rest.split_at(at);
            text.push_str(before);
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            let close = if reference.starts_with("$(") { ')' } else { '}' };
            let inner =
                reference.get(2..).filter(|_| reference.starts_with("$(") || reference.starts_with("${"));
            let name = inner.and_then(|inner| inner.split_once(close)).map(|(name, _)| name);
            let known =
                name.filter(|name| !name.is_empty() && name.chars().all(is_of_name)).and_then(|name| {
                    *lookups = lookups.checked_sub(1)?;
                    Some((name, self.values_below(name, depth - 1, lookups).into_iter().next()?))
                });
            match known {
                Some((name, value)) if text.len() + value.len() <= MAX_VALUE => {
                    text.push_str(&value);
                    rest = &reference[name.len() + 3..];
                }
                _ => {
                    text.push('$');
                    rest = &reference[1..];
                }
            }
        }
        text.push_str(rest);
        text
    }
}

/// Returns the file whose contents are a value: that of `$(shell cat FILE)` or `$(file < FILE)`.
pub(crate) fn file_of(value: &str) -> Option<&str> {
    let inner = value.strip_prefix("$(")?.strip_suffix(')')?;
    let mut words = inner.split_whitespace();
    let path = match (words.next()?, words.next()?) {
        ("shell", "cat") | ("file", "<") => words.next()?,
        ("file", path) => path.strip_prefix('<')?,
        _ => return None,
    };
    words.next().is_none().then(|| in_project(path))
}

/// Returns a path relative to the project's root.
fn in_project(path: &str) -> &str {
    let path = ["$(CURDIR)/", "${CURDIR}/"].iter().find_map(|root| path.strip_prefix(root)).unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path)
}

/// Returns the files at a path whose name may contain `*`.
fn matching<'f>(files: &'f [String], pattern: &str) -> impl DoubleEndedIterator<Item = &'f str> {
    let (directory, name) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let matches = move |path: &&str| {
        let (in_directory, file) = path.rsplit_once('/').unwrap_or(("", path));
        let is_match = match name.split_once('*') {
            Some((start, end)) => {
                file.len() >= start.len() + end.len() && file.starts_with(start) && file.ends_with(end)
            }
            None => file == name,
        };
        in_directory == directory && is_match
    };
    let mut found: Vec<&str> = files.iter().map(String::as_str).filter(matches).collect();
    found.sort_unstable();
    found.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(files: &[(&str, &str)], name: &str) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let mut text = |path: &str| {
            Ok::<_, ()>(files.iter().find(|(other, _)| *other == path).map(|(_, text)| (*text).to_owned()))
        };
        Makefile::read(&paths, &mut text).unwrap().values(name)
    }

    #[test]
    fn assignments_count_as_in_make() {
        for (text, expected) in [
            ("V ?= 1\nV := 2\n", &["2"][..]),
            ("V := 2\nV ?= 1\n", &["2"]),
            ("V = a\nV += b # c\n", &["a b"]),
            ("ifeq ($(CI),true)\nV := 2\nelse\nV := 3\nendif\nV ?= 1\n", &["1", "2", "3"]),
            ("ifndef V\nV := 2\nendif\n", &["2"]),
            ("MAJOR = 4\nV = $(MAJOR).${MINOR}.0\nMINOR := 1\n", &["4.1.0"]),
            ("V ?= \\\n  4.1 # c\n", &["4.1"]),
            ("r:\n\tx \\\n  V = 9\n", &[]),
            ("V = $(V)\n", &["$(V)"]),
            ("A = $(B)\nB = $(A)\nV = $(A)\n", &["$(A)"]),
            ("V = $(shell git describe)\n", &["$(shell git describe)"]),
            ("define X\nV = 9\nendef\n\tV = 8\nV =\n", &[]),
        ] {
            assert_eq!(values(&[("Makefile", text)], "V"), expected, "{text}");
        }
    }

    #[test]
    fn included_files_are_read_in_their_place() {
        let files = [
            ("Makefile", "V = lower\n"),
            ("GNUmakefile", "include $(CURDIR)/hack/*.mk\n-include ./missing.mk a.mk\n"),
            ("hack/b.mk", "V ?= b\n"),
            ("hack/a.mk", "V ?= a\n"),
            ("hack/sub/c.mk", "V := c\n"),
            ("a.mk", "W = $(V)\ninclude a.mk\n"),
        ];
        assert_eq!(values(&files, "V"), ["a"]);
        assert_eq!(values(&files, "W"), ["a"]);
    }

    #[test]
    fn values_that_refer_to_each_other_end() {
        let references = |number: usize| format!("V{} = {}\n", number + 1, format!("$(V{number})").repeat(4));
        let text = format!("V0 = xxxxxxxxxx\n{}", (0..199).map(references).collect::<String>());
        assert!(values(&[("Makefile", &text)], "V199")[0].len() <= 2 * MAX_VALUE);
    }

    #[test]
    fn files_of_values_are_relative_to_the_project() {
        for (value, file) in [
            ("$(shell cat VERSION)", Some("VERSION")),
            ("$(shell cat ./version.txt)", Some("version.txt")),
            ("$(shell cat $(CURDIR)/VERSION)", Some("VERSION")),
            ("$(file < VERSION)", Some("VERSION")),
            ("$(file <VERSION)", Some("VERSION")),
            ("$(shell cat VERSION | tr a b)", None),
            ("1.2.3", None),
        ] {
            assert_eq!(file_of(value), file, "{value}");
        }
    }
}
