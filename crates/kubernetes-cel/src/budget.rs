//! The limits on the cost of evaluating rules.

use std::collections::HashMap;
use std::rc::Rc;

use super::stop::Stop;
use crate::go_regex::GoRegex;

/// Maximum cost of one evaluation of a rule (`PerCallLimit` of `k8s.io/apiserver/pkg/apis/cel`).
pub(crate) const CALL_LIMIT: u64 = 1_000_000;
/// Maximum cost for all defaults of one version (`RuntimeCELCostBudget`).
pub(crate) const DEFAULTS_BUDGET: u64 = 10_000_000;

/// Maximum size in bytes of all values that one evaluation creates.
const MAX_BYTES: usize = 64 << 20;
/// Units of work for compiling one unit of a regular expression's weight.
const UNITS_TO_COMPILE: usize = 8;
/// Bytes that are read per unit of work.
const BYTES_A_UNIT: usize = 64;

/// What evaluating the rules of one version of a CRD may cost: in Kubernetes' units, whose limits the API server
/// enforces, and in units of work, which limit the time that this evaluator takes. A rule that needs more work has no
/// result.
#[derive(Debug)]
pub struct Budget {
    /// What is left of [`DEFAULTS_BUDGET`].
    left: u64,
    /// The cost of the current evaluation.
    cost: u64,
    work: u64,
    bytes: usize,
    constant_membership: bool,
    expressions: HashMap<Rc<str>, Option<Rc<GoRegex>>>,
}

impl Budget {
    /// Returns the API server's budget, with `work` units of work: about 0.1 µs each.
    #[must_use]
    pub fn new(work: u64) -> Self {
        Self {
            left: DEFAULTS_BUDGET,
            cost: 0,
            work,
            bytes: 0,
            constant_membership: false,
            expressions: HashMap::new(),
        }
    }

    /// Returns the remaining units of work.
    #[must_use]
    pub const fn work_left(&self) -> u64 {
        self.work
    }

    /// Returns whether the API server's budget is exhausted.
    pub(crate) const fn is_spent(&self) -> bool {
        self.left == 0
    }

    /// Begins the evaluation of a rule.
    pub(crate) fn begin(&mut self) {
        self.cost = 0;
        self.bytes = 0;
        self.constant_membership = false;
    }

    /// Ends the evaluation of a rule; whether the API server's budget sufficed for it.
    pub(crate) fn end(&mut self) -> bool {
        let within = self.cost <= self.left;
        self.left = self.left.saturating_sub(self.cost);
        within
    }

    /// Adds to the cost of the evaluation.
    pub(crate) fn cost(&mut self, cost: u64) -> Result<(), Stop> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > CALL_LIMIT { Err(Stop::Cost) } else { Ok(()) }
    }

    pub(crate) fn refund(&mut self, cost: u64) {
        self.cost = self.cost.saturating_sub(cost);
    }

    /// Announces that the next `in` is one in a constant list, which the API server looks up at no cost.
    pub(crate) fn constant_membership(&mut self) {
        self.constant_membership = true;
    }

    pub(crate) fn take_constant_membership(&mut self) -> bool {
        std::mem::take(&mut self.constant_membership)
    }

    /// Charges work, before it is done.
    pub(crate) fn work(&mut self, units: usize) -> Result<(), Stop> {
        if let Some(left) = self.work.checked_sub(units as u64) {
            self.work = left;
            Ok(())
        } else {
            self.work = 0;
            Err(Stop::Unknown)
        }
    }

    /// Charges for bytes that are read.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), Stop> {
        self.work(bytes / BYTES_A_UNIT)
    }

    /// Charges for a new value of this size in bytes.
    pub(crate) fn make(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > MAX_BYTES {
            return Err(Stop::Unknown);
        }
        self.read(bytes)
    }

    /// Returns whether an expression matches. Each expression is compiled once.
    pub(crate) fn is_match(&mut self, pattern: &Rc<str>, text: &str) -> Result<bool, Stop> {
        let known = if let Some(known) = self.expressions.get(pattern) {
            known.clone()
        } else {
            let parsed = GoRegex::parse(pattern).ok().map(Rc::new);
            if let Some(parsed) = &parsed {
                let weight = usize::try_from(parsed.weight()).unwrap_or(usize::MAX);
                self.work(weight.saturating_mul(UNITS_TO_COMPILE))?;
            }
            self.expressions.insert(Rc::clone(pattern), parsed.clone());
            parsed
        };
        let known = known.ok_or(Stop::Unknown)?;
        self.work(match_work(&known, text))?;
        known.is_match(text).ok_or(Stop::Unknown)
    }
}

