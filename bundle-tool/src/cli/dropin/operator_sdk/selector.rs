//! Label selectors of Kubernetes: `a=b,c!=d,e in (f,g),!h`.
//!
//! Source: `pkg/labels/selector.go` of k8s.io/apimachinery.

use anyhow::{Result, bail};

/// A label selector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// The accepted values; `None` if the label only has to exist.
    values: Option<Vec<String>>,
    is_negated: bool,
}

impl Selector {
    /// Parses a selector.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut requirements = Vec::new();
        for part in split(text)? {
            if !(part.is_empty() && text.trim().is_empty()) {
                requirements.push(requirement(part.trim(), text)?);
            }
        }
        Ok(Self(requirements))
    }

    /// Returns whether the selector has no requirement.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether labels meet all requirements.
    pub(crate) fn matches(&self, labels: &[(&str, &str)]) -> bool {
        self.0.iter().all(|requirement| {
            let found = labels.iter().find(|(key, _)| *key == requirement.key).map(|(_, value)| *value);
            let fits = match (&requirement.values, found) {
                (Some(values), Some(value)) => values.iter().any(|other| other == value),
                (None, found) => found.is_some(),
                (Some(_), None) => false,
            };
            fits != requirement.is_negated
        })
    }
}

/// Splits at the commas outside of parentheses.
fn split(text: &str) -> Result<Vec<&str>> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, char) in text.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => bail!("unable to parse selector {text:?}: found `)` without `(`"),
            },
            ',' if depth == 0 => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        bail!("unable to parse selector {text:?}: `(` is not closed");
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn requirement(part: &str, whole: &str) -> Result<Requirement> {
    let requirement = |key: &str, values: Option<Vec<String>>, is_negated: bool| {
        let key = key.trim();
        if key.is_empty() || key.contains(|char: char| char.is_whitespace() || "()!,=".contains(char)) {
            bail!("unable to parse selector {whole:?}: invalid label key {key:?}");
        }
        Ok(Requirement { key: key.to_owned(), values, is_negated })
    };
    let one = |value: &str| Some(vec![value.trim().to_owned()]);
    if let Some(open) = part.find('(') {
        let values = part[open + 1..].trim_end().strip_suffix(')').unwrap_or_default();
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let words: Vec<&str> = part[..open].split_whitespace().collect();
        return match words[..] {
            [key, "in"] => requirement(key, Some(values), false),
            [key, "notin"] => requirement(key, Some(values), true),
            _ => bail!(
                "unable to parse selector {whole:?}: expected `KEY in (VALUES)` or `KEY notin (VALUES)`"
            ),
        };
    }
    if let Some((key, value)) = part.split_once("!=") {
        return requirement(key, one(value), true);
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return requirement(key, one(value), false);
    }
    match part.strip_prefix('!') {
        Some(key) => requirement(key, None, true),
        None => requirement(part, None, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_those_of_kubernetes() {
        let labels = [("name", "categories"), ("suite", "operatorframework")];
        for (text, is_selected) in [
            ("", true),
            ("name=categories", true),
            ("name==categories, suite = operatorframework", true),
            ("name!=categories", false),
            ("name in (multiarch, categories)", true),
            ("name notin (multiarch,community),suite", true),
            ("!suite", false),
            ("!other", true),
            ("other!=x", true),
            ("other notin (x)", true),
            ("suite=other", false),
        ] {
            assert_eq!(Selector::parse(text).unwrap().matches(&labels), is_selected, "{text}");
        }
        for text in ["=x", "a in x)", "a in (x", "a of (x)", "a b", ",", "name=a,"] {
            assert!(Selector::parse(text).is_err(), "{text}");
        }
    }
}
