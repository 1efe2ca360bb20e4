//! The limit on the work of validating the defaults of CRDs.
//!
//! Validating one value against a schema with alternatives, patterns or CEL rules can take any amount of work, for the
//! API server too. Here, it is limited: defaults beyond the limit count as valid, and a warning reports them. The limit of
//! a bundle is divided among its CRDs by their size, so that each gets the same share whatever the order.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kubernetes_cel::Budget;
use kubernetes_cel::go_regex::GoRegex;

/// Maximum number of steps for all defaults of a bundle: about 0.1 µs each.
const MAX_STEPS: u64 = 20_000_000;
/// Maximum work of CEL rules for all defaults of a bundle, in units of about 0.1 µs.
const MAX_CEL_WORK: u64 = 20_000_000;

/// The remaining work for one CRD.
#[derive(Debug)]
pub(crate) struct WorkBudget<'b> {
    /// The share of the CRD.
    granted: (u64, u64),
    steps: AtomicU64,
    cel_work: AtomicU64,
    patterns: Mutex<HashMap<&'b str, Option<Arc<GoRegex>>>>,
}

impl<'b> WorkBudget<'b> {
    /// Returns the share of a CRD of `size` nodes in a bundle whose CRDs have `total` nodes.
    pub(crate) fn share(size: usize, total: usize) -> Self {
        let of = |limit: u64| limit.saturating_mul(size as u64) / (total as u64).max(1);
        let granted = (of(MAX_STEPS), of(MAX_CEL_WORK));
        let (steps, cel_work) = (AtomicU64::new(granted.0), AtomicU64::new(granted.1));
        Self { granted, steps, cel_work, patterns: Mutex::default() }
    }

    /// Grants the share again, to validate the CRD for other versions of Kubernetes.
    pub(crate) fn renew(&self) {
        self.steps.store(self.granted.0, Ordering::Relaxed);
        self.cel_work.store(self.granted.1, Ordering::Relaxed);
    }

    /// Spends steps; returns whether as many remained.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let take = |left: u64| Some(left.saturating_sub(steps as u64));
        let before = self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        before.is_ok_and(|before| before >= steps as u64)
    }

    /// Returns whether the limit was reached.
    pub(crate) fn is_spent(&self) -> bool {
        self.steps.load(Ordering::Relaxed) == 0 || self.cel_work.load(Ordering::Relaxed) == 0
    }

    /// Evaluates CEL rules with what is left.
    pub(crate) fn with_budget<T>(&self, evaluate: impl FnOnce(&mut Budget) -> T) -> T {
        let mut budget = Budget::new(self.cel_work.load(Ordering::Relaxed));
        let result = evaluate(&mut budget);
        self.cel_work.store(budget.work_left(), Ordering::Relaxed);
        result
    }

    /// Returns whether `pattern` matches `text`; `None` if the pattern is invalid or too expensive. Each pattern is compiled
    /// once.
    pub(crate) fn matches(&self, pattern: &'b str, text: &str) -> Option<bool> {
        /// How many steps compiling a unit of an expression's weight counts for.
        const STEPS_TO_COMPILE: usize = 8;
        /// How many states of an expression are visited in a step.
        const STATES_A_STEP: usize = 16;
        let known = {
            let mut patterns = self.patterns.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = patterns.get(pattern) {
                known.clone()
            } else {
                let parsed = GoRegex::parse(pattern).ok().map(Arc::new);
                let weight = parsed.as_ref().map_or(1, |parsed| parsed.weight());
                let steps = usize::try_from(weight).unwrap_or(usize::MAX).saturating_mul(STEPS_TO_COMPILE);
                let affordable = self.spend(steps);
                let parsed = parsed.filter(|_| affordable);
                patterns.insert(pattern, parsed.clone());
                parsed
            }
        }?;
        let states = usize::try_from(known.weight()).unwrap_or(usize::MAX) / STATES_A_STEP + 1;
        if !self.spend(text.len().saturating_add(1).saturating_mul(states)) {
            return None;
        }
        known.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_out_once_and_for_all() {
        let work_budget = WorkBudget::share(1, usize::try_from(MAX_STEPS).unwrap() / 100);
        assert!(work_budget.spend(60));
        assert!(!work_budget.is_spent());
        assert!(!work_budget.spend(60));
        assert!(work_budget.is_spent());
        assert!(!work_budget.spend(1));
    }

    #[test]
    fn patterns_are_compiled_once_and_not_beyond_the_limit() {
        let work_budget = WorkBudget::share(1, usize::try_from(MAX_STEPS).unwrap() / 1000);
        for _ in 0..50 {
            assert_eq!(work_budget.matches("^a+$", "aa"), Some(true));
        }
        assert!(!work_budget.is_spent());
        assert_eq!(work_budget.matches(r"(\pL{100}){10}", "aa"), None);
        assert!(work_budget.is_spent());
        assert_eq!(work_budget.matches("(", "aa"), None);
    }

    #[test]
    fn a_long_text_is_not_matched_beyond_the_limit() {
        let work_budget = WorkBudget::share(1, usize::try_from(MAX_STEPS).unwrap() / 1000);
        assert_eq!(work_budget.matches("^a+$", &"a".repeat(2000)), None);
        assert!(work_budget.is_spent());
    }
}
