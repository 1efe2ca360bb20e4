//! What expressions are compiled for.

use super::decl::{DeclId, Declarations};
use super::library::Library;
use super::server::Server;
use super::types::Ty;

/// The context of expressions: the names that they can use, and the declarations that sizes are taken from.
pub(crate) struct Environment<'e> {
    pub(crate) library: &'static Library,
    pub(crate) server: &'e Server,
    pub(crate) variables: &'e [(&'static str, Ty)],
    pub(crate) declarations: &'e Declarations<'e>,
    /// What `self` is.
    pub(crate) root: Option<DeclId>,
}
