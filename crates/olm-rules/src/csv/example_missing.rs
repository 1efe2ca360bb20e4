use super::examples;
use crate::prelude::*;

/// How many APIs the message names.
const LISTED: usize = 5;

pub(crate) static RULE: Rule = Rule {
    id: "example-missing",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The CSV has no example of an API that the operator owns. One finding names all such APIs.",
    impacts: &[Impact::Specific("Consoles show no example for the API.")],
    help: "add an example to the annotation alm-examples",
    sources: &[Source::symbols(
        Project::OperatorFrameworkApi,
        "pkg/validation/internal/csv.go",
        &["matchGVKProvidedAPIs"],
    )
    .since("0.2")],
    check: Check::Bundle(check),
};

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    context.csvs.iter().for_each(|csv| check_csv(context, csv, reporter));
}

fn check_csv(context: &Context<'_>, csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let Some(Ok(found)) = examples::read(csv) else { return };
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    let provided = examples::provided(csv);
    let undefined = examples::undefined(context, csv);
    let missing = provided.difference(&found).filter(|api| !undefined.contains(api));
    let missing: Vec<_> = missing.map(|api| format!("`{api}`")).collect();
    if missing.is_empty() {
        return;
    }
    let mut message = format!("missing example of {}", missing[..missing.len().min(LISTED)].join(", "));
    if missing.len() > LISTED {
        message = format!("{message} and {} more", missing.len() - LISTED);
    }
    reporter.field(&csv.object, &path.key(examples::key(csv)), message);
}
