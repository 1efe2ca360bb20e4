//! Checks that rules of several directories share.

pub(crate) mod deployments;
pub(crate) mod hidden_csv;
pub(crate) mod images;
pub(crate) mod media_types;
pub(crate) mod removed_apis;
pub(crate) mod scalars;
