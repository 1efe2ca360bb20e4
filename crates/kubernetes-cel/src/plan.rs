//! What fails when cel-go makes a program of a checked expression: names that its evaluator does
//! not know, and constants that it folds at once (cel-go `interpreter/planner.go` and
//! `interpreter/decorators.go`, with the optimizations that Kubernetes switches on).

use super::ast::{Ast, Expr, Fault, Id, Literal};
use super::check::{Checked, Reference};
use super::time;
use super::types::{Data, Types};
use crate::go_regex::GoRegex;

/// Plans a checked expression, with constant folding if `fold` is set.
///
/// # Errors
/// The first error of the API server's planner.
pub(crate) fn plan(ast: &Ast<'_>, checked: &Checked, types: &Types, fold: bool) -> Result<(), Fault> {
    Planner { ast, checked, types, fold }.visit(ast.root).map(|_| ())
}

/// A value that is known before anything is evaluated.
#[derive(Debug, Clone, PartialEq)]
enum Constant {
    Literal(Literal),
    Duration(i64),
    /// Seconds since 1970.
    Timestamp(i64),
    Type,
    Container,
}

struct Planner<'a, 's> {
    ast: &'a Ast<'s>,
    checked: &'a Checked,
    types: &'a Types,
    fold: bool,
}

impl Planner<'_, '_> {
    fn fault<T>(&self, id: Id, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::new(self.ast.at(id), message))
    }

    /// Plans a node: its value, if it is a constant.
    fn visit(&self, id: Id) -> Result<Option<Constant>, Fault> {
        match self.ast.expr(id) {
            Expr::Literal(literal) => Ok(Some(Constant::Literal(literal.clone()))),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select { operand, .. } => {
                self.visit(*operand)?;
                Ok(None)
            }
            Expr::Call { target, function, args } => self.call(id, *target, function, args),
            Expr::List { items, .. } => {
                let mut constant = true;
                for item in items {
                    constant &= self.visit(*item)?.is_some();
                }
                Ok((constant && self.fold).then_some(Constant::Container))
            }
            Expr::Map(entries) => {
                let mut constant = true;
                let mut bytes = None;
                for entry in entries {
                    let key = self.visit(entry.key)?;
                    if matches!(key, Some(Constant::Literal(Literal::Bytes(_)))) {
                        bytes = Some(entry.key);
                    }
                    constant &= key.is_some();
                    constant &= self.visit(entry.value)?.is_some();
                }
                match bytes {
                    // cel-go panics, and the API server answers with an internal error.
                    Some(key) if constant && self.fold => {
                        self.fault(key, "invalid key of a constant map: must not be bytes")
                    }
                    _ => Ok((constant && self.fold).then_some(Constant::Container)),
                }
            }
            Expr::Message { fields, .. } => {
                for field in fields {
                    self.visit(field.value)?;
                }
                Ok(None)
            }
            Expr::Fold(fold) => {
                for part in [fold.init, fold.range, fold.condition, fold.step, fold.result] {
                    self.visit(part)?;
                }
                Ok(None)
            }
        }
    }

    fn ident(&self, id: Id, name: &str) -> Result<Option<Constant>, Fault> {
        match &self.checked.references[id.index()] {
            Some(Reference::Known(known)) if known.constant => Ok(Some(Constant::Literal(Literal::Int(0)))),
            Some(Reference::Known(known)) if known.evaluates => Ok(Some(Constant::Type)),
            // A variable whose value is a type is taken for the name of one.
            _ if matches!(self.types.get(self.checked.ty(id)), Data::Type(_) | Data::AnyType) => {
                self.fault(id, format!("type `{name}` cannot be used as a value"))
            }
            _ => Ok(None),
        }
    }

    fn call(
        &self,
        id: Id,
        target: Option<Id>,
        function: &str,
        args: &[Id],
    ) -> Result<Option<Constant>, Fault> {
        let mut constants = Vec::with_capacity(args.len() + 1);
        for arg in target.iter().chain(args) {
            constants.push(self.visit(*arg)?);
        }
        if matches!(function, "_[_]" | "_[?_]")
            && let [_, Some(index)] = &constants[..]
            && !matches!(
                index,
                Constant::Literal(
                    Literal::Bool(_)
                        | Literal::Int(_)
                        | Literal::Uint(_)
                        | Literal::Double(_)
                        | Literal::String(_)
                )
            )
        {
            return self.fault(args[1], "a constant index must be a string, a number or a bool");
        }
        if !self.fold {
            return Ok(None);
        }
        if let [Some(value)] = &constants[..]
            && CONVERSIONS.contains(&function)
        {
            return match convert(function, value) {
                Some(converted) => Ok(Some(converted)),
                None => self.fault(id, format!("{function}() of this constant always fails")),
            };
        }
        if let ("matches" | "find" | "findAll", [_, Some(Constant::Literal(Literal::String(pattern))), ..]) =
            (function, &constants[..])
            && let Err(error) = GoRegex::parse(pattern)
        {
            return self.fault(id, format!("not a valid Go (RE2) regular expression: {error}"));
        }
        let overloads = self.checked.overloads(id);
        if overloads == ["in_list"]
            && constants[1].is_some()
            && matches!(self.ast.expr(args[1]), Expr::List { items, .. } if items.is_empty())
        {
            return Ok(Some(Constant::Literal(Literal::Bool(false))));
        }
        Ok(None)
    }
}

