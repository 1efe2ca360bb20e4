//! The rules' documentation, for people and as the Markdown of `docs/rules.md`.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Severity, Suite};

/// What is to be said of one rule.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct RuleText {
    /// The rule's name.
    pub id: &'static str,
    /// The suite that switches it on.
    pub suite: Suite,
    /// How bad a finding is.
    pub severity: Severity,
    /// What the rule looks for.
    pub what: &'static str,
    /// Who refuses it, or what goes wrong.
    pub why: &'static str,
    /// What to do.
    pub help: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

/// One rule for people.
#[must_use]
pub fn explanation(rule: &RuleText) -> String {
    let mut text = format!("{}: {} of the suite {}\n", rule.id, rule.severity, rule.suite);
    for (title, paragraph) in
        [("What", rule.what), ("Why", rule.why), ("Help", rule.help), ("Source", rule.source)]
    {
        text.push_str("\n  ");
        text.push_str(title);
        text.push('\n');
        for line in wrap(paragraph, 92) {
            text.push_str("    ");
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// A table of rules for people: name, severity, suite.
#[must_use]
pub fn table(rules: &[RuleText]) -> String {
    let width = rules.iter().map(|rule| rule.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for rule in rules {
        // Writing into a text cannot fail.
        let _ = writeln!(text, "{:width$}  {:7}  {}", rule.id, rule.severity.to_string(), rule.suite);
    }
    text
}

/// All rules as one page of Markdown, by suite and name.
#[must_use]
pub fn markdown(rules: &[RuleText]) -> String {
    let mut sorted: Vec<&RuleText> = rules.iter().collect();
    sorted.sort_by_key(|rule| (rule.suite, rule.id));
    let mut text = String::from(
        "<!-- Written by `bundle-tool rules --output markdown`; `make generate` renews it. -->\n\n# Rules\n\n\
         `bundle-tool explain RULE` prints one of them. An error is refused by the API server, by OLM or by the checks \
         of a listing; a warning is refused by nobody and will bite.\n",
    );
    let mut suite = None;
    for rule in sorted {
        if suite != Some(rule.suite) {
            suite = Some(rule.suite);
            let _ = writeln!(text, "\n## Suite `{}`", rule.suite);
        }
        let _ = writeln!(
            text,
            "\n### {}\n\n*{}.* {}\n\n{}\n\n**Help:** {}.\n\n**Source:** {}",
            rule.id,
            rule.severity,
            rule.what,
            rule.why,
            capitalized(rule.help),
            rule.source
        );
    }
    text
}

fn capitalized(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let mut chars = text.chars();
    // A sentence that begins with code stays as it is.
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: RuleText = RuleText {
        id: "a-defect",
        suite: Suite::Bundle,
        severity: Severity::Error,
        what: "Something is wrong.",
        why: "Somebody refuses it.",
        help: "mend it",
        source: "a file",
    };

    #[test]
    fn a_rule_reads_the_same_for_people_and_on_the_page() {
        let text = explanation(&RULE);
        assert!(
            text.starts_with("a-defect: error of the suite bundle\n\n  What\n    Something is wrong.\n"),
            "{text}"
        );
        let page = markdown(&[RULE]);
        assert!(
            page.contains("## Suite `bundle`\n\n### a-defect\n\n*error.* Something is wrong.\n"),
            "{page}"
        );
        assert!(page.contains("**Help:** Mend it.\n"), "{page}");
    }

    #[test]
    fn long_paragraphs_are_wrapped_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), Vec::<String>::new());
    }
}
