//! Judges CEL expressions as Kubernetes' API server does when it is given them, without a cluster:
//! the rules of a CRD's schema ([`check_schema`]) in types, limits and cost, and the match
//! conditions of admission webhooks ([`check_match_condition`]). OLM's constraints are the third
//! kind ([`check_constraint`]).
//!
//! What is here is cel-go's parser with its macros, its type checker and
//! overload resolution, the literal checks that Kubernetes switches on, the constant folding that
//! can fail when a program is planned, and the cost estimator. Rules are evaluated only as far as
//! defaults need it ([`broken_rule`]). But for Go's regular expressions it
//! stands alone: callers fill a [`Schema`] and get a [`Report`] whose places are schema paths and
//! rule numbers.
//!
//! The judges are kube-apiserver 1.34 (apiextensions-apiserver, apiserver/pkg/cel) and cel-go 0.26.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ast;
mod budget;
mod check;
mod compile;
mod cost;
mod cost_functions;
mod crd;
mod decl;
mod estimate;
mod eval;
mod eval_functions;
mod expression;
mod field_path;
mod format;
pub mod go_regex;
mod lex;
mod library;
mod literal;
mod macros;
mod names;
mod parse;
mod path;
mod plan;
mod report;
mod schema;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod validate;

pub use budget::{Budget, CALL_LIMIT, DEFAULTS_BUDGET};
pub use crd::{EXPRESSION_LIMIT, SCHEMA_LIMIT, check_schema, check_schema_with_lists};
pub use eval::{Broken, broken_rule};
pub use expression::{check_constraint, check_match_condition};
pub use report::{Cost, Fault, Faults, Field, Problem, Report, Step, path_text};
pub use schema::{Additional, Rule, Schema};
