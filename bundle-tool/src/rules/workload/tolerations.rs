//! What a toleration may say, in a pod's spec as in the annotation from before there was a field.

use k8s_openapi::api::core::v1::Toleration;

use crate::rules::kubernetes::names;

/// What is wrong with a toleration: the field, and a message.
pub(super) fn faults(toleration: &Toleration) -> Vec<(&'static str, String)> {
    let key = toleration.key.as_deref().unwrap_or_default();
    let operator = toleration.operator.as_deref().unwrap_or_default();
    let value = toleration.value.as_deref().unwrap_or_default();
    let effect = toleration.effect.as_deref().unwrap_or_default();
    let mut faults = Vec::new();
    if !key.is_empty() {
        faults.extend(names::qualified(key).err().map(|message| ("key", message)));
    } else if operator != "Exists" {
        faults.push(("operator", "without a key, the operator must be Exists".to_owned()));
    }
    match operator {
        "" | "Equal" => faults.extend(names::label_value(value).err().map(|message| ("value", message))),
        "Exists" if !value.is_empty() => {
            faults.push(("value", "the operator Exists takes no value".to_owned()));
        }
        "Exists" => {}
        // Said already where there is no key.
        _ if key.is_empty() => {}
        other => faults.push(("operator", format!("'{other}' is none of Equal, Exists"))),
    }
    if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        faults.push(("effect", format!("'{effect}' is none of NoSchedule, PreferNoSchedule, NoExecute")));
    }
    if toleration.toleration_seconds.is_some() && effect != "NoExecute" {
        faults.push(("effect", "tolerationSeconds needs the effect NoExecute".to_owned()));
    }
    faults
}
