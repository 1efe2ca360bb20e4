//! The worst-case cost of an expression, as cel-go's `checker/cost.go` estimates it. The API server's limits apply to
//! this number, so it must match exactly.

use std::collections::HashMap;

use super::ast::{Ast, Expr, Fold, Id, Literal};
use super::base_costs::{LIST_COST, MAP_COST, MESSAGE_COST, TRAVERSAL};
use super::check::Checked;
use super::cost_functions::{self, Argument, CallCost, Context};
use super::environment::Environment;
use super::estimate::{Range, or_unknown};
use super::macros::{ACCUMULATOR, OLD_ACCUMULATOR};
use super::path::Path;
use super::types::{Data, Scalar, Ty, Types};

/// The first version of Kubernetes whose estimator tracks the sizes of local variables and of the elements of computed lists and
/// maps (cel-go 0.23).
const LOCAL_SIZES: u16 = 33;

/// The sizes of a container's keys and values.
#[derive(Debug, Clone, Copy)]
struct Elements {
    list: bool,
    key: Range,
    value: Range,
}

/// The role of a loop variable: the first or second of two, or the only one.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
    Only,
}

struct Local<'a> {
    name: &'a str,
    path: Path<'a>,
    size: Option<Range>,
    elements: Option<Elements>,
}

/// Estimates costs.
struct Coster<'a> {
    context: Context<'a>,
    checked: &'a Checked,
    paths: Vec<Path<'a>>,
    sizes: Vec<Option<Range>>,
    elements: HashMap<Id, Elements>,
    locals: Vec<Local<'a>>,
    /// Whether the estimator knows the sizes of local variables and elements; see [`LOCAL_SIZES`].
    sizes_locals: bool,
}

/// The cost of a checked expression.
pub(crate) fn cost<'a>(
    ast: &'a Ast<'a>,
    checked: &'a Checked,
    types: &'a Types,
    environment: &'a Environment<'a>,
) -> Range {
    let count = ast.nodes.len();
    let Environment { declarations, root, server, .. } = *environment;
    // Without folds, calls and containers, nothing has a size that only one of the estimators knows.
    let is_simple = |index: usize| match ast.expr(Id(u32::try_from(index).unwrap_or(u32::MAX))) {
        Expr::Literal(_) | Expr::Ident(_) | Expr::Select { .. } => true,
        Expr::Call { function, .. } => matches!(
            function.as_ref(),
            "_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "size"
        ),
        _ => false,
    };
    let mut coster = Coster {
        context: Context { ast, types, declarations, root, server },
        sizes_locals: (0..count).all(is_simple) || server.since(LOCAL_SIZES),
        checked,
        paths: vec![Path::default(); count],
        sizes: vec![None; count],
        elements: HashMap::new(),
        locals: Vec::new(),
    };
    coster.cost(ast.root)
}

impl<'a> Coster<'a> {
    fn cost(&mut self, id: Id) -> Range {
        let ast = self.context.ast;
        match ast.expr(id) {
            Expr::Literal(_) => Range::ZERO,
            Expr::Ident(name) => {
                let path = match self.local(name) {
                    Some(local) => local.path.clone(),
                    None => Path::variable(name),
                };
                self.paths[id.index()] = path;
                Range::exactly(1)
            }
            // Kubernetes keeps presence tests free.
            Expr::Select { operand, test: true, .. } => self.cost(*operand),
            Expr::Select { operand, field, test: false } => {
                let mut sum = self.cost(*operand);
                let target = self.context.types.get(self.checked.ty(*operand));
                if matches!(target, Data::Map(..) | Data::Object(_) | Data::Message(_) | Data::Param(_)) {
                    sum = sum.plus(Range::exactly(1));
                }
                self.paths[id.index()] = self.path(*operand).append(field);
                sum
            }
            Expr::Call { target, function, args } => self.call(id, *target, function, args),
            Expr::List { items, .. } => self.list(id, items),
            Expr::Map(entries) => {
                let mut sum = Range::ZERO;
                let (mut key, mut value) = (start(entries.is_empty()), start(entries.is_empty()));
                for entry in entries {
                    sum = sum.plus(self.cost(entry.key)).plus(self.cost(entry.value));
                    key = key.union(self.size_or_unknown(entry.key));
                    value = value.union(self.size_or_unknown(entry.value));
                }
                self.elements.insert(id, Elements { list: false, key, value });
                sum.plus(Range::exactly(MAP_COST))
            }
            Expr::Message { fields, .. } => fields
                .iter()
                .fold(Range::ZERO, |sum, field| sum.plus(self.cost(field.value)))
                .plus(Range::exactly(MESSAGE_COST)),
            Expr::Fold(fold) if self.is_binding(fold) => self.binding(id, fold),
            Expr::Fold(fold) => self.fold(id, fold),
        }
    }

