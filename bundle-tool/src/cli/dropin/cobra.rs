//! Parses command lines as programs that use cobra and pflag do: flags at any position; values after `=`, in the next argument, or
//! attached to a shorthand letter; repeated flags; and the same errors. A command tree is a constant table.
//!
//! Source: `command.go`, `args.go` and `flag_groups.go` of spf13/cobra 1.10; `flag.go` and the value types of spf13/pflag 1.0.10.

mod help;
mod matches;
mod parse;
mod split;
pub(crate) mod values;

pub(crate) use help::{completion, help, usage};
pub(crate) use matches::Matches;
pub(crate) use parse::{Parsed, parse};
pub(crate) use split::{Part, split};

use anyhow::Result;

use super::native::{Native, NativeCommand};
use super::status::Status;

/// The type of a flag's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `true` or `false`; without a value, `true`.
    Bool,
    /// A string.
    Text,
    /// A duration as Go writes it, such as `2m0s`.
    Duration,
    /// Strings separated by commas; repeated flags add to the list.
    List,
    /// `KEY=VALUE` pairs separated by commas; repeated flags add to the map.
    Map,
}

/// A flag of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flag {
    pub(crate) name: &'static str,
    pub(crate) short: Option<char>,
    pub(crate) kind: Kind,
    pub(crate) default: &'static str,
    pub(crate) usage: &'static str,
    /// Whether the command requires it.
    pub(crate) is_required: bool,
    pub(crate) is_hidden: bool,
    /// What to use instead.
    pub(crate) deprecated: Option<&'static str>,
}

impl Flag {
    const fn new(name: &'static str, kind: Kind, default: &'static str, usage: &'static str) -> Self {
        Self {
            name,
            short: None,
            kind,
            default,
            usage,
            is_required: false,
            is_hidden: false,
            deprecated: None,
        }
    }

    /// Returns a flag that is off by default.
    pub(crate) const fn bool(name: &'static str, usage: &'static str) -> Self {
        Self::new(name, Kind::Bool, "false", usage)
    }

    /// Returns a flag whose value is a string.
    pub(crate) const fn text(name: &'static str, default: &'static str, usage: &'static str) -> Self {
        Self::new(name, Kind::Text, default, usage)
    }

    /// Returns a flag whose value is a duration.
    pub(crate) const fn duration(name: &'static str, default: &'static str, usage: &'static str) -> Self {
        Self::new(name, Kind::Duration, default, usage)
    }

    /// Returns a flag whose value is a list of strings.
    pub(crate) const fn list(name: &'static str, usage: &'static str) -> Self {
        Self::new(name, Kind::List, "", usage)
    }

    /// Returns a flag whose value is a map of strings.
    pub(crate) const fn map(name: &'static str, usage: &'static str) -> Self {
        Self::new(name, Kind::Map, "", usage)
    }

    /// Returns the flag with another default.
    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    /// Returns the flag with a shorthand letter.
    pub(crate) const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    /// Returns the flag, marked as required.
    pub(crate) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Returns the flag, hidden from help.
    pub(crate) const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Returns the flag, marked as deprecated: help does not list it, and setting it prints a warning.
    pub(crate) const fn deprecated(self, instead: &'static str) -> Self {
        Self { deprecated: Some(instead), is_hidden: true, ..self }
    }
}

/// How many arguments a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    /// Any number.
    Any,
    /// None; an argument is reported as an unknown command.
    None,
    Exactly(usize),
    AtLeast(usize),
    AtMost(usize),
    Between(usize, usize),
}

/// What runs a command.
pub(crate) type Action = fn(&Matches) -> Result<Status>;

/// A command of the tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    pub(crate) aliases: &'static [&'static str],
    /// The arguments in the usage line.
    pub(crate) arguments: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) flags: &'static [Flag],
    /// Flags that all subcommands have, too.
    pub(crate) persistent: &'static [Flag],
    /// Flags of which only one may be set.
    pub(crate) exclusive: &'static [&'static [&'static str]],
    pub(crate) commands: &'static [Self],
    pub(crate) arity: Arity,
    pub(crate) is_hidden: bool,
    /// What to use instead.
    pub(crate) deprecated: Option<&'static str>,
    /// `None` for a command that only groups subcommands.
    pub(crate) action: Option<Action>,
    /// What it is natively.
    pub(crate) native: Native,
}

impl Command {
    /// Returns a command with an action.
    pub(crate) const fn leaf(
        name: &'static str,
        arguments: &'static str,
        summary: &'static str,
        arity: Arity,
        flags: &'static [Flag],
        action: Action,
    ) -> Self {
        Self { arguments, flags, arity, action: Some(action), ..Self::group(name, summary, &[]) }
    }

    /// Returns the command with the native command that does the same.
    pub(crate) const fn native(self, native: NativeCommand) -> Self {
        Self { native: Native::Command(native), ..self }
    }

    /// Returns the command without a native one that does the same: why, and which native commands there are.
    pub(crate) const fn without_native(self, reason: &'static str) -> Self {
        Self { native: Native::Adapter(reason), ..self }
    }

    /// Returns a command that is not supported; `reason` says why, and what replaces it.
    pub(crate) const fn unsupported(self, reason: fn(&str) -> String) -> Self {
        Self { native: Native::Unsupported(reason), ..self }
    }

    /// Returns a command with subcommands.
    pub(crate) const fn group(name: &'static str, summary: &'static str, commands: &'static [Self]) -> Self {
        Self {
            name,
            aliases: &[],
            arguments: "",
            summary,
            flags: &[],
            persistent: &[],
            exclusive: &[],
            commands,
            arity: Arity::Any,
            is_hidden: false,
            deprecated: None,
            action: None,
            native: Native::Group,
        }
    }

    /// Returns the subcommand with a name or an alias.
    pub(super) fn find(&self, name: &str) -> Option<&'static Self> {
        self.commands.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }
}

/// The command of an empty path.
const NOTHING: Command = Command::group("", "", &[]);

/// Returns the commands that a path names, from the root.
pub(crate) fn path_of(root: &'static Command, path: &str) -> Vec<&'static Command> {
    let mut found = vec![root];
    for name in path.split(' ').skip(1) {
        found.extend(found.last().and_then(|command| command.find(name)));
    }
    found
}
