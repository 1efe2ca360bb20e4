//! Label selectors of Kubernetes in one line: `a=b,c!=d,e in (f,g),!h`.
//!
//! Source: `pkg/labels/selector.go` of k8s.io/apimachinery.

use std::fmt;
use std::str::FromStr;

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The accepted values; `None` if the label only has to exist.
    values: Option<Vec<String>>,
    is_negated: bool,
}

/// The reason why a string is not a label selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A parenthesis is closed before one is opened.
    #[error("found `)` without `(`")]
    Unopened,
    /// A parenthesis is not closed.
    #[error("`(` is not closed")]
    Unclosed,
    /// A list of values does not follow `KEY in` or `KEY notin`.
    #[error("expected `KEY in (VALUES)` or `KEY notin (VALUES)`")]
    Operator,
    /// The key cannot be that of a label.
    #[error("invalid label key `{0}`")]
    Key(String),
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        split(text)?
            .into_iter()
            .map(|part| Requirement::parse(part.trim()))
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, values, is_negated } = self;
        match (values.as_deref(), is_negated) {
            (None, false) => write!(formatter, "{key}"),
            (None, true) => write!(formatter, "!{key}"),
            (Some([value]), false) => write!(formatter, "{key}={value}"),
            (Some([value]), true) => write!(formatter, "{key}!={value}"),
            (Some(values), false) => write!(formatter, "{key} in ({})", values.join(",")),
            (Some(values), true) => write!(formatter, "{key} notin ({})", values.join(",")),
        }
    }
}

impl LabelSelector {
    /// Returns whether the selector has no requirement.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether labels meet all requirements; `label` returns the value of one.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.0.iter().all(|requirement| {
            let found = label(&requirement.key);
            let fits = match &requirement.values {
                Some(values) => found.is_some_and(|found| values.iter().any(|value| value == found)),
                None => found.is_some(),
            };
            fits != requirement.is_negated
        })
    }
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Result<Vec<&str>, SelectorError> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(SelectorError::Unopened)?,
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(SelectorError::Unclosed);
    }
    parts.push(&text[start..]);
    Ok(parts)
}

impl Requirement {
    fn new(key: &str, values: Option<Vec<String>>, is_negated: bool) -> Result<Self, SelectorError> {
        let key = key.trim();
        let is_key = |char: char| char.is_ascii_alphanumeric() || "-_./".contains(char);
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(SelectorError::Key(key.to_owned()));
        }
        Ok(Self { key: key.to_owned(), values, is_negated })
    }

    fn parse(part: &str) -> Result<Self, SelectorError> {
        let one = |value: &str| Some(vec![value.trim().to_owned()]);
        if let Some(open) = part.find('(') {
            let values = part[open + 1..].trim_end().strip_suffix(')').unwrap_or_default();
            let values = values.split(',').map(|value| value.trim().to_owned()).collect();
            let words: Vec<&str> = part[..open].split_whitespace().collect();
            return match words[..] {
                [key, "in"] => Self::new(key, Some(values), false),
                [key, "notin"] => Self::new(key, Some(values), true),
                _ => Err(SelectorError::Operator),
            };
        }
        if let Some((key, value)) = part.split_once("!=") {
            return Self::new(key, one(value), true);
        }
        if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
            return Self::new(key, one(value), false);
        }
        match part.strip_prefix('!') {
            Some(key) => Self::new(key, None, true),
            None => Self::new(part, None, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_those_of_kubernetes() {
        let label = |key: &str| match key {
            "name" => Some("categories"),
            "suite" => Some("operatorframework"),
            _ => None,
        };
        for (text, is_selected) in [
            ("", true),
            (" ", true),
            ("name=categories", true),
            ("name==categories, suite = operatorframework", true),
            ("name!=categories", false),
            ("name in (multiarch, categories)", true),
            ("name in(categories)", true),
            ("name notin (multiarch,community),suite", true),
            ("!suite", false),
            ("!other", true),
            ("other", false),
            ("other!=x", true),
            ("other notin (x)", true),
            ("other in (x)", false),
            ("suite=other", false),
        ] {
            assert_eq!(text.parse::<LabelSelector>().unwrap().matches(label), is_selected, "{text}");
        }
        for text in
            ["=x", "a in x)", "a in (x", "a of (x)", "a in x", "a b", ",", "name=a,", "a=1,,b=2", "a$=b"]
        {
            assert!(text.parse::<LabelSelector>().is_err(), "{text}");
        }
    }

    #[test]
    fn selector_is_shown_as_it_is_parsed() {
        for text in ["", "a=b", "a!=b,c", "!a,b in (c,d)", "a notin (b,c)"] {
            assert_eq!(text.parse::<LabelSelector>().unwrap().to_string(), text);
        }
        assert_eq!("a == b, c in (d)".parse::<LabelSelector>().unwrap().to_string(), "a=b,c=d");
    }
}
