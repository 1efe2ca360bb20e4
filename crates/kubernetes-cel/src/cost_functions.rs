//! The costs of calls of known functions: cel-go's own, those of its set and list libraries, and
//! Kubernetes' (apiserver/pkg/cel/library/cost.go).

use super::ast::{Ast, Expr, Id, Literal};
use super::base_costs::{LIST_COST, REGEX, TRAVERSAL};
use super::decl::{DeclId, Declarations};
use super::estimate::{Range, or_unknown};
use super::path::Path;
use super::server::Server;
use super::types::{Data, Scalar, Ty, Types};

/// One.
const NOMINAL: Range = Range::exactly(1);
/// Cost of an authorization check: an expression can afford two of them.
const AUTHORIZATION: Range = Range::exactly(350_000);
/// An address takes 4 or 16 bytes.
const ADDRESS: Range = Range::new(4, 16);
/// Assumed length of the patterns of named formats.
const FORMAT_PATTERN: f64 = 128.0;
/// Maximum length of the name of a format.
const FORMAT_NAME: u64 = 64;
/// Cost of one requirement of a selector: a list and a message.
const REQUIREMENT: f64 = 50.0;

/// The cost of a call without its arguments, and the size of its result if it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallCost {
    pub(crate) cost: Range,
    pub(crate) size: Option<Range>,
}

impl CallCost {
    pub(crate) const fn new(cost: Range) -> Self {
        Self { cost, size: None }
    }

    pub(crate) const fn sized(cost: Range, size: Range) -> Self {
        Self { cost, size: Some(size) }
    }
}

/// A call's argument as cost functions see it.
pub(crate) struct Argument<'a> {
    pub(crate) path: Path<'a>,
    pub(crate) ty: Ty,
    pub(crate) node: Id,
    /// Its size, if the expression determines it.
    pub(crate) size: Option<Range>,
}

/// What the cost of a call depends on besides its arguments.
pub(crate) struct Context<'a> {
    pub(crate) ast: &'a Ast<'a>,
    pub(crate) types: &'a Types,
    pub(crate) declarations: &'a Declarations<'a>,
    /// What `self` is.
    pub(crate) root: Option<DeclId>,
    /// The version that estimates.
    pub(crate) server: &'a Server,
}

/// The first version of Kubernetes that compares values of its own types at a cost of 1, and knows the size of what `url` parsed.
const OWN_EQUALITY: u16 = 32;
/// The first version of Kubernetes that estimates a call `matches(text, pattern)` as `text.matches(pattern)` (cel-go 0.29).
const GLOBAL_MATCHES: u16 = 37;

impl<'a> Context<'a> {
    /// The size that the schema gives to what a path leads to.
    pub(crate) fn declared_size(&self, path: &Path<'a>) -> Option<Range> {
        if path.is_empty() {
            return None;
        }
        // The keys of maps are strings of unknown length.
        let mut key = false;
        let mut current = self.root?;
        let found = path.walk(|step| {
            if key {
                return false;
            }
            let next = match step {
                "@items" | "@values" => self.declarations.element(current),
                "@keys" => {
                    key = self.declarations.is_map(current);
                    return key;
                }
                field => self.declarations.member(current, field),
            };
            current = next.unwrap_or(current);
            next.is_some()
        });
        let max = if key { 0 } else { self.declarations.get(current).max_elements };
        found.then(|| Range::new(0, max))
    }
}

type Target<'t, 'a> = Option<&'t Argument<'a>>;

/// The set and list libraries' functions (cel-go `ext/sets.go`, `ext/lists.go`).
pub(crate) fn library<'a>(
    context: &Context<'a>,
    overload: &str,
    target: Target<'_, 'a>,
    args: &[Argument<'a>],
) -> Option<CallCost> {
    let size = |argument: &Argument<'a>| estimate(context, argument);
    let allocating = |factor: f64, size: Range| {
        Some(CallCost::sized(size.scaled(factor).plus(NOMINAL).plus(Range::exactly(LIST_COST)), size))
    };
    match (overload, target, args) {
        (
            "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
            _,
            [left, right],
        ) => {
            let factor = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
            Some(CallCost::new(size(left).times(size(right)).scaled(factor).plus(NOMINAL)))
        }
        ("list_slice", Some(list), [start, end]) => {
            let start = literal_int(context, start, 0);
            let end = literal_int(context, end, size(list).max);
            allocating(1.0, Range::exactly(end.wrapping_sub(start)))
        }
        ("lists_range", None, [count]) => {
            allocating(1.0, Range::exactly(literal_int(context, count, u64::MAX)))
        }
        ("list_reverse" | "list_flatten", Some(list), []) => allocating(1.0, size(list)),
        ("list_flatten_int", Some(list), [depth]) => {
            // Depths beyond what a float can count do not exist.
            #[allow(clippy::cast_precision_loss)]
            let depth = literal_int(context, depth, u64::MAX) as f64;
            allocating(depth, size(list))
        }
        ("list_distinct", Some(list), []) => allocating(2.0, size(list).times(size(list))),
        (sort, Some(list), rest) if sort.starts_with("list_") && sort.contains("sort") => {
            let sorted = match rest {
                [] if sort.ends_with("_sort") => list,
                [keys] if sort.ends_with("_sortByAssociatedKeys") => keys,
                _ => return None,
            };
            let factor = if sort.starts_with("list_string_") || sort.starts_with("list_bytes_") {
                2.0 + TRAVERSAL
            } else {
                2.0
            };
            allocating(factor, size(sorted).times(size(sorted)))
        }
        _ => None,
    }
}

