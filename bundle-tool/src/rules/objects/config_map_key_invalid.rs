use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "config-map-key-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A key of a ConfigMap cannot be one, or is in data and in binaryData.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "use letters, digits, `-`, `_` and `.`, and each key once",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateConfigMap)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::ConfigMap(map) = &known.typed else { return };
    let root = Path::ROOT;
    let data = root.field("data");
    for key in map.data.keys() {
        let path = data.key(key);
        errors.check(&path, names::config_key(key));
        if map.binary_data.contains_key(key) {
            errors.add(&path, "the key is in binaryData, too");
        }
    }
    let data = root.field("binaryData");
    for key in map.binary_data.keys() {
        errors.check(&data.key(key), names::config_key(key));
    }
}
