//! `bundle.Dockerfile`: the bundle's directories FROM scratch, with the annotations as labels.

use std::collections::HashSet;

use super::annotations::{Annotations, is_label};
use olm_model::dockerfile::written;

const LABELS: &str = "# The annotations of metadata/annotations.yaml.";
const COPIES: &str = "# The directories that the labels name.";
/// The headings that operator-sdk writes.
const SDK_LABELS: &str = "# Core bundle labels.";
const SDK_TEST_LABELS: &str = "# Labels for testing.";
const SDK_COPIES: &str = "# Copy files to locations specified by labels.";

/// The file; lines that a person added to the `previous` one are kept.
pub(crate) fn render(annotations: &Annotations, directory: &str, previous: Option<&str>) -> String {
    let directory = directory.trim_end_matches('/');
    let from = |name: &str| {
        if directory.is_empty() || directory == "." { name.to_owned() } else { format!("{directory}/{name}") }
    };
    let copy = |source: &str, target: &str| {
        let source = from(source);
        // Docker would read several sources.
        if source.contains(char::is_whitespace) {
            format!("COPY {}", serde_json::json!([source, target]))
        } else {
            format!("COPY {source} {target}")
        }
    };
    let mut copies = vec![copy("manifests", "/manifests/"), copy("metadata", "/metadata/")];
    if !annotations.tests.is_empty() {
        copies.push(copy("tests/scorecard", "/tests/scorecard/"));
    }
    let kept = Kept::parse(previous.unwrap_or_default(), annotations);
    let mut lines = vec![kept.from.unwrap_or("FROM scratch").to_owned(), String::new()];
    let label = |key: &str, value: &str| format!("LABEL {key}={}", written(value));
    if annotations.is_of_sdk {
        lines.push(SDK_LABELS.to_owned());
        lines.extend(annotations.bundle.iter().map(|(key, value)| label(key, value)));
        if !annotations.tests.is_empty() {
            lines.extend([String::new(), SDK_TEST_LABELS.to_owned()]);
            lines.extend(annotations.tests.iter().map(|(key, value)| label(key, value)));
        }
        lines.extend([String::new(), SDK_COPIES.to_owned()]);
    } else {
        lines.push(LABELS.to_owned());
        let labels = annotations.all().filter(|(key, value)| is_label(key, value));
        lines.extend(labels.map(|(key, value)| label(key, value)));
        lines.extend([String::new(), COPIES.to_owned()]);
    }
    lines.append(&mut copies);
    if !kept.lines.is_empty() {
        lines.push(String::new());
        lines.extend(kept.lines.into_iter().map(str::to_owned));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// What a person wrote.
struct Kept<'t> {
    from: Option<&'t str>,
    lines: Vec<&'t str>,
}

impl<'t> Kept<'t> {
    fn parse(text: &'t str, annotations: &Annotations) -> Self {
        let mut kept = Self { from: None, lines: Vec::new() };
        let ours: HashSet<&str> = annotations.all().map(|(name, _)| name).collect();
        for line in text.lines().map(str::trim_end) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["FROM", ..] if kept.from.is_none() => kept.from = Some(line),
                ["LABEL", pair, ..] if is_ours(pair, &ours) => {}
                [] | ["COPY", _, "/manifests/" | "/metadata/" | "/tests/scorecard/"] => {}
                ["COPY", first, ..]
                    if first.starts_with('[')
                        && ["/manifests/", "/metadata/", "/tests/scorecard/"]
                            .iter()
                            .any(|target| line.ends_with(&format!("\"{target}\"]"))) => {}
                _ if is_heading(line) => {}
                _ => kept.lines.push(line),
            }
        }
        kept
    }
}

fn is_ours(pair: &str, names: &HashSet<&str>) -> bool {
    let key = pair.split('=').next().unwrap_or(pair).trim_matches('"');
    key.starts_with("operators.operatorframework.io.") || names.contains(key)
}

/// Headings that this tool or operator-sdk wrote.
fn is_heading(line: &str) -> bool {
    [LABELS, COPIES, SDK_LABELS, SDK_TEST_LABELS, SDK_COPIES].contains(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations() -> Annotations {
        Annotations {
            bundle: vec![("operators.operatorframework.io.bundle.package.v1", "a".to_owned())],
            tests: Vec::new(),
            custom: vec![("com.example".to_owned(), "two words".to_owned())],
            is_of_sdk: false,
        }
    }

    #[test]
    fn labels_are_quoted_where_docker_would_split_them() {
        let text = render(&annotations(), "bundle/", None);
        assert!(text.contains("LABEL com.example=\"two words\"\n"), "{text}");
        assert!(text.contains("COPY bundle/manifests /manifests/\n"), "{text}");
        let blank = render(&annotations(), "my bundle", None);
        assert!(blank.contains("COPY [\"my bundle/manifests\",\"/manifests/\"]\n"), "{blank}");
        assert_eq!(render(&annotations(), "my bundle", Some(&blank)), blank);
    }

    #[test]
    fn lines_of_a_person_stay() {
        let old = "FROM scratch\n\n# Core bundle labels.\nLABEL operators.operatorframework.io.bundle.package.v1=b\n\
                   LABEL com.redhat.backport=true\nCOPY LICENSE /licenses/\nCOPY bundle/manifests /manifests/\n";
        let new = render(&annotations(), "bundle", Some(old));
        assert!(new.ends_with("\nLABEL com.redhat.backport=true\nCOPY LICENSE /licenses/\n"), "{new}");
        assert_eq!(render(&annotations(), "bundle", Some(&new)), new);
    }
}
