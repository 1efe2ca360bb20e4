//! Type inference and overload resolution, as cel-go's `checker/checker.go` does them.

use std::borrow::Cow;

use super::ast::{Ast, Expr, Fault, Id, Literal};
use super::decl::Declarations;
use super::library::{KnownName, Library, NAMED_PARAMS, Overload};
use super::server::Server;
use super::types::{self, Data, Mapping, Ty, Types, most_general};

/// How many steps of type inference one expression may take; only types that double with each
/// step need more.
const MAX_STEPS: usize = 20_000_000;
/// How many bindings of type parameters may be copied. cel-go copies all of them for each attempt
/// to resolve an overload, some 400 ns apiece: this many take it two minutes, twice the time that a
/// request has.
const MAX_COPIES: usize = 300_000_000;
/// The maximum number of errors of one expression: more add no information.
const MAX_FAULTS: usize = 10;

/// What names mean where an expression stands.
pub(crate) struct Scope<'e> {
    pub(crate) library: &'static Library,
    pub(crate) server: &'e Server,
    pub(crate) variables: &'e [(&'static str, Ty)],
    pub(crate) declarations: &'e Declarations<'e>,
}

/// What a node refers to.
#[derive(Debug, Clone)]
pub(crate) enum Reference {
    /// A variable, by its name, or a loop's variable.
    Variable,
    /// A type or a constant.
    Known(KnownName),
    /// A function, by the overloads that fit.
    Call(Vec<&'static str>),
}

/// A node's type and what it refers to, by node.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) types: Vec<Option<Ty>>,
    pub(crate) references: Vec<Option<Reference>>,
}

impl Checked {
    /// The node's type; `dyn` for the few nodes that have none.
    pub(crate) fn ty(&self, id: Id) -> Ty {
        self.types[id.index()].unwrap_or(types::DYN)
    }

    /// The overloads that a call resolved to.
    pub(crate) fn overloads(&self, id: Id) -> &[&'static str] {
        match &self.references[id.index()] {
            Some(Reference::Call(overloads)) => overloads,
            _ => &[],
        }
    }
}

/// Infers all types of `ast` and replaces qualified names by what they name.
///
/// # Errors
/// Every place where a name is unknown or a type does not fit.
pub(crate) fn check(ast: &mut Ast<'_>, scope: &Scope<'_>, types: &mut Types) -> Result<Checked, Vec<Fault>> {
    let count = ast.nodes.len();
    let root = ast.root;
    let mut checker = Checker {
        ast,
        scope,
        types,
        mapping: Mapping::default(),
        fresh: NAMED_PARAMS,
        mixed_numbers: scope.library.dialect.kubernetes,
        locals: Vec::new(),
        out: Checked { types: vec![None; count], references: vec![None; count] },
        faults: Vec::new(),
    };
    checker.check(root);
    if checker.exhausted() {
        checker.faults.push(Fault::new(
            0,
            "expression is too complex: its validation exceeds the time limit of a request",
        ));
    }
    if !checker.faults.is_empty() {
        return Err(checker.faults);
    }
    for index in 0..count {
        if let Some(ty) = checker.out.types[index] {
            checker.out.types[index] = Some(checker.mapping.substitute(checker.types, ty, true));
        }
    }
    Ok(checker.out)
}

struct Checker<'a, 's, 'e> {
    ast: &'a mut Ast<'s>,
    scope: &'a Scope<'e>,
    types: &'a mut Types,
    mapping: Mapping,
    /// The number of the next type parameter.
    fresh: u32,
    /// Whether numbers of different kinds can be compared. cel-go forgets that they cannot once it
    /// has entered a fold.
    mixed_numbers: bool,
    /// Variables of the folds that are open, innermost last.
    locals: Vec<(Cow<'s, str>, Ty)>,
    out: Checked,
    faults: Vec<Fault>,
}

