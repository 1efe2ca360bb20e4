//! Validation of a value against a schema.
//!
//! Source: `pkg/validation/validate` of `k8s.io/kube-openapi`, on what `ToKubeOpenAPI` of apiextensions-apiserver
//! converts a structural schema to.

use super::formats;
use crate::inputs::WorkBudget;
use kube_yaml::{Kind, Path, Value};
use kubernetes_cel::Server;
use olm_model::crd::{Additional, Items, Keyword, Schema};

/// The first mismatch of a value and its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// The path in the value: `spec.size`, empty for the value itself.
    pub path: String,
    /// What the schema requires.
    pub message: String,
}

type Verdict = Result<(), Mismatch>;

/// Validates `value`, whose path is `path`, against a schema of the skeleton, as `server` does. What exceeds `work_budget` counts as
/// valid.
pub(crate) fn validate<'b>(
    value: Value<'_>,
    schema: &Schema<'b>,
    path: &Path<'_>,
    work_budget: &WorkBudget<'b>,
    server: &Server,
) -> Verdict {
    Validator { work_budget, server }.check(value, schema, false, path)
}

struct Validator<'e, 'b> {
    work_budget: &'e WorkBudget<'b>,
    server: &'e Server,
}

/// A value as Kubernetes' JSON decoder returns it.
#[derive(Debug, Clone, Copy)]
enum Datum<'b> {
    Null,
    Boolean(bool),
    Integer(i64),
    Number(f64),
    String(&'b str),
    Array,
    Object,
}

impl<'b> Datum<'b> {
    fn new(value: Value<'b>) -> Self {
        match value.kind() {
            Kind::Null => Self::Null,
            Kind::Boolean => Self::Boolean(value.as_bool().unwrap_or_default()),
            Kind::Integer | Kind::Number => match value.as_i64() {
                Some(integer) => Self::Integer(integer),
                None => Self::Number(value.as_f64().unwrap_or_default()),
            },
            Kind::String => Self::String(value.text()),
            Kind::Array => Self::Array,
            Kind::Object => Self::Object,
        }
    }

    /// The type and, for numbers, the format.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Null => ("null", ""),
            Self::Boolean(_) => ("boolean", ""),
            Self::Integer(_) => ("integer", "int64"),
            Self::Number(_) => ("number", "float64"),
            Self::String(_) => ("string", ""),
            Self::Array => ("array", ""),
            Self::Object => ("object", ""),
        }
    }
}

fn wrong(path: &Path<'_>, message: impl Into<String>) -> Verdict {
    Err(Mismatch { path: path.to_string(), message: message.into() })
}

