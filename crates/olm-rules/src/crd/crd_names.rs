//! The names of a CRD, `spec.names`.

use crate::kubernetes::names;
use crate::prelude::*;
use kube_yaml::Value;

pub(crate) static RULES: [Rule; 6] = [
    rule(
        "crd-category-invalid",
        "A category of a CRD is not a DNS label.",
        "set each entry of spec.names.categories to lowercase letters, digits and `-`, such as `all`",
        |crd, reporter| check_list(crd, "categories", reporter),
    ),
    rule(
        "crd-kind-invalid",
        "The kind of a CRD is missing, or is not a DNS label when lowercased.",
        "set spec.names.kind to a CamelCase name of letters and digits, such as `Memcached`",
        |crd, reporter| check_required(crd, "kind", |kind| names::kind("kind", kind), reporter),
    ),
    rule(
        "crd-list-kind-invalid",
        "The list kind of a CRD is not a DNS label when lowercased, or equals the kind.",
        "remove spec.names.listKind, which defaults to the kind followed by `List`, or correct it",
        check_list_kind,
    ),
    rule(
        "crd-plural-invalid",
        "The plural name of a CRD is missing, or is not a DNS label.",
        "set spec.names.plural to the plural of the kind in lowercase, such as `memcacheds`",
        |crd, reporter| check_required(crd, "plural", names::dns_1035_label, reporter),
    ),
    rule(
        "crd-short-name-invalid",
        "A short name of a CRD is not a DNS label.",
        "set each entry of spec.names.shortNames to lowercase letters, digits and `-`",
        |crd, reporter| check_list(crd, "shortNames", reporter),
    ),
    rule(
        "crd-singular-invalid",
        "The singular name of a CRD is not a DNS label.",
        "remove spec.names.singular, which defaults to the lowercased kind, or correct it",
        |crd, reporter| {
            // If it is missing, the API server derives it from the kind.
            if !crd.string(&["names", "singular"]).is_empty() {
                check_required(crd, "singular", names::dns_1035_label, reporter);
            }
        },
    ),
];

const SOURCES: &[Source] = &[Source::symbols(
    Project::ApiextensionsApiserver,
    "pkg/apis/apiextensions/validation/validation.go",
    &["ValidateCustomResourceDefinitionNames"],
)
.since("1.16")];

const fn rule(
    id: &'static str,
    what: &'static str,
    help: &'static str,
    check: fn(&Crd<'_>, &mut Reporter<'_>),
) -> Rule {
    Rule {
        id,
        suite: Suite::Bundle,
        severity: Severity::Error,
        what,
        impacts: &[Impact::CrdRejected],
        help,
        sources: SOURCES,
        check: Check::Crd(check),
    }
}

fn check_required(
    crd: &Crd<'_>,
    field: &str,
    validate: impl Fn(&str) -> Result<(), String>,
    reporter: &mut Reporter<'_>,
) {
    let name = crd.string(&["names", field]);
    let result = match name {
        "" => Err(format!("missing required field `spec.names.{field}`")),
        name => validate(name),
    };
    report(crd, field, result, reporter);
}

fn check_list(crd: &Crd<'_>, field: &str, reporter: &mut Reporter<'_>) {
    let names = Path::ROOT.field("spec.names");
    let list = names.field(field);
    let names = crd.spec.dig(&["names", field]).into_iter().flat_map(Value::items);
    for (index, name) in names.enumerate() {
        if let Err(problem) = names::dns_1035_label(name.as_str().unwrap_or_default()) {
            reporter.field(&crd.object, &list.index(index), problem);
        }
    }
}

fn check_list_kind(crd: &Crd<'_>, reporter: &mut Reporter<'_>) {
    let kind = crd.string(&["names", "kind"]);
    let written = crd.string(&["names", "listKind"]);
    if names::dns_1035_label(&kind.to_lowercase()).is_err() && written.is_empty() {
        return;
    }
    // If it is missing, the API server derives it from the kind.
    let derived = if written.is_empty() { format!("{kind}List") } else { written.to_owned() };
    let result = if written == kind && !kind.is_empty() {
        Err(format!("invalid listKind `{kind}`: must differ from `kind`"))
    } else {
        names::kind("listKind", &derived)
    };
    report(crd, "listKind", result, reporter);
}

fn report(crd: &Crd<'_>, field: &str, result: Result<(), String>, reporter: &mut Reporter<'_>) {
    if let Err(problem) = result {
        reporter.field(&crd.object, &Path::ROOT.field("spec.names").field(field), problem);
    }
}
