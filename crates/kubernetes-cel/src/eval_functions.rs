//! Functions and operators on values that are known.

use std::cmp::Ordering;

use super::eval::{NO_KEY, Outcome, Stop, Val, compare, entry, equal};
use crate::go_regex::GoRegex;

const OVERFLOW: Stop = Stop::Error("integer overflow");
const BY_ZERO: Stop = Stop::Error("division by zero");
const OUT_OF_BOUNDS: Stop = Stop::Error("index out of bounds");
const INVALID_NUMBER: Stop = Stop::Error("invalid number");

/// Calls a function; `member` says that the first value is what it is called on.
pub(super) fn call(function: &str, member: bool, values: &[Val]) -> Outcome {
    match values {
        [value] => one(function, member, value),
        [a, b] => two(function, member, a, b),
        [Val::String(text), Val::String(from), Val::String(to)] if member && function == "replace" => {
            Ok(Val::string(text.replace(&**from, to)))
        }
        [Val::String(text), Val::Int(start), Val::Int(end)] if member && function == "substring" => {
            substring(text, *start, Some(*end))
        }
        _ => Err(Stop::Unknown),
    }
}

fn one(function: &str, member: bool, value: &Val) -> Outcome {
    match (function, member, value) {
        ("!_", _, Val::Bool(value)) => Ok(Val::Bool(!value)),
        ("-_", _, Val::Int(value)) => value.checked_neg().map(Val::Int).ok_or(OVERFLOW),
        ("-_", _, Val::Double(value)) => Ok(Val::Double(-value)),
        ("size", _, Val::String(text)) => Val::length(text.chars().count()),
        ("size", _, Val::List(items) | Val::Keyed(items)) => Val::length(items.len()),
        ("size", _, Val::Map(entries)) => Val::length(entries.len()),
        ("dyn", false, value) => Ok(value.clone()),
        ("int", false, Val::Int(value)) => Ok(Val::Int(*value)),
        ("int", false, Val::String(text)) => text.parse().map(Val::Int).map_err(|_| INVALID_NUMBER),
        ("double", false, Val::Double(value)) => Ok(Val::Double(*value)),
        ("string", false, Val::String(text)) => Ok(Val::String(text.clone())),
        ("string", false, Val::Int(value)) => Ok(Val::string(value.to_string())),
        ("string", false, Val::Bool(value)) => Ok(Val::string(value.to_string())),
        ("lowerAscii", true, Val::String(text)) => Ok(Val::string(text.to_ascii_lowercase())),
        ("upperAscii", true, Val::String(text)) => Ok(Val::string(text.to_ascii_uppercase())),
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
            // Of an empty list nothing says whether it would be a list of ints.
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

fn two(function: &str, member: bool, a: &Val, b: &Val) -> Outcome {
    let order =
        |wanted: fn(Ordering) -> bool| compare(a, b).map(|order| Val::Bool(order.is_some_and(wanted)));
    match function {
        "_==_" => return equal(a, b).map(Val::Bool),
        "_!=_" => return equal(a, b).map(|equal| Val::Bool(!equal)),
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
        ("_+_", Val::String(a), Val::String(b)) => Ok(Val::string(format!("{a}{b}"))),
        ("_+_", Val::List(a), Val::List(b)) => Ok(Val::list([a.as_slice(), b.as_slice()].concat())),
        ("_[_]", Val::List(items) | Val::Keyed(items), Val::Int(index)) => {
            usize::try_from(*index).ok().and_then(|index| items.get(index).cloned()).ok_or(OUT_OF_BOUNDS)
        }
        ("_[_]", Val::Map(entries), key) => entry(entries, key)?.ok_or(NO_KEY),
        ("@in", item, Val::List(items) | Val::Keyed(items)) => {
            for known in items.iter() {
                if equal(known, item)? {
                    return Ok(Val::Bool(true));
                }
            }
            Ok(Val::Bool(false))
        }
        ("@in", key, Val::Map(entries)) => Ok(Val::Bool(entry(entries, key)?.is_some())),
        ("matches", Val::String(text), Val::String(pattern)) => GoRegex::parse(pattern)
            .ok()
            .and_then(|pattern| pattern.is_match(text))
            .map(Val::Bool)
            .ok_or(Stop::Unknown),
        (_, Val::String(text), Val::String(other)) if member => on_text(function, text, other),
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
            Ok(Val::string(texts.collect::<Result<Vec<_>, _>>()?.join(between)))
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

fn on_text(function: &str, text: &str, other: &str) -> Outcome {
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
        "split" if !other.is_empty() => Ok(Val::list(text.split(other).map(Val::string).collect())),
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
