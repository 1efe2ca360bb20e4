//! Ranges of sizes and costs, with arithmetic that stops at the largest number instead of
//! overflowing (cel-go `checker/cost.go`).

/// The least and the most elements a value can have, or the least and the most that something costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Range {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };
    pub(crate) const ZERO: Self = Self::exactly(0);

    pub(crate) const fn exactly(value: u64) -> Self {
        Self { min: value, max: value }
    }

    pub(crate) const fn new(min: u64, max: u64) -> Self {
        Self { min, max }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Times a factor, rounded up.
    pub(crate) fn scaled(self, factor: f64) -> Self {
        Self { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    /// The range that spans both.
    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// The size, or the range of all sizes.
pub(crate) fn or_unknown(size: Option<Range>) -> Range {
    size.unwrap_or(Range::UNKNOWN)
}

/// Costs are estimates in floating point by definition.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn scale(value: u64, factor: f64) -> u64 {
    const LARGEST: f64 = u64::MAX as f64;
    let value = value as f64;
    if value > 0.0 && factor > 0.0 && value > LARGEST / factor {
        return u64::MAX;
    }
    let scaled = (value * factor).ceil();
    if scaled >= LARGEST { u64::MAX } else { scaled as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_round_up_and_do_not_overflow() {
        assert_eq!(Range::exactly(11).scaled(0.1), Range::exactly(2));
        assert_eq!(Range::exactly(u64::MAX).scaled(2.0), Range::exactly(u64::MAX));
        assert_eq!(Range::UNKNOWN.times(Range::exactly(3)), Range::UNKNOWN);
        assert_eq!(Range::exactly(u64::MAX).plus(Range::exactly(1)).max, u64::MAX);
    }
}
