use crate::prelude::*;
use olm_model::report::suggest::{did_you_mean, nearest};

pub(crate) static RULE: Rule = Rule {
    id: "category-unknown",
    suite: Suite::Categories,
    severity: Severity::Error,
    what: "The annotation `categories` names a category that OperatorHub.io does not have.",
    impacts: &[
        Impact::SubmissionRejected,
        Impact::Specific(
            "Its categories are AI/Machine Learning, Application Runtime, Big Data, Cloud Provider, Database, Developer Tools, Integration & Delivery, Logging & Tracing, Modernization & Migration, Monitoring, Networking, Observability, OpenShift Optional, Security, Storage, and Streaming & Messaging.",
        ),
    ],
    help: "set the annotation `categories` to categories of OperatorHub.io, separated by commas, such as `Database, Monitoring`",
    sources: &[Source::file(Project::OperatorFrameworkApi, "pkg/validation/internal/standardcategories.go")
        .since("0.4")],
    check: Check::Csv(check),
};

const CATEGORIES: [&str; 16] = [
    "AI/Machine Learning",
    "Application Runtime",
    "Big Data",
    "Cloud Provider",
    "Database",
    "Developer Tools",
    "Integration & Delivery",
    "Logging & Tracing",
    "Modernization & Migration",
    "Monitoring",
    "Networking",
    "Observability",
    "OpenShift Optional",
    "Security",
    "Storage",
    "Streaming & Messaging",
];

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(written) = csv.typed.metadata.annotations.as_ref().and_then(|all| all.get("categories")) else {
        return;
    };
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    for category in written.split(',').map(str::trim).filter(|category| !CATEGORIES.contains(category)) {
        let message = if category.is_empty() {
            "empty category".to_owned()
        } else {
            format!("unknown category `{category}`{}", did_you_mean(category, CATEGORIES))
        };
        let key = path.key("categories");
        let corrected = |name: &str| {
            let all = written.split(',').map(|part| if part.trim() == category { name } else { part.trim() });
            let safety = if name.eq_ignore_ascii_case(category) { Safety::Safe } else { Safety::Unsafe };
            Fix::new(safety, &key, Change::SetString(all.collect::<Vec<_>>().join(", ")))
        };
        reporter.fix(nearest(category, CATEGORIES).map(corrected));
        reporter.field(&csv.object, &key, message);
    }
}