impl<'b> Validator<'_, 'b> {
    fn check(&self, value: Value<'_>, schema: &Schema<'b>, nested: bool, path: &Path<'_>) -> Verdict {
        // Reading the schema takes about as long as ten steps.
        if !self.work_budget.spend(10 + value.text().len() / 64) {
            return Ok(());
        }
        let datum = Datum::new(value);
        check_type(datum, schema, path)?;
        if !matches!(datum, Datum::Null) {
            self.junctors(value, schema, path)?;
            match datum {
                Datum::String(text) => self.check_string(text, schema, path)?,
                Datum::Integer(number) => {
                    check_integer(number, schema, path)?;
                    self.check_ranges(datum, schema, path)?;
                }
                Datum::Number(number) => {
                    check_number(number, schema, path)?;
                    self.check_ranges(datum, schema, path)?;
                }
                Datum::Array => self.check_list(value, schema, nested, path)?,
                _ => {}
            }
        }
        if !self.work_budget.spend(schema.list(Keyword::Enum).len() / 8) {
            return Ok(());
        }
        check_enum(datum, value, schema, path)?;
        if matches!(datum, Datum::Object) { self.check_object(value, schema, nested, path) } else { Ok(()) }
    }

    /// Checks that a number and its limits are numbers of the schema's type and format.
    ///
    /// Source: `numberValidator.Validate` and `IsValueValidAgainstRange` of kube-openapi, since Kubernetes 1.36.
    fn check_ranges(&self, datum: Datum<'_>, schema: &Schema<'b>, path: &Path<'_>) -> Verdict {
        let (kind, format) = (schema.kind(), schema.string(Keyword::Format));
        let required = || match (kind, format) {
            ("integer", "int32") | ("number", "float") => format!("in the range of `{format}`"),
            _ => format!("of type {kind}"),
        };
        if !is_in_range(datum, kind, format) && self.server.since(RANGES) {
            return wrong(path, format!("must be {}", required()));
        }
        let limits = [
            (Keyword::MultipleOf, "multipleOf"),
            (Keyword::Maximum, "maximum"),
            (Keyword::Minimum, "minimum"),
        ];
        for (keyword, name) in limits {
            let Some(limit) = schema.number(keyword) else { continue };
            if !is_in_range(Datum::Number(limit), kind, format) && self.server.since(RANGES) {
                return wrong(path, format!("`{name}` is {limit}, but must be {}", required()));
            }
        }
        Ok(())
    }

    fn junctors(&self, value: Value<'_>, schema: &Schema<'b>, path: &Path<'_>) -> Verdict {
        let holds =
            |alternative: Value<'b>| self.check(value, &Schema::read(alternative), true, path).is_ok();
        let mut alternatives = schema.list(Keyword::AnyOf);
        if alternatives.len() > 0 && !alternatives.any(holds) {
            return wrong(path, "must match at least one schema of `anyOf`");
        }
        let alternatives = schema.list(Keyword::OneOf);
        if alternatives.len() > 0 {
            let fitting = alternatives.filter(|alternative| holds(*alternative)).count();
            if fitting != 1 {
                return wrong(
                    path,
                    format!("must match exactly one schema of `oneOf`, but matches {fitting}"),
                );
            }
        }
        for alternative in schema.list(Keyword::AllOf) {
            self.check(value, &Schema::read(alternative), true, path)?;
        }
        if schema.get(Keyword::Not).is_some_and(holds) {
            return wrong(path, "must not match the schema of `not`");
        }
        Ok(())
    }

    fn check_string(&self, text: &str, schema: &Schema<'b>, path: &Path<'_>) -> Verdict {
        let length = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(maximum) = schema.integer(Keyword::MaxLength)
            && length() > maximum
        {
            return wrong(path, format!("must have at most {}", count(maximum, "character", "characters")));
        }
        if let Some(minimum) = schema.integer(Keyword::MinLength)
            && length() < minimum
        {
            return wrong(path, format!("must have at least {}", count(minimum, "character", "characters")));
        }
        let pattern = schema.string(Keyword::Pattern);
        // Another rule reports an invalid pattern.
        if !pattern.is_empty() && self.work_budget.matches(pattern, text) == Some(false) {
            return wrong(path, format!("must match the pattern `{pattern}`"));
        }
        let format = schema.string(Keyword::Format);
        let is_checked = || formats::introduced(format).is_none_or(|minor| self.server.since(minor));
        if !format.is_empty() && !formats::fits(format, text) && is_checked() {
            return wrong(path, format!("must have the format `{format}`"));
        }
        Ok(())
    }

    fn check_list(&self, value: Value<'_>, schema: &Schema<'b>, nested: bool, path: &Path<'_>) -> Verdict {
        if let Items::Schema(items) = schema.items() {
            let items = Schema::read(items);
            for (index, item) in value.items().enumerate() {
                self.check(item, &items, nested, &path.index(index))?;
            }
        }
        let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
        if let Some(minimum) = schema.integer(Keyword::MinItems)
            && size < minimum
        {
            return wrong(path, format!("must have at least {}", count(minimum, "item", "items")));
        }
        if let Some(maximum) = schema.integer(Keyword::MaxItems)
            && size > maximum
        {
            return wrong(path, format!("must have at most {}", count(maximum, "item", "items")));
        }
        Ok(())
    }

    fn check_object(&self, value: Value<'_>, schema: &Schema<'b>, nested: bool, path: &Path<'_>) -> Verdict {
        let entries: Vec<_> = value.unique_entries().collect();
        let size = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        if let Some(minimum) = schema.integer(Keyword::MinProperties)
            && size < minimum
        {
            return wrong(path, format!("must have at least {}", count(minimum, "property", "properties")));
        }
        if let Some(maximum) = schema.integer(Keyword::MaxProperties)
            && size > maximum
        {
            return wrong(path, format!("must have at most {}", count(maximum, "property", "properties")));
        }
        let additional = if nested { Additional::Unset } else { schema.additional() };
        for (key, value) in &entries {
            let name = key.text();
            match (schema.property(name), additional) {
                (Some(property), _) => {
                    self.check(*value, &Schema::read(property), nested, &path.field(name))?;
                }
                (None, Additional::Schema(values)) => {
                    self.check(*value, &Schema::read(values), nested, &path.key(name))?;
                }
                (None, Additional::Boolean(false)) => {
                    return wrong(path, format!("must not have the property `{name}`"));
                }
                (None, _) => {}
            }
        }
        if !self.work_budget.spend(schema.list(Keyword::Required).len()) {
            return Ok(());
        }
        for required in schema.list(Keyword::Required) {
            if value.get(required.text()).is_none() {
                return wrong(path, format!("must have the required property `{}`", required.text()));
            }
        }
        Ok(())
    }
}