    fn list(&mut self, id: Id, items: &[Id]) -> Range {
        let mut sum = Range::ZERO;
        let mut value = start(items.is_empty());
        for item in items {
            sum = sum.plus(self.cost(*item));
            value = value.union(self.size_or_unknown(*item));
        }
        self.elements.insert(id, Elements { list: true, key: Range::exactly(1), value });
        sum.plus(Range::exactly(LIST_COST))
    }

    fn call(&mut self, id: Id, target: Option<Id>, function: &str, args: &[Id]) -> Range {
        if let ("dyn", [arg], true) = (function, args, self.sizes_locals) {
            let cost = self.cost(*arg);
            self.copy_sizes(id, *arg);
            return cost.plus(Range::exactly(1));
        }
        let mut costs = Vec::with_capacity(args.len());
        let mut arguments = Vec::with_capacity(args.len());
        for arg in args {
            costs.push(self.cost(*arg));
            arguments.push(self.argument(*arg));
        }
        let checked = self.checked;
        let overloads = checked.overloads(id);
        if overloads.is_empty() {
            return Range::ZERO;
        }
        let mut sum = Range::ZERO;
        let target = target.map(|target| {
            sum = sum.plus(self.cost(target));
            self.argument(target)
        });
        let mut total = Range::new(u64::MAX, 0);
        let mut size: Option<Range> = None;
        for overload in overloads {
            let call = self.overload(id, function, overload, target.as_ref(), &arguments, &costs);
            total = total.union(call.cost);
            size = match (size, call.size) {
                (Some(before), Some(now)) => Some(before.union(now)),
                (before, now) => before.or(now),
            };
            if matches!(*overload, "index_list" | "index_map")
                && let [container, ..] = args
            {
                let step = if *overload == "index_list" { "@items" } else { "@values" };
                size = self.elements_of(*container).map(|elements| elements.value);
                self.paths[id.index()] = self.path(*container).append(step);
            }
            if size.is_none() && self.sizes_locals {
                size = self.size(id);
            }
        }
        if size.is_some() {
            self.sizes[id.index()] = size;
        }
        sum.plus(total)
    }

    fn overload(
        &mut self,
        id: Id,
        function: &str,
        overload: &str,
        target: Option<&Argument<'a>>,
        args: &[Argument<'a>],
        costs: &[Range],
    ) -> CallCost {
        let sum = |call: CallCost| CallCost {
            cost: costs.iter().fold(call.cost, |sum, cost| sum.plus(*cost)),
            size: call.size,
        };
        if let Some(call) = cost_functions::library(&self.context, overload, target, args) {
            return sum(call);
        }
        if let Some(call) = cost_functions::kubernetes(&self.context, function, overload, target, args) {
            return sum(call);
        }
        match (overload, args) {
            ("logical_or" | "logical_and", [_, _]) => {
                CallCost::new(Range::new(costs[0].min, costs[0].plus(costs[1]).max))
            }
            ("conditional", [_, yes, no]) => {
                let size = or_unknown(yes.size).union(or_unknown(no.size));
                if let (Some(yes), Some(no)) = (self.elements_of(yes.node), self.elements_of(no.node)) {
                    self.elements.insert(id, yes.union(no));
                }
                CallCost::sized(costs[0].plus(costs[1].union(costs[2])), size)
            }
            ("add_string" | "add_bytes" | "add_list", [left, right]) => {
                let size = or_unknown(left.size).plus(or_unknown(right.size));
                if let (Some(left), Some(right)) = (self.elements_of(left.node), self.elements_of(right.node))
                {
                    self.elements.insert(id, left.union(right));
                }
                let cost = if overload == "add_list" { Range::exactly(1) } else { size.scaled(TRAVERSAL) };
                sum(CallCost::sized(cost, size))
            }
            _ => sum(cost_functions::standard(&self.context, overload, target, args)
                .unwrap_or(CallCost::new(Range::exactly(1)))),
        }
    }

    fn argument(&mut self, node: Id) -> Argument<'a> {
        let mut path = self.path(node);
        if path.first().is_some_and(|name| matches!(name, ACCUMULATOR | OLD_ACCUMULATOR)) {
            path = Path::default();
        }
        Argument { path, ty: self.checked.ty(node), node, size: self.size(node) }
    }

