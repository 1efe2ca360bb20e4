//! Functions and operators on known values.

use std::cmp::Ordering;

use super::base_costs::{REGEX, TRAVERSAL};
use super::budget::Budget;
use super::stop::{NO_KEY, Stop};
use super::value::{Outcome, Val, compare, equal};

const OVERFLOW: Stop = Stop::Error("integer overflow");
const BY_ZERO: Stop = Stop::Error("division by zero");
const OUT_OF_BOUNDS: Stop = Stop::Error("index out of bounds");
const INVALID_NUMBER: Stop = Stop::Error("invalid number");

/// Calls a function. If `member` is set, the first value is the receiver. The cost of the call is charged to `budget`
/// first.
pub(crate) fn call(function: &str, member: bool, values: &[Val], budget: &mut Budget) -> Outcome {
    charge(function, values, budget)?;
    match values {
        [value] => one(function, member, value, budget),
        [a, b] => two(function, member, a, b, budget),
        [Val::String(text), Val::String(from), Val::String(to)] if member && function == "replace" => {
            let found =
                if from.is_empty() { text.chars().count() + 1 } else { text.matches(&**from).count() };
            budget.make(text.len().saturating_add(found.saturating_mul(to.len())))?;
            Ok(Val::string(text.replace(&**from, to)))
        }
        [Val::String(text), Val::Int(start), Val::Int(end)] if member && function == "substring" => {
            substring(text, *start, Some(*end))
        }
        _ => Err(Stop::Unknown),
    }
}

/// Charges the cost of a call: in Kubernetes' units (`CallCost` of `k8s.io/apiserver/pkg/cel/library/cost.go` and
/// `costCall` of cel-go's `interpreter/runtimecost.go`), but never more than these, and the work for reading its values.
fn charge(function: &str, values: &[Val], budget: &mut Budget) -> Result<(), Stop> {
    for value in values {
        match value {
            Val::String(text) => budget.read(text.len())?,
            Val::List(items) | Val::Keyed(items)
                if matches!(function, "isSorted" | "sum" | "min" | "max" | "join") =>
            {
                budget.work(items.len())?;
            }
            _ => {}
        }
    }
    let size = |index: usize| values.get(index).map_or(0, Val::size);
    let cost = match (function, values) {
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", [value, ..]) => traversal(value),
        ("lowerAscii" | "upperAscii" | "substring" | "trim" | "startsWith" | "endsWith", _) => {
            scaled(size(0), TRAVERSAL)
        }
        ("replace" | "split", _) => scaled(size(0), 2.0 * TRAVERSAL),
        ("join", [Val::List(items), rest @ ..]) => {
            let between =
                rest.first().map_or(0, Val::size).saturating_mul(items.len().saturating_sub(1) as u64);
            let texts = items.iter().map(Val::size).fold(between, u64::saturating_add);
            scaled(texts, 2.0 * TRAVERSAL)
        }
        ("@in", [_, Val::List(items) | Val::Keyed(items)]) => {
            if budget.take_constant_membership() {
                0
            } else {
                items.len() as u64
            }
        }
        ("_==_" | "_!=_", _) => scaled(size(0).min(size(1)), TRAVERSAL),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [Val::String(_), Val::String(_)]) => {
            scaled(size(0).min(size(1)), TRAVERSAL)
        }
        ("_+_", [Val::String(_), Val::String(_)]) => scaled(size(0).saturating_add(size(1)), TRAVERSAL),
        ("matches", _) => scaled(size(0).saturating_add(1), TRAVERSAL).saturating_mul(scaled(size(1), REGEX)),
        ("contains", _) => scaled(size(0), TRAVERSAL).saturating_mul(scaled(size(1), TRAVERSAL)),
        _ => 1,
    };
    budget.cost(cost)
}

/// Charges for a new list of this length.
fn charge_list(items: usize, budget: &mut Budget) -> Result<(), Stop> {
    budget.make(items.saturating_mul(size_of::<Val>()))
}

