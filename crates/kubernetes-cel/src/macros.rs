//! Expands cel-go's macros to presence tests and folds. The trees are exactly those of cel-go
//! (parser/macro.go, ext/comprehensions.go, the optional and list libraries), since costs
//! depend on them.

use std::borrow::Cow;

use super::ast::{Entry, Expr, Fault, FieldInit, Fold, Id, Literal, Nodes};
use super::library::{Dialect, LIST_LIBRARY, TWO_VARIABLES};
use super::server::Server;

/// How many nodes the macros of one expression may make. cel-go has no such limit: nested
/// `optMap` doubles its operand each time until the API server's time or memory is spent.
const MAX_NODES: usize = 400_000;

/// The name of the variable that a fold builds its result in; no expression can name it.
pub(crate) const ACCUMULATOR: &str = "@result";
/// The name that cel-go gave it before; still forbidden as a loop variable.
pub(crate) const OLD_ACCUMULATOR: &str = "__result__";
const UNUSED: &str = "#unused";
const SORT_INPUT: &str = "@__sortBy_input__";

/// Expands a call that is a macro: `None` where it is none.
///
/// # Errors
/// A macro whose arguments do not fit it.
pub(crate) fn expand(
    nodes: &mut Nodes<'_>,
    dialect: Dialect,
    server: &Server,
    at: u32,
    function: &str,
    target: Option<Id>,
    args: &[Id],
) -> Result<Option<Id>, Fault> {
    // Those that Kubernetes adds to the standard ones.
    let more = dialect.kubernetes;
    let two = |server: &Server| more && server.since(TWO_VARIABLES);
    let mut make = Maker { nodes, at };
    let id = match (function, target, args) {
        ("has", None, [arg]) => make.has(*arg)?,
        ("all" | "exists" | "exists_one", Some(range), [var, predicate]) => {
            let bound = make.one_variable(*var)?;
            make.quantifier(function, range, bound, *predicate)
        }
        ("all" | "exists" | "existsOne" | "exists_one", Some(range), [var, var2, predicate])
            if two(server) =>
        {
            let bound = make.two_variables(*var, *var2)?;
            make.quantifier(function, range, bound, *predicate)
        }
        ("filter", Some(range), [var, predicate]) => {
            let bound = make.one_variable(*var)?;
            make.list(range, bound, Some(*predicate), *var)
        }
        ("map", Some(range), [var, rest @ ..]) if matches!(rest.len(), 1 | 2) => {
            make.map(range, *var, rest)?
        }
        ("transformList", Some(range), [var, var2, rest @ ..])
            if matches!(rest.len(), 1 | 2) && two(server) =>
        {
            let bound = make.two_variables(*var, *var2)?;
            let (filter, transform) = split(rest);
            make.list(range, bound, filter, transform)
        }
        ("transformMap" | "transformMapEntry", Some(range), [var, var2, rest @ ..])
            if matches!(rest.len(), 1 | 2) && two(server) =>
        {
            let bound = make.two_variables(*var, *var2)?;
            make.transform_map(range, bound, rest, function == "transformMapEntry")
        }
        ("optMap", Some(operand), [var, value]) if more => make.optional(operand, *var, *value, true)?,
        ("optFlatMap", Some(operand), [var, value]) if more => make.optional(operand, *var, *value, false)?,
        ("sortBy", Some(operand), [var, key]) if more && server.since(LIST_LIBRARY) => {
            make.sort_by(operand, *var, *key)?
        }
        _ => return Ok(None),
    };
    if nodes.count() > MAX_NODES {
        return Err(Fault::new(
            at,
            "the expansion of the expression's macros is too large; simplify the expression",
        ));
    }
    Ok(Some(id))
}

/// The optional filter and the transform of the map-like macros.
fn split(args: &[Id]) -> (Option<Id>, Id) {
    match args {
        [filter, transform] => (Some(*filter), *transform),
        _ => (None, args[0]),
    }
}

type Variables<'s> = (Cow<'s, str>, Option<Cow<'s, str>>);

struct Maker<'p, 's> {
    nodes: &'p mut Nodes<'s>,
    at: u32,
}

