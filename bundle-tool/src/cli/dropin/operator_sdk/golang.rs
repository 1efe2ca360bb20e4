//! Generates the owned CRDs of a base CSV from the API types of Go sources and their `//+operator-sdk:csv` markers.
//!
//! The sources are parsed without the Go toolchain. Only type declarations are read; functions, constants and variables are skipped.

mod constraints;
mod definitions;
mod error;
mod lexer;
mod markers;
mod parser;

pub(crate) use definitions::apply;
