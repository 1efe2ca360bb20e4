//! Splits a command line that contains variables: which words are commands, flags, values and arguments. Values are not parsed.

use super::parse::{flags, subcommand};
use super::{Command, Flag, Kind};

/// What words of a command line are; words are named by their position.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// The name of a command.
    Command(usize),
    /// A flag. Its value is part of the word, or is the word `value_word`.
    Flag { flag: Flag, word: usize, value: Option<String>, value_word: Option<usize> },
    /// An argument.
    Argument(usize),
}

/// A command line.
#[derive(Debug)]
pub(crate) struct Line {
    path: Vec<&'static Command>,
    pub(crate) command: &'static Command,
    pub(crate) parts: Vec<Part>,
}

impl Line {
    /// Returns the names of the tool and of the commands, separated by spaces.
    pub(crate) fn path(&self) -> String {
        self.path.iter().map(|command| command.name).collect::<Vec<_>>().join(" ")
    }
}

/// Splits the words that follow the name of a tool.
///
/// # Errors
/// The tool has no such command or flag, or a flag has no value.
pub(crate) fn split(root: &'static Command, words: &[&str]) -> Result<Line, String> {
    let mut path = vec![root];
    let mut rest: Vec<(usize, &str)> = words.iter().copied().enumerate().collect();
    let mut parts = Vec::new();
    loop {
        let texts: Vec<&str> = rest.iter().map(|(_, word)| *word).collect();
        let Some((index, command)) = subcommand(&path, &texts) else { break };
        parts.push(Part::Command(rest.remove(index).0));
        path.push(command);
    }
    let command = path.last().copied().unwrap_or(root);
    if command.action.is_none() || path.len() == 1 {
        let name = rest.iter().find(|(_, word)| !word.starts_with('-')).map(|(_, word)| *word);
        return Err(match name {
            Some(name) => format!("unknown command `{name}` of `{}`", command.name),
            None => format!("`{}` requires a command", command.name),
        });
    }
    let flags = flags(&path);
    let mut words = rest.into_iter();
    while let Some((at, word)) = words.next() {
        if word == "--" {
            parts.push(Part::Argument(at));
            parts.extend(words.by_ref().map(|(at, _)| Part::Argument(at)));
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let flag = flags.iter().find(|flag| flag.name == name);
            let flag = *flag.ok_or_else(|| format!("unknown flag `--{name}` of `{}`", command.name))?;
            parts.push(part(flag, at, value, &mut words)?);
        } else if word.len() > 1 && word.starts_with('-') {
            let mut left = &word[1..];
            while let Some(letter) = left.chars().next() {
                left = &left[letter.len_utf8()..];
                let flag = flags.iter().find(|flag| flag.short == Some(letter));
                let flag = *flag.ok_or_else(|| format!("unknown flag `-{letter}` of `{}`", command.name))?;
                if let Some(value) = left.strip_prefix('=') {
                    parts.push(part(flag, at, Some(value), &mut words)?);
                    break;
                }
                if flag.kind != Kind::Bool && !left.is_empty() {
                    parts.push(part(flag, at, Some(left), &mut words)?);
                    break;
                }
                parts.push(part(flag, at, None, &mut words)?);
            }
        } else {
            parts.push(Part::Argument(at));
        }
    }
    Ok(Line { path, command, parts })
}

/// Returns a flag with its value, which is the next word if it is not attached.
fn part<'w>(
    flag: Flag,
    word: usize,
    value: Option<&str>,
    words: &mut impl Iterator<Item = (usize, &'w str)>,
) -> Result<Part, String> {
    if value.is_some() || flag.kind == Kind::Bool {
        return Ok(Part::Flag { flag, word, value: value.map(str::to_owned), value_word: None });
    }
    let (at, value) = words.next().ok_or_else(|| format!("flag `--{}` requires a value", flag.name))?;
    Ok(Part::Flag { flag, word, value: Some(value.to_owned()), value_word: Some(at) })
}
