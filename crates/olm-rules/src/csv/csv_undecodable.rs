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
    let (expected, found) = error.message.split_once(", found ")?;
    match (expected, found) {
        ("expected a list" | "expected a map", _) => {
            // An item of a list has the shape that the list has; a field of an item has its own.
            let is_item = |rest: &str| rest.strip_suffix(']').is_some_and(|index| !index.contains(']'));
            let path = match error.path.split_once('[') {
                Some((list, rest)) if is_item(rest) => list,
                _ => error.path.as_str(),
            };
            let shape = SHAPES.iter().find(|(field, _)| *field == path).map(|(_, shape)| *shape);
            let is_list = expected == "expected a list";
            shape.or_else(|| is_list.then_some("write the field as a list, with `- ` before each item"))
        }
        ("expected a boolean", "a string") => Some("set the field to `true` or `false`, without quotes"),
        (expected, "a string") if expected.ends_with("integer") => {
            Some("set the field to a number, without quotes")
        }
        _ => None,
    }
}

/// How fields are written whose items have fields of their own.
const SHAPES: [(&str, &str); 9] = [
    ("spec.customresourcedefinitions.owned", OWNED),
    ("spec.customresourcedefinitions.required", OWNED),
    (
        "spec.icon",
        "write spec.icon as a list of maps: `- base64data: DATA`, and `mediatype: image/png` below it",
    ),
    (
        "spec.installModes",
        "write installModes as a list of maps: `- type: TYPE`, and `supported: true` below it",
    ),
    ("spec.links", "write spec.links as a list of maps: `- name: NAME`, and `url: URL` below it"),
    (
        "spec.maintainers",
        "write spec.maintainers as a list of maps: `- name: NAME`, and `email: EMAIL` below it",
    ),
    ("spec.provider", "write spec.provider as a map: `name: NAME`, and `url: URL` below it"),
    (
        "spec.relatedImages",
        "write spec.relatedImages as a list of maps: `- name: NAME`, and `image: IMAGE` below it",
    ),
    (
        "spec.webhookdefinitions",
        "write spec.webhookdefinitions as a list of maps: `- type: TYPE`, and the other fields below it",
    ),
];
const OWNED: &str =
    "write each CRD as a map: `- name: NAME`, and `version: VERSION` and `kind: KIND` below it";

fn check(context: &Context<'_>, reporter: &mut Reporter<'_>) {
    for (object, error) in &context.undecodable_csvs {
        if let Some(help) = help(object, error) {
            reporter.help(help);
        }
        reporter.fix(scalars::fix(object, error));
        reporter.at(object.file, &error.path, error.position, error.message.clone());
    }
}
