//! Help and usage, in the layout of cobra's templates.

use std::fmt::Write as _;

use super::parse::flags;
use super::{Command, Flag, Kind};

/// Returns the help of a command: its summary and its usage.
pub(crate) fn help(path: &[&'static Command]) -> String {
    let summary = path.last().map_or("", |command| command.summary);
    format!("{summary}\n\n{}", usage(path))
}

/// Returns the usage of a command.
pub(crate) fn usage(path: &[&'static Command]) -> String {
    let Some((command, parents)) = path.split_last() else { return String::new() };
    let names: Vec<&str> = path.iter().map(|command| command.name).collect();
    let name = names.join(" ");
    // Writing to a string cannot fail.
    let mut out = String::from("Usage:\n");
    if command.action.is_some() {
        let arguments =
            if command.arguments.is_empty() { String::new() } else { format!(" {}", command.arguments) };
        let _ = writeln!(out, "  {name}{arguments} [flags]");
    }
    let commands: Vec<_> = command.commands.iter().filter(|command| !command.is_hidden).collect();
    if !commands.is_empty() {
        let _ = writeln!(out, "  {name} [command]\n\nAvailable Commands:");
        let width = commands.iter().map(|command| command.name.len()).max().unwrap_or_default();
        for command in &commands {
            let _ = writeln!(out, "  {:width$} {}", command.name, command.summary);
        }
    }
    let inherited: Vec<&str> =
        parents.iter().flat_map(|command| command.persistent).map(|flag| flag.name).collect();
    let (global, local): (Vec<Flag>, Vec<Flag>) =
        flags(path).into_iter().filter(|flag| !flag.is_hidden).partition(|flag| {
            inherited.contains(&flag.name) && command.flags.iter().all(|own| own.name != flag.name)
        });
    for (title, mut flags) in [("Flags", local), ("Global Flags", global)] {
        if !flags.is_empty() {
            flags.sort_by_key(|flag| flag.name);
            let _ = writeln!(out, "\n{title}:\n{}", table(&flags));
        }
    }
    if !commands.is_empty() {
        let _ = writeln!(out, "\nUse \"{name} [command] --help\" for more information about a command.");
    }
    out
}

/// Returns the flags with their descriptions in columns.
fn table(flags: &[Flag]) -> String {
    let left = |flag: &Flag| {
        let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
        let kind = match flag.kind {
            Kind::Bool => "",
            Kind::Text => " string",
            Kind::Duration => " duration",
            Kind::List => " strings",
            Kind::Map => " stringToString",
        };
        format!("  {short}--{}{kind}", flag.name)
    };
    let width = flags.iter().map(|flag| left(flag).len()).max().unwrap_or_default();
    let line = |flag: &Flag| {
        let default = match (flag.kind, flag.default) {
            (_, "") | (Kind::Bool, "false") => String::new(),
            (Kind::Text, default) => format!(" (default {default:?})"),
            (_, default) => format!(" (default {default})"),
        };
        format!("{:width$}   {}{default}", left(flag), flag.usage)
    };
    flags.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a command tree for shell completions.
pub(crate) fn completion(command: &'static Command) -> clap::Command {
    let flags = command.flags.iter().chain(command.persistent).filter(|flag| !flag.is_hidden).map(|flag| {
        let argument = clap::Arg::new(flag.name).long(flag.name).help(flag.usage);
        let argument = if let Some(letter) = flag.short { argument.short(letter) } else { argument };
        let is_global = command.persistent.iter().any(|other| other.name == flag.name);
        argument.global(is_global).action(match flag.kind {
            Kind::Bool => clap::ArgAction::SetTrue,
            _ => clap::ArgAction::Append,
        })
    });
    let files = clap::Arg::new("ARGUMENT").num_args(0..).value_hint(clap::ValueHint::AnyPath);
    let commands = command.commands.iter().filter(|command| !command.is_hidden).map(completion);
    let built = clap::Command::new(command.name).about(command.summary).args(flags).subcommands(commands);
    if command.action.is_some() && command.commands.is_empty() { built.arg(files) } else { built }
}
