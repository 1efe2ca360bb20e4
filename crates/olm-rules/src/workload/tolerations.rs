//! Validation of tolerations, in a pod's spec and in the annotation that preceded it.

use k8s_openapi::api::core::v1::Toleration;

use crate::kubernetes::names;

/// Returns the errors of a toleration: the field, and a message.
pub(crate) fn faults(toleration: &Toleration) -> Vec<(&'static str, String)> {
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or_default();
    let value = toleration.value.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let mut faults = Vec::new();
    if !key.is_empty() {
        faults.extend(names::label_key(key).err().map(|message| ("key", message)));
    } else if operator != "Exists" {
        faults.push(("operator", "invalid operator: must be `Exists` if the key is empty".to_owned()));
    }
    match operator {
        "" | "Equal" => faults.extend(names::label_value(value).err().map(|message| ("value", message))),
        "Exists" if !value.is_empty() => {
            faults.push(("value", "unexpected value: operator `Exists` does not accept a value".to_owned()));
        }
        "Exists" => {}
        // Reported above if there is no key.
        _ if key.is_empty() => {}
        other => {
            faults.push(("operator", format!("unsupported operator `{other}`: must be `Equal` or `Exists`")));
        }
    }
    if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        faults.push((
            "effect",
            format!("unsupported effect `{effect}`: must be `NoSchedule`, `PreferNoSchedule` or `NoExecute`"),
        ));
    }
    if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
        faults.push(("effect", "`tolerationSeconds` requires effect `NoExecute`".to_owned()));
    }
    faults
}
