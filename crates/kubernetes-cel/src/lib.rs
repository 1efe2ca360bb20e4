//! Validates CEL expressions as the Kubernetes API server does, without a cluster: the validation rules of a CRD's
//! schema ([`check_schema`]) with their types, limits and estimated cost, the match conditions of admission webhooks
//! ([`check_match_condition`]), and OLM's constraints ([`check_constraint`]).
//!
//! The crate reimplements cel-go's parser and macros, its type checker and overload resolution, the checks of literals
//! that Kubernetes enables, constant folding, and the cost estimator. Rules are evaluated only on the defaults of a
//! schema ([`broken_rule`]) and on resources ([`rule_broken_by_resource`]). Callers fill a [`Schema`] and get a [`Report`],
//! whose problems have schema paths and rule numbers.
//!
//! Reference versions: kube-apiserver 1.30 to 1.37 (apiextensions-apiserver, apiserver/pkg/cel), each with its cel-go: 0.17.8,
//! 0.20.1, 0.22.0, 0.23.2, 0.26.0 (1.34 to 1.36) and 0.29.2. A [`Server`] names the version, and records which versions behave the same.

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
mod environment;
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
mod server;
mod stop;
#[cfg(test)]
mod tests;
mod time;
mod types;
mod validate;
mod value;

pub use budget::Budget;
pub use crd::{EXPRESSION_LIMIT, SCHEMA_LIMIT, check_schema};
pub use eval::{BrokenRule, broken_rule, rule_broken_by_resource};
pub use expression::{check_constraint, check_match_condition};
pub use report::{Cost, ExpressionError, ExpressionErrors, Field, Problem, Report, Step, format_path};
pub use schema::{AdditionalProperties, Rule, Schema};
pub use server::Server;