/// Kubernetes computes its costs in floating point.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as Kubernetes does"
)]
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// `traversalCost` of `k8s.io/apiserver/pkg/cel/library/cost.go`.
fn traversal(value: &Val) -> u64 {
    match value {
        Val::String(text) => text.len() as u64 / 10,
        Val::List(items) | Val::Keyed(items) => items.iter().map(traversal).fold(0, u64::saturating_add),
        Val::Map(_) | Val::Object(_) | Val::Opaque => 0,
        _ => 1,
    }
}

fn one(function: &str, member: bool, value: &Val, budget: &mut Budget) -> Outcome {
    match (function, member, value) {
        ("!_", _, Val::Bool(value)) => Ok(Val::Bool(!value)),
        ("-_", _, Val::Int(value)) => value.checked_neg().map(Val::Int).ok_or(OVERFLOW),
        ("-_", _, Val::Double(value)) => Ok(Val::Double(-value)),
        ("size", _, Val::String(text)) => Val::length(text.chars().count()),
        ("size", _, Val::List(items) | Val::Keyed(items)) => Val::length(items.len()),
        ("size", _, Val::Map(map)) => Val::length(map.entries.len()),
        ("dyn", false, value) => Ok(value.clone()),
        ("int", false, Val::Int(value)) => Ok(Val::Int(*value)),
        ("int", false, Val::String(text)) => text.parse().map(Val::Int).map_err(|_| INVALID_NUMBER),
        ("double", false, Val::Double(value)) => Ok(Val::Double(*value)),
        ("string", false, Val::String(text)) => Ok(Val::String(text.clone())),
        ("string", false, Val::Int(value)) => Ok(Val::string(value.to_string())),
        ("string", false, Val::Bool(value)) => Ok(Val::string(value.to_string())),
        ("lowerAscii", true, Val::String(text)) => {
            budget.make(text.len())?;
            Ok(Val::string(text.to_ascii_lowercase()))
        }
        ("upperAscii", true, Val::String(text)) => {
            budget.make(text.len())?;
            Ok(Val::string(text.to_ascii_uppercase()))
        }
        ("isSorted", true, Val::List(items)) => {
            let mut sorted = true;
            for pair in items.windows(2) {
                sorted &= compare(&pair[0], &pair[1])?.is_some_and(|order| order != Ordering::Greater);
            }
            Ok(Val::Bool(sorted))
        }
        ("sum", true, Val::List(items)) => {
            let mut sum = 0_i64;
            for item in items.iter() {
                let Val::Int(item) = item else { return Err(Stop::Unknown) };
                sum = sum.checked_add(*item).ok_or(OVERFLOW)?;
            }
            // The element type of an empty list is unknown.
            if items.is_empty() { Err(Stop::Unknown) } else { Ok(Val::Int(sum)) }
        }
        ("min", true, Val::List(items)) => extreme(items, Ordering::Less),
        ("max", true, Val::List(items)) => extreme(items, Ordering::Greater),
        _ => Err(Stop::Unknown),
    }
}

fn extreme(items: &[Val], wanted: Ordering) -> Outcome {
    let mut items = items.iter();
    let mut most = items.next().ok_or(Stop::Error("min and max of an empty list"))?;
    for item in items {
        if compare(item, most)?.ok_or(Stop::Unknown)? == wanted {
            most = item;
        }
    }
    Ok(most.clone())
}

