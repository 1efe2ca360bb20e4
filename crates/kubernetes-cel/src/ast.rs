//! The syntax tree of one expression after its macros are expanded, kept in one vector so that
//! later passes can refer to nodes by number.

use std::borrow::Cow;

/// The number of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id(pub(crate) u32);

impl Id {
    /// The node's place in the tree's vector.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A literal's value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(String),
    Bytes(Vec<u8>),
}

/// One `key: value` of a map literal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) key: Id,
    pub(crate) value: Id,
    pub(crate) optional: bool,
}

/// One `field: value` of a message literal.
#[derive(Debug, Clone)]
pub(crate) struct FieldInit<'s> {
    pub(crate) name: &'s str,
    pub(crate) value: Id,
    pub(crate) optional: bool,
    pub(crate) at: u32,
}

/// A fold over a list or a map, what every macro with a loop variable becomes.
#[derive(Debug, Clone)]
pub(crate) struct Fold<'s> {
    pub(crate) range: Id,
    pub(crate) var: Cow<'s, str>,
    pub(crate) var2: Option<Cow<'s, str>>,
    pub(crate) accumulator: Cow<'s, str>,
    pub(crate) init: Id,
    pub(crate) condition: Id,
    pub(crate) step: Id,
    pub(crate) result: Id,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Expr<'s> {
    Literal(Literal),
    Ident(Cow<'s, str>),
    Select { operand: Id, field: &'s str, test: bool },
    Call { target: Option<Id>, function: Cow<'s, str>, args: Vec<Id> },
    List { items: Vec<Id>, optional: Vec<usize> },
    Map(Vec<Entry>),
    Message { name: String, fields: Vec<FieldInit<'s>> },
    Fold(Box<Fold<'s>>),
}

/// A node and its byte offset in the source.
#[derive(Debug, Clone)]
pub(crate) struct Node<'s> {
    pub(crate) expr: Expr<'s>,
    pub(crate) at: u32,
}

/// The nodes of a tree that is being built.
#[derive(Debug, Default)]
pub(crate) struct Nodes<'s>(Vec<Node<'s>>);

impl<'s> Nodes<'s> {
    /// Adds a node.
    pub(crate) fn push(&mut self, at: u32, expr: Expr<'s>) -> Id {
        let id = Id(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        self.0.push(Node { expr, at });
        id
    }

    /// How many nodes there are so far.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// A node.
    pub(crate) fn get(&self, id: Id) -> &Node<'s> {
        &self.0[id.index()]
    }

    /// The tree below `root`.
    pub(crate) fn tree(self, root: Id) -> Ast<'s> {
        Ast { nodes: self.0, root }
    }
}

/// A whole expression.
#[derive(Debug)]
pub(crate) struct Ast<'s> {
    pub(crate) nodes: Vec<Node<'s>>,
    pub(crate) root: Id,
}

impl<'s> Ast<'s> {
    /// What the node is.
    pub(crate) fn expr(&self, id: Id) -> &Expr<'s> {
        &self.nodes[id.index()].expr
    }

    /// The byte offset of the node in the source.
    pub(crate) fn at(&self, id: Id) -> u32 {
        self.nodes[id.index()].at
    }

    /// The dotted name that an identifier or a chain of selections on one spells, if the node is one.
    pub(crate) fn qualified_name(&self, id: Id) -> Option<String> {
        match self.expr(id) {
            Expr::Ident(name) => Some(name.to_string()),
            Expr::Select { operand, field, test: false } => {
                let mut name = self.qualified_name(*operand)?;
                name.push('.');
                name.push_str(field);
                Some(name)
            }
            _ => None,
        }
    }

    /// The identifier at the start of a chain of selections, if the node is one.
    pub(crate) fn chain_root(&self, mut id: Id) -> Option<&str> {
        loop {
            match self.expr(id) {
                Expr::Ident(name) => return Some(name),
                Expr::Select { operand, test: false, .. } => id = *operand,
                _ => return None,
            }
        }
    }
}

/// A problem of an expression, and its byte offset in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: u32,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(at: u32, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}
