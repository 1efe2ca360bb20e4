//! The webhooks of Memcached.
//!
//! What the schema can say belongs there: bounds, patterns and CEL rules need no webhook. These show the rest: the defaulter
//! repairs values before the schema is checked, the validator rejects what the schema cannot, and warns of side effects.

use operator_runtime::admission::{Decision, Request, RequestExt as _, Webhook};
use operator_runtime::controller::Error;
use serde_json::Value;

use crate::api::memcached::{DEFAULT_PORT, Memcached};
use crate::controller::memcached::check;

/// Returns the webhook that sets defaults.
#[must_use]
pub fn defaulting() -> Webhook {
    let decide = async |request: Request, _client| Ok(set_defaults(&request));
    Webhook::defaulting::<Memcached, _>(decide)
}

/// Decides on a request: replaces the port 0, and trims the image.
fn set_defaults(request: &Request) -> Decision {
    let spec = request.spec();
    let mut decision = Decision::allowed();
    if spec["containerPort"] == 0 {
        decision = decision.set("/spec/containerPort", DEFAULT_PORT);
    }
    let image = spec["image"].as_str().unwrap_or_default();
    match image.trim() {
        trimmed if trimmed == image => decision,
        "" => decision.remove("/spec/image"),
        trimmed => decision.set("/spec/image", trimmed),
    }
}

/// Returns the webhook that validates.
#[must_use]
pub fn validation() -> Webhook {
    let decide = async |request: Request, _client| validate(&request);
    Webhook::validating::<Memcached, _>(decide)
}

/// Decides on a request: the error `Invalid` denies it. An update that keeps the spec is allowed: finalizers and labels can be
/// changed in any case.
fn validate(request: &Request) -> Result<Decision, Error> {
    if request.keeps_spec() {
        return Ok(Decision::allowed());
    }
    let memcached = request.parse::<Memcached>()?;
    check(&memcached.spec)?;
    let warnings = warnings(&memcached, request.old_spec());
    Ok(warnings.into_iter().fold(Decision::allowed(), Decision::warn))
}

/// Returns warnings about changes with side effects.
fn warnings(memcached: &Memcached, old: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    let (size, port) = (i64::from(memcached.spec.size), i64::from(memcached.spec.container_port));
    if let Some(before) = old["size"].as_i64().filter(|before| *before > size) {
        warnings.push(format!(
            "spec.size: scaling from {before} to {size} servers loses the items of the removed servers, and clients that \
             hash keys over the servers will miss most keys for a while"
        ));
    }
    if old["containerPort"].as_i64().is_some_and(|before| before != port) {
        warnings.push(format!(
            "spec.containerPort: all servers are replaced to listen on port {port}; clients have to use the new port"
        ));
    }
    warnings
}
