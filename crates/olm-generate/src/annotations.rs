//! `metadata/annotations.yaml`, from which the Dockerfile's and the image's labels come.

use std::collections::{BTreeMap, BTreeSet};

use oci_images::labels;

use super::csv::{BUILDER, UNKNOWN_LAYOUT};
use super::error::Error;
use super::options::Options;
use super::report::{GenerateReport, clip};
use kube_yaml::{Kind, Tree, Value};
use olm_model::bundle::Annotations as Keys;

/// The keys that this module writes.
const OWN: [&str; 11] = [
    Keys::MEDIA_TYPE,
    Keys::MANIFESTS,
    Keys::METADATA,
    Keys::PACKAGE,
    Keys::CHANNELS,
    Keys::DEFAULT_CHANNEL,
    labels::METRICS_BUILDER,
    labels::METRICS_MEDIA_TYPE,
    labels::METRICS_PROJECT_LAYOUT,
    labels::SCORECARD_MEDIA_TYPE,
    labels::SCORECARD_CONFIG,
];
const HEADING: &str = "  # The bundle's own annotations.";
const TEST_HEADING: &str = "  # Where the scorecard's tests are.";
/// The headings that operator-sdk writes.
const SDK_HEADING: &str = "  # Core bundle annotations.";
const SDK_TEST_HEADING: &str = "  # Annotations for testing.";