impl<'s> Maker<'_, 's> {
    fn node(&mut self, expr: Expr<'s>) -> Id {
        self.nodes.push(self.at, expr)
    }

    fn call(&mut self, function: &'static str, args: Vec<Id>) -> Id {
        self.node(Expr::Call { target: None, function: Cow::Borrowed(function), args })
    }

    fn member(&mut self, function: &'static str, target: Id, args: Vec<Id>) -> Id {
        self.node(Expr::Call { target: Some(target), function: Cow::Borrowed(function), args })
    }

    fn literal(&mut self, value: Literal) -> Id {
        self.node(Expr::Literal(value))
    }

    fn accumulator(&mut self) -> Id {
        self.node(Expr::Ident(Cow::Borrowed(ACCUMULATOR)))
    }

    fn fold(&mut self, range: Id, bound: Variables<'s>, init: Id, condition: Id, step: Id, result: Id) -> Id {
        let accumulator = Cow::Borrowed(ACCUMULATOR);
        let (var, var2) = bound;
        self.node(Expr::Fold(Box::new(Fold { range, var, var2, accumulator, init, condition, step, result })))
    }

    fn has(&mut self, arg: Id) -> Result<Id, Fault> {
        match self.nodes.get(arg).expr {
            Expr::Select { operand, field, .. } => Ok(self.node(Expr::Select { operand, field, test: true })),
            _ => Err(Fault::new(
                self.nodes.get(arg).at,
                "has() requires a field selection, as in has(self.field)",
            )),
        }
    }

    fn variable(&self, id: Id, macro_says: &str) -> Result<Cow<'s, str>, Fault> {
        let node = self.nodes.get(id);
        match &node.expr {
            Expr::Ident(name) => Ok(name.clone()),
            _ => Err(Fault::new(node.at, macro_says)),
        }
    }

    fn loop_variable(&self, id: Id) -> Result<Cow<'s, str>, Fault> {
        let name = self.variable(id, "the macro's variable must be a simple name")?;
        if name == OLD_ACCUMULATOR || name == ACCUMULATOR {
            return Err(Fault::new(self.nodes.get(id).at, format!("reserved variable name `{name}`")));
        }
        Ok(name)
    }

    fn one_variable(&self, var: Id) -> Result<Variables<'s>, Fault> {
        Ok((self.loop_variable(var)?, None))
    }

    fn two_variables(&self, var: Id, var2: Id) -> Result<Variables<'s>, Fault> {
        let (first, second) = (self.loop_variable(var)?, self.loop_variable(var2)?);
        if first == second {
            return Err(Fault::new(self.nodes.get(var2).at, format!("duplicate variable `{first}`")));
        }
        Ok((first, Some(second)))
    }

    fn quantifier(&mut self, function: &str, range: Id, bound: Variables<'s>, predicate: Id) -> Id {
        match function {
            "all" => {
                let init = self.literal(Literal::Bool(true));
                let so_far = self.accumulator();
                let condition = self.call("@not_strictly_false", vec![so_far]);
                let so_far = self.accumulator();
                let step = self.call("_&&_", vec![so_far, predicate]);
                let result = self.accumulator();
                self.fold(range, bound, init, condition, step, result)
            }
            "exists" => {
                let init = self.literal(Literal::Bool(false));
                let so_far = self.accumulator();
                let negated = self.call("!_", vec![so_far]);
                let condition = self.call("@not_strictly_false", vec![negated]);
                let so_far = self.accumulator();
                let step = self.call("_||_", vec![so_far, predicate]);
                let result = self.accumulator();
                self.fold(range, bound, init, condition, step, result)
            }
            _ => {
                let init = self.literal(Literal::Int(0));
                let condition = self.literal(Literal::Bool(true));
                let (so_far, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let more = self.call("_+_", vec![so_far, one]);
                let same = self.accumulator();
                let step = self.call("_?_:_", vec![predicate, more, same]);
                let (count, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let result = self.call("_==_", vec![count, one]);
                self.fold(range, bound, init, condition, step, result)
            }
        }
    }

    /// `map`, `filter` and `transformList`: a list built element by element.
    fn list(&mut self, range: Id, bound: Variables<'s>, filter: Option<Id>, element: Id) -> Id {
        let init = self.node(Expr::List { items: Vec::new(), optional: Vec::new() });
        let condition = self.literal(Literal::Bool(true));
        let so_far = self.accumulator();
        let addition = self.node(Expr::List { items: vec![element], optional: Vec::new() });
        let mut step = self.call("_+_", vec![so_far, addition]);
        if let Some(filter) = filter {
            let same = self.accumulator();
            step = self.call("_?_:_", vec![filter, step, same]);
        }
        let result = self.accumulator();
        self.fold(range, bound, init, condition, step, result)
    }

    fn map(&mut self, range: Id, var: Id, rest: &[Id]) -> Result<Id, Fault> {
        let bound = self.one_variable(var)?;
        let (filter, transform) = split(rest);
        Ok(self.list(range, bound, filter, transform))
    }

    fn transform_map(&mut self, range: Id, bound: Variables<'s>, rest: &[Id], entry: bool) -> Id {
        let (filter, transform) = split(rest);
        let so_far = self.accumulator();
        let args = if entry {
            vec![so_far, transform]
        } else {
            let key = self.node(Expr::Ident(bound.0.clone()));
            vec![so_far, key, transform]
        };
        let mut step = self.call("cel.@mapInsert", args);
        if let Some(filter) = filter {
            let same = self.accumulator();
            step = self.call("_?_:_", vec![filter, step, same]);
        }
        let init = self.node(Expr::Map(Vec::new()));
        let condition = self.literal(Literal::Bool(true));
        let result = self.accumulator();
        self.fold(range, bound, init, condition, step, result)
    }

    /// A name bound to a value: a fold over nothing.
    fn bind(&mut self, name: Cow<'s, str>, value: Id, step: Id, result: Id) -> Id {
        let range = self.node(Expr::List { items: Vec::new(), optional: Vec::new() });
        let condition = self.literal(Literal::Bool(false));
        let (var, var2) = (Cow::Borrowed(UNUSED), None);
        self.node(Expr::Fold(Box::new(Fold {
            range,
            var,
            var2,
            accumulator: name,
            init: value,
            condition,
            step,
            result,
        })))
    }

    fn optional(&mut self, operand: Id, var: Id, value: Id, wrap: bool) -> Result<Id, Fault> {
        let name = self.variable(var, "the macro's variable must be a simple name")?;
        let present = self.member("hasValue", operand, Vec::new());
        let copy = self.copy(operand)?;
        let inner = self.member("value", copy, Vec::new());
        let step = self.node(Expr::Ident(name.clone()));
        let mut value = self.bind(name, inner, step, value);
        if wrap {
            value = self.call("optional.of", vec![value]);
        }
        let none = self.call("optional.none", Vec::new());
        Ok(self.call("_?_:_", vec![present, value, none]))
    }

    fn sort_by(&mut self, operand: Id, var: Id, key: Id) -> Result<Id, Fault> {
        if matches!(self.nodes.get(operand).expr, Expr::Literal(_) | Expr::Map(_) | Expr::Message { .. }) {
            return Err(Fault::new(self.nodes.get(operand).at, "sortBy() can only be applied to a list"));
        }
        let input = || Expr::Ident(Cow::Borrowed(SORT_INPUT));
        let range = self.node(input());
        let keys = self.map(range, var, &[key])?;
        let list = self.node(input());
        let sorted = self.member("@sortByAssociatedKeys", list, vec![keys]);
        let step = self.node(input());
        Ok(self.bind(Cow::Borrowed(SORT_INPUT), operand, step, sorted))
    }

    /// A copy of a tree with nodes of its own.
    fn copy(&mut self, id: Id) -> Result<Id, Fault> {
        if self.nodes.count() > MAX_NODES {
            return Err(Fault::new(
                self.at,
                "the expansion of the expression's macros is too large; simplify the expression",
            ));
        }
        let node = self.nodes.get(id).clone();
        let expr = match node.expr {
            expr @ (Expr::Literal(_) | Expr::Ident(_)) => expr,
            Expr::Select { operand, field, test } => {
                Expr::Select { operand: self.copy(operand)?, field, test }
            }
            Expr::Call { target, function, args } => Expr::Call {
                target: target.map(|target| self.copy(target)).transpose()?,
                function,
                args: self.copies(&args)?,
            },
            Expr::List { items, optional } => Expr::List { items: self.copies(&items)?, optional },
            Expr::Map(entries) => {
                let mut copied = Vec::with_capacity(entries.len());
                for Entry { key, value, optional } in entries {
                    copied.push(Entry { key: self.copy(key)?, value: self.copy(value)?, optional });
                }
                Expr::Map(copied)
            }
            Expr::Message { name, fields } => {
                let mut copied = Vec::with_capacity(fields.len());
                for field in fields {
                    copied.push(FieldInit { value: self.copy(field.value)?, ..field });
                }
                Expr::Message { name, fields: copied }
            }
            Expr::Fold(fold) => {
                let mut fold = fold;
                for part in
                    [&mut fold.range, &mut fold.init, &mut fold.condition, &mut fold.step, &mut fold.result]
                {
                    *part = self.copy(*part)?;
                }
                Expr::Fold(fold)
            }
        };
        Ok(self.nodes.push(node.at, expr))
    }

    fn copies(&mut self, ids: &[Id]) -> Result<Vec<Id>, Fault> {
        ids.iter().map(|id| self.copy(*id)).collect()
    }
}