fn count(number: i64, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// The first version of Kubernetes that checks numbers and their limits against the type and format of the schema.
const RANGES: u16 = 36;

/// Returns whether a number is one of the type and format.
#[expect(clippy::cast_possible_truncation, reason = "as Go does")]
fn is_in_range(datum: Datum<'_>, kind: &str, format: &str) -> bool {
    const INTEGERS: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    match (kind, datum) {
        ("integer", Datum::Integer(number)) => format != "int32" || i32::try_from(number).is_ok(),
        ("integer", Datum::Number(number)) => {
            number.fract() == 0.0
                && INTEGERS.contains(&number)
                && (format != "int32" || i32::try_from(number as i64).is_ok())
        }
        ("number", Datum::Number(number)) => format != "float" || (number as f32).is_finite(),
        _ => true,
    }
}

/// `nested` is whether the schema is below `allOf` or similar, where `additionalProperties` is not evaluated.
fn check_type(datum: Datum<'_>, schema: &Schema<'_>, path: &Path<'_>) -> Verdict {
    let (kind, format) = (schema.kind(), schema.string(Keyword::Format));
    let (found, found_format) = datum.names();
    let mismatch = || wrong(path, format!("must be of type {kind}, found {found}"));
    if matches!(datum, Datum::Null) {
        let fits = kind.is_empty() || schema.flag(Keyword::Nullable);
        return if fits { Ok(()) } else { mismatch() };
    }
    if kind.is_empty() && format.is_empty() {
        return Ok(());
    }
    let fits = kind == found
        || matches!(datum, Datum::Number(number) if kind == "integer" && is_json_integer(number))
        || matches!(datum, Datum::Integer(_)) && kind == "number";
    let textual = matches!(datum, Datum::String(_) | Datum::Array);
    if !textual && !format.is_empty() && !fits && found_format != format {
        return wrong(path, format!("must have the format `{format}`, found type {found}"));
    }
    if textual && !format.is_empty() && !matches!(kind, "number" | "integer") {
        return Ok(());
    }
    if fits { Ok(()) } else { mismatch() }
}

/// `IsFloat64AJSONInteger` of go-openapi's swag.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "as Go does"
)]
fn is_json_integer(number: f64) -> bool {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    if !(-MAX_SAFE..=MAX_SAFE).contains(&number) {
        return false;
    }
    if number == (number as i64) as f64 {
        return true;
    }
    let cut = number.trunc();
    let difference = (number - cut).abs();
    cut > 0.0 && difference / (number.abs() + cut.abs()) < 1e-9
}

/// Converts a limit, which is a float, to an integer as Go does.
#[expect(clippy::cast_possible_truncation, reason = "as Go does")]
fn truncated(limit: f64) -> i64 {
    // Out of range, amd64 returns the minimum integer.
    const RANGE: std::ops::Range<f64> = -9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0;
    if RANGE.contains(&limit) { limit as i64 } else { i64::MIN }
}