    fn is_binding(&self, fold: &Fold<'_>) -> bool {
        self.sizes_locals
            && matches!(self.context.ast.expr(fold.range), Expr::List { items, .. } if items.is_empty())
            && matches!(self.context.ast.expr(fold.condition), Expr::Literal(Literal::Bool(false)))
            && fold.accumulator != OLD_ACCUMULATOR
    }

    fn binding(&mut self, id: Id, fold: &'a Fold<'a>) -> Range {
        let sum = self.cost(fold.range).plus(self.cost(fold.init));
        self.bind(&fold.accumulator, fold.init);
        let sum = sum.plus(self.cost(fold.result));
        self.unbind(&fold.accumulator);
        self.copy_sizes(id, fold.result);
        sum
    }

    fn fold(&mut self, id: Id, fold: &'a Fold<'a>) -> Range {
        let sum = self.cost(fold.range).plus(self.cost(fold.init));
        if !self.sizes_locals {
            return self.fold_without_sizes(id, fold, sum);
        }
        self.bind(&fold.accumulator, fold.init);
        if let Some(var2) = &fold.var2 {
            self.iterate(&fold.var, fold.range, Part::Key);
            self.iterate(var2, fold.range, Part::Value);
        } else {
            self.iterate(&fold.var, fold.range, Part::Only);
        }
        let condition = self.cost(fold.condition);
        let step = self.cost(fold.step);
        self.unbind(&fold.var);
        if let Some(var2) = &fold.var2 {
            self.unbind(var2);
        }
        let sum = sum.plus(self.cost(fold.result));
        self.unbind(&fold.accumulator);
        let count = self.size_or_unknown(fold.range);
        let sum = sum.plus(count.times(step.plus(condition)));
        match self.context.ast.expr(fold.init) {
            Expr::Literal(_) => {
                if let Some(size) = self.size(fold.init) {
                    self.sizes[id.index()] = Some(size);
                }
            }
            Expr::List { .. } | Expr::Map(_) => {
                self.sizes[id.index()] = Some(count);
                if let Some(elements) = self.elements_of(fold.step) {
                    self.elements.insert(id, elements);
                }
            }
            _ => {}
        }
        sum
    }

    /// The cost of a fold whose range and initial value cost `sum`, as cel-go estimates it up to 0.22: the accumulator is no
    /// variable with a path, and whatever the fold makes has as many elements as its range.
    fn fold_without_sizes(&mut self, id: Id, fold: &'a Fold<'a>, sum: Range) -> Range {
        let step = match self.context.types.get(self.checked.ty(fold.range)) {
            Data::List(_) => Some("@items"),
            Data::Map(..) => Some("@keys"),
            _ => None,
        };
        let path = step.map_or_else(Path::default, |step| self.path(fold.range).append(step));
        self.locals.push(Local { name: &fold.var, path, size: None, elements: None });
        let looped = self.cost(fold.condition).plus(self.cost(fold.step));
        self.unbind(&fold.var);
        let sum = sum.plus(self.cost(fold.result));
        let count = self.size_or_unknown(fold.range);
        self.sizes[id.index()] = Some(count);
        sum.plus(count.times(looped))
    }

