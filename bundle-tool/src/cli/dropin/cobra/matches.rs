//! The flags and arguments of a command line.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::values::{self, list};
use super::{Command, Flag, Kind};

/// The value of a flag.
#[derive(Debug, Clone)]
enum Value {
    Bool(bool),
    Text(String),
    Duration(Duration),
    List(Vec<String>),
    Map(BTreeMap<String, String>),
}

/// A command with the values of its flags, and its arguments.
#[derive(Debug)]
pub(crate) struct Matches {
    /// The names of the program and of the commands, separated by spaces.
    pub(crate) path: String,
    pub(crate) command: &'static Command,
    pub(crate) arguments: Vec<String>,
    values: BTreeMap<&'static str, Value>,
    /// The flags that the command line sets.
    set: BTreeSet<&'static str>,
    /// Deprecation notices for the command and the flags that were used.
    pub(crate) notes: Vec<String>,
}

impl Matches {
    /// Returns a command with the defaults of its flags.
    pub(crate) fn new(path: &[&'static Command], flags: &[Flag]) -> Self {
        let names: Vec<&str> = path.iter().map(|command| command.name).collect();
        let command = path.last().copied().unwrap_or(&super::NOTHING);
        let values = flags.iter().map(|flag| (flag.name, default(flag))).collect();
        let notes = command
            .deprecated
            .map(|instead| format!("Command {:?} is deprecated, {instead}", command.name))
            .into_iter()
            .collect();
        Self { path: names.join(" "), command, arguments: Vec::new(), values, set: BTreeSet::new(), notes }
    }

    /// Sets a flag.
    pub(crate) fn set(&mut self, flag: &Flag, text: &str) -> Result<(), String> {
        let is_first = self.set.insert(flag.name);
        let old = self.values.get(flag.name).filter(|_| !is_first).cloned();
        let new = match flag.kind {
            Kind::Bool => values::bool(text).map(Value::Bool),
            Kind::Text => Ok(Value::Text(text.to_owned())),
            Kind::Duration => values::duration(text).map(Value::Duration),
            Kind::List => list(text).map(|added| {
                let mut list = if let Some(Value::List(list)) = old { list } else { Vec::new() };
                list.extend(added);
                Value::List(list)
            }),
            Kind::Map => values::map(text).map(|added| {
                let mut map = if let Some(Value::Map(map)) = old { map } else { BTreeMap::new() };
                map.extend(added);
                Value::Map(map)
            }),
        };
        let shown = || match flag.short {
            Some(letter) => format!("-{letter}, --{}", flag.name),
            None => format!("--{}", flag.name),
        };
        let new =
            new.map_err(|reason| format!("invalid argument {text:?} for {:?} flag: {reason}", shown()))?;
        self.values.insert(flag.name, new);
        if let Some(instead) = flag.deprecated {
            self.notes.push(format!("Flag --{} has been deprecated, {instead}", flag.name));
        }
        Ok(())
    }

    /// Returns whether the command line sets a flag.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// Returns the value of a flag of [`Kind::Bool`]; `false` if the command has no such flag.
    pub(crate) fn bool(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some(Value::Bool(true)))
    }

    /// Returns the value of a flag of [`Kind::Text`]; empty if the command has no such flag.
    pub(crate) fn text(&self, name: &str) -> &str {
        if let Some(Value::Text(text)) = self.values.get(name) { text } else { "" }
    }

    /// Returns the value of a flag of [`Kind::Text`]; `None` if it is empty, which these tools treat as not set.
    pub(crate) fn some(&self, name: &str) -> Option<&str> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// Returns the value of a flag of [`Kind::Duration`].
    pub(crate) fn duration(&self, name: &str) -> Duration {
        if let Some(Value::Duration(duration)) = self.values.get(name) { *duration } else { Duration::ZERO }
    }

    /// Returns the value of a flag of [`Kind::List`].
    pub(crate) fn list(&self, name: &str) -> &[String] {
        if let Some(Value::List(list)) = self.values.get(name) { list } else { &[] }
    }

    /// Returns the value of a flag of [`Kind::Map`].
    pub(crate) fn map(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let map = if let Some(Value::Map(map)) = self.values.get(name) { Some(map) } else { None };
        map.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the argument at a position; empty if there is none.
    pub(crate) fn argument(&self, index: usize) -> &str {
        self.arguments.get(index).map_or("", String::as_str)
    }
}

/// Returns the default of a flag.
fn default(flag: &Flag) -> Value {
    match flag.kind {
        Kind::Bool => Value::Bool(flag.default == "true"),
        Kind::Text => Value::Text(flag.default.to_owned()),
        Kind::Duration => Value::Duration(values::duration(flag.default).unwrap_or_default()),
        Kind::List => Value::List(Vec::new()),
        Kind::Map => Value::Map(BTreeMap::new()),
    }
}
