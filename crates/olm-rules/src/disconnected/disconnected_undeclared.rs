use super::sources::RESTRICTED_NETWORK;
use crate::prelude::*;

pub(crate) static RULE: Rule = Rule {
    id: "disconnected-undeclared",
    suite: Suite::Disconnected,
    severity: Severity::Warning,
    what: "The CSV does not declare that the operator supports disconnected clusters.",
    impacts: &[Impact::Specific(
        "OpenShift does not list the operator among those for disconnected clusters.",
    )],
    help: "set the annotation `features.operators.openshift.io/disconnected` to `\"true\"`",
    sources: RESTRICTED_NETWORK,
    check: Check::Csv(check),
};

const KEY: &str = "features.operators.openshift.io/disconnected";
const OLDER: &str = "operators.openshift.io/infrastructure-features";

fn check(csv: &Csv<'_>, reporter: &mut Reporter<'_>) {
    let annotation = |key: &str| csv.typed.metadata.annotations.as_ref()?.get(key);
    let features = annotation(OLDER).and_then(|text| kube_yaml::json::from_str::<Vec<String>>(text).ok());
    let older = features.iter().flatten().any(|feature| feature.eq_ignore_ascii_case("disconnected"));
    if !older && annotation(KEY).is_none_or(|value| value != "true") {
        let root = Path::ROOT;
        let annotations = root.field("metadata.annotations");
        reporter.field(&csv.object, &annotations.key(KEY), format!("annotation `{KEY}` is not `true`"));
    }
}