    fn local(&self, name: &str) -> Option<&Local<'a>> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn bind(&mut self, name: &'a str, value: Id) {
        let path = self.path(value);
        let elements = self.elements_of(value);
        let size = self.size(value);
        self.locals.push(Local { name, path, size, elements });
    }

    /// Binds a loop's variable.
    fn iterate(&mut self, name: &'a str, range: Id, part: Part) {
        let elements = self.elements_of(range);
        let list = match elements {
            Some(elements) => elements.list,
            None => matches!(self.context.types.get(self.checked.ty(range)), Data::List(_)),
        };
        let (step, value) = match (part, list) {
            (Part::Key, true) => ("@indices", false),
            (Part::Value | Part::Only, true) => ("@items", true),
            (Part::Value, false) => ("@values", true),
            (Part::Key | Part::Only, false) => ("@keys", false),
        };
        let size = elements.map(|elements| if value { elements.value } else { elements.key });
        let path = self.path(range).append(step);
        self.locals.push(Local { name, path, size, elements: None });
    }

    fn unbind(&mut self, name: &str) {
        if let Some(index) = self.locals.iter().rposition(|local| local.name == name) {
            self.locals.remove(index);
        }
    }

    fn path(&self, id: Id) -> Path<'a> {
        if self.sizes_locals
            && let Expr::Ident(name) = self.context.ast.expr(id)
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths[id.index()].clone()
    }

    fn copy_sizes(&mut self, to: Id, from: Id) {
        if let Some(size) = self.size(from) {
            self.sizes[to.index()] = Some(size);
        }
        if let Some(elements) = self.elements_of(from) {
            self.elements.insert(to, elements);
        }
    }

    fn size_or_unknown(&mut self, id: Id) -> Range {
        or_unknown(self.size(id))
    }

    fn size(&mut self, id: Id) -> Option<Range> {
        if let Some(size) = self.sizes[id.index()] {
            return Some(size);
        }
        if let Some(size) = written_size(self.context.ast.expr(id)) {
            return Some(Range::exactly(size));
        }
        let mut path = self.path(id);
        if !self.sizes_locals
            && path.first().is_some_and(|name| matches!(name, ACCUMULATOR | OLD_ACCUMULATOR))
        {
            path = Path::default();
        }
        if let Some(size) = self.context.declared_size(&path) {
            if self.sizes_locals {
                self.sizes[id.index()] = Some(size);
            }
            return Some(size);
        }
        if self.checked.types[id.index()].is_some_and(|ty| self.is_scalar(ty)) {
            return Some(Range::exactly(1));
        }
        match self.context.ast.expr(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    fn elements_of(&self, id: Id) -> Option<Elements> {
        if !self.sizes_locals {
            return None;
        }
        if let Some(elements) = self.elements.get(&id) {
            return Some(*elements);
        }
        match self.context.ast.expr(id) {
            Expr::Ident(name) => self.local(name).and_then(|local| local.elements),
            _ => None,
        }
    }

    fn is_scalar(&self, ty: Ty) -> bool {
        match self.context.types.get(ty) {
            Data::Scalar(scalar) | Data::Wrapper(scalar) => !matches!(scalar, Scalar::String | Scalar::Bytes),
            Data::Duration | Data::Timestamp => true,
            Data::Optional(inner) => self.sizes_locals && self.is_scalar(inner),
            _ => false,
        }
    }
}

impl Elements {
    fn union(self, other: Self) -> Self {
        Self { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// What a range starts from before it is widened by each element.
fn start(empty: bool) -> Range {
    Range::new(if empty { 0 } else { u64::MAX }, 0)
}

/// The size of something that is written out in the expression.
fn written_size(expr: &Expr<'_>) -> Option<u64> {
    let size = match expr {
        Expr::Literal(Literal::String(text)) => text.chars().count(),
        Expr::Literal(Literal::Bytes(bytes)) => bytes.len(),
        Expr::Literal(_) => 1,
        Expr::List { items, .. } => items.len(),
        Expr::Map(entries) => entries.len(),
        _ => return None,
    };
    Some(size as u64)
}
