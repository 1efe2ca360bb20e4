//! Translates a command line of another tool to a native one.
//!
//! A command line in a Makefile or a script contains variables, so its words are translated one by one: a word is kept as it is
//! written, unless the native command has another one.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};

use super::cobra::{Command, Flag, Kind, Matches, Part, split, values};
use super::native::{Becomes, Native, NativeCommand, ProjectFacts};
use super::registries::is_on_this_machine;
use super::{Status, Tool};
use crate::cli::{native_command, parse_native};

/// The flags of the root commands that have no native equivalent and need none.
const OMITTED: [&str; 4] = ["verbose", "plugins", "project-version", "debug"];

/// A word of a command line in a file.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// The word as the file has it, with its quotes.
    pub(crate) raw: String,
    /// The word without quotes. References to variables are part of it.
    pub(crate) text: String,
    /// Whether the command line itself contains it, and not the definition of a variable.
    pub(crate) is_own: bool,
    /// Whether it contains a reference to a variable or another expansion.
    pub(crate) has_variable: bool,
}

/// What becomes of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    Keep,
    Replace(String),
    Remove,
}

/// What becomes of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Translation {
    /// A native command line.
    Native(NativeLine),
    /// The same words after `bundle-tool TOOL`; why no native command does the same.
    Adapter(String),
    /// Nothing does the same: why, and what replaces it.
    Unsupported(String),
    /// The words are not a command line of the tool.
    Invalid(String),
}

/// A native command line in terms of the words of the other one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NativeLine {
    /// The path of the native command, which replaces the first words.
    pub(crate) command: Vec<String>,
    /// The number of words that the command replaces.
    pub(crate) replaced: usize,
    /// The flags among the replaced words, which follow the command.
    pub(crate) moved: Vec<String>,
    /// What becomes of the words that are not replaced.
    pub(crate) edits: Vec<Edit>,
    /// The words at the end.
    pub(crate) added: Vec<String>,
}

impl NativeLine {
    /// Returns the command line of `program` that replaces `words`.
    pub(crate) fn command_line(&self, program: &str, words: &[Word]) -> String {
        let mut parts = vec![program.to_owned()];
        parts.extend(self.command.iter().chain(&self.moved).cloned());
        for (word, edit) in words[self.replaced..].iter().zip(&self.edits) {
            match edit {
                Edit::Keep => parts.push(word.raw.clone()),
                Edit::Replace(text) => parts.push(text.clone()),
                Edit::Remove => {}
            }
        }
        parts.extend(self.added.iter().cloned());
        parts.join(" ")
    }
}

/// Returns the flags of a command line that have the same names and meanings natively, with their values.
pub(crate) fn same(matches: &Matches) -> impl Iterator<Item = (&'static str, &str)> {
    let native = match matches.command.native {
        Native::Command(native) => Some(native),
        _ => None,
    };
    let flags = native.into_iter().flat_map(|native| native.flags());
    let same = flags.filter(|(_, becomes)| matches!(becomes, Becomes::Same));
    same.filter_map(|(name, _)| Some((name, matches.some(name)?)))
}

/// Runs an unsupported command: fails with the reason.
pub(crate) fn unsupported(matches: &Matches) -> Result<Status> {
    match matches.command.native {
        Native::Unsupported(reason) => bail!(reason(&matches.path)),
        _ => bail!("`{}` is not supported", matches.path),
    }
}

/// Translates the words that follow the name of a tool. `is_read` is whether another program reads the output.
pub(crate) fn translate(tool: Tool, words: &[Word], project: &ProjectFacts, is_read: bool) -> Translation {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let line = match split(tool.root(), &texts) {
        Ok(line) => line,
        Err(reason) => return Translation::Invalid(reason),
    };
    let native = match line.command.native {
        Native::Command(native) => native,
        Native::Adapter(reason) => return Translation::Adapter(reason.to_owned()),
        Native::Unsupported(reason) => return Translation::Unsupported(reason(&line.path())),
        Native::Group => return Translation::Invalid(format!("`{}` requires a subcommand", line.path())),
    };
    if is_read && !native.has_same_output {
        let reason = format!(
            "another program reads the output of `{}`, and the native command prints other output",
            line.path()
        );
        return Translation::Adapter(reason);
    }
    match native_line(&native, line.command, &line.parts, words, project) {
        Ok(translation) => translation,
        Err(reason) => Translation::Adapter(reason),
    }
}