fn check_integer(number: i64, schema: &Schema<'_>, path: &Path<'_>) -> Verdict {
    if let Some(factor) = schema.number(Keyword::MultipleOf) {
        let whole = truncated(factor);
        if whole <= 0 || number.wrapping_rem(whole) != 0 {
            return wrong(path, format!("must be a multiple of {factor}"));
        }
    }
    if let Some(limit) = schema.number(Keyword::Maximum) {
        let (maximum, exclusive) = (truncated(limit), schema.flag(Keyword::ExclusiveMaximum));
        if number > maximum || exclusive && number == maximum {
            return wrong(
                path,
                format!("must be {} {limit}", if exclusive { "less than" } else { "at most" }),
            );
        }
    }
    if let Some(limit) = schema.number(Keyword::Minimum) {
        let (minimum, exclusive) = (truncated(limit), schema.flag(Keyword::ExclusiveMinimum));
        if number < minimum || exclusive && number == minimum {
            return wrong(
                path,
                format!("must be {} {limit}", if exclusive { "more than" } else { "at least" }),
            );
        }
    }
    Ok(())
}

fn check_number(number: f64, schema: &Schema<'_>, path: &Path<'_>) -> Verdict {
    if let Some(factor) = schema.number(Keyword::MultipleOf) {
        let times = if factor < 1.0 { 1.0 / factor * number } else { number / factor };
        if factor <= 0.0 || !is_json_integer(times) {
            return wrong(path, format!("must be a multiple of {factor}"));
        }
    }
    if let Some(maximum) = schema.number(Keyword::Maximum) {
        let exclusive = schema.flag(Keyword::ExclusiveMaximum);
        if number > maximum || exclusive && number >= maximum {
            return wrong(
                path,
                format!("must be {} {maximum}", if exclusive { "less than" } else { "at most" }),
            );
        }
    }
    if let Some(minimum) = schema.number(Keyword::Minimum) {
        let exclusive = schema.flag(Keyword::ExclusiveMinimum);
        if number < minimum || exclusive && number <= minimum {
            return wrong(
                path,
                format!("must be {} {minimum}", if exclusive { "more than" } else { "at least" }),
            );
        }
    }
    Ok(())
}

/// Maximum number of allowed values that a message lists.
const LISTED: usize = 20;

fn check_enum(datum: Datum<'_>, value: Value<'_>, schema: &Schema<'_>, path: &Path<'_>) -> Verdict {
    let mut allowed = schema.list(Keyword::Enum);
    if allowed.len() == 0 || allowed.any(|allowed| equals(datum, value, allowed)) {
        return Ok(());
    }
    let all = schema.list(Keyword::Enum);
    let more = if all.len() > LISTED { format!(" and {} more", all.len() - LISTED) } else { String::new() };
    let listed: Vec<String> = all.take(LISTED).map(|allowed| format!("`{allowed:?}`")).collect();
    wrong(path, format!("must be one of {}{more}", listed.join(", ")))
}

/// Returns whether `value`, converted to the type of `allowed` as Go does, is equal to it.
#[expect(clippy::cast_precision_loss, clippy::float_cmp, reason = "as Go does")]
fn equals(datum: Datum<'_>, value: Value<'_>, allowed: Value<'_>) -> bool {
    match (datum, Datum::new(allowed)) {
        (Datum::Boolean(a), Datum::Boolean(b)) => a == b,
        (Datum::Integer(a), Datum::Integer(b)) => a == b,
        (Datum::Integer(a), Datum::Number(b)) => a as f64 == b,
        (Datum::Number(a), Datum::Integer(b)) => truncated(a) == b,
        (Datum::Number(a), Datum::Number(b)) => a == b,
        (Datum::String(a), Datum::String(b)) => a == b,
        // Go converts a number to the character with that code.
        (Datum::Integer(a), Datum::String(b)) => {
            let character =
                u32::try_from(a).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
            b.strip_prefix(character) == Some("")
        }
        (Datum::Array, Datum::Array) | (Datum::Object, Datum::Object) => value.to_json() == allowed.to_json(),
        // Nulls, among others, cannot be converted.
        _ => false,
    }
}