/// The value of a literal integer, at least 0.
fn literal_int(context: &Context<'_>, argument: &Argument<'_>, otherwise: u64) -> u64 {
    match context.ast.expr(argument.node) {
        Expr::Literal(Literal::Int(value)) => u64::try_from(*value).unwrap_or(0),
        _ => otherwise,
    }
}

/// A size: from the expression if it determines it, otherwise from the schema.
fn estimate<'a>(context: &Context<'a>, argument: &Argument<'a>) -> Range {
    or_unknown(argument.size.or_else(|| context.declared_size(&argument.path)))
}

/// The functions that Kubernetes' estimator knows, by name whatever their overload.
pub(crate) fn kubernetes<'a>(
    context: &Context<'a>,
    function: &str,
    overload: &str,
    target: Target<'_, 'a>,
    args: &[Argument<'a>],
) -> Option<CallCost> {
    let size = |argument: &Argument<'a>| estimate(context, argument);
    let traversal = |size: Range| size.scaled(TRAVERSAL);
    let nominal = Some(CallCost::new(NOMINAL));
    match (function, target, args) {
        ("check", ..) => Some(CallCost::new(AUTHORIZATION)),
        ("fieldSelector" | "labelSelector", _, [selector]) => {
            let length = size(selector);
            let requirements = length.scaled(0.5).scaled(REQUIREMENT);
            Some(CallCost::new(Range::exactly(LIST_COST).plus(traversal(length)).plus(requirements)))
        }
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(list), _) => {
            let cost = match parameter(context, list.ty) {
                Some(element) => {
                    let mut each = NOMINAL;
                    if is_text(context, element) {
                        each = each.plus(traversal(element_size(context, list)));
                    }
                    size(list).times(each)
                }
                None => traversal(size(list)),
            };
            Some(CallCost::new(cost))
        }
        ("url", _, [text]) if context.server.since(OWN_EQUALITY) => {
            Some(CallCost::sized(traversal(size(text)), size(text)))
        }
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(text), _) => {
            Some(CallCost::sized(traversal(size(text)), size(text)))
        }
        ("replace", Some(text), [from, to, ..]) => {
            let length = size(text);
            Some(CallCost::sized(length.scaled(2.0 * TRAVERSAL), replaced(length, size(from), size(to))))
        }
        ("split", Some(text), _) => {
            let length = size(text);
            let most = match args {
                [_, limit, ..] => match context.ast.expr(limit.node) {
                    Expr::Literal(Literal::Int(limit)) => limit.cast_unsigned(),
                    _ => length.max,
                },
                _ => length.max,
            };
            Some(CallCost::sized(length.scaled(2.0 * TRAVERSAL), Range::new(0, most)))
        }
        ("join", Some(list), _) => {
            let count = size(list);
            let mut length = Range::ZERO;
            if parameter(context, list.ty).is_some() {
                length = count.times(element_size(context, list));
            }
            if let [separator, ..] = args {
                let separators = Range::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
                length = length.plus(size(separator).times(separators));
            }
            Some(CallCost::sized(traversal(length), length))
        }
        ("find" | "findAll", Some(text), [pattern, ..]) => {
            let length = size(text);
            let cost = traversal(length.plus(NOMINAL)).times(size(pattern).scaled(REGEX));
            Some(CallCost::sized(cost, Range::new(0, length.max)))
        }
        ("ip", ..) if overload == "cidr_ip" => nominal,
        (
            "url" | "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
            _,
            [text, ..],
        ) => Some(CallCost::new(traversal(size(text)))),
        ("ip.isCanonical", _, [text, ..]) => Some(CallCost::new(size(text).scaled(2.0 * TRAVERSAL))),
        (
            "serviceAccount"
            | "path"
            | "group"
            | "resource"
            | "subresource"
            | "namespace"
            | "name"
            | "allowed"
            | "reason"
            | "error"
            | "errored"
            | "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery",
            ..,
        ) => nominal,
        ("containsIP", _, [other, ..]) => {
            let mut cost = traversal(ADDRESS.plus(ADDRESS));
            if overload == "cidr_contains_ip_string" {
                cost = cost.plus(traversal(size(other)));
            }
            Some(CallCost::new(cost))
        }
        ("containsCIDR", _, [other, ..]) => {
            let mut cost = traversal(ADDRESS.plus(ADDRESS)).plus(traversal(ADDRESS)).plus(NOMINAL);
            if overload == "cidr_contains_cidr_string" {
                cost = cost.plus(traversal(size(other)));
            }
            Some(CallCost::new(cost))
        }
        ("validate", _, [text, ..]) => {
            Some(CallCost::new(traversal(size(text)).scaled(FORMAT_PATTERN * REGEX)))
        }
        ("_==_", _, [left, right]) => equality(context, left, right),
        _ => None,
    }
}