/// Functions of one constant that are evaluated at once.
const CONVERSIONS: &[&str] =
    &["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"];

/// What a conversion gives, `None` where it fails.
fn convert(function: &str, value: &Constant) -> Option<Constant> {
    let literal = match value {
        Constant::Literal(literal) => literal,
        Constant::Duration(nanoseconds) => return convert_duration(function, *nanoseconds),
        Constant::Timestamp(seconds) => return convert_timestamp(function, *seconds),
        Constant::Type | Constant::Container => {
            return match function {
                "dyn" => Some(value.clone()),
                "type" => Some(Constant::Type),
                _ => None,
            };
        }
    };
    let converted = match (function, literal) {
        ("dyn", _)
        | ("bool", Literal::Bool(_))
        | ("bytes", Literal::Bytes(_))
        | ("double", Literal::Double(_))
        | ("int", Literal::Int(_))
        | ("string", Literal::String(_))
        | ("uint", Literal::Uint(_)) => literal.clone(),
        ("type", _) => return Some(Constant::Type),
        ("bool", Literal::String(text)) => Literal::Bool(parse_bool(text)?),
        ("bytes", Literal::String(text)) => Literal::Bytes(text.clone().into_bytes()),
        ("int", Literal::String(text)) => Literal::Int(text.parse().ok()?),
        ("uint", Literal::String(text)) if !text.starts_with('+') => Literal::Uint(text.parse().ok()?),
        ("double", Literal::String(text)) => Literal::Double(parse_double(text)?),
        ("duration", Literal::String(text)) => return time::duration(text).map(Constant::Duration),
        ("timestamp", Literal::String(text)) => return time::timestamp(text).map(Constant::Timestamp),
        ("timestamp", Literal::Int(seconds)) => {
            return time::in_range(*seconds).then_some(Constant::Timestamp(*seconds));
        }
        _ => number(function, literal)?,
    };
    Some(Constant::Literal(converted))
}

