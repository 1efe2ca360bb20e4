//! The instructions of a Dockerfile.

use std::collections::BTreeMap;
use std::ops::Range;

use super::shell::is_posix;

/// What a Dockerfile runs and copies.
#[derive(Debug, Default)]
pub(super) struct Instructions {
    /// The scripts of RUN, and whether the stage is based on an image of opm or operator-sdk.
    pub(super) scripts: Vec<(Range<usize>, bool)>,
    /// The positions of FROM and COPY with the images of opm or operator-sdk that they name.
    pub(super) images: Vec<(usize, String)>,
    /// Scripts of RUN, CMD and ENTRYPOINT as lists, with their words.
    pub(super) lists: Vec<Vec<(Range<usize>, String)>>,
}

/// Reads the instructions of a Dockerfile.
pub(super) fn parse(text: &str) -> Instructions {
    let mut found = Instructions::default();
    let mut stages = Stages::default();
    let mut start = 0;
    let mut at = 0;
    let mut is_continued = false;
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        let begins = at;
        at += line.len();
        let is_comment = trimmed.starts_with('#');
        if !is_continued {
            start = begins;
            if trimmed.is_empty() || is_comment {
                continue;
            }
        }
        is_continued = trimmed.ends_with('\\') || is_continued && is_comment;
        if is_continued && at < text.len() {
            continue;
        }
        is_continued = false;
        let rest = instruction(text, start..at, &mut stages, &mut found);
        if let Some((rest, is_run)) = rest {
            at = documents(text, rest..at, is_run.then_some(stages.is_tool), &mut found);
            lines = text[at..].split_inclusive('\n');
        }
    }
    found
}

/// The stages before an instruction.
#[derive(Debug, Default)]
struct Stages {
    /// The images of opm or operator-sdk that stages are based on, by the names of the stages. Names of other stages have none.
    images: BTreeMap<String, Option<String>>,
    /// Whether the current stage is based on such an image.
    is_tool: bool,
}

impl Stages {
    /// Returns the image of opm or operator-sdk that an image or stage is.
    fn tool_image(&self, name: &str) -> Option<String> {
        match self.images.get(&name.to_ascii_lowercase()) {
            Some(image) => image.clone(),
            None => is_tool_image(name).then(|| name.to_owned()),
        }
    }
}

/// Reads the here-documents that begin in an instruction, whose arguments are at a range, and returns the position behind them. The
/// first of RUN, for which it is known whether the stage is one of a tool, is a script if nothing else precedes it, or if a shell does.
fn documents(
    text: &str,
    arguments: Range<usize>,
    is_tool_stage: Option<bool>,
    found: &mut Instructions,
) -> usize {
    let mut at = arguments.end;
    let line = &text[arguments];
    let before = line.split("<<").next().unwrap_or_default();
    let program = before.split_whitespace().rfind(|word| !word.starts_with('-')).unwrap_or_default();
    let mut is_script = before.trim().is_empty() || is_posix(program);
    for (delimiter, has_tabs) in delimiters(line) {
        let start = at;
        let mut end = at;
        for line in text[start..].split_inclusive('\n') {
            at += line.len();
            let line = line.trim_end_matches(['\n', '\r']);
            if (if has_tabs { line.trim_start_matches('\t') } else { line }) == delimiter {
                break;
            }
            end = at;
        }
        let body = &text[start..end];
        let interpreter = body.lines().next().and_then(|line| line.strip_prefix("#!"));
        let is_first = std::mem::take(&mut is_script) && interpreter.is_none_or(is_posix);
        if let Some(is_tool_stage) = is_tool_stage.filter(|_| is_first) {
            found.scripts.push((start..end, is_tool_stage));
        }
    }
    at
}

/// Returns the delimiters of the here-documents that begin in a line, and whether tabulators before them are ignored.
fn delimiters(line: &str) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once("<<") {
        rest = after;
        if let Some(string) = after.strip_prefix('<') {
            rest = string;
            continue;
        }
        let word = after.strip_prefix('-').unwrap_or(after);
        let name = word.trim_start_matches(['"', '\'']);
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
        let name = &name[..name.find(|char| !is_name(char)).unwrap_or(name.len())];
        if !name.is_empty() {
            found.push((name, after.starts_with('-')));
        }
    }
    found
}

/// Reads an instruction. Returns the position of its arguments if here-documents may begin in it, and whether it is RUN.
fn instruction(
    text: &str,
    range: Range<usize>,
    stages: &mut Stages,
    found: &mut Instructions,
) -> Option<(usize, bool)> {
    let content = &text[range.clone()];
    let trimmed = content.trim_start();
    let start = range.end - trimmed.len();
    let name = trimmed.split_whitespace().next().unwrap_or_default();
    let rest = trimmed[name.len()..].trim_start();
    let rest_start = range.end - rest.len();
    match name.to_ascii_uppercase().as_str() {
        "FROM" => {
            let mut words = rest.split_whitespace().skip_while(|word| word.starts_with("--"));
            let name = words.next().unwrap_or_default();
            let image = stages.tool_image(name);
            stages.is_tool = image.is_some();
            if image.as_deref() == Some(name) {
                found.images.push((start, name.to_owned()));
            }
            if words.next().is_some_and(|word| word.eq_ignore_ascii_case("as"))
                && let Some(stage) = words.next()
            {
                stages.images.insert(stage.to_ascii_lowercase(), image);
            }
            None
        }
        "COPY" => {
            let image = rest.split_whitespace().find_map(|word| word.strip_prefix("--from="));
            let image = image.and_then(|image| stages.tool_image(image));
            found.images.extend(image.map(|image| (start, image)));
            Some((rest_start, false))
        }
        "ADD" => Some((rest_start, false)),
        "RUN" | "CMD" | "ENTRYPOINT" if rest.starts_with('[') => {
            if let Ok(words) = serde_json::from_str::<Vec<String>>(rest.trim_end()) {
                let at = rest_start..range.end;
                found.lists.push(words.into_iter().map(|word| (at.clone(), word)).collect());
            }
            None
        }
        word @ ("RUN" | "CMD" | "ENTRYPOINT") => {
            found.scripts.push((rest_start..range.end, stages.is_tool));
            (word == "RUN").then_some((rest_start, true))
        }
        _ => None,
    }
}

/// Returns whether an image contains opm or operator-sdk.
pub(super) fn is_tool_image(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    matches!(name, "opm" | "operator-sdk" | "upstream-opm-builder" | "upstream-registry-builder")
        || name.starts_with("ose-operator-registry")
        || name.starts_with("ose-operator-sdk")
}
