//! `'%d …'.format([…])` with everything written out: whether each clause fits its argument
//! (cel-go `ext/formatting.go`).

use super::ast::{Ast, Expr, Id};
use super::check::Checked;
use super::types::{self, Data, Scalar, Types};

/// Checks a format string against the elements of its list.
///
/// # Errors
/// What is wrong, and the element that it is about if it is about one.
pub(crate) fn check(
    text: &str,
    args: &[Id],
    ast: &Ast<'_>,
    checked: &Checked,
    types: &Types,
) -> Result<(), (Option<Id>, String)> {
    let mut rest = text;
    let mut used = 0;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err((None, "the format string ends with '%'; a percent sign is written %%".to_owned()));
        }
        let Some(arg) = args.get(used) else {
            return Err((None, format!("format string has more clauses than arguments ({})", args.len())));
        };
        used += 1;
        if let Some(after) = rest.strip_prefix('.') {
            let digits = after.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(after.len());
            if after.len() == digits || after[..digits].parse::<i64>().is_err() {
                return Err((
                    None,
                    "invalid precision in the format string: must be a number before a clause".to_owned(),
                ));
            }
            rest = &after[digits..];
        }
        let clause = rest.chars().next().unwrap_or(' ');
        let fits: &dyn Fn(Data) -> bool = match clause {
            's' => {
                string(*arg, ast, checked, types)?;
                &|_| true
            }
            'd' | 'o' => &|data| is(data, &[Scalar::Int, Scalar::Uint]),
            'f' | 'e' => &|data| is(data, &[Scalar::Double, Scalar::String]),
            'b' => &|data| is(data, &[Scalar::Int, Scalar::Uint, Scalar::Bool]),
            'x' | 'X' => &|data| is(data, &[Scalar::Int, Scalar::Uint, Scalar::String, Scalar::Bytes]),
            other => {
                return Err((None, format!("unknown clause `%{other}` in the format string")));
            }
        };
        let ty = checked.ty(*arg);
        if ty != types::DYN && !fits(types.get(ty)) {
            return Err((Some(*arg), format!("clause `%{clause}` does not support type {}", types.name(ty))));
        }
        rest = &rest[clause.len_utf8()..];
    }
    if args.len() > used {
        return Err((None, format!("format string has {used} clauses, but {} arguments", args.len())));
    }
    Ok(())
}

fn is(data: Data, scalars: &[Scalar]) -> bool {
    matches!(data, Data::Scalar(scalar) | Data::Wrapper(scalar) if scalars.contains(&scalar))
}

/// Whether `%s` can format a value, and everything in it that is written out.
fn string(id: Id, ast: &Ast<'_>, checked: &Checked, types: &Types) -> Result<(), (Option<Id>, String)> {
    let ty = checked.ty(id);
    let fits = matches!(
        types.get(ty),
        Data::Dyn
            | Data::List(_)
            | Data::Map(..)
            | Data::Scalar(_)
            | Data::Wrapper(_)
            | Data::Timestamp
            | Data::Duration
            | Data::AnyType
            | Data::Type(_)
            | Data::Null
    );
    if !fits {
        return Err((Some(id), format!("clause `%s` does not support type {}", types.name(ty))));
    }
    match ast.expr(id) {
        Expr::List { items, .. } => items.iter().try_for_each(|item| string(*item, ast, checked, types)),
        Expr::Map(entries) => entries.iter().try_for_each(|entry| {
            string(entry.key, ast, checked, types)?;
            string(entry.value, ast, checked, types)
        }),
        _ => Ok(()),
    }
}
