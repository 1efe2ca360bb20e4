//! Accepts the command lines of operator-sdk and opm, so that projects that call these tools need no change: through a link with
//! the tool's name, or as `bundle-tool operator-sdk …` and `bundle-tool opm …`.
//!
//! [`cobra`] parses a command line according to a constant tree of commands. [`operator_sdk`] and [`opm`] contain the trees, and one
//! adapter for each command, which calls the native commands or their functions. The adapters reproduce what scripts depend on:
//! flags and defaults, the exit status, what goes to standard output and what to standard error, columns, and the strings that
//! scripts look for. Everything else, such as the wording of errors, is bundle-tool's own.

mod cobra;
mod equivalent;
mod external_validator;
mod images;
mod log;
mod native;
mod operator_sdk;
mod opm;
mod registries;
mod removed_apis;
mod status;
mod verdict;

pub(crate) use equivalent::{Edit, NativeLine, Translation, Word, translate};
pub(crate) use native::ProjectFacts;

use std::env::VarError;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Args;

use self::cobra::{Action, Arity, Command, Flag, Matches, Parsed};
use self::native::{Becomes, Native, NativeCommand};
use self::status::Status;
use super::error_help::with_help;
use super::exit::is_broken_pipe;
use super::program_name;
use kube_yaml::text::{printable, shortened};
use oci_images::secrets::without_users;

/// The maximum number of characters of an error that are printed.
const MAX_ERROR: usize = 4000;

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct OperatorSdk {
    /// Command line of operator-sdk
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    arguments: Vec<OsString>,
}

impl OperatorSdk {
    pub(crate) fn run(self) -> ExitCode {
        Tool::OperatorSdk.run(self.arguments)
    }
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Opm {
    /// Command line of opm
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    arguments: Vec<OsString>,
}

impl Opm {
    pub(crate) fn run(self) -> ExitCode {
        Tool::Opm.run(self.arguments)
    }
}

/// Runs a command line of the tool that this program was called as. Returns `None` if it was called by another name.
///
/// Projects often add a version or a platform to the name of the program that they download: `opm-v1.55.0`,
/// `operator-sdk_linux_amd64`.
pub(crate) fn run_as_called() -> Option<ExitCode> {
    let tool = Tool::of_program(&program_name()?)?;
    Some(tool.run(std::env::args_os().skip(1).collect()))
}

/// Returns what a command line of operator-sdk or opm is in this program, if its first words are a command of one of them.
pub(crate) fn hint(words: &[&str]) -> Option<String> {
    let (tool, path) = Tool::ALL
        .into_iter()
        .map(|tool| (tool, path_in(tool.root(), words)))
        // The first one of those that know as many words, and accept an argument if there is one.
        .rev()
        .max_by_key(|(_, path)| {
            (path.len(), path.last().is_some_and(|command| accepts(command, words.get(path.len()))))
        })?;
    let command = path.last()?;
    // The user has called the native command itself.
    if let Native::Command(own) = command.native
        && path.iter().map(|one| one.name).eq(own.words.iter().copied())
    {
        return None;
    }
    let name = tool.name();
    if command.action.is_none() {
        // Another word would be a command that the tool does not have.
        let names: Vec<&str> = path.iter().map(|command| command.name).collect();
        let is_known = words.get(path.len()).is_none_or(|word| word.starts_with('-'));
        return is_known.then(|| {
            format!("`bundle-tool {name} {} --help` lists these commands of {name}", names.join(" "))
        });
    }
    let quoted = |word: &&str| Word {
        raw: (*word).to_owned(),
        text: (*word).to_owned(),
        is_own: true,
        has_variable: false,
    };
    let line = words.join(" ");
    let words: Vec<Word> = words.iter().map(quoted).collect();
    Some(match translate(tool, &words, &ProjectFacts::default(), false) {
        Translation::Native(line) => {
            format!("this command of {name} is `{}`", line.command_line("bundle-tool", &words))
        }
        Translation::Unsupported(reason) => format!("a command of {name}: {reason}"),
        Translation::Adapter(reason) => {
            format!("`bundle-tool {name} {line}` runs this command of {name}; {reason}")
        }
        Translation::Invalid(reason) => format!("a command of {name}, but {reason}"),
    })
}

/// Returns whether a command may have an argument, if the word after it is one.
fn accepts(command: &Command, next: Option<&&str>) -> bool {
    next.is_none_or(|word| word.starts_with('-')) || !command.arguments.is_empty()
}

/// Returns the commands that the first words of a command line name.
fn path_in(root: &'static Command, words: &[&str]) -> Vec<&'static Command> {
    let mut path = Vec::new();
    let mut command = root;
    for word in words {
        let Some(found) = command.find(word) else { break };
        path.push(found);
        command = found;
    }
    path
}

/// A tool whose command line is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    OperatorSdk,
    Opm,
}

/// An invalid command line. It is printed with the usage of the command.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

impl Tool {
    /// All tools.
    pub(crate) const ALL: [Self; 2] = [Self::OperatorSdk, Self::Opm];

