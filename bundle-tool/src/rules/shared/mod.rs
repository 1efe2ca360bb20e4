//! Checks that rules of several directories share.

pub(super) mod deployments;
pub(super) mod removed_apis;
