use crate::prelude::*;
use crate::shared::scalars;
use kube_yaml::DecodeError;
use memchr::memmem;
use olm_model::Object;

pub(crate) static RULE: Rule = Rule {
    id: "csv-undecodable",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A field of the CSV has a value of the wrong type, or an invalid quantity.",
    impacts: &[
        Impact::UnpackFails,
        Impact::CsvRejected,
        Impact::Specific(
            "OLM decodes the CSV strictly when it unpacks the bundle and when it creates the CSV.",
        ),
    ],
    help: "set the field to a value of the expected type; quote strings that look like numbers or booleans",
    sources: &[Source::file(
        Project::OperatorFrameworkApi,
        "pkg/operators/v1alpha1/clusterserviceversion_types.go",
    )
    .since("0.2")],
    check: Check::Bundle(check),
};

/// Returns what to do about a value of the wrong type, where more is known.
fn help(object: &Object<'_>, error: &DecodeError) -> Option<&'static str> {
    let line = usize::try_from(error.position.line).ok()?.checked_sub(1)?;
    let line = object.file.bytes.split(|byte| *byte == b'\n').nth(line).unwrap_or_default();
    if memmem::find(line, b"{{").is_some() {
        return Some("render the template first: `{{ … }}` is not YAML");
    }
    if error.path == "spec.icon" {
        return Some(
            "write spec.icon as a list of maps: `- base64data: DATA`, and `mediatype: image/png` below it",
        );
    }
    error
        .message
        .starts_with("expected a list")
        .then_some("write the field as a list, with `- ` before each item")
}

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable_csvs {
        if let Some(help) = help(object, error) {
            reporter.help(help);
        }
        reporter.fix(scalars::fix(object, error));
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
