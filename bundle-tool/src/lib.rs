//! The command line behind `bundle-tool`: the only place that composes the other crates.
//!
//! | module | contents |
//! | --- | --- |
//! | [`cli`] | the commands: arguments, what each calls, and exit status |
//! | [`lsp`] | a language server: diagnostics, quick fixes and documentation in editors |
//! | [`settings`] | reads `bundle-tool.toml` |
//! | `sys` | what differs between operating systems |
//! | `terminal` | colors of what the program prints |
//! | [`provenance`], [`sbom`] | statements of how images were built, and software bills of materials |

pub mod cli;
pub mod lsp;
pub mod provenance;
pub mod sbom;
pub mod settings;
mod sys;
mod terminal;