    /// Returns the tool that a program is, by its file name.
    pub(crate) fn of_program(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| {
            name.strip_prefix(tool.name())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.']))
        })
    }

    /// Returns the name of the tool.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OperatorSdk => "operator-sdk",
            Self::Opm => "opm",
        }
    }

    const fn root(self) -> &'static Command {
        match self {
            Self::OperatorSdk => &operator_sdk::ROOT,
            Self::Opm => &opm::ROOT,
        }
    }

    /// Runs a command line; `arguments` are those after the name of the tool.
    fn run(self, arguments: Vec<OsString>) -> ExitCode {
        let status = match self.run_or_fail(arguments) {
            Err(error) if is_broken_pipe(&error) => Status::SUCCESS,
            Err(error) => {
                let text = with_help(error.as_ref());
                log::fatal(&printable(&shortened(&text, MAX_ERROR)));
                Status::FAILURE
            }
            Ok(status) => status,
        };
        status.into()
    }

    fn run_or_fail(self, arguments: Vec<OsString>) -> anyhow::Result<Status> {
        let mut texts = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument.into_string() {
                Ok(text) => texts.push(text),
                Err(argument) => anyhow::bail!("argument {} is not valid UTF-8", argument.display()),
            }
        }
        // `help COMMAND` is `COMMAND --help`.
        if texts.first().is_some_and(|first| first == "help") {
            texts.remove(0);
            texts.push("--help".to_owned());
        }
        match cobra::parse(self.root(), &texts) {
            Parsed::Help(path) => {
                io::stdout().lock().write_all(cobra::help(&path).as_bytes())?;
                Ok(Status::SUCCESS)
            }
            Parsed::Invalid(message, path) => self.invalid(&message, path.as_deref()),
            Parsed::Run(matches) => {
                let mut err = io::stderr().lock();
                for note in &matches.notes {
                    writeln!(err, "{note}")?;
                }
                drop(err);
                let Some(action) = matches.command.action else { return Ok(Status::SUCCESS) };
                match action(&matches) {
                    Err(error) if error.is::<UsageError>() => {
                        self.invalid(&error.to_string(), Some(&cobra::path_of(self.root(), &matches.path)))
                    }
                    result => result,
                }
            }
        }
    }

    /// Reports an invalid command line, with the usage of the last command of `path` or, without a path, a pointer to `--help`.
    fn invalid(self, message: &str, path: Option<&[&'static Command]>) -> anyhow::Result<Status> {
        let mut err = io::stderr().lock();
        writeln!(err, "Error: {}", without_users(&printable_lines(message)))?;
        match path {
            Some(path) => writeln!(err, "{}", cobra::usage(path))?,
            None => writeln!(err, "Run '{} --help' for usage.", self.name())?,
        }
        drop(err);
        if self == Self::OperatorSdk {
            log::fatal(&printable(message));
        }
        Ok(Status::FAILURE)
    }
}

/// Escapes control characters except line breaks and tabs.
fn printable_lines(text: &str) -> String {
    text.split('\n').map(|line| printable(line).replace("\\t", "\t")).collect::<Vec<_>>().join("\n")
}

/// Runs a native command line: `words` are the command and its options, `values` its arguments, which are never options.
fn native<'a>(
    words: impl IntoIterator<Item = &'a str>,
    values: impl IntoIterator<Item = &'a str>,
) -> anyhow::Result<Status> {
    Ok(super::run_native(&native_line(words, values))?.into())
}

/// Returns the words of a native command line: the arguments follow `--`.
fn native_line<'a>(
    words: impl IntoIterator<Item = &'a str>,
    values: impl IntoIterator<Item = &'a str>,
) -> Vec<OsString> {
    let mut line: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    let mut values = values.into_iter().peekable();
    if values.peek().is_some() {
        line.push("--".into());
    }
    line.extend(values.map(OsString::from));
    line
}

/// The operating system, as Go names it.
const OS: &str = if cfg!(target_os = "macos") { "darwin" } else { std::env::consts::OS };
/// The architecture, as Go names it.
const ARCHITECTURE: &str = if cfg!(target_arch = "x86_64") {
    "amd64"
} else if cfg!(target_arch = "aarch64") {
    "arm64"
} else if cfg!(all(target_arch = "powerpc64", target_endian = "little")) {
    "ppc64le"
} else {
    std::env::consts::ARCH
};

