//! CEL's grammar, as cel-go reads it, into a tree with all macros expanded.
//!
//! Not the parser of the `cel` crate: cost estimates depend on how cel-go
//! balances `&&` and `||` and on the exact folds that it makes of macros, and its limits
//! (expression length, recursion per grammar rule, depth of the tree) decide what is refused.
//! A tree built for evaluation keeps none of that.

use std::borrow::Cow;

use super::ast::{Ast, Entry, Expr, Fault, FieldInit, Id, Literal, Nodes};
use super::lex::{self, Kind, Token};
use super::library::{Dialect, ESCAPES};
use super::literal;
use super::macros;
use super::server::Server;

/// The longest expression, in code points (cel-go `expressionSizeCodePointLimit`).
pub(crate) const MAX_CODE_POINTS: usize = 100_000;
/// How deep any one grammar rule may be within itself, and how deep the tree may be
/// (cel-go `maxRecursionDepth`).
const MAX_DEPTH: u32 = 250;

const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// Reads one expression.
///
/// # Errors
/// What is not CEL, and what exceeds cel-go's limits.
pub(crate) fn parse<'s>(source: &'s str, dialect: Dialect, server: &Server) -> Result<Ast<'s>, Fault> {
    let points = source.chars().count();
    if points > MAX_CODE_POINTS {
        return Err(Fault::new(
            0,
            format!("expression of {points} characters exceeds the limit of {MAX_CODE_POINTS}"),
        ));
    }
    let tokens = lex::tokens(source, dialect.escapes || (source.contains('`') && server.since(ESCAPES)))?;
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        nodes: Nodes::default(),
        dialect,
        server,
        expr_depth: 0,
        relation_depth: 0,
        calc_depth: 0,
    };
    let root = parser.expr()?;
    let end = parser.peek();
    if end.kind != Kind::End {
        return Err(parser.unexpected(end, "an operator or the end of the expression"));
    }
    Ok(parser.nodes.tree(root.id))
}

/// A node and how many of the nodes that cel-go counts lie on the longest way down from it.
#[derive(Clone, Copy)]
struct Built {
    id: Id,
    height: u32,
}

/// Reads what one rule of the grammar describes.
type Rule<'s, 'v> = fn(&mut Parser<'s, 'v>) -> Result<Built, Fault>;

/// Reads tokens and builds nodes.
struct Parser<'s, 'v> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
    nodes: Nodes<'s>,
    /// Which macros and notations exist.
    dialect: Dialect,
    server: &'v Server,
    expr_depth: u32,
    relation_depth: u32,
    calc_depth: u32,
}

