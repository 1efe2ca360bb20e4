//! Validates CEL expressions as the Kubernetes API server does, without a cluster: the validation rules of a CRD's
//! schema ([`check_schema`]) with their types, limits and estimated cost, the match conditions of admission webhooks
//! ([`check_match_condition`]), and OLM's constraints ([`check_constraint`]).
//!
//! The crate reimplements cel-go's parser and macros, its type checker and overload resolution, the checks of literals
//! that Kubernetes enables, constant folding, and the cost estimator. Rules are evaluated only on the defaults of a
//! schema ([`broken_rule`]). Callers fill a [`Schema`] and get a [`Report`], whose problems have schema paths and rule
//! numbers.
//!
//! Reference versions: kube-apiserver 1.34 (apiextensions-apiserver, apiserver/pkg/cel) and cel-go 0.26.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod ast;
mod base_costs;
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
mod stop;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod validate;
mod value;

pub use budget::{Budget, CALL_LIMIT, DEFAULTS_BUDGET};
pub use crd::{EXPRESSION_LIMIT, SCHEMA_LIMIT, check_schema, check_schema_with_lists};
pub use eval::{Broken, broken_rule};
pub use expression::{check_constraint, check_match_condition};
pub use report::{Cost, Fault, Faults, Field, Problem, Report, Step, path_text};
pub use schema::{Additional, Rule, Schema};