impl Checker<'_, '_, '_> {
    fn fault(&mut self, id: Id, message: impl Into<String>) {
        let at = self.ast.at(id);
        self.fault_at(at, message);
    }

    fn fault_at(&mut self, at: u32, message: impl Into<String>) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(Fault::new(at, message));
        }
    }

    fn set(&mut self, id: Id, ty: Ty) {
        self.out.types[id.index()] = Some(ty);
    }

    fn refer(&mut self, id: Id, reference: Reference) {
        self.out.references[id.index()] = Some(reference);
    }

    fn get(&self, id: Id) -> Ty {
        self.out.ty(id)
    }

    fn parameter(&mut self) -> Ty {
        self.fresh += 1;
        self.types.make(Data::Param(self.fresh - 1))
    }

    fn substitute(&mut self, ty: Ty) -> Ty {
        self.mapping.substitute(self.types, ty, false)
    }

    /// Returns the name of a type for messages.
    fn name(&mut self, ty: Ty) -> String {
        let ty = self.mapping.substitute(self.types, ty, true);
        self.types.name(ty)
    }

    fn assignable(&mut self, from: Ty, to: Ty) -> bool {
        self.exhausted() || self.mapping.assignable(self.types, from, to)
    }

    /// Whether the expression has had its share of work.
    fn exhausted(&self) -> bool {
        self.mapping.steps > MAX_STEPS || self.mapping.copies > MAX_COPIES
    }

    fn check(&mut self, id: Id) {
        if self.exhausted() {
            return;
        }
        match self.ast.expr(id).clone() {
            Expr::Literal(value) => self.set(id, literal_type(&value)),
            Expr::Ident(name) => self.ident(id, &name),
            Expr::Select { operand, field, test } => self.select(id, operand, field, test),
            Expr::Call { target, function, args } => self.call(id, target, &function, &args),
            Expr::List { items, optional } => self.list(id, &items, &optional),
            Expr::Map(entries) => {
                let (mut keys, mut values) = (None, None);
                for entry in entries {
                    self.check(entry.key);
                    let key = self.get(entry.key);
                    keys = Some(self.join(keys, key));
                    self.check(entry.value);
                    let value = self.get(entry.value);
                    let value =
                        if entry.optional { self.must_be_optional(entry.value, value) } else { value };
                    values = Some(self.join(values, value));
                }
                let (key, value) = match (keys, values) {
                    (Some(key), Some(value)) => (key, value),
                    _ => (self.parameter(), self.parameter()),
                };
                let ty = self.types.map(key, value);
                self.set(id, ty);
            }
            Expr::Message { name, fields } => {
                let message = self.message(id, &name);
                for field in fields {
                    self.check(field.value);
                    let value = self.get(field.value);
                    let value =
                        if field.optional { self.must_be_optional(field.value, value) } else { value };
                    let Some(message) = &message else { continue };
                    let Some(wanted) = self.scope.library.message_field(message, field.name) else {
                        self.fault_at(field.at, format!("unknown field `{}` of {message}", field.name));
                        continue;
                    };
                    if !self.assignable(wanted, value) {
                        let (wanted, found) = (self.name(wanted), self.name(value));
                        self.fault_at(
                            field.at,
                            format!("invalid field `{}`: expected {wanted}, found {found}", field.name),
                        );
                    }
                }
            }
            Expr::Fold(fold) => {
                self.check(fold.range);
                self.check(fold.init);
                let range = self.get(fold.range);
                let range = self.substitute(range);
                let accumulator = self.get(fold.init);
                let (first, second) = self.loop_types(fold.range, range, fold.var2.is_some());
                self.mixed_numbers = true;
                self.locals.push((fold.accumulator, accumulator));
                let outer = self.locals.len();
                self.locals.push((fold.var, first));
                if let Some(var2) = fold.var2 {
                    self.locals.push((var2, second));
                }
                self.check(fold.condition);
                self.expect(fold.condition, types::BOOL);
                self.check(fold.step);
                self.expect(fold.step, accumulator);
                self.locals.truncate(outer);
                self.check(fold.result);
                self.locals.pop();
                let ty = self.get(fold.result);
                let ty = self.substitute(ty);
                self.set(id, ty);
            }
        }
    }

    /// The types of a fold's variables, given the type of what it runs over.
    fn loop_types(&mut self, node: Id, range: Ty, two: bool) -> (Ty, Ty) {
        match self.types.get(range) {
            Data::List(element) if two => (types::INT, element),
            Data::List(element) => (element, types::DYN),
            Data::Map(key, value) => (key, value),
            Data::Dyn | Data::Error | Data::Param(_) => {
                self.assignable(types::DYN, range);
                (types::DYN, types::DYN)
            }
            _ => {
                let found = self.name(range);
                self.fault(node, format!("a macro requires a list or a map, found {found}"));
                (types::ERROR, types::ERROR)
            }
        }
    }

    fn expect(&mut self, id: Id, wanted: Ty) {
        let found = self.get(id);
        if !self.assignable(wanted, found) {
            let (wanted, found) = (self.name(wanted), self.name(found));
            self.fault(id, format!("expected {wanted}, found {found}"));
        }
    }

    fn must_be_optional(&mut self, id: Id, ty: Ty) -> Ty {
        if let Some(inner) = self.types.inside_optional(ty) {
            return inner;
        }
        if !self.types.is_dyn(ty) {
            let found = self.name(ty);
            self.fault(id, format!("an entry with `?` requires an optional value, found {found}"));
        }
        ty
    }

    /// The type of a literal's elements with one more. Mixed ones are found after checking, for
    /// `format` takes them.
    fn join(&mut self, previous: Option<Ty>, current: Ty) -> Ty {
        let Some(previous) = previous else { return current };
        if self.assignable(previous, current) {
            most_general(self.types, previous, current)
        } else {
            types::DYN
        }
    }

    fn list(&mut self, id: Id, items: &[Id], optional: &[usize]) {
        let mut joined = None;
        for (index, item) in items.iter().enumerate() {
            self.check(*item);
            let ty = self.get(*item);
            let ty = if optional.contains(&index) { self.must_be_optional(*item, ty) } else { ty };
            joined = Some(self.join(joined, ty));
        }
        let element = joined.unwrap_or_else(|| self.parameter());
        let ty = self.types.list(element);
        self.set(id, ty);
    }

    /// Gives `id` the type of a declared name, if `name` is one.
    fn declared(&mut self, id: Id, name: &str) -> bool {
        let plain = name.strip_prefix('.').unwrap_or(name);
        let local = self.locals.iter().rev().find(|(local, _)| local == plain).map(|(_, ty)| *ty);
        let variable =
            || self.scope.variables.iter().find(|(variable, _)| *variable == plain).map(|(_, ty)| *ty);
        if let Some(ty) = local.or_else(variable) {
            self.set(id, ty);
            self.refer(id, Reference::Variable);
            if plain.len() != name.len() {
                self.ast.nodes[id.index()].expr = Expr::Ident(Cow::Owned(plain.to_owned()));
            }
            return true;
        }
        let Some((name, known)) = self.scope.library.name(plain, self.scope.server) else { return false };
        self.set(id, known.ty);
        self.refer(id, Reference::Known(known));
        self.ast.nodes[id.index()].expr = Expr::Ident(Cow::Borrowed(name));
        true
    }

    fn ident(&mut self, id: Id, name: &str) {
        if self.declared(id, name) {
            return;
        }
        self.set(id, types::ERROR);
        let message = self.undeclared(name);
        self.fault(id, message);
    }

    fn undeclared(&self, name: &str) -> String {
        let mut names: Vec<&str> = self.scope.variables.iter().map(|(name, _)| *name).collect();
        names.extend(
            self.locals.iter().map(|(name, _)| name.as_ref()).filter(|name| !name.starts_with(['@', '#'])),
        );
        match self
            .types_self()
            .and_then(|object| self.scope.declarations.field(object, name, self.scope.server))
        {
            Some(_) => format!("undeclared name `{name}`: did you mean `self.{name}`?"),
            None => format!("undeclared name `{name}`: must be `{}`", names.join("`, `")),
        }
    }

    /// The object that `self` is, if it is one.
    fn types_self(&self) -> Option<u32> {
        let (_, ty) = self.scope.variables.iter().find(|(name, _)| *name == "self")?;
        match self.types.get(*ty) {
            Data::Object(object) => Some(object),
            _ => None,
        }
    }

    fn select(&mut self, id: Id, operand: Id, field: &str, test: bool) {
        // A chain of names may be one name: google.protobuf.Duration.
        if !test
            && self.ast.chain_root(operand).is_some_and(|root| {
                matches!(root.strip_prefix('.').unwrap_or(root), "google" | "net" | "authorizer")
            })
            && let Some(name) = self.ast.qualified_name(id)
            && self.declared(id, &name)
        {
            return;
        }
        let ty = self.field(id, operand, field, false);
        let ty = if test { types::BOOL } else { self.substitute(ty) };
        self.set(id, ty);
    }

    /// The type of a field of `operand`, which is checked first.
    fn field(&mut self, id: Id, operand: Id, field: &str, optional: bool) -> Ty {
        self.check(operand);
        let operand_type = self.get(operand);
        let operand_type = self.substitute(operand_type);
        let inner = self.types.inside_optional(operand_type);
        let target = inner.unwrap_or(operand_type);
        let ty = match self.types.get(target) {
            Data::Map(_, value) => value,
            Data::Object(object) => {
                self.scope.declarations.field(object, field, self.scope.server).unwrap_or_else(|| {
                    let message = self.scope.declarations.missing_field(object, field);
                    self.fault(id, message);
                    types::ERROR
                })
            }
            Data::Message(name) => self.scope.library.message_field(name, field).unwrap_or_else(|| {
                self.fault(id, format!("unknown field `{field}` of {name}, which has only functions"));
                types::ERROR
            }),
            Data::Param(_) => {
                self.assignable(types::DYN, target);
                types::DYN
            }
            Data::Dyn | Data::Any | Data::Error => types::DYN,
            _ => {
                let found = self.name(target);
                self.fault(id, format!("unknown field `{field}`: type {found} has no fields"));
                types::DYN
            }
        };
        if inner.is_some() || optional { self.types.optional(ty) } else { ty }
    }

    fn message(&mut self, id: Id, name: &str) -> Option<String> {
        let plain = name.strip_prefix('.').unwrap_or(name);
        let is_variable = self.locals.iter().any(|(local, _)| local == plain)
            || self.scope.variables.iter().any(|(variable, _)| *variable == plain);
        let known = if is_variable { None } else { self.scope.library.name(plain, self.scope.server) };
        let Some((canonical, known)) = known else {
            self.set(id, types::ERROR);
            self.fault(id, format!("type `{name}` cannot be created in an expression"));
            return None;
        };
        let Data::Type(made) = self.types.get(known.ty) else {
            self.set(id, types::ERROR);
            self.fault(id, format!("unknown type `{name}`"));
            return None;
        };
        let message = match self.types.get(made) {
            Data::Duration => "google.protobuf.Duration",
            Data::Timestamp => "google.protobuf.Timestamp",
            Data::Any | Data::Dyn | Data::Wrapper(_) => canonical,
            Data::Message(message) => message,
            Data::Null => "google.protobuf.NullValue",
            Data::List(types::DYN) => "google.protobuf.ListValue",
            Data::Map(types::STRING, types::DYN) => "google.protobuf.Struct",
            _ => {
                self.set(id, types::ERROR);
                self.fault(id, format!("type `{name}` is not a message type"));
                return None;
            }
        };
        self.set(id, made);
        self.refer(id, Reference::Known(known));
        Some(message.to_owned())
    }

    fn call(&mut self, id: Id, target: Option<Id>, function: &str, args: &[Id]) {
        if function == "_?._"
            && let [operand, field] = args
            && let Expr::Literal(Literal::String(field)) = self.ast.expr(*field).clone()
        {
            let ty = self.field(id, *operand, &field, true);
            let ty = self.substitute(ty);
            self.set(id, ty);
            self.refer(id, Reference::Call(vec!["select_optional_field"]));
            return;
        }
        for arg in args {
            self.check(*arg);
        }
        if let Some(target) = target {
            // A chain of names before the function may be part of its name: sets.contains().
            if self.ast.chain_root(target).is_some()
                && let Some(prefix) = self.ast.qualified_name(target)
                && let Some(message) = self
                    .scope
                    .library
                    .unavailable(plain_function(&format!("{prefix}.{function}")), self.scope.server)
            {
                self.set(id, types::ERROR);
                self.fault(id, message);
                return;
            }
            if self.ast.chain_root(target).is_some()
                && let Some(prefix) = self.ast.qualified_name(target)
                && let Some(name) = self
                    .scope
                    .library
                    .function_name(plain_function(&format!("{prefix}.{function}")), self.scope.server)
            {
                self.ast.nodes[id.index()].expr =
                    Expr::Call { target: None, function: Cow::Borrowed(name), args: args.to_vec() };
                self.resolve(id, name, None, args);
                return;
            }
            self.check(target);
        }
        let Some(name) = self.scope.library.function_name(plain_function(function), self.scope.server) else {
            self.set(id, types::ERROR);
            // What the function is called on is reported already.
            if target.is_none_or(|target| self.get(target) != types::ERROR) {
                let message = self.unknown_function(function);
                self.fault(id, message);
            }
            return;
        };
        if target.is_none() && name != function {
            self.ast.nodes[id.index()].expr =
                Expr::Call { target: None, function: Cow::Borrowed(name), args: args.to_vec() };
        }
        self.resolve(id, name, target, args);
    }

    fn unknown_function(&self, function: &str) -> String {
        if matches!(
            function,
            "all" | "exists" | "exists_one" | "filter" | "map" | "has" | "optMap" | "optFlatMap"
        ) {
            return format!("invalid arguments of macro `{function}`");
        }
        if let Some(message) = self.scope.library.unavailable(plain_function(function), self.scope.server) {
            return message;
        }
        let lower = function.to_lowercase();
        let near = self.scope.library.function_names().find(|name| name.to_lowercase() == lower);
        match near {
            Some(name) => format!("unknown function `{function}`: did you mean `{name}`?"),
            None => format!("unknown function `{function}`"),
        }
    }

    fn resolve(&mut self, id: Id, function: &str, target: Option<Id>, args: &[Id]) {
        let found: Vec<Ty> = target.iter().chain(args).map(|arg| self.get(*arg)).collect();
        let overloads = self.scope.library.function(function).unwrap_or_default();
        if matches!(function, "_&&_" | "_||_") {
            self.logic(id, function, args, &found, overloads[0].id);
            return;
        }
        let mut fitting = Vec::new();
        let mut result = None;
        for overload in overloads {
            if overload.member != target.is_some()
                || (!self.mixed_numbers && compares_mixed(overload))
                || !overload.is_in(self.scope.server)
            {
                continue;
            }
            let instance;
            let (wanted, returned) = if overload.open {
                instance = self.instantiate(&overload.args, overload.result);
                (&instance.0, instance.1)
            } else {
                (&overload.args, overload.result)
            };
            if self.exhausted() || !self.mapping.all_assignable(self.types, &found, wanted) {
                continue;
            }
            fitting.push(overload.id);
            let returned = self.substitute(returned);
            result = match result {
                None => Some(returned),
                Some(before) if !self.types.is_dyn(before) && !self.types.same(before, returned) => {
                    Some(types::DYN)
                }
                Some(before) => Some(before),
            };
        }
        if let Some(ty) = result {
            self.set(id, ty);
            self.refer(id, Reference::Call(fitting));
            return;
        }
        self.set(id, types::ERROR);
        let message = self.no_overload(function, target.is_some(), &found);
        self.fault(id, message);
    }

    fn logic(&mut self, id: Id, function: &str, args: &[Id], found: &[Ty], overload: &'static str) {
        let mut fits = true;
        for (arg, ty) in args.iter().zip(found) {
            if !self.assignable(*ty, types::BOOL) {
                let found = self.name(*ty);
                let operator = function.trim_matches('_');
                self.fault(*arg, format!("operator `{operator}` requires bool operands, found {found}"));
                fits = false;
            }
        }
        self.set(id, if fits { types::BOOL } else { types::ERROR });
        if fits {
            self.refer(id, Reference::Call(vec![overload]));
        }
    }

    /// A signature with type parameters of its own.
    fn instantiate(&mut self, args: &[Ty], result: Ty) -> (Vec<Ty>, Ty) {
        let base = self.fresh;
        self.fresh += NAMED_PARAMS;
        let args = args.iter().map(|arg| self.types.shift(*arg, base)).collect();
        (args, self.types.shift(result, base))
    }

    fn no_overload(&mut self, function: &str, member: bool, found: &[Ty]) -> String {
        let names: Vec<String> = found.iter().map(|ty| self.name(*ty)).collect();
        if let Some(operator) = operator_symbol(function) {
            return match &names[..] {
                [left, right] => format!("operator `{operator}` is not supported for {left} and {right}"),
                [operand] => format!("operator `{operator}` is not supported for {operand}"),
                _ => format!("operator `{operator}` is not supported for ({})", names.join(", ")),
            };
        }
        match (function, &names[..]) {
            ("_?_:_", [condition, yes, no]) => {
                format!(
                    "operator `? :` requires a bool and two values of the same type, found {condition}, {yes} and {no}"
                )
            }
            ("_[_]" | "_[?_]", [operand, index]) => format!("type {operand} cannot be indexed by {index}"),
            _ if member => {
                format!("no matching overload `{}.{function}({})`", names[0], names[1..].join(", "))
            }
            _ => format!("no matching overload `{function}({})`", names.join(", ")),
        }
    }
}

