//! Diagnostics for tests that time out.

use crate::controller::Key;
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject};

/// Objects of a kind that are shown and characters of the status of each.
const MAX_OBJECTS: usize = 20;
const MAX_STATUS_CHARS: usize = 2000;

/// Returns the statuses of all objects of these kinds, and the newest events.
pub(super) async fn diagnostics(client: &Client, kinds: &[ApiResource]) -> String {
    let cut = |text: String| text.chars().take(MAX_STATUS_CHARS).collect::<String>();
    let mut lines = Vec::new();
    for kind in kinds {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), kind);
        match api.list(&ListParams::default()).await {
            Ok(found) => {
                let (shown, all) = (found.items.iter().take(MAX_OBJECTS), found.items.len());
                lines.push(format!("{}: {all} objects", kind.plural));
                lines.extend(shown.map(|object| {
                    let deleting = if object.metadata.deletion_timestamp.is_some() {
                        let finalizers = object.metadata.finalizers.clone().unwrap_or_default();
                        format!(" (being deleted; finalizers: {})", finalizers.join(", "))
                    } else {
                        String::new()
                    };
                    let status = cut(object.data["status"].to_string());
                    format!("  {}{deleting}: {status}", Key::from(&object.metadata))
                }));
            }
            Err(error) => lines.push(format!("{}: cannot be listed: {error}", kind.plural)),
        }
    }
    let events: Api<Event> = Api::all(client.clone());
    match events.list(&ListParams::default()).await {
        Ok(mut found) => {
            let all = found.items.len();
            lines.push(format!("events: {all}"));
            let version =
                |event: &Event| -> Option<u64> { event.metadata.resource_version.as_ref()?.parse().ok() };
            found.items.sort_by_key(version);
            lines.extend(found.items.into_iter().skip(all.saturating_sub(MAX_OBJECTS)).map(|event| {
                let (regarding, reason) =
                    (event.regarding.unwrap_or_default(), event.reason.unwrap_or_default());
                let [kind, name] = [regarding.kind, regarding.name].map(Option::unwrap_or_default);
                format!("  {kind} {name}: {reason}: {}", cut(event.note.unwrap_or_default()))
            }));
        }
        Err(error) => lines.push(format!("events: cannot be listed: {error}")),
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MockApi;
    use kube::core::GroupVersionKind;
    use serde_json::json;

    #[tokio::test]
    async fn diagnostics_show_statuses_finalizers_and_the_newest_events() {
        let (api, client) = MockApi::start();
        let mut object = json!({"metadata": {"name": "a"}, "status": {"phase": "Pending"}});
        api.put("caches", object.clone());
        object["metadata"] = json!({"name": "b", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["example.com/x"]});
        object["status"] = json!({"text": "x".repeat(5000)});
        api.put("caches", object);
        for number in 0..30 {
            api.put(
                "events",
                json!({"metadata": {"name": format!("e{number}")}, "eventTime": null,
                "regarding": {"kind": "Cache", "name": "a"}, "reason": "Tried", "note": number.to_string()}),
            );
        }
        let kind = GroupVersionKind::gvk("example.com", "v1", "Cache");
        let shown = diagnostics(&client, &[ApiResource::from_gvk_with_plural(&kind, "caches")]).await;
        let lines = shown.lines().map(|line| line.chars().take(100).collect::<String>()).collect::<Vec<_>>();
        insta::assert_snapshot!(lines.join("\n"));
        assert!(shown.len() < 8000, "{}", shown.len());
    }
}
