//! The values of expressions: how large they are, whether two are equal, and which is less.

use std::cmp::Ordering;
use std::rc::Rc;

use super::budget::Budget;
use super::stop::Stop;

/// The result of an evaluation.
pub(crate) type Outcome = Result<Val, Stop>;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Rc<str>),
    List(Rc<Vec<Val>>),
    /// A list that is a set or a map, with an equality and an addition of its own.
    Keyed(Rc<Vec<Val>>),
    Map(Rc<Map>),
    /// The fields of an object, by the names that expressions have for them, sorted by these.
    Object(Rc<Vec<(String, Val)>>),
    /// A value that is unknown here.
    Opaque,
}

/// The entries of a map.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) entries: Vec<(Val, Val)>,
    /// Whether all keys are strings, and sorted.
    sorted: bool,
}

impl Map {
    /// The map of entries in the order of the expression.
    pub(crate) fn literal(entries: Vec<(Val, Val)>) -> Self {
        Self { entries, sorted: false }
    }

    /// The map of entries whose keys are strings.
    pub(crate) fn sorted(mut entries: Vec<(Rc<str>, Val)>) -> Self {
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let entries = entries.into_iter().map(|(key, value)| (Val::String(key), value)).collect();
        Self { entries, sorted: true }
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &Val, budget: &mut Budget) -> Result<Option<Val>, Stop> {
        if let (true, Val::String(key)) = (self.sorted, key) {
            let compare = |(known, _): &(Val, Val)| match known {
                Val::String(known) => (**known).cmp(key),
                _ => Ordering::Less,
            };
            budget.work(1)?;
            return Ok(self.entries.binary_search_by(compare).ok().map(|at| self.entries[at].1.clone()));
        }
        for (known, value) in &self.entries {
            if equal(known, key, budget)? {
                return Ok(Some(value.clone()));
            }
        }
        Ok(None)
    }
}

impl Val {
    pub(crate) fn string(text: impl Into<Rc<str>>) -> Self {
        Self::String(text.into())
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items))
    }

    /// The size that Kubernetes' costs go by.
    pub(crate) fn size(&self) -> u64 {
        let size = match self {
            Self::String(text) => text.chars().count(),
            Self::List(items) | Self::Keyed(items) => items.len(),
            Self::Map(map) => map.entries.len(),
            Self::Object(fields) => fields.len(),
            // What is not known counts as little as possible.
            Self::Opaque => 0,
            _ => 1,
        };
        size as u64
    }

    /// A length as an int.
    pub(crate) fn length(length: usize) -> Outcome {
        i64::try_from(length).map(Self::Int).map_err(|_| Stop::Unknown)
    }
}

/// Whether two values are equal: numbers by what they say, values of other types never.
pub(crate) fn equal(a: &Val, b: &Val, budget: &mut Budget) -> Result<bool, Stop> {
    budget.work(1)?;
    Ok(match (a, b) {
        (Val::Opaque | Val::Keyed(_), _) | (_, Val::Opaque | Val::Keyed(_)) => return Err(Stop::Unknown),
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => {
            budget.read(a.len().min(b.len()))?;
            a == b
        }
        (Val::List(a), Val::List(b)) => {
            let mut all = a.len() == b.len();
            for (a, b) in a.iter().zip(b.iter()) {
                all = all && equal(a, b, budget)?;
            }
            all
        }
        (Val::Map(a), Val::Map(b)) => {
            let mut all = a.entries.len() == b.entries.len();
            for (key, value) in &a.entries {
                all = all && matches!(b.get(key, budget)?, Some(other) if equal(value, &other, budget)?);
            }
            all
        }
        (Val::Object(a), Val::Object(b)) => {
            let mut all = a.len() == b.len();
            for ((name, value), (other_name, other)) in a.iter().zip(b.iter()) {
                all = all && name == other_name && equal(value, other, budget)?;
            }
            all
        }
        (a, b) if is_number(a) && is_number(b) => compare(a, b)? == Some(Ordering::Equal),
        // The comparison of a map with an object has no known result.
        (Val::Map(_), Val::Object(_)) | (Val::Object(_), Val::Map(_)) => return Err(Stop::Unknown),
        _ => false,
    })
}

fn is_number(value: &Val) -> bool {
    matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_))
}

/// Returns which of two numbers is less; `None` if one is not a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers that a double does not hold are not compared with one"
)]
pub(crate) fn compare(a: &Val, b: &Val) -> Result<Option<Ordering>, Stop> {
    const EXACT: u64 = 1 << 53;
    let double = |value: &Val| match value {
        Val::Double(value) => Ok(*value),
        Val::Int(value) if value.unsigned_abs() <= EXACT => Ok(*value as f64),
        Val::Uint(value) if *value <= EXACT => Ok(*value as f64),
        _ => Err(Stop::Unknown),
    };
    let whole = |value: &Val| match value {
        Val::Int(value) => Ok(i128::from(*value)),
        Val::Uint(value) => Ok(i128::from(*value)),
        _ => Err(Stop::Unknown),
    };
    Ok(match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Some(a.cmp(b)),
        (Val::String(a), Val::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        (Val::Double(_), _) | (_, Val::Double(_)) => double(a)?.partial_cmp(&double(b)?),
        _ => Some(whole(a)?.cmp(&whole(b)?)),
    })
}