/// The annotations of a bundle, in the order in which they are written.
#[derive(Debug)]
pub(crate) struct Annotations {
    pub(crate) bundle: Vec<(&'static str, String)>,
    pub(crate) tests: Vec<(&'static str, String)>,
    /// Annotations that the user added.
    pub(crate) custom: Vec<(String, String)>,
    /// Whether the files are those of operator-sdk.
    pub(crate) is_of_sdk: bool,
}

impl Annotations {
    /// # Errors
    /// The default channel is none of the channels.
    pub(crate) fn new(
        package: &str,
        options: &Options,
        previous: Option<&Tree>,
        has_tests: bool,
        report: &mut GenerateReport,
    ) -> Result<Self, Error> {
        let annotations = previous.and_then(|tree| tree.root().get("annotations"));
        let is_scalar = |value: Value<'_>| !matches!(value.kind(), Kind::Array | Kind::Object);
        for (key, _) in
            annotations.into_iter().flat_map(Value::entries).filter(|(_, value)| !is_scalar(*value))
        {
            let key = clip(key.text());
            report
                .warn_at(None, format!("annotation `{}` was omitted: expected a string", key.escape_debug()));
        }
        let previous: Vec<(String, String)> = annotations
            .into_iter()
            .flat_map(Value::entries)
            .filter(|(_, value)| is_scalar(*value))
            .map(|(key, value)| (key.text().to_owned(), value.text().to_owned()))
            .collect();
        let kept = |key: &str| {
            previous
                .iter()
                .find(|(name, value)| name == key && !value.is_empty())
                .map(|(_, value)| value.clone())
        };
        let channels = options.channels.clone().or_else(|| kept(Keys::CHANNELS));
        let channels = channels.unwrap_or_else(|| "alpha".to_owned());
        let default = options.default_channel.clone().or_else(|| kept(Keys::DEFAULT_CHANNEL));
        match &default {
            Some(default)
                if !options.is_of_sdk() && !channels.split(',').any(|channel| channel.trim() == default) =>
            {
                return Err(Error::DefaultChannel { default: default.clone(), channels });
            }
            None if channels.split(',').map(str::trim).collect::<BTreeSet<_>>().len() > 1 => {
                report
                    .warn_at(None, "the bundle has several channels and no default; pass --default-channel");
            }
            _ => {}
        }
        let mut bundle = vec![
            (Keys::MEDIA_TYPE, "registry+v1".to_owned()),
            (Keys::MANIFESTS, "manifests/".to_owned()),
            (Keys::METADATA, "metadata/".to_owned()),
            (Keys::PACKAGE, package.to_owned()),
            (Keys::CHANNELS, channels),
        ];
        bundle.extend(default.map(|channel| (Keys::DEFAULT_CHANNEL, channel)));
        bundle.push((labels::METRICS_BUILDER, options.builder.clone().unwrap_or_else(|| BUILDER.to_owned())));
        bundle.push((labels::METRICS_MEDIA_TYPE, "metrics+v1".to_owned()));
        bundle.push((
            labels::METRICS_PROJECT_LAYOUT,
            options.layout.clone().unwrap_or_else(|| UNKNOWN_LAYOUT.to_owned()),
        ));
        let tests = if has_tests {
            vec![
                (labels::SCORECARD_MEDIA_TYPE, "scorecard+v1".to_owned()),
                (labels::SCORECARD_CONFIG, "tests/scorecard/".to_owned()),
            ]
        } else {
            Vec::new()
        };
        let custom: Vec<(String, String)> =
            previous.into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect();
        for (key, _) in custom.iter().filter(|(key, value)| !is_label(key, value)) {
            let key = clip(key);
            report.warn_at(
                None,
                format!(
                    "annotation `{}` is not a label in bundle.Dockerfile: expected a name of letters, digits, `.`, `_`, `-` and \
                     `/`, and a value on one line",
                    key.escape_debug()
                ),
            );
        }
        Ok(Self { bundle, tests, custom, is_of_sdk: options.is_of_sdk() })
    }

    /// Returns the channels, without surrounding whitespace and empty names.
    pub(crate) fn channels(&self) -> Vec<String> {
        let channels = self.bundle.iter().filter(|(key, _)| *key == Keys::CHANNELS);
        channels
            .flat_map(|(_, value)| value.split(','))
            .map(|channel| channel.trim().to_owned())
            .filter(|channel| !channel.is_empty())
            .collect()
    }

    /// Returns all annotations in order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.bundle
            .iter()
            .chain(&self.tests)
            .map(|(key, value)| (*key, value.as_str()))
            .chain(self.custom.iter().map(|(key, value)| (key.as_str(), value.as_str())))
    }

    /// Returns the file. What the user added to the `previous` one is kept as it is written, with comments and whatever is beside the
    /// annotations; if that is not possible, for example because of an anchor that is not written any more, its annotations are kept.
    pub(crate) fn yaml(&self, previous: Option<&[u8]>, report: &mut GenerateReport) -> String {
        let previous = previous.and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let text = self.with(&Kept::parse(previous, &self.custom));
        if self.is_in(&text) {
            return text;
        }
        report.warn_at(
            None,
            "metadata/annotations.yaml was written anew: its annotations were kept, but not comments and other documents",
        );
        self.with(&Kept::default())
    }

    /// Returns whether a file has all annotations and no others.
    fn is_in(&self, text: &str) -> bool {
        let parsed = kube_yaml::parse(text.as_bytes());
        let annotations = parsed.documents.first().and_then(|tree| tree.root().get("annotations"));
        let found: BTreeMap<&str, &str> = annotations
            .into_iter()
            .flat_map(Value::entries)
            .map(|(key, value)| (key.text(), value.text()))
            .collect();
        parsed.error.is_none() && found == self.all().collect()
    }

    fn with(&self, kept: &Kept) -> String {
        let head: String = kept.head.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut out = String::from("annotations:\n");
        let mut section = |heading: &str, entries: &[(&'static str, String)]| {
            if entries.is_empty() {
                return;
            }
            if out.len() > "annotations:\n".len() {
                out.push('\n');
            }
            out.push_str(heading);
            out.push('\n');
            for (key, value) in entries {
                for comment in kept.comments.get(*key).into_iter().flatten() {
                    out.push_str(comment);
                    out.push('\n');
                }
                out.push_str("  ");
                out.push_str(key);
                out.push_str(": ");
                out.push_str(&scalar(value));
                out.push('\n');
            }
        };
        section(if self.is_of_sdk { SDK_HEADING } else { HEADING }, &self.bundle);
        section(if self.is_of_sdk { SDK_TEST_HEADING } else { TEST_HEADING }, &self.tests);
        let lost = self.custom.iter().filter(|(key, _)| !kept.names.contains(key));
        let lost = lost.flat_map(|(key, value)| {
            let entry = kube_yaml::emit(&serde_json::json!({ key: value }));
            entry.lines().map(|line| format!("  {line}")).collect::<Vec<_>>()
        });
        let custom: Vec<String> = kept.custom.iter().cloned().chain(lost).collect();
        if !custom.is_empty() {
            out.push('\n');
        }
        let lines = custom.iter().chain(&kept.tail);
        out.extend(lines.flat_map(|line| [line.as_str(), "\n"]));
        head + &out
    }
}

/// Returns whether an annotation can be a label in a Dockerfile, in the form that is written.
pub(crate) fn is_label(key: &str, value: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-/".contains(char);
    !key.is_empty() && key.chars().all(is_plain) && !value.chars().any(char::is_control)
}

/// Formats a value in YAML, as it follows a key.
fn scalar(value: &str) -> String {
    kube_yaml::emit(&value.into()).trim_end().to_owned()
}

/// The lines of a file that the user wrote.
#[derive(Default)]
struct Kept {
    /// Comments before one of our own keys.
    comments: BTreeMap<String, Vec<String>>,
    /// Other annotations with the comments before them, and the end of the file.
    custom: Vec<String>,
    /// The names of these annotations.
    names: BTreeSet<String>,
    /// What is before the annotations.
    head: Vec<String>,
    /// What is behind them.
    tail: Vec<String>,
}

impl Kept {
    /// `custom` are the annotations that the file has besides ours. Those that are written in another form than one line or block for
    /// each, such as JSON, are not among the lines.
    fn parse(text: &str, custom: &[(String, String)]) -> Self {
        let mut kept = Self::default();
        let custom: BTreeSet<&str> = custom.iter().map(|(name, _)| name.as_str()).collect();
        let mut comments = Vec::new();
        // Whether the current lines belong to an annotation that is not ours.
        let mut within_custom = false;
        let begins = |line: &&str| {
            let rest = line
                .split_once(':')
                .filter(|(key, _)| name(key) == "annotations")
                .map(|(_, rest)| rest.trim());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        };
        let all: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
        let Some(start) = all.iter().position(begins) else { return kept };
        // A line that is not indented is of something else, such as another document.
        let is_beside = |line: &&str| !line.starts_with([' ', '\t', '#']) && !line.is_empty();
        let end = all[start + 1..].iter().position(is_beside).map_or(all.len(), |end| start + 1 + end);
        kept.head = all[..start].iter().map(|line| (*line).to_owned()).collect();
        kept.tail = all[end..].iter().map(|line| (*line).to_owned()).collect();
        let lines = all[start + 1..end].iter().copied();
        let indent_of = |line: &str| line.len() - line.trim_start().len();
        let is_entry = |line: &&&str| !matches!(line.trim_start().chars().next(), None | Some('#'));
        // Written with two spaces again.
        let own_indent = lines.clone().find(|line| is_entry(&line)).map_or(2, indent_of);
        let indented = |line: &str| {
            let indent = indent_of(line);
            let shift = if indent < own_indent { indent } else { indent - own_indent + 2 };
            format!("{}{}", " ".repeat(shift), &line[indent..])
        };
        let mut blank = 0;
        for line in lines {
            let indent = indent_of(line);
            let content = line.trim_start();
            if content.is_empty() {
                blank += 1;
                continue;
            }
            // Blocks may have empty lines.
            let before = std::mem::take(&mut blank);
            if indent > own_indent && within_custom {
                kept.custom.append(&mut comments);
                kept.custom.extend(std::iter::repeat_n(String::new(), before));
                kept.custom.push(indented(line));
            } else if content.starts_with('#') {
                if !is_heading(content) {
                    comments.push(indented(line));
                }
            } else if indent <= own_indent {
                let key = name(content.split(':').next().unwrap_or_default());
                within_custom = !OWN.contains(&key) && custom.contains(key);
                if within_custom {
                    kept.custom.append(&mut comments);
                    kept.custom.push(indented(line));
                    kept.names.insert(key.to_owned());
                } else if !comments.is_empty() {
                    kept.comments.entry(key.to_owned()).or_default().append(&mut comments);
                }
            }
        }
        kept.custom.append(&mut comments);
        kept
    }
}

/// Returns a key without its quotes.
fn name(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

/// Headings that this tool or operator-sdk writes.
fn is_heading(comment: &str) -> bool {
    comment == HEADING.trim_start()
        || comment == TEST_HEADING.trim_start()
        || matches!(comment, "# Core bundle annotations." | "# Annotations for testing.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_added_is_kept() {
        let old = "annotations:\n  # Core bundle annotations.\n  # ours since 2024\n  \
                   operators.operatorframework.io.bundle.package.v1: a\n\n  # Which OpenShift\n  \
                   com.redhat.openshift.versions: v4.12\n  long: >-\n    two\n    lines\n  # the end\n";
        let annotations = Annotations {
            bundle: vec![(Keys::PACKAGE, "a".to_owned())],
            tests: Vec::new(),
            custom: [("com.redhat.openshift.versions", "v4.12"), ("long", "two lines")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .to_vec(),
            is_of_sdk: false,
        };
        let new = annotations.yaml(Some(old.as_bytes()), &mut GenerateReport::default());
        assert_eq!(
            new,
            "annotations:\n  # The bundle's own annotations.\n  # ours since 2024\n  \
             operators.operatorframework.io.bundle.package.v1: a\n\n  # Which OpenShift\n  \
             com.redhat.openshift.versions: v4.12\n  long: >-\n    two\n    lines\n  # the end\n"
        );
        assert_eq!(annotations.yaml(Some(new.as_bytes()), &mut GenerateReport::default()), new);
    }

    #[test]
    fn what_a_person_added_is_kept_however_it_is_written() {
        let own = "operators.operatorframework.io.bundle.package.v1";
        for (old, head, end, warning) in [
            (
                format!(
                    "annotations: # mine\n    {own}: a\n    # why\n    b: c\n    d: |-\n      e\n\n\n      f\n"
                ),
                "",
                "\n  # why\n  b: c\n  d: |-\n    e\n\n\n    f\n",
                "annotation `d` is not a label in bundle.Dockerfile",
            ),
            (format!("\u{feff}annotations:\n {own}: a\n b: c\n"), "", "\n  b: c\n", ""),
            (format!("\"annotations\":\n  {own}: a\n  \"b\": c\n"), "", "\n  \"b\": c\n", ""),
            (format!("annotations :\n  {own}: a\n  b : c\n"), "", "\n  b : c\n", ""),
            (format!("annotations: {{{own}: a, b: c}}\n"), "", "\n  b: c\n", ""),
            (format!("{{\"annotations\": {{\"{own}\": \"a\",\n  \"b\": \"c\"}}}}\n"), "", "\n  b: c\n", ""),
            (format!("annotations:\n  {own}: a\n  ? b\n  : c\n"), "", "\n  b: c\n", ""),
            (
                format!("# head\n---\nannotations:\n  {own}: a\nother:\n  k: 1\n---\nb: c\n"),
                "# head\n---\n",
                "other:\n  k: 1\n---\nb: c\n",
                "",
            ),
            (
                format!("annotations: # mine\n\n  {own}: a\n  # end\nother: 1\n"),
                "",
                "\n  # end\nother: 1\n",
                "",
            ),
            (
                format!("annotations:\n  {own}: &p a\n  b: *p # why\n"),
                "",
                "\n  b: a\n",
                "metadata/annotations.yaml was written anew",
            ),
            (
                format!("annotations:\n  {own}: a\n  \"a\\u2028b\": c\n"),
                "",
                "\n  ? 'a\u{2028}b'\n  : c\n",
                "annotation `a\\u{2028}b` is not a label",
            ),
            (format!("annotations:\n  {own}: a\n  m: {{a: b}}\n"), "", "", "annotation `m` was omitted"),
            (format!("annotations:\n- {own}: a\n"), "", "", "metadata/annotations.yaml was written anew"),
        ] {
            let tree = kube_yaml::parse(old.as_bytes()).documents.remove(0);
            let mut report = GenerateReport::default();
            let annotations =
                Annotations::new("a", &Options::default(), Some(&tree), false, &mut report).unwrap();
            let new = annotations.yaml(Some(old.as_bytes()), &mut report);
            assert!(new.starts_with(&format!("{head}annotations:\n")), "{old}: {new}");
            assert!(new.ends_with(&format!("project_layout: unknown\n{end}")), "{old}: {new}");
            let warnings: Vec<&str> = report.notes.iter().map(|note| note.message.as_str()).collect();
            let is_expected = match &warnings[..] {
                [] => warning.is_empty(),
                [one] => !warning.is_empty() && one.starts_with(warning),
                _ => false,
            };
            assert!(is_expected, "{old}: {warnings:?}");
            assert_eq!(annotations.yaml(Some(new.as_bytes()), &mut report), new);
        }
    }

    /// It took more than a minute when each annotation was compared with all others.
    #[test]
    fn many_annotations_are_kept() {
        let entries: String = (0..100_000).map(|number| format!("  a{number}: b\n")).collect();
        let old = format!("annotations:\n{entries}");
        let tree = kube_yaml::parse(old.as_bytes()).documents.remove(0);
        let mut report = GenerateReport::default();
        let annotations =
            Annotations::new("a", &Options::default(), Some(&tree), false, &mut report).unwrap();
        assert!(annotations.yaml(Some(old.as_bytes()), &mut report).ends_with(&entries));
        assert!(!report.has_warnings());
    }

    #[test]
    fn channel_that_is_repeated_needs_no_default() {
        for (channels, is_warned) in [("a,a", false), ("a", false), ("a, b", true)] {
            let options = Options { channels: Some(channels.into()), ..Options::default() };
            let mut report = GenerateReport::default();
            Annotations::new("a", &options, None, false, &mut report).unwrap();
            assert_eq!(report.has_warnings(), is_warned, "{channels}");
        }
    }
}