/// Comparing two values of a Kubernetes library.
fn equality(context: &Context<'_>, left: &Argument<'_>, right: &Argument<'_>) -> Option<CallCost> {
    if left.ty != right.ty {
        return None;
    }
    if !matches!(context.types.get(left.ty), Data::Opaque("net.IP" | "net.CIDR") | Data::Message(_))
        || !context.server.since(OWN_EQUALITY)
    {
        return None;
    }
    let cost = match context.types.get(left.ty) {
        Data::Opaque("net.IP" | "net.CIDR") => NOMINAL,
        Data::Message("kubernetes.NamedFormat") => Range::new(1, FORMAT_NAME).scaled(TRAVERSAL),
        Data::Message("kubernetes.URL") => {
            Range::new(1, right.size.map_or(1, |size| size.max)).scaled(TRAVERSAL)
        }
        Data::Message(name) if name.starts_with("kubernetes.") => NOMINAL,
        _ => return None,
    };
    Some(CallCost::new(cost))
}

/// Maximum length of a string after `replace`.
fn replaced(length: Range, from: Range, to: Range) -> Range {
    let (mut count, mut kept) = (Range::ZERO, Range::ZERO);
    if from.min == 0 {
        count.max = length.max.saturating_add(1);
        kept.max = length.max;
    } else if to.max <= from.min {
        kept.max = length.max;
    } else {
        count.max = quotient(length.max, from.min);
    }
    if from.max == 0 {
        count.min = length.min.saturating_add(1);
        kept.min = length.min;
    } else if from.max <= to.min {
        kept.min = length.min;
    } else {
        count.min = quotient(length.min, from.max);
    }
    count.times(to).plus(kept)
}

/// Rounded up, through floating point as the API server divides.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn quotient(left: u64, right: u64) -> u64 {
    (left as f64 / right as f64).ceil() as u64
}

/// The first parameter of a type that has any.
fn parameter(context: &Context<'_>, ty: Ty) -> Option<Ty> {
    match context.types.get(ty) {
        Data::List(first) | Data::Map(first, _) | Data::Optional(first) | Data::Type(first) => Some(first),
        _ => None,
    }
}

fn is_text(context: &Context<'_>, ty: Ty) -> bool {
    matches!(
        context.types.get(ty),
        Data::Scalar(Scalar::String | Scalar::Bytes) | Data::Wrapper(Scalar::String | Scalar::Bytes)
    )
}

/// The size of a list's elements.
fn element_size<'a>(context: &Context<'a>, list: &Argument<'a>) -> Range {
    if list.path.is_empty() {
        return Range::UNKNOWN;
    }
    or_unknown(context.declared_size(&list.path.copied("@items")))
}

/// The cost of matching a text with a pattern.
fn matching(text: Range, pattern: Range) -> CallCost {
    CallCost::new(text.plus(NOMINAL).scaled(TRAVERSAL).times(pattern.scaled(REGEX)))
}

/// The functions of cel-go's standard library that do not cost one.
pub(crate) fn standard(
    context: &Context<'_>,
    overload: &str,
    target: Target<'_, '_>,
    args: &[Argument<'_>],
) -> Option<CallCost> {
    let size = |argument: &Argument<'_>| or_unknown(argument.size);
    Some(match (overload, target, args) {
        ("string_format", Some(target), _) => CallCost::new(size(target).scaled(TRAVERSAL)),
        ("string_to_bytes", _, [text]) => {
            let length = size(text);
            CallCost::sized(length.scaled(TRAVERSAL), Range::new(length.min, length.max.wrapping_mul(4)))
        }
        ("bytes_to_string", _, [bytes]) => {
            let length = size(bytes);
            CallCost::sized(length.scaled(TRAVERSAL), Range::new(length.min / 4, length.max))
        }
        ("strings_quote", _, [text]) => {
            let length = size(text);
            let quoted = Range::new(length.min.wrapping_add(2), length.max.wrapping_mul(2).wrapping_add(2));
            CallCost::sized(length.scaled(TRAVERSAL), quoted)
        }
        ("starts_with_string" | "ends_with_string", _, [affix]) => {
            CallCost::new(size(affix).scaled(TRAVERSAL))
        }
        ("in_list", _, [_, list]) => CallCost::new(size(list).scaled(1.0)),
        ("matches_string", Some(text), [pattern]) => matching(size(text), size(pattern)),
        ("matches", None, [text, pattern]) if context.server.since(GLOBAL_MATCHES) => {
            matching(size(text), size(pattern))
        }
        ("contains_string", Some(target), [part]) => {
            CallCost::new(size(target).scaled(TRAVERSAL).times(size(part).scaled(TRAVERSAL)))
        }
        (
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "equals"
            | "not_equals",
            _,
            [left, right],
        ) => {
            let max = size(left).max.min(size(right).max);
            CallCost::new(Range::new(u64::from(max > 0), max).scaled(TRAVERSAL))
        }
        _ => return None,
    })
}
