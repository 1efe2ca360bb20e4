//! Templates of objects: YAML whose scalars name the class of values that may stand there.
//!
//! `key?` may be omitted, `a|b` is one of two keys, `$one` (`$one?`) holds alternatives of which exactly (at most) one
//! is taken, an item `{$maybe: ITEM}` may be omitted, and a scalar `$class(arguments)` is a value of a class of
//! `super::values`. Everything else stands as it is. One [`Template`] makes any number of valid objects, and knows
//! every field that one of them can have.

use fastrand::Rng;
use serde_json::{Map, Value};

use super::values::Class;

/// How often what may be omitted is there.
const TAKEN: f64 = 0.2;

/// One step from a value to a value within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The value of a key.
    Key(String),
    /// An item.
    Index(usize),
}

/// A way to make objects of one kind.
#[derive(Debug)]
pub struct Template {
    root: Node,
    /// Every place that an object can have.
    pub fields: Vec<Field>,
}

/// A place in a template.
#[derive(Debug, Clone)]
pub struct Field {
    /// How reports name it: `spec.ports[].port`.
    pub pattern: String,
    /// Whether a single value stands here, rather than a map or a list.
    pub leaf: bool,
    /// The way to it through the nodes of the template.
    route: Vec<usize>,
}

/// An object that a template made.
#[derive(Debug)]
pub struct Instance<'t> {
    /// The object.
    pub object: Value,
    /// Where the field is that was asked for, and what stands there.
    pub target: Option<(Vec<Step>, Place<'t>)>,
}

/// What a template says of a place.
#[derive(Debug, Clone, Copy)]
pub enum Place<'t> {
    /// A single value of a class; whether it must be there.
    Leaf(&'t Class, bool),
    /// A map; whether it must be there, and the alternatives of which it takes one.
    Map(bool, &'t [Entry]),
    /// A list; whether it must be there.
    List(bool),
}

#[derive(Debug)]
enum Node {
    Leaf(Class),
    Map(Vec<Entry>),
    List(Vec<(bool, Node)>),
}

/// An entry of a map.
#[derive(Debug)]
pub struct Entry {
    names: Vec<String>,
    optional: bool,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Node(Node),
    One(Vec<Node>),
}

impl Template {
    /// Reads a template.
    ///
    /// # Panics
    /// It is not YAML, or names a class that is not there.
    #[must_use]
    #[expect(clippy::panic, reason = "a template that does not parse is a defect of this crate")]
    pub fn parse(text: &str) -> Self {
        let parsed = kube_yaml::parse(text.as_bytes());
        let [tree] = parsed.documents.as_slice() else {
            panic!("a template is one document: {:?}\n{text}", parsed.error);
        };
        let root = Node::parse(&tree.root().to_json());
        let mut fields = Vec::new();
        root.list("", &mut Vec::new(), &mut fields);
        Self { root, fields }
    }

    /// A valid object; the field, where one is named, is part of it.
    #[must_use]
    pub fn instantiate(&self, rng: &mut Rng, field: Option<&Field>) -> Instance<'_> {
        let mut maker = Maker { rng, route: field.map(|field| field.route.as_slice()), target: None };
        let object = maker.make(&self.root, &mut Vec::new(), 0, true, true);
        Instance { object, target: maker.target }
    }
}

impl Node {
    /// Whether no value is taken here, so that a valid object has none.
    fn is_never(&self) -> bool {
        matches!(self, Self::Leaf(class) if class.is_never())
    }

    fn parse(value: &Value) -> Self {
        match value {
            Value::Object(map) => {
                Self::Map(map.iter().map(|(key, value)| Entry::parse(key, value)).collect())
            }
            Value::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| match item.get("$maybe") {
                        Some(item) => (true, Self::parse(item)),
                        None => (false, Self::parse(item)),
                    })
                    .collect(),
            ),
            scalar => Self::Leaf(Class::parse(scalar)),
        }
    }

    fn list(&self, pattern: &str, route: &mut Vec<usize>, fields: &mut Vec<Field>) {
        // What stands as it is is there for the sake of other fields.
        if !pattern.is_empty() && !matches!(self, Self::Leaf(class) if class.is_fixed()) {
            let leaf = matches!(self, Self::Leaf(_));
            fields.push(Field { pattern: pattern.to_owned(), leaf, route: route.clone() });
        }
        match self {
            Self::Leaf(_) => {}
            Self::Map(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    route.push(index);
                    entry.list(pattern, route, fields);
                    route.pop();
                }
            }
            Self::List(items) => {
                for (index, (_, item)) in items.iter().enumerate() {
                    route.push(index);
                    item.list(&format!("{pattern}[]"), route, fields);
                    route.pop();
                }
            }
        }
    }
}

impl Content {
    fn is_never(&self) -> bool {
        matches!(self, Self::Node(node) if node.is_never())
    }
}

impl Entry {
    fn parse(key: &str, value: &Value) -> Self {
        let (name, optional) = key.strip_suffix('?').map_or((key, false), |name| (name, true));
        let content = match (name, value) {
            ("$one", Value::Array(alternatives)) => {
                Content::One(alternatives.iter().map(Node::parse).collect())
            }
            _ => Content::Node(Node::parse(value)),
        };
        Self { names: name.split('|').map(str::to_owned).collect(), optional, content }
    }

