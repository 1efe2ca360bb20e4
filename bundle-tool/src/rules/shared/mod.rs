//! Checks that rules of several directories share.

pub(super) mod deployments;
pub(super) mod images;
pub(super) mod removed_apis;
pub(super) mod scalars;
pub(super) mod versions;
