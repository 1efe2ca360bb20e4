//! The lines of a Makefile that matter here: definitions of variables, rules, and recipes.

use std::ops::Range;

/// A definition of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) name: String,
    /// The value, without a comment.
    pub(super) value: Range<usize>,
    /// The position of the definition.
    pub(super) start: usize,
    /// Whether the value is a shell command (`!=`).
    pub(super) is_command: bool,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) start: usize,
    pub(super) targets: Vec<String>,
    /// The words behind the colon.
    pub(super) prerequisites: Vec<Range<usize>>,
    /// The lines of the recipe, without their tabulators and prefixes. A continued line is one line.
    pub(super) recipe: Vec<Range<usize>>,
}

/// A Makefile.
#[derive(Debug, Default)]
pub(super) struct Makefile {
    pub(super) definitions: Vec<Definition>,
    pub(super) rules: Vec<Rule>,
    /// The lines of canned recipes (`define`).
    pub(super) canned: Vec<Range<usize>>,
    /// Conditions and other lines that make expands.
    pub(super) expanded: Vec<Range<usize>>,
}

/// The lines that are neither definitions nor rules.
const DIRECTIVES: [&str; 11] = [
    "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "include", "-include", "sinclude", "vpath",
    "unexport",
];

/// Reads a Makefile. What make would reject is ignored.
pub(super) fn parse(text: &str) -> Makefile {
    let mut makefile = Makefile::default();
    let mut is_canned = false;
    for line in lines(text) {
        let content = &text[line.clone()];
        let trimmed = content.trim_start();
        let start = line.end - trimmed.len();
        let word = trimmed.split_whitespace().next().unwrap_or_default();
        if is_canned {
            is_canned = word != "endef";
            if is_canned {
                makefile.canned.push(recipe_line(text, line));
            }
        } else if word == "define" || trimmed.starts_with("override define ") {
            is_canned = true;
        } else if content.starts_with('\t') && !makefile.rules.is_empty() {
            let recipe = recipe_line(text, line);
            makefile
                .rules
                .iter_mut()
                .next_back()
                .into_iter()
                .for_each(|rule| rule.recipe.push(recipe.clone()));
        } else if trimmed.is_empty() || trimmed.starts_with('#') {
        } else if DIRECTIVES.iter().any(|name| word == *name || word.starts_with(&format!("{name}("))) {
            makefile.expanded.push(start..line.end);
        } else if let Some(definition) = definition(text, start..line.end) {
            makefile.definitions.push(definition);
        } else if let Some(colon) = outside(&text[start..line.end], |rest| rest.starts_with(':')) {
            add_rule(&mut makefile, text, start..line.end, start + colon);
        } else {
            makefile.expanded.push(start..line.end);
        }
    }
    makefile
}

fn add_rule(makefile: &mut Makefile, text: &str, line: Range<usize>, colon: usize) {
    let targets = text[line.start..colon].split_whitespace().map(str::to_owned).collect();
    let behind = colon + text[colon..line.end].len() - text[colon..line.end].trim_start_matches(':').len();
    if let Some(definition) = definition(text, skip_spaces(text, behind..line.end)) {
        makefile.definitions.push(definition);
        return;
    }
    let rest = &text[behind..line.end];
    let end = behind + outside(rest, |rest| rest.starts_with([';', '#'])).unwrap_or(rest.len());
    let mut rule =
        Rule { start: line.start, targets, prerequisites: words(text, behind..end), recipe: Vec::new() };
    if text[end..line.end].starts_with(';') {
        rule.recipe.push(recipe_line(text, end + 1..line.end));
    }
    makefile.rules.push(rule);
}

