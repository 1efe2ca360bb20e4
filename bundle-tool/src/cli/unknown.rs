//! What a command line with an unknown command or argument was likely meant to be.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{built_command, dropin, native_command};
use oci_images::secrets::without_users;
use olm_model::report::suggest::{alternatives, nearest};

/// The maximum number of commands that are suggested.
const MAX_SUGGESTED: usize = 3;
/// The commands that accept the command lines of another tool.
const OTHER_TOOLS: [&str; 2] = ["operator-sdk", "opm"];

/// Replaces the tip of an error, which names whatever looks similar, by what was likely meant: the command line of operator-sdk or
/// opm in this program, the option instead of a password, or the command with this name.
pub(crate) fn with_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    for kind in [ContextKind::InvalidValue, ContextKind::InvalidArg] {
        if let Some(ContextValue::String(text)) = error.get(kind) {
            let text = without_users(text);
            error.insert(kind, ContextValue::String(text));
        }
    }
    let words = arguments[1..].iter().map(|word| word.to_str()).collect::<Option<Vec<_>>>();
    let Some(words) = words else { return error };
    // Options of the whole program may precede the command.
    let mut words = words.as_slice();
    while let [option, rest @ ..] = words
        && option.starts_with('-')
    {
        words = if *option == "--color" { rest.get(1..).unwrap_or_default() } else { rest };
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match (error.kind(), text(ContextKind::InvalidSubcommand), text(ContextKind::InvalidArg)) {
        (ErrorKind::InvalidSubcommand, Some(name), _) => {
            Some(dropin::hint(words).or_else(|| similar(words, &name)))
        }
        (ErrorKind::UnknownArgument, _, Some(name)) => of_argument(words, &name).map(Some),
        _ => None,
    };
    let Some(tip) = tip else { return error };
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
        error.remove(kind);
    }
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Returns the tip for an unknown argument.
fn of_argument(words: &[&str], name: &str) -> Option<String> {
    if words.contains(&"login") && ["-p", "--password"].contains(&name) {
        return Some("use `--password-stdin`: other processes can see arguments".to_owned());
    }
    if name.starts_with('-') {
        return None;
    }
    dropin::hint(words)
}

/// Returns the tip for a name that no command has where it is: the commands with this name, or else the one with the most similar name
/// beside it.
fn similar(words: &[&str], name: &str) -> Option<String> {
    let at = words.iter().position(|word| *word == name)?;
    let root = built_command();
    let parent = words[..at].iter().try_fold(root, |command, word| {
        if word.starts_with('-') { Some(command) } else { command.find_subcommand(word) }
    });
    let mut paths = Vec::new();
    named(root, name, "bundle-tool", &mut paths);
    if !paths.is_empty() {
        paths.truncate(MAX_SUGGESTED);
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        return Some(format!("did you mean {}?", alternatives(&paths)));
    }
    // `catalog-list` is `catalog list`.
    let parts: Vec<&str> = name.split('-').collect();
    if parts.len() > 1 && native_command(&parts).is_some() {
        return Some(format!("did you mean `bundle-tool {}`?", parts.join(" ")));
    }
    let names = parent?.get_subcommands().filter(|one| !one.is_hide_set()).map(clap::Command::get_name);
    let near = nearest(name, names)?;
    let path: Vec<&str> = words[..at].iter().copied().filter(|word| !word.starts_with('-')).collect();
    let path = std::iter::once("bundle-tool").chain(path).chain([near]).collect::<Vec<_>>().join(" ");
    Some(format!("did you mean `{path}`?"))
}

/// Adds the paths of the commands with a name.
fn named(command: &clap::Command, name: &str, path: &str, paths: &mut Vec<String>) {
    let commands = command.get_subcommands();
    for one in commands.filter(|one| !one.is_hide_set() && !OTHER_TOOLS.contains(&one.get_name())) {
        let path = format!("{path} {}", one.get_name());
        if one.get_name() == name {
            paths.push(path.clone());
        }
        // Each command has its own `help`.
        if one.get_name() != "help" {
            named(one, name, &path, paths);
        }
    }
}
