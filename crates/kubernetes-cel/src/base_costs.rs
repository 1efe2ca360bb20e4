//! The costs that estimating and evaluating an expression have in common (cel-go `common/cost.go`).

/// Cost of making a list.
pub(super) const LIST_COST: u64 = 10;
/// Cost of making a map.
pub(super) const MAP_COST: u64 = 30;
/// Cost of making a message.
pub(super) const MESSAGE_COST: u64 = 40;
/// Cost of reading one character.
pub(super) const TRAVERSAL: f64 = 0.1;
/// Cost of matching one character of a pattern.
pub(super) const REGEX: f64 = 0.25;