/// Conversions between numbers, and into strings.
// The casts are the conversions that the language defines; ranges are checked first.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn number(function: &str, literal: &Literal) -> Option<Literal> {
    Some(match (function, literal) {
        ("int", Literal::Uint(value)) => Literal::Int(i64::try_from(*value).ok()?),
        ("int", Literal::Double(value)) => {
            let fits = *value > i64::MIN as f64 && *value < i64::MAX as f64;
            Literal::Int(fits.then_some(*value as i64)?)
        }
        ("uint", Literal::Int(value)) => Literal::Uint(u64::try_from(*value).ok()?),
        ("uint", Literal::Double(value)) => {
            let fits = *value >= 0.0 && *value < u64::MAX as f64;
            Literal::Uint(fits.then_some(*value as u64)?)
        }
        ("double", Literal::Int(value)) => Literal::Double(*value as f64),
        ("double", Literal::Uint(value)) => Literal::Double(*value as f64),
        ("string", Literal::Bool(value)) => Literal::String(value.to_string()),
        ("string", Literal::Int(value)) => Literal::String(value.to_string()),
        ("string", Literal::Uint(value)) => Literal::String(value.to_string()),
        // Go's %g, as far as a further conversion can tell.
        ("string", Literal::Double(value)) if *value != 0.0 && !(1e-4..1e6).contains(&value.abs()) => {
            Literal::String(format!("{value:e}"))
        }
        ("string", Literal::Double(value)) => Literal::String(value.to_string()),
        ("string", Literal::Bytes(bytes)) => Literal::String(String::from_utf8(bytes.clone()).ok()?),
        _ => return None,
    })
}

fn convert_duration(function: &str, nanoseconds: i64) -> Option<Constant> {
    match function {
        "dyn" | "duration" => Some(Constant::Duration(nanoseconds)),
        "int" => Some(Constant::Literal(Literal::Int(nanoseconds))),
        "string" => Some(Constant::Literal(Literal::String(time::format_duration(nanoseconds)))),
        "type" => Some(Constant::Type),
        _ => None,
    }
}

fn convert_timestamp(function: &str, seconds: i64) -> Option<Constant> {
    match function {
        "dyn" | "timestamp" => Some(Constant::Timestamp(seconds)),
        "int" => Some(Constant::Literal(Literal::Int(seconds))),
        "string" => Some(Constant::Literal(Literal::String(time::format_timestamp(seconds)))),
        "type" => Some(Constant::Type),
        _ => None,
    }
}

/// Go's `strconv.ParseBool`.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Go's `strconv.ParseFloat`: also hexadecimal, and no value beyond the range.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut lower = unsigned.to_ascii_lowercase();
    if lower.contains('_') {
        let digits =
            lower.strip_prefix("0x").map_or(lower.as_str(), |rest| rest.strip_prefix('_').unwrap_or(rest));
        // Underscores separate digits.
        let digit = |part: Option<char>| part.is_some_and(|c| c.is_ascii_hexdigit());
        if digits
            .split('_')
            .zip(digits.split('_').skip(1))
            .any(|(left, right)| !digit(left.chars().last()) || !digit(right.chars().next()))
        {
            return None;
        }
        lower.retain(|c| c != '_');
    }
    match lower.as_str() {
        "inf" | "infinity" => return Some(f64::INFINITY),
        "nan" => return (unsigned.len() == text.len()).then_some(f64::NAN),
        _ => {}
    }
    if let Some(hexadecimal) = lower.strip_prefix("0x") {
        let (mantissa, exponent) = hexadecimal.split_once('p')?;
        let digits = mantissa.replacen('.', "", 1);
        let valid = !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_hexdigit())
            && exponent.parse::<i32>().is_ok();
        return valid.then_some(1.0);
    }
    let value: f64 = lower.parse().ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_conversions_that_fail_are_found() {
        let text = |text: &str| Constant::Literal(Literal::String(text.to_owned()));
        assert!(convert("int", &text("12")).is_some());
        assert!(convert("int", &text("x")).is_none());
        assert!(convert("bool", &text("yes")).is_none());
        assert!(convert("double", &text("1e999")).is_none());
        assert!(convert("uint", &Constant::Literal(Literal::Int(-1))).is_none());
        assert!(convert("int", &convert("duration", &text("1s")).unwrap()).is_some());
        assert!(convert("string", &Constant::Literal(Literal::Bytes(vec![0xff]))).is_none());
    }
}
