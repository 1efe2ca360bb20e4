//! Fields of children that cannot be changed: how the API server rejects a change, and how volumes become larger.

use super::object::Key;
use super::raw_object::RawObject;
use crate::quantity::bytes;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::core::Status;
use kube::core::response::StatusCause;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Claims of one `StatefulSet` that are enlarged; with more, none is.
const MAX_CLAIMS: u32 = 10_000;

/// Why claims were not enlarged.
pub(crate) enum Refused {
    /// They cannot be, for this reason.
    Message(String),
    /// A request failed.
    Api(Box<kube::Error>),
}

impl From<kube::Error> for Refused {
    fn from(error: kube::Error) -> Self {
        Self::Api(Box::new(error))
    }
}

/// Whether the API server rejected an update because of fields that cannot be changed.
///
/// Source: `ValidateImmutableField` of Kubernetes' `k8s.io/apimachinery/pkg/api/validation`, whose message ends with "field is
/// immutable", and `ValidateStatefulSetUpdate` of `pkg/apis/apps/validation`, which forbids all but some fields of the spec.
pub(crate) fn is_about_immutable_fields(status: &Status) -> bool {
    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    let immutable = |text: &str| text.contains("is immutable") || text.contains("Forbidden: updates to ");
    let forbidden = |cause: &StatusCause| {
        immutable(&cause.message)
            || cause.reason == "FieldValueForbidden" && cause.message.contains("updates to ")
    };
    status.code == 422 && (immutable(&status.message) || causes.iter().any(forbidden))
}

/// Enlarges the claims of a `StatefulSet` to what its `volumeClaimTemplates` ask for.
pub(crate) async fn expand_claims(
    client: &Client,
    manager: &str,
    key: &Key,
    live: &RawObject,
    desired: &Value,
) -> Result<(), Refused> {
    let live: Value = serde_json::from_str(live.json())
        .map_err(|error| Refused::Api(Box::new(kube::Error::SerdeError(error))))?;
    let (before, after) = (sizes(&live), sizes(desired));
    let mut larger = BTreeMap::new();
    for (template, size) in &after {
        let Some(old) = before.get(template) else { continue };
        match (bytes(old), bytes(size)) {
            (Some(old_bytes), Some(new)) if new < old_bytes => {
                let message =
                    format!("the volumes `{template}` cannot be made smaller: from {old} to {size}");
                return Err(Refused::Message(message));
            }
            (Some(old), Some(new)) if new == old => {}
            _ => {
                larger.insert(template.as_str(), size.as_str());
            }
        }
    }
    if larger.is_empty() {
        return Ok(());
    }
    let labels = live["spec"]["selector"]["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let labels = labels.collect::<Vec<_>>().join(",");
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let found = claims.list(&ListParams::default().labels(&labels).limit(MAX_CLAIMS)).await?;
    if found.metadata.continue_.as_ref().is_some_and(|rest| !rest.is_empty()) {
        return Err(Refused::Message(format!(
            "there are more than {MAX_CLAIMS} claims with the labels {labels}"
        )));
    }
    for claim in found {
        let name = claim.name_any();
        let of = |template: &&str| is_claim_of(&name, template, &key.name);
        let Some(template) = larger.keys().copied().find(of) else { continue };
        let size = larger[template];
        let requested = claim.spec.and_then(|spec| spec.resources?.requests?.get("storage").cloned());
        if requested.and_then(|requested| bytes(&requested.0)) >= bytes(size) {
            continue;
        }
        let patch = Patch::Merge(json!({ "spec": { "resources": { "requests": { "storage": size } } } }));
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        match claims.patch(&name, &params, &patch).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() => {}
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 422) => {
                let message =
                    format!("the volume of the claim {name} cannot be enlarged: {}", status.message);
                return Err(Refused::Message(message));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the requested storage by the name of the template.
fn sizes(stateful_set: &Value) -> BTreeMap<String, String> {
    let templates = stateful_set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
    templates
        .filter_map(|template| {
            let name = template["metadata"]["name"].as_str()?;
            let size = template["spec"]["resources"]["requests"]["storage"].as_str()?;
            Some((name.to_owned(), size.to_owned()))
        })
        .collect()
}

/// Whether a claim has the name `TEMPLATE-SET-ORDINAL`.
fn is_claim_of(name: &str, template: &str, set: &str) -> bool {
    let rest = name.strip_prefix(template).and_then(|rest| rest.strip_prefix('-'));
    let ordinal = rest.and_then(|rest| rest.strip_prefix(set)).and_then(|rest| rest.strip_prefix('-'));
    ordinal.is_some_and(|ordinal| !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_of_immutable_fields_are_recognized() {
        let status = |code: u16, message: &str| Status::failure(message, "Invalid").with_code(code);
        let set = "StatefulSet.apps \"x\" is invalid: spec: Forbidden: updates to statefulset spec for fields other than \
                   'replicas', 'ordinals' are forbidden";
        assert!(is_about_immutable_fields(&status(422, set)));
        assert!(is_about_immutable_fields(&status(
            422,
            "spec.selector: Invalid value: {}: field is immutable"
        )));
        assert!(!is_about_immutable_fields(&status(422, "spec.replicas: Invalid value: -1")));
        assert!(!is_about_immutable_fields(&status(403, "field is immutable")));
    }

    #[test]
    fn claims_are_found_by_their_names() {
        assert!(is_claim_of("data-db-0", "data", "db") && is_claim_of("data-db-12", "data", "db"));
        assert!(!is_claim_of("data-db-x", "data", "db") && !is_claim_of("data-db-", "data", "db"));
        assert!(!is_claim_of("data-db-1-0", "data", "db"), "of the set db-1");
    }
}
