use super::examples;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "example-foreign",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "An example is of an API that the operator does not own.",
    impacts: &[Impact::SdkRejects],
    help: "correct apiVersion and kind of the example, or remove it",
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
    let provided = examples::provided(csv);
    let root = Path::ROOT;
    let path = root.field("metadata.annotations");
    let undefined = examples::undefined(context, csv);
    let foreign = found.difference(&provided);
    for example in foreign.filter(|example| !undefined.iter().any(|api| api.resembles(example))) {
        let message = format!("unexpected example of `{example}`: the operator does not own this API");
        reporter.field(&csv.object, &path.key(examples::key(csv)), message);
    }
}
