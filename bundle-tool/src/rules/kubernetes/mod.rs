//! What Kubernetes checks in many places: names, and where webhooks are called.

pub(super) mod names;
pub(super) mod webhook_client;