/// Returns the work of matching an expression: at worst, every state is visited for every byte.
fn match_work(expression: &GoRegex, text: &str) -> usize {
    const STATES_A_UNIT: usize = 16;
    let states = usize::try_from(expression.weight()).unwrap_or(usize::MAX);
    text.len().saturating_add(1).saturating_mul(states / STATES_A_UNIT + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{AdditionalProperties, Budget, Rule, Schema, broken_rule};

    const UNLIMITED: u64 = u64::MAX;

    /// The outcome of a rule on `{"s": …, "l": […], "m": {…}}`: whether it holds, or why it does not; `None` if that
    /// is not known.
    fn outcome(rule: &str, budget: &mut Budget) -> Result<(), Option<&'static str>> {
        let value = json!({
            "s": "abcdefghij".repeat(1000),
            "l": (0..200).collect::<Vec<_>>(),
            "m": (0..1000).map(|i| (format!("k{i}"), json!(1))).collect::<serde_json::Map<_, _>>(),
        });
        let integer = || Box::new(Schema { kind: "integer", ..Schema::default() });
        let properties = vec![
            ("s", Schema { kind: "string", ..Schema::default() }),
            ("l", Schema { kind: "array", items: Some(integer()), ..Schema::default() }),
            (
                "m",
                Schema {
                    kind: "object",
                    additional_properties: AdditionalProperties::Schema(integer()),
                    ..Schema::default()
                },
            ),
        ];
        let rules = vec![Rule { rule, ..Rule::default() }];
        let schema = Schema { kind: "object", properties, rules, ..Schema::default() };
        broken_rule(&schema, &value, budget).map_or(Ok(()), |broken| Err(broken.error))
    }

    #[test]
    fn rule_that_exceeds_the_call_limit_is_an_error() {
        let rule = "[1, 2, 3].all(a, self.l.all(b, self.l.all(c, a + b + c >= 0)))";
        let error = outcome(rule, &mut Budget::new(UNLIMITED)).unwrap_err();
        assert!(error.is_some_and(|error| error.contains("1000000")), "{error:?}");
        assert_eq!(outcome("self.l.all(b, self.l.all(c, b + c >= 0))", &mut Budget::new(UNLIMITED)), Ok(()));
    }

    #[test]
    fn budget_is_shared_by_all_defaults() {
        let mut budget = Budget::new(UNLIMITED);
        let rule = "self.l.all(b, self.l.all(c, b + c >= 0))";
        let errors: Vec<_> = (0..100).filter_map(|_| outcome(rule, &mut budget).err().flatten()).collect();
        assert!(errors.first().is_some_and(|error| error.contains("10000000")), "{errors:?}");
        assert!(errors.len() > 10 && errors.len() < 80, "{}", errors.len());
    }

    /// Each of these takes far more work than its cost says: all end, and none is taken for broken.
    #[test]
    fn work_of_every_function_is_limited() {
        for rule in [
            "self.l.all(i, self.l.all(j, [self.m] == [self.m])) && false",
            r"self.l.all(i, self.s.matches(r'(\pL{100}){10}') || true) && false",
            "self.l.all(i, self.s.matches('(a|b|c)*d') || true) && false",
            "self.l.all(i, self.s.replace('a', self.s).size() > 0) && false",
            "self.l.all(i, (self.s + self.s + self.s + self.s).size() > 0) && false",
            "self.l.all(i, [self.s, self.s].join(self.s).size() > 0) && false",
            "self.l.all(i, self.s.split('a').size() > 0) && false",
            "self.l.all(i, self.l.map(j, j).size() > 0) && false",
            "self.l.all(i, self.l.exists(j, true)) && false",
            "self.l.all(i, 'k1' in self.m && self.m['k2'] == 1) && false",
            "self.l.all(i, self.s.lowerAscii() == self.s.upperAscii() || true) && false",
            "self.l.all(i, self.l.isSorted() && self.l.max() > 0) && false",
        ] {
            assert_eq!(outcome(rule, &mut Budget::new(1000)), Ok(()), "{rule}");
        }
    }

    #[test]
    fn values_do_not_exceed_the_limit_of_bytes() {
        for rule in [
            "self.s.replace('', self.s).size() > 0",
            "self.l.map(i, self.s.replace('a', self.s)).size() == 0",
        ] {
            assert_eq!(outcome(rule, &mut Budget::new(UNLIMITED)), Ok(()), "{rule}");
        }
    }

    #[test]
    fn regular_expression_is_compiled_once() {
        let mut budget = Budget::new(10_000);
        assert_eq!(outcome("self.l.all(i, 'abc'.matches('[a-z]{1,20}'))", &mut budget), Ok(()));
        assert!(budget.work_left() > 0);
    }
}
