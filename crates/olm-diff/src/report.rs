//! A difference for people: plain text, and Markdown for a pull request.

use std::fmt::Display;
use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;

use super::bundle::Lists;
use super::crd::{Change, Effect, field};
use super::difference::Difference;
use kube_yaml::text::{printable, size};

/// The styles of the text for terminals; none by default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Styles {
    /// The style of headings.
    pub heading: Style,
    /// The style of what is removed, or breaks.
    pub removed: Style,
    /// The style of what is added.
    pub added: Style,
}

/// A list of changes of one subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Section {
    /// The subject, in lower case: `install modes`.
    pub title: &'static str,
    /// One line for each change; never empty.
    pub changes: Vec<String>,
}

/// Writes a difference as text.
///
/// # Errors
/// `out` cannot be written.
pub fn write_text(difference: &Difference, styles: &Styles, out: &mut impl Write) -> io::Result<()> {
    let Styles { heading, removed, added } = styles;
    writeln!(out, "{} -> {}", printable(&difference.old), printable(&difference.new))?;
    for crd in &difference.crds {
        let title = format!("custom resource definition {}", printable(&crd.name));
        writeln!(out, "\n{}", styled(*heading, title))?;
        for change in &crd.breaking {
            writeln!(out, "  {}", styled(*removed, printable(&sentence(change))))?;
        }
    }
    for Section { title, changes } in sections(difference, ["-", "+"]) {
        writeln!(out, "\n{}", styled(*heading, title))?;
        for change in changes {
            let style = match change.split_once(' ') {
                Some(("-", _)) => *removed,
                Some(("+", _)) => *added,
                _ => Style::new(),
            };
            writeln!(out, "  {}", styled(style, printable(&change)))?;
        }
    }
    writeln!(out, "\n{}", styled(*heading, summary(difference)))
}

/// Writes a difference as Markdown.
///
/// # Errors
/// `out` cannot be written.
pub fn write_markdown(difference: &Difference, out: &mut impl Write) -> io::Result<()> {
    let (old, new) = (code(&difference.old), code(&difference.new));
    writeln!(out, "### {old} → {new}\n\n{}", summary(difference))?;
    for crd in &difference.crds {
        writeln!(out, "\n#### Custom resource definition {}\n", code(&crd.name))?;
        for change in &crd.breaking {
            writeln!(out, "- {}", markdown(&sentence(change)))?;
        }
    }
    for Section { title, changes } in sections(difference, ["removed:", "added:"]) {
        writeln!(out, "\n#### {}{}\n", title[..1].to_uppercase(), &title[1..])?;
        for change in changes {
            writeln!(out, "- {}", markdown(&change))?;
        }
    }
    Ok(())
}

/// Returns a name as code in Markdown.
fn code(name: &str) -> String {
    format!("`{}`", printable(name).replace('`', "'"))
}

/// Returns a sentence as Markdown in which nothing of the bundle becomes a mention, a link or an element: a pull request may have
/// written it, and a bot posts it. What stands between backticks stays code; other words that Markdown would read become code.
fn markdown(sentence: &str) -> String {
    let sentence = printable(sentence);
    let word = |word: &str| {
        let is_markup = word != "->"
            && (word.contains(['@', '[', ']', '<', '>', '*', '_', '#', '!', '~', '&', '|', '\\'])
                || word.contains("://")
                || word.contains("www."));
        if is_markup { code(word) } else { word.to_owned() }
    };
    let words = |text: &str| text.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let mut rest = &*sentence;
    let mut out = String::new();
    while let Some((before, (name, after))) =
        rest.split_once('`').and_then(|(before, rest)| Some((before, rest.split_once('`')?)))
    {
        out += &words(before);
        out += &code(name);
        rest = after;
    }
    out + &words(&rest.replace('`', "'"))
}

/// Returns one change of a CRD for people: where, what, and what it means.
#[must_use]
pub fn sentence(change: &Change) -> String {
    let effect = match change.effect {
        Effect::Rejects => "may reject existing objects",
        Effect::Drops => "drops data of existing objects",
        Effect::Changes => "changes how existing objects are read",
        Effect::Unserved => "requests for it fail",
        Effect::Harmless => "OLM v1 rejects it, existing objects stay valid",
    };
    let detail = &change.detail;
    match change.check {
        "scope" => format!("scope changed: {detail} (the API server rejects the CRD)"),
        "storedVersionRemoval" => {
            format!("stored version removed: {detail} (the API server rejects the CRD)")
        }
        "kind" => format!("kind changed: {detail} (the API server rejects the CRD)"),
        "servedVersionRemoval" => format!("served version removed: {detail} ({effect})"),
        "servedVersionDisabled" => format!("version no longer served: {detail} ({effect})"),
        "subresourceRemoval" => format!("subresource removed: {detail} ({effect})"),
        "selectableFieldRemoval" => {
            format!("selectable field removed: {detail} (requests with it as field selector fail)")
        }
        "existingFieldRemoval" => format!("field removed: {detail} ({effect})"),
        check => format!("{} {}: {check}: {detail} ({effect})", change.version, field(&change.path)),
    }
}

fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Returns the sections after the CRDs that are not empty; `marks` precede what is removed and what is added.
#[must_use]
pub fn sections(difference: &Difference, marks: [&str; 2]) -> Vec<Section> {
    let broken = difference.objects.iter().flat_map(|objects| &objects.broken);
    let mut sections = vec![
        ("existing objects", broken.map(|one| format!("{}: {}", one.object, one.problem)).collect()),
        (
            "immutable fields",
            difference
                .immutable_fields
                .iter()
                .map(|change| {
                    let (object, field) = (&change.object, &change.field);
                    format!(
                        "{object}: {field}: {} (the API server rejects the update; {})",
                        change.detail, change.help
                    )
                })
                .collect(),
        ),
        (
            "conversion",
            difference
                .conversion_conflicts
                .iter()
                .map(|crd| {
                    format!(
                        "{crd}: spec.conversion of the manifest conflicts with the conversion webhook of the CSV (remove it: \
                         requests fail until OLM has replaced it)"
                    )
                })
                .collect(),
        ),
        ("upgrade edge", difference.missing_edge.iter().cloned().collect()),
        (
            "package",
            difference
                .package
                .iter()
                .map(|(old, new)| {
                    format!("`{old}` -> `{new}` (OLM treats it as another operator and does not upgrade the installed one)")
                })
                .collect(),
        ),
        ("catalog metadata", lines(&difference.catalog_metadata, marks)),
        ("custom resource definitions", lines(&difference.crd_names, marks)),
        ("install modes", lines(&difference.install_modes, marks)),
        ("dependencies", lines(&difference.dependencies, marks)),
        ("deployments", {
            let mut deployments = lines(&difference.deployments, marks);
            deployments.extend(difference.deployment_fields.iter().cloned());
            deployments
        }),
        ("service accounts", lines(&difference.service_accounts, marks)),
        ("permissions", lines(&difference.permissions, marks)),
        ("webhooks", {
            let mut webhooks = lines(&difference.webhooks, marks);
            webhooks.extend(difference.webhook_fields.iter().cloned());
            webhooks
        }),
        ("owned APIs", lines(&difference.owned_apis, marks)),
        ("required APIs", lines(&difference.required_apis, marks)),
        ("images", lines(&difference.images, marks)),
        ("descriptors", lines(&difference.descriptors, marks)),
    ];
    if let Some((old, new)) = &difference.min_kube_version {
        let name = |version: &str| if version.is_empty() { "any".to_owned() } else { version.to_owned() };
        sections.push(("minimum Kubernetes version", vec![format!("{} -> {}", name(old), name(new))]));
    }
    if let Some((old, new)) = difference.manifests_size.map(|(old, new)| (size(old), size(new)))
        && old != new
    {
        sections.push(("size of the manifests", vec![format!("{old} -> {new}")]));
    }
    sections.retain(|(_, lines)| !lines.is_empty());
    sections.into_iter().map(|(title, changes)| Section { title, changes }).collect()
}

fn lines<T: Display>(lists: &Lists<T>, [removed, added]: [&str; 2]) -> Vec<String> {
    let removed = lists.removed.iter().map(|item| format!("{removed} {item}"));
    removed.chain(lists.added.iter().map(|item| format!("{added} {item}"))).collect()
}

/// Returns what is most important for an upgrade, in one line.
#[must_use]
pub fn summary(difference: &Difference) -> String {
    let changes: usize = difference.crds.iter().map(|crd| crd.breaking.len()).sum();
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![plural(changes, "breaking change") + " in " + &plural(difference.crds.len(), "CRD")];
    if !difference.immutable_fields.is_empty() {
        parts.push(plural(difference.immutable_fields.len(), "immutable field") + " changed");
    }
    let added = difference.dependencies.added.len() + difference.required_apis.added.len();
    if added > 0 {
        parts.push(format!("{added} {} added", if added == 1 { "dependency" } else { "dependencies" }));
    }
    if !difference.crd_names.removed.is_empty() {
        parts.push(plural(difference.crd_names.removed.len(), "CRD") + " removed");
    }
    if !difference.owned_apis.removed.is_empty() {
        parts.push(plural(difference.owned_apis.removed.len(), "owned API") + " removed");
    }
    if !difference.install_modes.removed.is_empty() {
        parts.push(plural(difference.install_modes.removed.len(), "install mode") + " removed");
    }
    if difference.package.is_some() {
        parts.push("package changed".to_owned());
    }
    if let Some(objects) = &difference.objects {
        let mut part =
            format!("{} of {} broken", objects.broken.len(), plural(objects.checked, "existing object"));
        if objects.invalid_before > 0 {
            part = format!("{part} ({} invalid before)", objects.invalid_before);
        }
        parts.push(part);
        if objects.unverified > 0 {
            parts.push(format!("{} more not validated: the cost limit was exceeded", objects.unverified));
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_bundle_becomes_markup() {
        for (sentence, expected) in [
            ("added: channel `a`", "added: channel `a`"),
            (
                "added: channel `a` @all [x](http://e.example) <img src=x> `",
                "added: channel `a` `@all` `[x](http://e.example)` `<img` `src=x>` '",
            ),
            ("`a` -> `b` (replaces)", "`a` -> `b` (replaces)"),
            ("added: quay.io/a@sha256:1", "added: `quay.io/a@sha256:1`"),
            ("a `b", "a 'b"),
        ] {
            assert_eq!(markdown(sentence), expected);
        }
        assert_eq!(code("a`@b`"), "`a'@b'`");
    }
}
