use crate::report::{Severity, Suite};
use crate::rules::kubernetes::{Errors, names};
use crate::rules::workload::PodTemplate;
use crate::rules::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    id: "pod-toleration-invalid",
    suite: Suite::Bundle,
    severity: Severity::Error,
    what: "A toleration has a key, operator, value or effect that does not fit the others.",
    why: "The API server refuses the Deployment, and the CSV fails with InstallComponentFailed.",
    help: "operator Exists takes no value; an empty key needs Exists; tolerationSeconds needs the effect NoExecute",
    source: "k8s.io/kubernetes, pkg/apis/core/validation/validation.go (ValidateTolerations)",
    check: Check::PodTemplate(check),
};

fn check(template: &PodTemplate<'_>, errors: &mut Errors<'_, '_>) {
    let list = template.spec_path.field("tolerations");
    for (index, toleration) in template.spec.tolerations.iter().flatten().enumerate() {
        let path = list.index(index);
        let key = toleration.key.as_deref().unwrap_or_default();
        let operator = toleration.operator.as_deref().unwrap_or_default();
        let value = toleration.value.as_deref().unwrap_or_default();
        let effect = toleration.effect.as_deref().unwrap_or_default();
        if !key.is_empty() {
            errors.check(&path.field("key"), names::qualified(key));
        } else if operator != "Exists" {
            errors.add(&path.field("operator"), "without a key, the operator must be Exists");
        }
        match operator {
            "" | "Equal" => {
                errors.check(&path.field("value"), names::label_value(value));
            }
            "Exists" if !value.is_empty() => {
                errors.add(&path.field("value"), "the operator Exists takes no value");
            }
            "Exists" => {}
            // Said already where there is no key.
            _ if key.is_empty() => {}
            other => errors.add(&path.field("operator"), format!("'{other}' is none of Equal, Exists")),
        }
        let path = path.field("effect");
        if !effect.is_empty() {
            errors.one_of(&path, effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]);
        }
        if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
            errors.add(&path, "tolerationSeconds needs the effect NoExecute");
        }
    }
}
