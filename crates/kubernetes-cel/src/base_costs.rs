//! The costs that estimating and evaluating an expression have in common (cel-go `common/cost.go`).

/// Cost of making a list.
pub(crate) const LIST_COST: u64 = 10;
/// Cost of making a map.
pub(crate) const MAP_COST: u64 = 30;
/// Cost of making a message.
pub(crate) const MESSAGE_COST: u64 = 40;
/// Cost of reading one character.
pub(crate) const TRAVERSAL: f64 = 0.1;
/// Cost of matching one character of a pattern.
pub(crate) const REGEX: f64 = 0.25;