/// Returns the native command line, or why there is none.
fn native_line(
    native: &NativeCommand,
    command: &Command,
    parts: &[Part],
    words: &[Word],
    project: &ProjectFacts,
) -> Result<Translation, String> {
    let command_word =
        parts.iter().rev().find_map(|part| if let Part::Command(word) = part { Some(*word) } else { None });
    let begin = command_word.map_or(0, |word| word + 1);
    let shorts = Shorts::new(native.words);
    let superseded = superseded(parts, words);
    let mut new: Vec<Vec<String>> = vec![Vec::new(); words.len()];
    let mut is_changed = vec![false; words.len()];
    // The flags that are set, and whether the line itself sets them.
    let mut has_set: BTreeMap<&str, bool> = BTreeMap::new();
    let mut is_here = false;
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Command(word) => is_changed[*word] = true,
            Part::Argument(word) => {
                is_here |= is_on_this_machine(&words[*word].text);
                new[*word].push(words[*word].raw.clone());
            }
            Part::Flag { flag, word, value, value_word } => {
                *has_set.entry(flag.name).or_default() |= words[*word].is_own;
                let becomes =
                    if superseded.contains(&index) { Becomes::Omitted } else { becomes(native, flag) };
                let value =
                    SetFlag { flag, word: &words[*word], value: value.as_deref(), value_word: *value_word };
                let Some(found) = value.translated(becomes, command, &shorts)? else {
                    // Several flags may be one word.
                    if !new[*word].contains(&words[*word].raw) {
                        new[*word].push(words[*word].raw.clone());
                    }
                    if let Some(at) = value_word {
                        new[*at].push(words[*at].raw.clone());
                    }
                    continue;
                };
                is_changed[*word] = true;
                for added in found.words {
                    if !new.iter().flatten().any(|other| *other == added) {
                        new[*word].push(added);
                    }
                }
                if let Some(at) = value_word {
                    is_changed[*at] = true;
                    if found.takes_value_word {
                        is_changed[*at] = false;
                        new[*at].push(words[*at].raw.clone());
                    }
                }
            }
        }
    }
    for (_, unless) in native.added {
        let mut unless = unless.iter().filter(|name| has_set.contains_key(*name)).peekable();
        if let Some(name) = unless.peek().copied()
            && !unless.any(|name| has_set[name])
        {
            return Err(format!(
                "a variable may set `--{name}`, which has another default in the native command"
            ));
        }
    }
    let mut added: Vec<String> = native
        .added
        .iter()
        .filter(|(_, unless)| !unless.iter().any(|name| has_set.contains_key(name)))
        .flat_map(|(words, _)| words.split(' ').map(str::to_owned))
        .filter(|word| !new.iter().flatten().any(|other| other == word))
        .collect();
    if native.reads_images && is_here {
        added.push("--plain-http".to_owned());
    }
    if let Some(in_project) = native.in_project {
        let further = in_project(project).map_err(str::to_owned)?;
        added.extend(further.into_iter().filter(|word| {
            let name = word.split('=').next().unwrap_or_default().trim_start_matches('-');
            !has_set.contains_key(name)
        }));
    }
    let path: Vec<String> = native.words.iter().map(|word| (*word).to_owned()).collect();
    let moved: Vec<String> = new[..begin].iter().flatten().cloned().collect();
    let rest = || new[begin..].iter().flatten().cloned();
    if !words.iter().any(|word| word.has_variable) {
        let line: Vec<String> =
            path.iter().chain(&moved).cloned().chain(rest()).chain(added.iter().cloned()).collect();
        let plain: Vec<&str> = line.iter().map(|word| word.trim_matches(['"', '\''])).collect();
        parse_native(&plain)?;
    }
    let edits = (begin..words.len()).map(|at| {
        if new[at].is_empty() {
            Edit::Remove
        } else if is_changed[at] {
            Edit::Replace(new[at].join(" "))
        } else {
            Edit::Keep
        }
    });
    let edits = edits.collect();
    Ok(Translation::Native(NativeLine { command: path, replaced: begin, moved, edits, added }))
}

/// Returns the positions of flags that a later one with the same name replaces. The definitions of variables may exclude each
/// other, so only flags of the command line itself count.
fn superseded(parts: &[Part], words: &[Word]) -> BTreeSet<usize> {
    let mut last: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (index, part) in parts.iter().enumerate() {
        if let Part::Flag { flag, word, .. } = part
            && !matches!(flag.kind, Kind::List | Kind::Map)
            && words[*word].is_own
        {
            found.extend(last.insert(flag.name, index));
        }
    }
    found
}