/// Whether an overload compares two kinds of numbers.
fn compares_mixed(overload: &Overload) -> bool {
    let number = |ty: Ty| matches!(ty, types::INT | types::UINT | types::DOUBLE);
    overload.result == types::BOOL
        && matches!(overload.args[..], [left, right] if left != right && number(left) && number(right))
}

/// A function's name without the dot that makes a name absolute.
fn plain_function(name: &str) -> &str {
    name.strip_prefix('.').unwrap_or(name)
}

fn operator_symbol(function: &str) -> Option<&str> {
    match function {
        "@in" => Some("in"),
        "!_" => Some("!"),
        "-_" => Some("-"),
        "_?_:_" | "_[_]" | "_[?_]" => None,
        _ => function
            .strip_prefix('_')?
            .strip_suffix('_')
            .filter(|symbol| !symbol.contains(char::is_alphanumeric)),
    }
}

fn literal_type(value: &Literal) -> Ty {
    match value {
        Literal::Null => types::NULL,
        Literal::Bool(_) => types::BOOL,
        Literal::Int(_) => types::INT,
        Literal::Uint(_) => types::UINT,
        Literal::Double(_) => types::DOUBLE,
        Literal::String(_) => types::STRING,
        Literal::Bytes(_) => types::BYTES,
    }
}
