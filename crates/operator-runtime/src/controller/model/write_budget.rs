//! Limits how often the children of one object are written. Pure.

use crate::backoff::backoff;
use std::time::Duration;
use tokio::time::Instant;

/// Writes in a row that are not delayed.
const FREE_WRITES: u32 = 20;
/// The time without a write after which writes count from zero again: longer than the longest delay.
const REST: Duration = Duration::from_mins(2);

/// The uid of an object, and its generation.
pub(crate) type Generation = (String, Option<i64>);

/// Delays writes that do not come to an end: a desired state that is never the same twice, or somebody else who changes the
/// same fields.
///
/// A new generation of the object is written at once, and so is what a few writes in a row achieve.
#[derive(Debug, Default)]
pub(crate) struct WriteBudget {
    generation: Option<Generation>,
    writes: u32,
    last: Option<Instant>,
}

impl WriteBudget {
    /// Returns how long to wait before the next write; `None` if it may be made now.
    pub(crate) fn wait(&self, generation: &Generation, now: Instant, random: u64) -> Option<Duration> {
        let last = self.last.filter(|_| self.counts(generation, now))?;
        let delayed = self.writes.checked_sub(FREE_WRITES)?;
        (last + backoff(delayed + 1, random)).checked_duration_since(now).filter(|wait| !wait.is_zero())
    }

    /// Records a write.
    pub(crate) fn spend(&mut self, generation: Generation, now: Instant) {
        self.writes = if self.counts(&generation, now) { self.writes.saturating_add(1) } else { 1 };
        self.generation = Some(generation);
        self.last = Some(now);
    }

    /// Whether the earlier writes count.
    fn counts(&self, generation: &Generation, now: Instant) -> bool {
        self.generation.as_ref() == Some(generation) && self.last.is_some_and(|last| now < last + REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: i64) -> Generation {
        ("uid".to_owned(), Some(number))
    }

    #[test]
    fn writes_in_a_row_are_delayed_longer_and_longer() {
        let mut budget = WriteBudget::default();
        let mut now = Instant::now();
        for _ in 0..FREE_WRITES {
            assert_eq!(budget.wait(&generation(1), now, 0), None);
            budget.spend(generation(1), now);
        }
        let mut waits = Vec::new();
        for _ in 0..12 {
            let wait = budget.wait(&generation(1), now, 0).unwrap();
            now += wait;
            assert_eq!(budget.wait(&generation(1), now, 0), None);
            budget.spend(generation(1), now);
            waits.push(wait);
        }
        assert_eq!(waits[0], Duration::from_millis(100));
        assert_eq!(waits[11], Duration::from_secs(30));
        assert!(waits.is_sorted());
    }

    #[test]
    fn new_generation_and_rest_are_not_delayed() {
        let mut budget = WriteBudget::default();
        let now = Instant::now();
        for _ in 0..100 {
            budget.spend(generation(1), now);
        }
        assert!(budget.wait(&generation(1), now, 0).is_some());
        assert_eq!(budget.wait(&generation(2), now, 0), None);
        assert_eq!(budget.wait(&generation(1), now + REST, 0), None);
        budget.spend(generation(1), now + REST);
        assert_eq!(budget.writes, 1);
    }
}
