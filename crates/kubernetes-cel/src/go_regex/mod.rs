//! Regular expressions as Go parses them (RE2 syntax), to validate the patterns of schemas without Go: what Go's
//! `regexp.Compile` rejects is rejected, and what it accepts can be matched, by translating it to Rust's dialect.
//!
//! Source: `regexp/syntax/parse.go` of Go 1.26, with the flags of `regexp.Compile` (`syntax.Perl`).

mod class;
mod error;
mod escape;
mod expression;
mod parse;
mod unicode;

pub use error::RegexError;
pub use expression::GoRegex;
