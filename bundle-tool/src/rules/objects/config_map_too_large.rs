use crate::model::yaml::Path;
use crate::report::{Severity, Suite};
use crate::rules::kubernetes::Errors;
use crate::rules::objects::{Known, Typed};
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "config-map-too-large",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "The values of a ConfigMap have more than 1 MiB together.",
    why: "The API server refuses the object, and the InstallPlan fails.",
    help: "split it, or put large files into an image",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateConfigMap)",
    check: Check::Known(check),
};

fn check(known: &Known<'_>, errors: &mut Errors<'_, '_>) {
    let Typed::ConfigMap(map) = &known.typed else { return };
    let root = Path::ROOT;
    let size: usize = map.data.values().map(String::len).sum::<usize>()
        + map.binary_data.values().map(|value| value.0.len()).sum::<usize>();
    if size > 1 << 20 {
        errors.add(&root, format!("the values have {size} bytes; 1048576 are the most"));
    }
}
