//! OLM v1: the objects that install an operator with it, how they are waited for, and what a move from OLM v0 to it takes.
//!
//! Source: `api/v1` of operator-controller 1.11.

pub mod install;
pub mod manifests;
pub mod migrate;