/// Returns the definition of a variable in a line.
fn definition(text: &str, line: Range<usize>) -> Option<Definition> {
    let mut start = line.start;
    loop {
        let rest = &text[start..line.end];
        let word = rest.split_whitespace().next().unwrap_or_default();
        if !matches!(word, "export" | "override" | "private") {
            break;
        }
        let skipped = skip_spaces(text, start + word.len()..line.end);
        if skipped.is_empty() {
            return None;
        }
        start = skipped.start;
    }
    let rest = &text[start..line.end];
    let equals = outside(rest, |rest| rest.starts_with('='))?;
    let name = rest[..equals].trim_end_matches(['?', '+', '!', ':']).trim_end();
    let is_name =
        !name.is_empty() && !name.contains(|char: char| char.is_whitespace() || ":#=".contains(char));
    if !is_name {
        return None;
    }
    let value = start + equals + 1..line.end;
    let comment = outside(&text[value.clone()], |rest| rest.starts_with('#'));
    let end = comment.map_or(value.end, |at| value.start + at);
    let value = skip_spaces(text, value.start..end);
    let value = value.start..value.start + text[value].trim_end().len();
    let is_command = rest[..equals].ends_with('!');
    Some(Definition { name: name.to_owned(), value, start: line.start, is_command })
}

fn skip_spaces(text: &str, range: Range<usize>) -> Range<usize> {
    let rest = &text[range.clone()];
    range.end - rest.trim_start().len()..range.end
}

/// Returns the range of a line of a recipe without its tabulator and its prefixes.
fn recipe_line(text: &str, line: Range<usize>) -> Range<usize> {
    let rest = text[line.clone()].trim_start_matches(['\t', ' ', '@', '-', '+']);
    line.end - rest.len()..line.end
}

/// Returns the position of what is looked for outside of references to variables.
fn outside(text: &str, is_found: impl Fn(&str) -> bool) -> Option<usize> {
    let mut level = 0_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        if level == 0 && before != '\\' && is_found(&text[at..]) {
            return Some(at);
        }
        match char {
            '(' | '{' if before == '$' || level > 0 => level += 1,
            ')' | '}' => level = level.saturating_sub(1),
            _ => {}
        }
        before = char;
    }
    None
}

/// Returns the words in a range. A reference to a variable is part of a word.
pub(super) fn words(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let rest = &text[at..range.end];
        let is_space = |rest: &str| rest.starts_with([' ', '\t', '\\', '\r', '\n', '|']);
        if is_space(rest) {
            at += 1;
            continue;
        }
        let end = outside(rest, is_space).map_or(range.end, |end| at + end);
        found.push(at..end);
        at = end;
    }
    found
}

/// Returns the lines of a text without their line breaks. A line that ends with a backslash is continued.
fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let content = line.trim_end_matches(['\n', '\r']);
        let slashes = content.len() - content.trim_end_matches('\\').len();
        if slashes % 2 == 0 || at == text.len() {
            found.push(start..at - (line.len() - content.len()));
            start = at;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_and_rules_are_found() {
        let text = "# comment\nA ?= b # c\nexport C := $(D:x=y) \\\n  e\nifeq (,$(shell F))\nG = 1\nendif\n\
                    t u: p $(q) | r ; a\n\t@b \\\n\t  c\nifdef X\n\t-d\nendif\nv: W = 1\ndefine z\n\tbody\nendef\n";
        let makefile = parse(text);
        let value =
            |definition: &Definition| format!("{}={}", definition.name, &text[definition.value.clone()]);
        assert_eq!(
            makefile.definitions.iter().map(value).collect::<Vec<_>>(),
            ["A=b", "C=$(D:x=y) \\\n  e", "G=1", "W=1"]
        );
        let [rule] = &makefile.rules[..] else { panic!("{:?}", makefile.rules) };
        let texts = |ranges: &[Range<usize>]| -> Vec<&str> {
            ranges.iter().map(|range| &text[range.clone()]).collect()
        };
        assert_eq!(rule.targets, ["t", "u"]);
        assert_eq!(texts(&rule.recipe), ["a", "b \\\n\t  c", "d"]);
        assert_eq!(texts(&rule.prerequisites), ["p", "$(q)", "r"]);
        assert_eq!(texts(&makefile.canned), ["body"]);
        assert_eq!(texts(&makefile.expanded), ["ifeq (,$(shell F))", "endif", "ifdef X", "endif"]);
    }
}