/// Returns the value of an environment variable; `None` if it is unset or empty.
fn variable(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => anyhow::bail!("the environment variable {name} is not valid UTF-8"),
    }
}

/// Returns the command that prints completions of a tool's command line.
const fn completion_command(action: Action) -> Command {
    const FLAGS: &[Flag] = &[Flag::bool("no-descriptions", "Accepted for compatibility")];
    Command::leaf("completion", "[SHELL]", "Print completions for a shell", Arity::AtMost(1), FLAGS, action)
        .native(NativeCommand::new(&["completions"], &[("no-descriptions", Becomes::Omitted)]))
}

/// Prints completions of a tool's command line for a shell; without a shell, the help of the command, as cobra does.
fn completion(root: &'static Command, matches: &Matches) -> anyhow::Result<Status> {
    use clap::ValueEnum as _;
    if matches.arguments.is_empty() {
        let command = root.commands.iter().find(|command| command.name == "completion");
        let path: Vec<&'static Command> = [Some(root), command].into_iter().flatten().collect();
        io::stdout().lock().write_all(cobra::help(&path).as_bytes())?;
        return Ok(Status::SUCCESS);
    }
    let shell = matches.argument(0);
    let shell = clap_complete::Shell::from_str(shell, false).map_err(|_| {
        UsageError(format!("unknown shell {shell:?}: expected bash, fish, powershell or zsh"))
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cobra::completion(root), root.name, &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Status::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::native::Native;
    use super::*;

    /// Visits all commands of a tree.
    fn visit(command: &'static Command, visitor: &mut impl FnMut(&'static Command)) {
        visitor(command);
        for below in command.commands {
            visit(below, visitor);
        }
    }

    /// Checks that the native command of a command has the flags in its table.
    fn check_native(command: &'static Command) {
        let Native::Command(native) = command.native else {
            let is_leaf = command.commands.is_empty();
            assert!(!is_leaf || !matches!(command.native, Native::Group), "{}", command.name);
            return;
        };
        let found = crate::cli::native_command(native.words);
        let found = found.unwrap_or_else(|| panic!("no command {:?}", native.words));
        let has = |name: &str| {
            found.get_arguments().any(|argument| {
                argument.get_long() == Some(name)
                    || argument.get_all_aliases().is_some_and(|all| all.contains(&name))
            })
        };
        for flag in command.flags {
            let is_known = native.flags().any(|(name, _)| name == flag.name);
            assert!(is_known || flag.name == "debug", "{} --{}", command.name, flag.name);
        }
        for (name, becomes) in native.flags() {
            let wanted = match becomes {
                Becomes::Same
                | Becomes::IfSet
                | Becomes::IfValue(..)
                | Becomes::WithValue
                | Becomes::OmittedIf(_) => {
                    vec![name]
                }
                Becomes::Named(other) => vec![other],
                Becomes::Bool(yes, no) => [yes, no]
                    .into_iter()
                    .filter_map(|flag| flag.strip_prefix("--")?.split('=').next())
                    .collect(),
                Becomes::Omitted | Becomes::Missing(_) => Vec::new(),
            };
            for wanted in wanted {
                assert!(has(wanted), "{:?} has no --{wanted}", native.words);
            }
        }
        for (flags, _) in native.added {
            let name = flags.trim_start_matches("--").split(' ').next().unwrap_or_default();
            assert!(has(name), "{:?} has no --{name}", native.words);
        }
    }

    #[test]
    fn values_are_no_options() {
        assert_eq!(
            native_line(["push", "--base=x"], ["--help", "-"]),
            ["push", "--base=x", "--", "--help", "-"]
        );
        assert_eq!(native_line(["olm", "status"], []), ["olm", "status"]);
    }

    #[test]
    fn tables_are_consistent() {
        for root in [Tool::OperatorSdk.root(), Tool::Opm.root()] {
            visit(root, &mut |command| {
                let flags: Vec<_> = command.flags.iter().chain(command.persistent).collect();
                for (index, flag) in flags.iter().enumerate() {
                    let name = format!("{} --{}", command.name, flag.name);
                    assert!(!flag.usage.is_empty() && !flag.usage.ends_with('.'), "{name}");
                    assert!(flags[..index].iter().all(|other| other.name != flag.name), "{name}");
                    assert!(
                        flags[..index].iter().all(|other| flag.short.is_none() || other.short != flag.short),
                        "{name}"
                    );
                }
                assert!(command.action.is_some() || !command.commands.is_empty(), "{}", command.name);
                assert!(!command.summary.is_empty(), "{}", command.name);
                check_native(command);
            });
            cobra::completion(root).debug_assert();
        }
    }
}
