//! Finds the command of a command line, and its flags and arguments.

use super::matches::Matches;
use super::{Arity, Command, Flag, Kind};

/// The flag that every command has.
pub(crate) const HELP: Flag = Flag::bool("help", "Print help").short('h');

/// What a command line asks for.
pub(crate) enum Parsed {
    /// A command with its flags and arguments.
    Run(Matches),
    /// The help of a command: its path from the root.
    Help(Vec<&'static Command>),
    /// An invalid command line: the message, and the path of the command whose usage is printed, if any.
    Invalid(String, Option<Vec<&'static Command>>),
}

/// Parses the arguments that follow the program's name.
pub(crate) fn parse(root: &'static Command, arguments: &[String]) -> Parsed {
    let mut path = vec![root];
    let mut rest: Vec<&str> = arguments.iter().map(String::as_str).collect();
    while let Some((index, command)) = subcommand(&path, &rest) {
        rest.remove(index);
        path.push(command);
    }
    let [.., command] = path[..] else { return Parsed::Invalid("no command".to_owned(), None) };
    if path.len() == 1
        && !command.commands.is_empty()
        && let Some(name) = words(&path, &rest).first().map(|index| rest[*index])
    {
        return Parsed::Invalid(
            format!("unknown command {name:?} for {:?}{}", root.name, suggestion(root, name)),
            None,
        );
    }
    let flags = flags(&path);
    let mut matches = Matches::new(&path, &flags);
    let mut values = rest.into_iter();
    while let Some(argument) = values.next() {
        let result = if argument == "--" {
            matches.arguments.extend(values.by_ref().map(str::to_owned));
            Ok(())
        } else if let Some(long) = argument.strip_prefix("--") {
            set_long(&mut matches, &flags, long, &mut values)
        } else if argument.len() > 1 && argument.starts_with('-') {
            set_short(&mut matches, &flags, argument, &mut values)
        } else {
            matches.arguments.push(argument.to_owned());
            Ok(())
        };
        if let Err(message) = result {
            return Parsed::Invalid(message, Some(path));
        }
    }
    if matches.bool("help") || command.action.is_none() {
        return Parsed::Help(path);
    }
    match check(&path, &flags, &matches) {
        Ok(()) => Parsed::Run(matches),
        Err(message) => Parsed::Invalid(message, Some(path)),
    }
}

/// Returns all flags of the last command of a path: its own and the inherited ones. An own flag hides an inherited one.
pub(crate) fn flags(path: &[&'static Command]) -> Vec<Flag> {
    let mut flags: Vec<Flag> = path.last().map_or_else(Vec::new, |command| command.flags.to_vec());
    for flag in path.iter().rev().flat_map(|command| command.persistent).chain([&HELP]) {
        if flags.iter().all(|other| other.name != flag.name) {
            // The letter of a flag that is hidden by another one is free.
            let is_free = flags.iter().all(|other| other.short.is_none() || other.short != flag.short);
            flags.push(Flag { short: flag.short.filter(|_| is_free), ..*flag });
        }
    }
    flags
}

/// Returns the next subcommand and its position among the arguments.
pub(crate) fn subcommand(path: &[&'static Command], rest: &[&str]) -> Option<(usize, &'static Command)> {
    let index = *words(path, rest).first()?;
    Some((index, path.last()?.find(rest[index])?))
}

/// Returns the positions of arguments that are neither flags nor the values of flags. A flag that the command does not have is
/// assumed to take a value, as cobra does before it knows the command.
fn words(path: &[&'static Command], rest: &[&str]) -> Vec<usize> {
    let flags = flags(path);
    let takes_value = |found: Option<&Flag>| found.is_none_or(|flag| flag.kind != Kind::Bool);
    let mut found = Vec::new();
    let mut index = 0;
    while let Some(argument) = rest.get(index) {
        if *argument == "--" {
            break;
        }
        if let Some(name) = argument.strip_prefix("--") {
            let flag = flags.iter().find(|flag| flag.name == name);
            index += usize::from(!name.contains('=') && takes_value(flag));
        } else if argument.starts_with('-') {
            let mut letters = argument.chars().skip(1);
            if let (Some(letter), None) = (letters.next(), letters.next()) {
                let flag = flags.iter().find(|flag| flag.short == Some(letter));
                index += usize::from(takes_value(flag));
            }
        } else if !argument.is_empty() {
            found.push(index);
        }
        index += 1;
    }
    found
}

fn set_long<'a>(
    matches: &mut Matches,
    flags: &[Flag],
    text: &str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.is_empty() || name.starts_with('-') {
        return Err(format!("bad flag syntax: --{text}"));
    }
    let flag =
        flags.iter().find(|flag| flag.name == name).ok_or_else(|| format!("unknown flag: --{name}"))?;
    let value = match value {
        Some(value) => value,
        None if flag.kind == Kind::Bool => "true",
        None => rest.next().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
    };
    matches.set(flag, value)
}

fn set_short<'a>(
    matches: &mut Matches,
    flags: &[Flag],
    argument: &str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    let letters = &argument[1..];
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        left = &left[letter.len_utf8()..];
        let flag = flags
            .iter()
            .find(|flag| flag.short == Some(letter))
            .ok_or_else(|| format!("unknown shorthand flag: '{letter}' in {argument}"))?;
        if let Some(value) = left.strip_prefix('=') {
            return matches.set(flag, value);
        }
        if flag.kind == Kind::Bool {
            matches.set(flag, "true")?;
        } else if left.is_empty() {
            let value = rest.next();
            let value = value.ok_or_else(|| format!("flag needs an argument: '{letter}' in {argument}"))?;
            return matches.set(flag, value);
        } else {
            return matches.set(flag, left);
        }
    }
    Ok(())
}

/// Checks the number of arguments, the required flags, and the flags that exclude each other.
fn check(path: &[&'static Command], flags: &[Flag], matches: &Matches) -> Result<(), String> {
    let [.., command] = path else { return Ok(()) };
    let count = matches.arguments.len();
    let plural = |number: usize| format!("{number} arg(s)");
    match command.arity {
        Arity::None if count > 0 => {
            return Err(format!("unknown command {:?} for {:?}", matches.arguments[0], matches.path));
        }
        Arity::Exactly(number) if count != number => {
            return Err(format!("accepts {}, received {count}", plural(number)));
        }
        Arity::AtLeast(number) if count < number => {
            return Err(format!("requires at least {}, only received {count}", plural(number)));
        }
        Arity::AtMost(number) if count > number => {
            return Err(format!("accepts at most {}, received {count}", plural(number)));
        }
        Arity::Between(min, max) if count < min || count > max => {
            return Err(format!("accepts between {min} and {}, received {count}", plural(max)));
        }
        _ => {}
    }
    let missing: Vec<String> = flags
        .iter()
        .filter(|flag| flag.is_required && !matches.is_set(flag.name))
        .map(|flag| format!("{:?}", flag.name))
        .collect();
    if !missing.is_empty() {
        return Err(format!("required flag(s) {} not set", missing.join(", ")));
    }
    for group in command.exclusive {
        let set: Vec<&str> = group.iter().copied().filter(|name| matches.is_set(name)).collect();
        if set.len() > 1 {
            return Err(format!(
                "if any flags in the group [{}] are set none of the others can be; [{}] were all set",
                group.join(" "),
                set.join(" ")
            ));
        }
    }
    Ok(())
}

/// Returns cobra's suggestion of commands with similar names; empty if there are none.
fn suggestion(root: &Command, name: &str) -> String {
    let near: Vec<&str> = root
        .commands
        .iter()
        .filter(|command| !command.is_hidden)
        .map(|command| command.name)
        .filter(|other| distance(&other.to_lowercase(), &name.to_lowercase()) <= 2 || other.starts_with(name))
        .collect();
    if near.is_empty() {
        return String::new();
    }
    format!("\n\nDid you mean this?\n\t{}\n", near.join("\n\t"))
}

/// Returns the Levenshtein distance between the first 64 characters of two names: it takes time in the product of both lengths.
fn distance(a: &str, b: &str) -> usize {
    let start = |name: &str| name.chars().take(64).collect::<String>();
    strsim::levenshtein(&start(a), &start(b))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::Status;
    use super::*;

    const RUN: Command = Command::leaf(
        "score",
        "",
        "",
        Arity::Exactly(1),
        &[
            Flag::duration("wait", "30s", "").short('w'),
            Flag::list("labels", "").short('l'),
            Flag::map("values", ""),
            Flag::text("output", "text", "").short('o'),
            Flag::bool("all", "").short('a').default("true"),
            Flag::bool("list", "").short('L'),
        ],
        |_| Ok(Status::SUCCESS),
    );
    const ROOT: Command = Command {
        persistent: &[Flag::bool("verbose", ""), Flag::text("namespace", "", "").short('n')],
        ..Command::group("tool", "", &[Command { commands: &[RUN], ..Command::group("run", "", &[]) }])
    };

    fn run(line: &str) -> Result<Matches, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match parse(&ROOT, &arguments) {
            Parsed::Run(matches) => Ok(matches),
            Parsed::Help(path) => Err(format!("help of {}", path[path.len() - 1].name)),
            Parsed::Invalid(message, _) => Err(message),
        }
    }

    #[test]
    fn values_follow_flags_in_each_form() {
        for line in [
            "run score -w=5m x",
            "run score -w 5m x",
            "run score -w5m x",
            "run score x --wait 5m",
            "run score --wait=5m x",
        ] {
            let matches = run(line).unwrap();
            assert_eq!(matches.duration("wait"), Duration::from_mins(5), "{line}");
            assert_eq!(matches.arguments, ["x"], "{line}");
        }
    }

    #[test]
    fn flags_may_precede_their_command() {
        let matches = run("-n ns run --verbose score x -Lo=json").unwrap();
        assert_eq!((matches.text("namespace"), matches.text("output")), ("ns", "json"));
        assert!(matches.bool("verbose") && matches.bool("list"));
        assert_eq!(run("run score -- -x").unwrap().arguments, ["-x"]);
    }

    #[test]
    fn repeated_flags_replace_text_and_extend_lists() {
        let matches =
            run("run score x -o a -o b -l a,b -l c --values k=1,l=2 --values k=3 --all=false --list=T")
                .unwrap();
        assert_eq!(matches.text("output"), "b");
        assert_eq!(matches.list("labels"), ["a", "b", "c"]);
        assert_eq!(matches.map("values").collect::<Vec<_>>(), [("k", "3"), ("l", "2")]);
        assert!(!matches.bool("all") && matches.bool("list"));
    }

    #[test]
    fn errors_have_the_text_of_cobra() {
        for (line, message) in [
            ("run score", "accepts 1 arg(s), received 0"),
            ("run score x --colour", "unknown flag: --colour"),
            ("run score -Lz x", "unknown shorthand flag: 'z' in -Lz"),
            ("run score x -w", "flag needs an argument: 'w' in -w"),
            ("run score x --wait", "flag needs an argument: --wait"),
            ("run score x --=1", "bad flag syntax: --=1"),
            (
                "run score x -w 5",
                "invalid argument \"5\" for \"-w, --wait\" flag: time: missing unit in duration \"5\"",
            ),
            (
                "run score x --all=maybe",
                "invalid argument \"maybe\" for \"-a, --all\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
            (
                "run score x --values a",
                "invalid argument \"a\" for \"--values\" flag: a must be formatted as key=value",
            ),
            ("rum", "unknown command \"rum\" for \"tool\"\n\nDid you mean this?\n\trun\n"),
            ("run", "help of run"),
            ("run nothing", "help of run"),
            ("run score --help", "help of score"),
        ] {
            assert_eq!(run(line).err().as_deref(), Some(message), "{line}");
        }
    }
}
