//! Annotations of the CSV that the catalog shows, and that its pipeline warns about.

use super::sources::REQUIRED_FIELDS;
use super::times;
use crate::prelude::*;
use olm_model::report::suggest::unknown;

/// Minimum number of characters of `support`.
const MIN_SUPPORT: usize = 3;

/// Minimum number of characters of `description`.
const MIN_SUMMARY: usize = 10;

/// The categories of the pipeline, which are not quite those of OperatorHub.io.
const CATEGORIES: [&str; 16] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Database",
    "Developer Tools",
    "Drivers and plugins",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
];

pub(crate) static RULES: [Rule; 7] = [
    rule(
        "community-capabilities-missing",
        "The annotation `capabilities` is missing.",
        "set the annotation to `Basic Install`, `Seamless Upgrades`, `Full Lifecycle`, `Deep Insights` or `Auto Pilot`",
        |csv, reporter| {
            // capability-unknown reports an unknown level.
            required(csv, "capabilities", reporter);
        },
    ),
    rule(
        "community-category-unknown",
        "The annotation `categories` is missing, or names a category that the pipeline of the OpenShift community catalog does not know.",
        "set the annotation to known categories, separated by commas, such as `Database, Monitoring`",
        |csv, reporter| {
            let names = required(csv, "categories", reporter).into_iter().flat_map(|value| value.split(','));
            for name in names.map(str::trim).filter(|name| !CATEGORIES.contains(name)) {
                report(csv, "categories", unknown("category", name, &CATEGORIES), reporter);
            }
        },
    ),
    rule(
        "community-container-image-invalid",
        "The annotation `containerImage` is missing, or is not an image with a registry, a path and a tag.",
        "set the annotation to the image of the operator, such as `quay.io/example/gizmo-operator:v1.2.0`",
        |csv, reporter| {
            let value = required(csv, "containerImage", reporter);
            if let Some(value) = value.filter(|value| !is_image(value)) {
                let message =
                    format!("invalid containerImage `{value}`: expected a registry, a name and a tag");
                report(csv, "containerImage", message, reporter);
            }
        },
    ),
    rule(
        "community-created-at-invalid",
        "The annotation `createdAt` is missing, or is not a time in ISO 8601 format.",
        "set the annotation to a time such as `2026-01-31T12:00:00Z`",
        |csv, reporter| {
            let value = required(csv, "createdAt", reporter);
            if let Some(value) = value.filter(|value| times::iso(value).is_none()) {
                let root = Path::ROOT;
                let annotations = root.field("metadata.annotations");
                let set =
                    |time| Fix::new(Safety::Safe, &annotations.key("createdAt"), Change::SetString(time));
                reporter.fix(times::corrected(value).map(set));
                let message = format!("invalid createdAt `{value}`: expected a time in ISO 8601 format");
                report(csv, "createdAt", message, reporter);
            }
        },
    ),
    rule(
        "community-repository-invalid",
        "The annotation `repository` is missing, or is not an HTTP URL.",
        "set the annotation to the URL of the source repository",
        |csv, reporter| {
            let value = required(csv, "repository", reporter);
            if let Some(value) = value.filter(|value| !is_url(value)) {
                let message = format!("invalid repository `{value}`: expected an HTTP URL");
                report(csv, "repository", message, reporter);
            }
        },
    ),
    rule(
        "community-summary-short",
        "The annotation `description` is missing, or has fewer than ten characters.",
        "set the annotation to a summary in one sentence",
        |csv, reporter| long_enough(csv, "description", MIN_SUMMARY, reporter),
    ),
    rule(
        "community-support-short",
        "The annotation `support` is missing, or has fewer than three characters.",
        "set the annotation to the name of the person or organization that supports the operator",
        |csv, reporter| long_enough(csv, "support", MIN_SUPPORT, reporter),
    ),
];

const fn rule(
    id: &'static str,
    what: &'static str,
    help: &'static str,
    check: fn(&Csv<'_>, &mut Reporter<'_>),
) -> Rule {
    Rule {
        id,
        suite: Suite::Community,
        severity: Severity::Warning,
        what,
        impacts: &[Impact::Specific("The pipeline of the OpenShift community catalog warns about it.")],
        help,
        sources: REQUIRED_FIELDS,
        check: Check::Csv(check),
    }
}

/// Returns the value of an annotation, and reports that it is missing.
fn required<'c>(csv: &'c Csv<'_>, key: &str, reporter: &mut Reporter<'_>) -> Option<&'c str> {
    let value = csv.typed.metadata.annotations.as_ref().and_then(|all| all.get(key));
    if value.is_none() {
        report(csv, key, format!("missing annotation `{key}`"), reporter);
    }
    value.map(String::as_str)
}

/// Reports an annotation that is missing or has too few characters.
fn long_enough(csv: &Csv<'_>, key: &str, min: usize, reporter: &mut Reporter<'_>) {
    let length = required(csv, key, reporter).map(|value| value.chars().count());
    if let Some(length) = length.filter(|length| *length < min) {
        let message =
            format!("annotation `{key}` is too short: {length} characters, expected at least {min}");
        report(csv, key, message, reporter);
    }
}

fn report(csv: &Csv<'_>, key: &str, message: String, reporter: &mut Reporter<'_>) {
    reporter.field(&csv.object, &Path::ROOT.field("metadata.annotations").key(key), message);
}

/// Returns whether a value has a registry, a name and a tag or digest.
fn is_image(value: &str) -> bool {
    value.rsplit_once('/').is_some_and(|(registry, name)| {
        let named = name.split_once(':').is_some_and(|(name, tag)| !name.is_empty() && !tag.is_empty());
        named && !registry.split('/').any(str::is_empty)
    })
}

fn is_url(value: &str) -> bool {
    let rest = value.strip_prefix("https://").or(value.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty())
}