    fn list(&self, pattern: &str, route: &mut Vec<usize>, fields: &mut Vec<Field>) {
        match &self.content {
            Content::Node(node) => {
                let name = self.names.join("|");
                let pattern = if pattern.is_empty() { name } else { format!("{pattern}.{name}") };
                node.list(&pattern, route, fields);
            }
            Content::One(alternatives) => {
                for (index, alternative) in alternatives.iter().enumerate() {
                    route.push(index);
                    let Node::Map(entries) = alternative else { continue };
                    for (index, entry) in entries.iter().enumerate() {
                        route.push(index);
                        entry.list(pattern, route, fields);
                        route.pop();
                    }
                    route.pop();
                }
            }
        }
    }

    /// The members of the alternatives, where this is a choice: a name and a value each.
    pub fn members(&self, rng: &mut Rng) -> Vec<(String, Value)> {
        let Content::One(alternatives) = &self.content else { return Vec::new() };
        let mut maker = Maker { rng, route: None, target: None };
        alternatives
            .iter()
            .filter_map(|alternative| match maker.make(alternative, &mut Vec::new(), 0, true, false) {
                Value::Object(map) => map.into_iter().next(),
                _ => None,
            })
            .collect()
    }
}

struct Maker<'r, 'f, 't> {
    rng: &'r mut Rng,
    route: Option<&'f [usize]>,
    target: Option<(Vec<Step>, Place<'t>)>,
}

impl<'t> Maker<'_, '_, 't> {
    /// Makes a node. `on_route` says that the way to the target leads to this node, `depth` steps into it.
    fn make(
        &mut self,
        node: &'t Node,
        at: &mut Vec<Step>,
        depth: usize,
        required: bool,
        on_route: bool,
    ) -> Value {
        let route = self.route.filter(|_| on_route);
        if route.is_some_and(|route| route.len() == depth) {
            let place = match node {
                Node::Leaf(class) => Place::Leaf(class, required),
                Node::Map(entries) => Place::Map(required, entries),
                Node::List(_) => Place::List(required),
            };
            self.target = Some((at.clone(), place));
        }
        let next = route.and_then(|route| route.get(depth).copied());
        match node {
            Node::Leaf(class) => class.valid(self.rng),
            Node::Map(entries) => {
                let mut map = Map::new();
                self.entries(entries, at, depth, next, &mut map);
                Value::Object(map)
            }
            Node::List(items) => {
                let mut list = Vec::new();
                for (index, (optional, item)) in items.iter().enumerate() {
                    let wanted = next == Some(index);
                    if wanted || (!item.is_never() && (!optional || self.rng.f64() < TAKEN)) {
                        at.push(Step::Index(list.len()));
                        list.push(self.make(item, at, depth + 1, !optional, wanted));
                        at.pop();
                    }
                }
                Value::Array(list)
            }
        }
    }

    fn entries(
        &mut self,
        entries: &'t [Entry],
        at: &mut Vec<Step>,
        depth: usize,
        next: Option<usize>,
        map: &mut Map<String, Value>,
    ) {
        for (index, entry) in entries.iter().enumerate() {
            let wanted = next == Some(index);
            if !wanted && (entry.content.is_never() || (entry.optional && self.rng.f64() >= TAKEN)) {
                continue;
            }
            match &entry.content {
                Content::Node(node) => {
                    let name = entry.names[self.rng.usize(..entry.names.len())].clone();
                    at.push(Step::Key(name.clone()));
                    let value = self.make(node, at, depth + 1, !entry.optional, wanted);
                    at.pop();
                    map.insert(name, value);
                }
                Content::One(alternatives) => {
                    let route = self.route.filter(|_| wanted);
                    let chosen = route.and_then(|route| route.get(depth + 1).copied());
                    let chosen = chosen.unwrap_or_else(|| self.rng.usize(..alternatives.len()));
                    let next = route.and_then(|route| route.get(depth + 2).copied());
                    if let Node::Map(entries) = &alternatives[chosen] {
                        self.entries(entries, at, depth + 2, next, map);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a: $label\nb?: {c: '$int(1,3)', $one: [{d: $bool}, {e?: [{f: $text, g: h}]}]}\n";

    #[test]
    fn every_field_is_listed_and_can_be_asked_for() {
        let template = Template::parse(TEXT);
        let patterns: Vec<_> = template.fields.iter().map(|field| field.pattern.as_str()).collect();
        assert_eq!(patterns, ["a", "b", "b.c", "b.d", "b.e", "b.e[]", "b.e[].f"]);
        for field in &template.fields {
            for seed in 0..20 {
                let instance = template.instantiate(&mut Rng::with_seed(seed), Some(field));
                let (path, _) = instance.target.unwrap();
                let found = path.iter().try_fold(&instance.object, |value, step| match step {
                    Step::Key(key) => value.get(key),
                    Step::Index(index) => value.get(index),
                });
                assert!(found.is_some(), "{}: {path:?} is not in {}", field.pattern, instance.object);
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_object() {
        let template = Template::parse(TEXT);
        let make = |seed| template.instantiate(&mut Rng::with_seed(seed), None).object;
        assert_eq!(make(7), make(7));
        assert!((0..50).any(|seed| make(seed) != make(7)));
    }
}
