//! The last step: writes the status if it changed, and rarely while children come and go.

use super::apply::api;
use super::error::Error;
use super::key::Key;
use super::object::{Object, StatusOf};
use super::observed::Caches;
use crate::conditions::{Conditioned, phase};
use kube::Client;
use kube::api::Patch;
use kube::core::ApiResource;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time between two status writes that only report the progress of a rollout.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time that a status is delayed while the controller is busy with other objects.
const MAX_STATUS_DELAY: Duration = Duration::from_secs(10);
/// How long such a status waits for further changes: related objects and children are reported by different watches.
const COALESCE_WINDOW: Duration = Duration::from_millis(300);

/// When the status of an object was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StatusHistory {
    /// When it was last written.
    pub(crate) written: Option<Instant>,
    /// Since when it has changes that were not written.
    pub(crate) pending: Option<Instant>,
}

/// What to do about a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// It has not changed.
    Never,
    /// Write it now.
    Now,
    /// Reconcile again after this time: it may have changed further by then.
    After(Duration),
}

/// Returns whether a status has to be written now, and records since when.
///
/// The first status and the end of a rollout are written at once; progress at most once a second; and while the
/// controller is `busy` with others, everything but the end of a rollout is delayed, up to a limit.
pub(crate) fn due<S: Conditioned + PartialEq>(
    before: Option<&S>,
    after: &S,
    history: &mut StatusHistory,
    busy: bool,
    now: Instant,
) -> Due {
    if before == Some(after) {
        history.pending = None;
        return Due::Never;
    }
    let now_in = phase(after.conditions());
    let settled = matches!(now_in, "Available" | "Degraded" | "Finalizing");
    let moved = before.is_none_or(|before| phase(before.conditions()) != now_in);
    let pending = *history.pending.get_or_insert(now);
    let paced = history.written.map(|written| (written + MIN_INTERVAL).max(pending + COALESCE_WINDOW));
    let earliest = if busy && now < pending + MAX_STATUS_DELAY { Some(now + MIN_INTERVAL) } else { paced };
    match earliest {
        Some(earliest) if earliest > now && !(settled && moved) => Due::After(earliest - now),
        _ => {
            *history = StatusHistory { written: Some(now), pending: None };
            Due::Now
        }
    }
}

/// Where and as whom a controller writes statuses.
pub(crate) struct StatusWriter<'a> {
    pub(crate) client: &'a Client,
    pub(crate) resource: &'a ApiResource,
    pub(crate) manager: &'a str,
    /// The conditions that the controller owns.
    pub(crate) conditions: &'a [&'a str],
}

impl StatusWriter<'_> {
    /// Applies a status and returns the object as it is then; `None` if it no longer exists.
    ///
    /// Server-side apply leaves conditions and fields of other managers unchanged.
    pub(crate) async fn write<O: Object>(
        &self,
        key: &Key,
        status: &StatusOf<O>,
        caches: &Caches<O>,
    ) -> Result<Option<Arc<O>>, Error> {
        let body = applied(self.resource, &key.name, status, self.conditions)?;
        let params = super::params::apply(self.manager);
        let api = api(self.client, &key.namespace, self.resource);
        match api.patch_status(&key.name, &params, &Patch::Apply(body)).await {
            Ok(response) => Ok(Some(caches.remember(response))),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
            Err(source) => Err(Error::Write { part: "status", source: Box::new(source) }),
        }
    }
}

/// Returns the configuration for server-side apply: the fields of the status, and the conditions that are `own`.
fn applied<S: Serialize>(
    resource: &ApiResource,
    name: &str,
    status: &S,
    own: &[&str],
) -> Result<Value, serde_json::Error> {
    let mut fields = serde_json::to_value(status)?;
    if let Some(conditions) = fields["conditions"].as_array_mut() {
        conditions.retain(|condition| condition["type"].as_str().is_some_and(|kind| own.contains(&kind)));
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(json!({
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": { "name": name },
        "status": fields,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::{self, Draft, State};
    use crate::testing::sample::{ClusterStatus, resource};
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    /// Returns a status in one of three phases, and with a number that may change.
    fn phase(phase: &str, replicas: i32) -> ClusterStatus {
        let mut draft = Draft::new(ClusterStatus::default(), Some(1), Timestamp::UNIX_EPOCH);
        draft.set("Available", if phase == "Available" { State::True } else { State::False }, "Reason", "");
        draft.set(
            "Progressing",
            if phase == "Progressing" { State::True } else { State::False },
            "Reason",
            "",
        );
        assert_eq!(conditions::phase(draft.conditions()), phase);
        ClusterStatus { replicas, ..draft.finish() }
    }

    #[test]
    fn only_own_conditions_and_no_nulls_are_applied() {
        let mut status = phase("Available", 1);
        let foreign = Condition { type_: "Audited".into(), ..status.conditions[0].clone() };
        status.conditions.push(foreign);
        let body = applied(&resource(), "a", &status, &["Available", "Progressing"]).unwrap();
        let conditions = body["status"]["conditions"].as_array().unwrap();
        let types: Vec<_> = conditions.iter().map(|condition| &condition["type"]).collect();
        assert_eq!(types, ["Available", "Progressing"]);
        assert_eq!(body["apiVersion"], "example.com/v1");
        assert!(!body.to_string().contains("null"), "{body}");
    }

    #[test]
    fn an_unchanged_status_is_not_written() {
        let mut history = StatusHistory::default();
        let status = phase("Available", 1);
        assert_eq!(due(Some(&status), &status, &mut history, false, Instant::now()), Due::Never);
    }

    #[test]
    fn progress_is_written_once_a_second_and_the_end_of_a_rollout_at_once() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let rolling = phase("Progressing", 1);
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, false, now), Due::Now);
        let more = phase("Progressing", 2);
        let wait = Due::After(Duration::from_millis(700));
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(300)), wait);
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(1000)), Due::Now);
        assert_eq!(due(Some(&more), &phase("Available", 2), &mut history, false, after(1001)), Due::Now);
    }

    #[test]
    fn while_others_are_queued_only_the_end_of_a_rollout_is_written_for_ten_seconds() {
        let now = Instant::now();
        let (rolling, done) = (phase("Progressing", 1), phase("Available", 1));
        let mut history = StatusHistory::default();
        assert_eq!(due(None, &rolling, &mut history, true, now), Due::After(MIN_INTERVAL));
        assert_eq!(due(None, &rolling, &mut history, true, now + MIN_INTERVAL), Due::After(MIN_INTERVAL));
        assert_eq!(due(None, &rolling, &mut history, true, now + MAX_STATUS_DELAY), Due::Now);
        assert_eq!(due(Some(&rolling), &done, &mut history, true, now + MAX_STATUS_DELAY), Due::Now);
    }

    #[test]
    fn progress_waits_a_moment_for_further_changes() {
        let now = Instant::now();
        let after = |millis| now + Duration::from_millis(millis);
        let (rolling, more, most) =
            (phase("Progressing", 1), phase("Progressing", 2), phase("Progressing", 3));
        let mut history = StatusHistory { written: Some(now), pending: None };
        assert_eq!(due(Some(&rolling), &more, &mut history, false, after(5000)), Due::After(COALESCE_WINDOW));
        assert_eq!(due(Some(&rolling), &most, &mut history, false, after(5300)), Due::Now);
        assert_eq!(due(Some(&most), &most, &mut history, false, after(5400)), Due::Never);
    }
}
