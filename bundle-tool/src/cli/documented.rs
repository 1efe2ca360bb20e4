//! The command lines in the documentation are accepted by the program.

use std::fs;
use std::path::{Path, PathBuf};

use super::{native_command, parse_native};

/// The directories and files with documentation. The references are generated, and the tables of `docs/migrating.md` run in tests of
/// their own.
const PAGES: [&str; 4] = ["README.md", "CONTRIBUTING.md", "docs", "crates"];
const GENERATED: &str = "docs/rules";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the pages with their names, below the root of the repository.
fn pages() -> Vec<(String, String)> {
    fn add(path: &Path, pages: &mut Vec<PathBuf>) {
        if path.is_dir() && !path.ends_with(GENERATED) {
            for entry in fs::read_dir(path).unwrap() {
                add(&entry.unwrap().path(), pages);
            }
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path.to_owned());
        }
    }
    let mut paths = Vec::new();
    for page in PAGES {
        add(&root().join(page), &mut paths);
    }
    paths.sort();
    let page = |path: PathBuf| {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(page).collect()
}

/// Returns the blocks of code with their languages, and the rest of the text.
fn blocks(page: &str) -> (Vec<(&str, String)>, String) {
    let (mut blocks, mut prose) = (Vec::new(), String::new());
    let mut inside: Option<(&str, String)> = None;
    for line in page.lines() {
        match (&mut inside, line.trim_start().strip_prefix("```")) {
            (None, Some(language)) => inside = Some((language.trim(), String::new())),
            (Some(_), Some(_)) => blocks.extend(inside.take()),
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {
                prose.push_str(line);
                prose.push('\n');
            }
        }
    }
    assert!(inside.is_none(), "a block of code has no end");
    (blocks, prose)
}

/// Returns the lines that a shell runs: those of a script, of a makefile, or those after a prompt.
fn script(language: &str, text: &str) -> String {
    let mut lines = Vec::new();
    let mut is_continued = false;
    for line in text.lines() {
        let command = match language {
            "sh" => Some(line),
            "make" => line.strip_prefix('\t'),
            "console" if is_continued => Some(line),
            "console" => line.strip_prefix("$ "),
            _ => None,
        };
        is_continued = command.is_some_and(|line| line.ends_with(['\\', '|']));
        lines.extend(command);
    }
    lines.join("\n").replace("\\\n", "").replace("|\n", "| ")
}

/// Splits a script into simple commands of words. Redirections are dropped.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let (mut word, mut is_word) = (String::new(), false);
    let (mut quote, mut depth) = (None, 0_usize);
    let mut chars = script.chars().peekable();
    let mut is_target = false;
    let end =
        |word: &mut String, is_word: &mut bool, is_target: &mut bool, commands: &mut Vec<Vec<String>>| {
            let text = std::mem::take(word);
            if std::mem::take(is_word) && !std::mem::take(is_target) {
                commands.last_mut().unwrap().push(text);
            }
        };
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (Some(_), _) => word.push(char),
            (None, '\'' | '"') => (quote, is_word) = (Some(char), true),
            (None, '(') if word.ends_with('$') => {
                depth += 1;
                word.push(char);
            }
            (None, ')') if depth > 0 => {
                depth -= 1;
                word.push(char);
            }
            (None, _) if depth > 0 => word.push(char),
            (None, '#') if !is_word => while chars.next_if(|char| *char != '\n').is_some() {},
            (None, '>' | '<') if chars.peek() != Some(&'(') => {
                if word.chars().all(|char| char.is_ascii_digit()) {
                    (word, is_word) = (String::new(), false);
                }
                end(&mut word, &mut is_word, &mut is_target, &mut commands);
                is_target = true;
            }
            (None, '\n' | ';' | '|' | '&' | '(' | ')') => {
                end(&mut word, &mut is_word, &mut is_target, &mut commands);
                commands.push(Vec::new());
            }
            (None, ' ' | '\t') => end(&mut word, &mut is_word, &mut is_target, &mut commands),
            (None, _) => {
                word.push(char);
                is_word = true;
            }
        }
    }
    end(&mut word, &mut is_word, &mut is_target, &mut commands);
    commands.retain(|words| !words.is_empty());
    commands
}

/// Returns the arguments of a command, if it is bundle-tool.
fn arguments(words: &[String]) -> Option<Vec<&str>> {
    let mut words = words.iter().map(String::as_str).skip_while(|word| word.contains('='));
    // Variables of a makefile that contain options.
    let is_flags = |word: &&str| word.starts_with("$(") && word.ends_with("FLAGS)");
    (words.next()? == "bundle-tool").then(|| words.filter(|word| !is_flags(word)).collect())
}

#[test]
fn command_lines_in_the_documentation_are_accepted() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, page) in pages() {
        for (language, text) in blocks(&page).0 {
            for words in commands(&script(language, &text)) {
                let Some(arguments) = arguments(&words) else { continue };
                count += 1;
                if let Err(error) = parse_native(&arguments) {
                    wrong.push(format!("{name}: bundle-tool {}: {error}", arguments.join(" ")));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 250, "only {count} command lines were found");
}

/// Commands and options that prose names exist.
#[test]
fn commands_and_options_in_prose_exist() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, page) in pages() {
        let (_, prose) = blocks(&page);
        for span in prose.split('`').skip(1).step_by(2) {
            let words = commands(&span.replace('\n', " "));
            let Some(arguments) = words.first().and_then(|words| arguments(words)) else { continue };
            count += 1;
            if let Some(error) = fault(&arguments) {
                wrong.push(format!("{name}: `{span}`: {error}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 50, "only {count} were found");
}

/// Returns what is wrong with a command of which only a part may be named.
fn fault(arguments: &[&str]) -> Option<String> {
    let is_name = |word: &&&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let mut path: Vec<&str> = Vec::new();
    for word in arguments.iter().take_while(is_name) {
        path.push(word);
        if native_command(&path).is_none() {
            // An argument of the command so far, if it has subcommands it cannot be one.
            let name = path.pop()?;
            let command = native_command(&path)?;
            if command.is_subcommand_required_set() {
                return Some(format!("unknown command {name}"));
            }
            break;
        }
    }
    let command = native_command(&path)?;
    if ["operator-sdk", "opm"].contains(&command.get_name()) {
        return None;
    }
    let has = |long: &str| {
        command.get_arguments().any(|arg| {
            arg.get_long() == Some(long) || arg.get_all_aliases().unwrap_or_default().contains(&long)
        })
    };
    let flags = arguments.iter().filter_map(|word| word.strip_prefix("--"));
    let mut names = flags.map(|flag| flag.split(['=', '[']).next().unwrap_or_default());
    names
        .find(|name| !has(name) && !["version", "verbose", "help"].contains(name))
        .map(|name| format!("unknown option --{name}"))
}

#[test]
fn scripts_are_split_into_commands() {
    let text = "A=1 bundle-tool validate './a b' >out 2>&1 | jq . # no\nbundle-tool copy $(NAME) x && true\nf <(bundle-tool completions bash)";
    let commands = commands(text);
    let found: Vec<_> = commands.iter().filter_map(|words| arguments(words)).collect();
    assert_eq!(found, [vec!["validate", "./a b"], vec!["copy", "$(NAME)", "x"], vec!["completions", "bash"]]);
    assert_eq!(script("console", "$ a \\\n  b\noutput\n$ c"), "a   b\nc");
    assert!(fault(&["validate", "--profil", "olmv1"]).is_some() && fault(&["valdate"]).is_some());
    assert!(fault(&["push", "bundle", "DIR"]).is_none());
}