/// Returns what a flag becomes.
fn becomes(native: &NativeCommand, flag: &Flag) -> Becomes {
    match native.flags().find(|(name, _)| *name == flag.name) {
        Some((_, becomes)) => becomes,
        None if OMITTED.contains(&flag.name) => Becomes::Omitted,
        None => Becomes::Missing("the native command has no such flag"),
    }
}

/// The letters of the flags of a native command.
struct Shorts(BTreeMap<char, String>);

impl Shorts {
    fn new(words: &[&str]) -> Self {
        let command = native_command(words);
        let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
        let pair = |argument: &clap::Arg| Some((argument.get_short()?, argument.get_long()?.to_owned()));
        Self(arguments.filter_map(pair).collect())
    }

    fn has(&self, flag: &Flag) -> bool {
        flag.short.and_then(|letter| self.0.get(&letter)).is_some_and(|name| name == flag.name)
    }
}

/// A flag in a command line, with its value.
struct SetFlag<'l> {
    flag: &'l Flag,
    word: &'l Word,
    value: Option<&'l str>,
    /// The word that is the value, if that is not part of the flag's word.
    value_word: Option<usize>,
}

/// What a flag is replaced with.
struct FlagWords {
    words: Vec<String>,
    /// Whether the next word remains the value.
    takes_value_word: bool,
}

impl FlagWords {
    fn new(words: &[&str]) -> Self {
        let words = words.iter().filter(|word| !word.is_empty()).map(|word| (*word).to_owned()).collect();
        Self { words, takes_value_word: false }
    }
}

impl SetFlag<'_> {
    /// Returns the words of the native flag; `None` if they are those of the line.
    fn translated(
        &self,
        becomes: Becomes,
        command: &Command,
        shorts: &Shorts,
    ) -> Result<Option<FlagWords>, String> {
        let name = self.flag.name;
        let missing = |reason: &str| {
            let reason = format!("`--{name}` of `{}` has no native equivalent: {reason}", command.name);
            Err(reason)
        };
        let is_known = !self.word.has_variable && !self.value.is_some_and(|value| value.contains('$'));
        let value = self.value.filter(|_| is_known);
        match becomes {
            Becomes::Missing(reason) => missing(reason),
            Becomes::Omitted => Ok(Some(FlagWords::new(&[]))),
            Becomes::OmittedIf(is_omitted) if value.is_some_and(is_omitted) => Ok(Some(FlagWords::new(&[]))),
            Becomes::IfValue(accepts, reason) if value.is_some_and(|value| !accepts(value)) => {
                missing(reason)
            }
            Becomes::Named(other) => Ok(Some(self.renamed(other))),
            Becomes::Bool(yes, no) => match self.switch() {
                Some(is_set) => Ok(Some(FlagWords::new(&[if is_set { yes } else { no }]))),
                None => missing("its value is a variable"),
            },
            Becomes::WithValue => Ok(None),
            _ if self.flag.kind == Kind::Bool && self.value.is_some() => match self.switch() {
                Some(true) => Ok(Some(FlagWords::new(&[&format!("--{name}")]))),
                Some(false) => Ok(Some(FlagWords::new(&[]))),
                None => missing("its value is a variable"),
            },
            // An empty value means that the flag is not set.
            _ if self.flag.kind == Kind::Text && value == Some("") => Ok(Some(FlagWords::new(&[]))),
            _ if !self.word.text.starts_with("--") && !shorts.has(self.flag) => Ok(Some(self.renamed(name))),
            _ => Ok(None),
        }
    }

    /// Returns the value of a boolean; `None` if it is unknown.
    fn switch(&self) -> Option<bool> {
        self.value.map_or(Some(true), |value| values::bool(value).ok())
    }

    /// Returns the flag with another name and the same value.
    fn renamed(&self, name: &str) -> FlagWords {
        if self.value_word.is_some() {
            return FlagWords { words: vec![format!("--{name}")], takes_value_word: true };
        }
        match self.value {
            None => FlagWords::new(&[&format!("--{name}")]),
            Some(value) => {
                let quoted = match self.word.raw.split_once('=') {
                    Some((_, raw)) if self.word.raw.starts_with('-') => raw,
                    _ => value,
                };
                FlagWords::new(&[&format!("--{name}={quoted}")])
            }
        }
    }
}