impl<'s> Parser<'s, '_> {
    fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn kind_at(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::End, |token| token.kind)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn accept(&mut self, kind: Kind) -> Option<Token> {
        (self.peek().kind == kind).then(|| self.next())
    }

    fn expect(&mut self, kind: Kind, what: &str) -> Result<Token, Fault> {
        let token = self.peek();
        self.accept(kind).ok_or_else(|| self.unexpected(token, what))
    }

    fn text_of(&self, token: Token) -> &'s str {
        &self.source[token.start as usize..token.end as usize]
    }

    fn unexpected(&self, token: Token, wanted: &str) -> Fault {
        let found = match token.kind {
            Kind::End => "the end of the expression".to_owned(),
            _ => format!("`{}`", self.text_of(token)),
        };
        Fault::new(token.start, format!("syntax error: expected {wanted}, found {found}"))
    }

    fn node(&mut self, at: u32, expr: Expr<'s>) -> Id {
        self.nodes.push(at, expr)
    }

    fn build(&mut self, at: u32, height: u32, expr: Expr<'s>) -> Built {
        Built { id: self.node(at, expr), height }
    }

    /// The height of a node that cel-go counts.
    fn above(at: u32, height: u32) -> Result<u32, Fault> {
        if height >= MAX_DEPTH {
            return Err(Fault::new(at, format!("expression is nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(height + 1)
    }

    fn deeper(at: u32, depth: u32) -> Result<u32, Fault> {
        Self::above(at, depth)
    }

    fn call(&mut self, at: u32, height: u32, function: &'static str, args: Vec<Id>) -> Built {
        self.build(at, height, Expr::Call { target: None, function: Cow::Borrowed(function), args })
    }

    fn expr(&mut self) -> Result<Built, Fault> {
        self.expr_depth = Self::deeper(self.peek().start, self.expr_depth)?;
        let condition = self.logic(Kind::Or)?;
        let out = if let Some(question) = self.accept(Kind::Question) {
            let yes = self.logic(Kind::Or)?;
            self.expect(Kind::Colon, "`:` of the operator `? :`")?;
            let no = self.expr()?;
            let height = Self::above(question.start, condition.height.max(yes.height).max(no.height))?;
            self.call(question.start, height, "_?_:_", vec![condition.id, yes.id, no.id])
        } else {
            condition
        };
        self.expr_depth -= 1;
        Ok(out)
    }

    /// A chain of `||` whose terms are chains of `&&`, each made a balanced tree as cel-go does.
    fn logic(&mut self, operator: Kind) -> Result<Built, Fault> {
        let (function, term): (_, Rule<'s, '_>) = match operator {
            Kind::Or => ("_||_", |parser| parser.logic(Kind::And)),
            _ => ("_&&_", Self::relation),
        };
        let first = term(self)?;
        let mut terms = vec![first.id];
        let mut places = Vec::new();
        let mut height = first.height;
        while let Some(token) = self.accept(operator) {
            let next = term(self)?;
            terms.push(next.id);
            places.push(token.start);
            height = height.max(next.height);
        }
        if places.is_empty() {
            return Ok(first);
        }
        let id = self.balance(function, &terms, &places, 0, places.len() - 1);
        Ok(Built { id, height })
    }

    fn balance(
        &mut self,
        function: &'static str,
        terms: &[Id],
        places: &[u32],
        low: usize,
        high: usize,
    ) -> Id {
        let middle = (low + high).div_ceil(2);
        let left = if middle == low {
            terms[middle]
        } else {
            self.balance(function, terms, places, low, middle - 1)
        };
        let right = if middle == high {
            terms[middle + 1]
        } else {
            self.balance(function, terms, places, middle + 1, high)
        };
        self.call(places[middle], 0, function, vec![left, right]).id
    }

    fn relation(&mut self) -> Result<Built, Fault> {
        let base = self.relation_depth;
        self.relation_depth = Self::deeper(self.peek().start, base)?;
        let mut left = self.calc(1)?;
        while let Some(function) = relation_operator(self.peek().kind) {
            let operator = self.next();
            self.relation_depth = Self::deeper(operator.start, base + 1)?;
            let right = self.calc(1)?;
            self.relation_depth = base + 1;
            let height = Self::above(operator.start, left.height.max(right.height))?;
            left = self.call(operator.start, height, function, vec![left.id, right.id]);
        }
        self.relation_depth = base;
        Ok(left)
    }

    fn calc(&mut self, at_least: u8) -> Result<Built, Fault> {
        let base = self.calc_depth;
        self.calc_depth = Self::deeper(self.peek().start, base)?;
        let mut left = self.unary()?;
        while let Some((function, precedence)) = calc_operator(self.peek().kind) {
            if precedence < at_least {
                break;
            }
            let operator = self.next();
            let right = self.calc(precedence + 1)?;
            let height = Self::above(operator.start, left.height.max(right.height))?;
            left = self.call(operator.start, height, function, vec![left.id, right.id]);
        }
        self.calc_depth = base;
        Ok(left)
    }

    fn unary(&mut self) -> Result<Built, Fault> {
        let first = self.peek();
        let function = match first.kind {
            Kind::Not => "!_",
            // One minus sign before a number belongs to the number.
            Kind::Minus if !matches!(self.kind_at(1), Kind::Int | Kind::Double) => "-_",
            _ => return self.member(),
        };
        let mut count = 0;
        while self.accept(first.kind).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            return Ok(operand);
        }
        Ok(self.call(first.start, operand.height, function, vec![operand.id]))
    }

    fn member(&mut self) -> Result<Built, Fault> {
        let mut left = self.primary()?;
        loop {
            let token = self.peek();
            left = match token.kind {
                Kind::Dot => self.selection(left)?,
                Kind::LeftBracket => {
                    self.next();
                    let function = if self.optional()? { "_[?_]" } else { "_[_]" };
                    let index = self.expr()?;
                    self.expect(Kind::RightBracket, "`]`")?;
                    let height = Self::above(token.start, left.height.max(index.height))?;
                    self.call(token.start, height, function, vec![left.id, index.id])
                }
                _ => return Ok(left),
            };
        }
    }

    /// Takes the '?' before something optional, where there are optional values.
    fn optional(&mut self) -> Result<bool, Fault> {
        let Some(question) = self.accept(Kind::Question) else { return Ok(false) };
        if !self.dialect.kubernetes {
            return Err(Fault::new(question.start, "optional syntax (`?`) is not supported"));
        }
        Ok(true)
    }

    /// A field's name; between backticks it may hold characters that identifiers cannot.
    fn field_name(&mut self) -> Result<Token, Fault> {
        match self.accept(Kind::EscapedIdent) {
            Some(token) => Ok(token),
            None => self.expect(Kind::Ident, "a field name"),
        }
    }

    fn selection(&mut self, left: Built) -> Result<Built, Fault> {
        let dot = self.next();
        let optional = self.optional()?;
        let name = self.field_name()?;
        let field = self.text_of(name).trim_matches('`');
        if optional {
            let height = Self::above(dot.start, left.height)?;
            let literal = self.node(name.start, Expr::Literal(Literal::String(field.to_owned())));
            return Ok(self.call(dot.start, height, "_?._", vec![left.id, literal]));
        }
        let open = if name.kind == Kind::Ident { self.accept(Kind::LeftParen) } else { None };
        let Some(open) = open else {
            let height = Self::above(dot.start, left.height)?;
            return Ok(self.build(dot.start, height, Expr::Select { operand: left.id, field, test: false }));
        };
        let (args, height) = self.arguments()?;
        let height = Self::above(open.start, left.height.max(height))?;
        let id = match macros::expand(
            &mut self.nodes,
            self.dialect,
            self.server,
            open.start,
            field,
            Some(left.id),
            &args,
        )? {
            Some(id) => id,
            None => self
                .node(open.start, Expr::Call { target: Some(left.id), function: Cow::Borrowed(field), args }),
        };
        Ok(Built { id, height })
    }

    /// The arguments after an opening parenthesis, and the closing one.
    fn arguments(&mut self) -> Result<(Vec<Id>, u32), Fault> {
        let mut args = Vec::new();
        let mut height = 0;
        if self.accept(Kind::RightParen).is_some() {
            return Ok((args, height));
        }
        loop {
            let arg = self.expr()?;
            args.push(arg.id);
            height = height.max(arg.height);
            if self.accept(Kind::Comma).is_none() {
                self.expect(Kind::RightParen, "`,` or `)`")?;
                return Ok((args, height));
            }
        }
    }

    fn primary(&mut self) -> Result<Built, Fault> {
        let token = self.peek();
        match token.kind {
            Kind::LeftParen => {
                self.next();
                let inner = self.expr()?;
                self.expect(Kind::RightParen, "`)`")?;
                Ok(inner)
            }
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.map(),
            Kind::Dot if self.kind_at(1) == Kind::Ident => self.name(),
            Kind::Ident => self.name(),
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Result<Built, Fault> {
        let first = self.peek();
        let negative = first.kind == Kind::Minus && matches!(self.kind_at(1), Kind::Int | Kind::Double);
        if negative {
            self.next();
        }
        let token = self.next();
        let text = self.text_of(token);
        let out_of_range =
            |what: &str| Fault::new(first.start, format!("`{text}` is out of range for {what}"));
        let value = match token.kind {
            Kind::Int => literal::int(text, negative).ok_or_else(|| out_of_range("a 64-bit integer"))?,
            Kind::Uint => literal::uint(text).ok_or_else(|| out_of_range("an unsigned 64-bit integer"))?,
            Kind::Double => literal::double(text, negative).ok_or_else(|| out_of_range("a double"))?,
            Kind::String => {
                Literal::String(literal::string(text).map_err(|error| Fault::new(token.start, error))?)
            }
            Kind::Bytes => {
                Literal::Bytes(literal::bytes(text).map_err(|error| Fault::new(token.start, error))?)
            }
            Kind::True => Literal::Bool(true),
            Kind::False => Literal::Bool(false),
            Kind::Null => Literal::Null,
            _ => return Err(self.unexpected(token, "a value")),
        };
        Ok(self.build(first.start, 0, Expr::Literal(value)))
    }

    /// An identifier, a global call, or a message literal.
    fn name(&mut self) -> Result<Built, Fault> {
        let dot = self.accept(Kind::Dot);
        if self.is_message() {
            return self.message(dot.is_some());
        }
        let token = self.next();
        let text = self.text_of(token);
        if RESERVED.contains(&text) {
            return Err(Fault::new(token.start, format!("reserved word `{text}` cannot be used as a name")));
        }
        let name = if dot.is_some() { Cow::Owned(format!(".{text}")) } else { Cow::Borrowed(text) };
        let Some(open) = self.accept(Kind::LeftParen) else {
            return Ok(self.build(token.start, 0, Expr::Ident(name)));
        };
        let (args, height) = self.arguments()?;
        let id =
            match macros::expand(&mut self.nodes, self.dialect, self.server, open.start, &name, None, &args)?
            {
                Some(id) => id,
                None => self.node(open.start, Expr::Call { target: None, function: name, args }),
            };
        Ok(Built { id, height })
    }

    /// Whether the names from here on are followed by `{`.
    fn is_message(&self) -> bool {
        let mut ahead = 1;
        while self.kind_at(ahead) == Kind::Dot && self.kind_at(ahead + 1) == Kind::Ident {
            ahead += 2;
        }
        self.kind_at(ahead) == Kind::LeftBrace
    }

    fn message(&mut self, dot: bool) -> Result<Built, Fault> {
        let mut name = String::from(if dot { "." } else { "" });
        loop {
            let part = self.expect(Kind::Ident, "a type name")?;
            name.push_str(self.text_of(part));
            if self.accept(Kind::Dot).is_none() {
                break;
            }
            name.push('.');
        }
        let open = self.expect(Kind::LeftBrace, "`{`")?;
        let mut fields = Vec::new();
        let mut height = 0;
        while !self.closes(Kind::RightBrace, fields.is_empty())? {
            let optional = self.optional()?;
            let field = self.field_name()?;
            let colon = self.expect(Kind::Colon, "`:`")?;
            let value = self.expr()?;
            height = height.max(value.height);
            fields.push(FieldInit {
                name: self.text_of(field).trim_matches('`'),
                value: value.id,
                optional,
                at: colon.start,
            });
        }
        Ok(self.build(open.start, height, Expr::Message { name, fields }))
    }

    fn list(&mut self) -> Result<Built, Fault> {
        let open = self.next();
        let mut items = Vec::new();
        let mut optional = Vec::new();
        let mut height = 0;
        while !self.closes(Kind::RightBracket, items.is_empty())? {
            if self.optional()? {
                optional.push(items.len());
            }
            let item = self.expr()?;
            height = height.max(item.height);
            items.push(item.id);
        }
        Ok(self.build(open.start, height, Expr::List { items, optional }))
    }

    fn map(&mut self) -> Result<Built, Fault> {
        let open = self.next();
        let mut entries = Vec::new();
        let mut height = 0;
        while !self.closes(Kind::RightBrace, entries.is_empty())? {
            let optional = self.optional()?;
            let key = self.expr()?;
            self.expect(Kind::Colon, "`:`")?;
            let value = self.expr()?;
            height = height.max(key.height).max(value.height);
            entries.push(Entry { key: key.id, value: value.id, optional });
        }
        Ok(self.build(open.start, height, Expr::Map(entries)))
    }

    /// Whether a literal ends here; if not, takes the comma before its next element. One comma
    /// may stand before the end, even in an empty literal.
    fn closes(&mut self, end: Kind, first: bool) -> Result<bool, Fault> {
        if self.accept(end).is_some() {
            return Ok(true);
        }
        if first && self.peek().kind != Kind::Comma {
            return Ok(false);
        }
        let close = if end == Kind::RightBracket { "`]`" } else { "`}`" };
        self.expect(Kind::Comma, &format!("`,` or {close}"))?;
        if self.accept(end).is_some() {
            return Ok(true);
        }
        if first {
            return Err(self.unexpected(self.peek(), close));
        }
        Ok(false)
    }
}

fn relation_operator(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Less => "_<_",
        Kind::LessEqual => "_<=_",
        Kind::Greater => "_>_",
        Kind::GreaterEqual => "_>=_",
        Kind::Equal => "_==_",
        Kind::NotEqual => "_!=_",
        Kind::In => "@in",
        _ => return None,
    })
}

fn calc_operator(kind: Kind) -> Option<(&'static str, u8)> {
    Some(match kind {
        Kind::Star => ("_*_", 2),
        Kind::Slash => ("_/_", 2),
        Kind::Percent => ("_%_", 2),
        Kind::Plus => ("_+_", 1),
        Kind::Minus => ("_-_", 1),
        _ => return None,
    })
}
