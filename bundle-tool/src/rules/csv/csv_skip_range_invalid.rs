use crate::model::version::Range;
use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::{Check, Csv, Reporter, Rule};

pub(super) static RULE: Rule = Rule {
    id: "csv-skip-range-invalid",
    suite: Suite::Bundle,
    severity: Severity::Warning,
    what: "The annotation `olm.skipRange` is no range of versions.",
    why: "OLM ignores it without a word: the upgrade that it should allow is never offered.",
    help: "write a range such as `>=1.0.0 <1.2.0`; every version needs all three numbers",
    source: "operator-lifecycle-manager, pkg/controller/registry/resolver/source_registry.go (newOperatorFromBundle)",
    check: Check::Csv(check),
};

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    const KEY: &str = "olm.skipRange";
    let Some(range) = csv.typed.metadata.annotations.as_ref().and_then(|annotations| annotations.get(KEY))
    else {
        return;
    };
    if let Err(error) = Range::parse(range) {
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        let message = format!("'{range}' is no range of versions: {error}");
        reporter.field(&csv.object, &annotations.key(KEY), message);
    }
}