fn two(function: &str, member: bool, a: &Val, b: &Val, budget: &mut Budget) -> Outcome {
    let order =
        |wanted: fn(Ordering) -> bool| compare(a, b).map(|order| Val::Bool(order.is_some_and(wanted)));
    match function {
        "_==_" => return equal(a, b, budget).map(Val::Bool),
        "_!=_" => return equal(a, b, budget).map(|equal| Val::Bool(!equal)),
        "_<_" => return order(Ordering::is_lt),
        "_<=_" => return order(Ordering::is_le),
        "_>_" => return order(Ordering::is_gt),
        "_>=_" => return order(Ordering::is_ge),
        _ => {}
    }
    match (function, a, b) {
        ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", Val::Int(a), Val::Int(b)) => whole(function, *a, *b),
        ("_+_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        ("_-_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        ("_*_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        ("_/_", Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        ("_+_", Val::String(a), Val::String(b)) => {
            budget.make(a.len() + b.len())?;
            Ok(Val::string(format!("{a}{b}")))
        }
        ("_+_", Val::List(a), Val::List(b)) => {
            charge_list(a.len() + b.len(), budget)?;
            Ok(Val::list([a.as_slice(), b.as_slice()].concat()))
        }
        ("_[_]", Val::List(items) | Val::Keyed(items), Val::Int(index)) => {
            usize::try_from(*index).ok().and_then(|index| items.get(index).cloned()).ok_or(OUT_OF_BOUNDS)
        }
        ("_[_]", Val::Map(map), key) => map.get(key, budget)?.ok_or(NO_KEY),
        ("@in", item, Val::List(items) | Val::Keyed(items)) => {
            for known in items.iter() {
                if equal(known, item, budget)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        ("@in", key, Val::Map(map)) => Ok(Val::Bool(map.get(key, budget)?.is_some())),
        ("matches", Val::String(text), Val::String(pattern)) => budget.is_match(pattern, text).map(Val::Bool),
        (_, Val::String(text), Val::String(other)) if member => on_text(function, text, other, budget),
        ("charAt", Val::String(text), Val::Int(index)) if member => {
            let length = text.chars().count();
            match usize::try_from(*index) {
                Ok(index) if index < length => {
                    Ok(Val::string(text.chars().skip(index).take(1).collect::<String>()))
                }
                Ok(index) if index == length => Ok(Val::string("")),
                _ => Err(OUT_OF_BOUNDS),
            }
        }
        ("substring", Val::String(text), Val::Int(start)) if member => substring(text, *start, None),
        ("join", Val::List(items), Val::String(between)) if member => {
            let texts = items.iter().map(|item| match item {
                Val::String(text) => Ok(&**text),
                _ => Err(Stop::Unknown),
            });
            let texts = texts.collect::<Result<Vec<_>, _>>()?;
            let bytes = texts.iter().map(|text| text.len().saturating_add(between.len()));
            budget.make(bytes.fold(0, usize::saturating_add))?;
            Ok(Val::string(texts.join(between)))
        }
        _ => Err(Stop::Unknown),
    }
}

fn whole(function: &str, a: i64, b: i64) -> Outcome {
    let result = match function {
        "_+_" => a.checked_add(b),
        "_-_" => a.checked_sub(b),
        "_*_" => a.checked_mul(b),
        _ if b == 0 => return Err(BY_ZERO),
        "_/_" => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.map(Val::Int).ok_or(OVERFLOW)
}

fn on_text(function: &str, text: &str, other: &str, budget: &mut Budget) -> Outcome {
    let place = |found: Option<usize>| match found {
        Some(at) => Val::length(text[..at].chars().count()),
        None => Ok(Val::Int(-1)),
    };
    match function {
        "contains" => Ok(Val::Bool(text.contains(other))),
        "startsWith" => Ok(Val::Bool(text.starts_with(other))),
        "endsWith" => Ok(Val::Bool(text.ends_with(other))),
        "indexOf" => place(text.find(other)),
        "lastIndexOf" => place(text.rfind(other)),
        "split" if !other.is_empty() => {
            charge_list(text.matches(other).count() + 1, budget)?;
            budget.make(text.len())?;
            Ok(Val::list(text.split(other).map(Val::string).collect()))
        }
        _ => Err(Stop::Unknown),
    }
}

fn substring(text: &str, start: i64, end: Option<i64>) -> Outcome {
    let length = text.chars().count();
    let end = end.map_or(Ok(length), usize::try_from);
    let (Ok(start), Ok(end)) = (usize::try_from(start), end) else { return Err(OUT_OF_BOUNDS) };
    if start > end || end > length {
        return Err(OUT_OF_BOUNDS);
    }
    Ok(Val::string(text.chars().skip(start).take(end - start).collect::<String>()))
}
