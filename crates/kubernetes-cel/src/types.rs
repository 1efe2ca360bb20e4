//! CEL's types, each stored once so that they are compared by number, and the rules of assignability
//! (cel-go `checker/types.go` and `common/types/types.go`).

use std::collections::HashMap;

/// A type, as its number in [`Types`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ty(u32);

/// The scalar types that a protobuf wrapper makes nullable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scalar {
    Bool,
    Bytes,
    Double,
    Int,
    String,
    Uint,
}

/// What a type is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Data {
    Dyn,
    Any,
    Error,
    Null,
    Scalar(Scalar),
    Wrapper(Scalar),
    Duration,
    Timestamp,
    List(Ty),
    Map(Ty, Ty),
    Optional(Ty),
    /// A type with a name and without fields.
    Opaque(&'static str),
    /// A message of protobuf's or a Kubernetes library's.
    Message(&'static str),
    /// An object of the schema, by its number among the declarations.
    Object(u32),
    /// `type`, and `type(T)`.
    AnyType,
    Type(Ty),
    Param(u32),
}

macro_rules! constants {
    ($($name:ident = $data:expr;)*) => {
        constants!(@number 0, $($name,)*);
        const CONSTANTS: &[Data] = &[$($data),*];
    };
    (@number $n:expr, $name:ident, $($rest:ident,)*) => {
        pub(crate) const $name: Ty = Ty($n);
        constants!(@number $n + 1, $($rest,)*);
    };
    (@number $n:expr,) => {};
}

constants! {
    DYN = Data::Dyn;
    ANY = Data::Any;
    ERROR = Data::Error;
    NULL = Data::Null;
    BOOL = Data::Scalar(Scalar::Bool);
    BYTES = Data::Scalar(Scalar::Bytes);
    DOUBLE = Data::Scalar(Scalar::Double);
    INT = Data::Scalar(Scalar::Int);
    STRING = Data::Scalar(Scalar::String);
    UINT = Data::Scalar(Scalar::Uint);
    DURATION = Data::Duration;
    TIMESTAMP = Data::Timestamp;
    TYPE = Data::AnyType;
}

/// Every type that exists, each once.
#[derive(Debug, Clone)]
pub(crate) struct Types {
    data: Vec<Data>,
    /// Whether a type parameter occurs in it.
    open: Vec<bool>,
    /// Whether a wrapper occurs in it.
    wrapped: Vec<bool>,
    /// How many types it is made of, when written out.
    sizes: Vec<usize>,
    index: HashMap<Data, Ty>,
}

impl Default for Types {
    fn default() -> Self {
        let mut types = Self {
            data: Vec::new(),
            open: Vec::new(),
            wrapped: Vec::new(),
            sizes: Vec::new(),
            index: HashMap::new(),
        };
        for data in CONSTANTS {
            types.make(*data);
        }
        types
    }
}

impl Types {
    /// The type that `data` describes.
    pub(crate) fn make(&mut self, data: Data) -> Ty {
        if let Some(ty) = self.index.get(&data) {
            return *ty;
        }
        let any = |marks: &[bool], parts: &[Ty]| parts.iter().any(|part| marks[part.0 as usize]);
        let parts: &[Ty] = match &data {
            Data::List(part) | Data::Optional(part) | Data::Type(part) => &[*part],
            Data::Map(key, value) => &[*key, *value],
            _ => &[],
        };
        self.open.push(matches!(data, Data::Param(_)) || any(&self.open, parts));
        self.wrapped.push(matches!(data, Data::Wrapper(_)) || any(&self.wrapped, parts));
        let size = parts.iter().fold(1usize, |sum, part| sum.saturating_add(self.sizes[part.0 as usize]));
        self.sizes.push(size);
        let ty = Ty(u32::try_from(self.data.len()).unwrap_or(u32::MAX));
        self.data.push(data);
        self.index.insert(data, ty);
        ty
    }

    /// How many types there are.
    pub(crate) fn count(&self) -> usize {
        self.data.len()
    }

    /// Removes all types but the first `count`: those of one expression are not used by the next.
    pub(crate) fn truncate(&mut self, count: usize) {
        for data in self.data.drain(count..) {
            self.index.remove(&data);
        }
        self.open.truncate(count);
        self.wrapped.truncate(count);
        self.sizes.truncate(count);
    }

    pub(crate) fn list(&mut self, element: Ty) -> Ty {
        self.make(Data::List(element))
    }

    pub(crate) fn map(&mut self, key: Ty, value: Ty) -> Ty {
        self.make(Data::Map(key, value))
    }

    pub(crate) fn optional(&mut self, inner: Ty) -> Ty {
        self.make(Data::Optional(inner))
    }

    /// What the type is.
    pub(crate) fn get(&self, ty: Ty) -> Data {
        self.data[ty.0 as usize]
    }

    /// Whether a type parameter occurs in it.
    pub(crate) fn is_open(&self, ty: Ty) -> bool {
        self.open[ty.0 as usize]
    }

    /// `dyn` and `any`, that everything fits.
    pub(crate) fn is_dyn(&self, ty: Ty) -> bool {
        matches!(self.get(ty), Data::Dyn | Data::Any)
    }

    fn is_dyn_or_error(&self, ty: Ty) -> bool {
        matches!(self.get(ty), Data::Dyn | Data::Any | Data::Error)
    }

    /// What an optional holds.
    pub(crate) fn inside_optional(&self, ty: Ty) -> Option<Ty> {
        match self.get(ty) {
            Data::Optional(inner) => Some(inner),
            _ => None,
        }
    }

    /// Whether two types are the same; a wrapper is the same as what it wraps.
    pub(crate) fn same(&mut self, left: Ty, right: Ty) -> bool {
        left == right
            || ((self.wrapped[left.0 as usize] || self.wrapped[right.0 as usize])
                && self.unwrap(left) == self.unwrap(right))
    }

    fn unwrap(&mut self, ty: Ty) -> Ty {
        if !self.wrapped[ty.0 as usize] {
            return ty;
        }
        match self.get(ty) {
            Data::Wrapper(scalar) => self.make(Data::Scalar(scalar)),
            data => self.rebuild(data, &mut |types, part| types.unwrap(part)),
        }
    }

    /// The type with its named parameters made those numbered from `base` on.
    pub(crate) fn shift(&mut self, ty: Ty, base: u32) -> Ty {
        match self.get(ty) {
            Data::Param(number) => self.make(Data::Param(base + number)),
            data if self.is_open(ty) => self.rebuild(data, &mut |types, part| types.shift(part, base)),
            _ => ty,
        }
    }

    fn rebuild(&mut self, data: Data, each: &mut impl FnMut(&mut Self, Ty) -> Ty) -> Ty {
        let data = match data {
            Data::List(part) => Data::List(each(self, part)),
            Data::Optional(part) => Data::Optional(each(self, part)),
            Data::Type(part) => Data::Type(each(self, part)),
            Data::Map(key, value) => Data::Map(each(self, key), each(self, value)),
            other => other,
        };
        self.make(data)
    }

    /// The name of a type in messages.
    pub(crate) fn name(&self, ty: Ty) -> String {
        match self.get(ty) {
            Data::Dyn => "dyn".to_owned(),
            Data::Any => "any".to_owned(),
            Data::Error => "unknown".to_owned(),
            Data::Null => "null".to_owned(),
            Data::Scalar(scalar) => scalar.name().to_owned(),
            Data::Wrapper(scalar) => format!("wrapper({})", scalar.name()),
            Data::Duration => "duration".to_owned(),
            Data::Timestamp => "timestamp".to_owned(),
            Data::List(element) => format!("list({})", self.name(element)),
            Data::Map(key, value) => format!("map({}, {})", self.name(key), self.name(value)),
            Data::Optional(inner) => format!("optional({})", self.name(inner)),
            Data::Opaque(name) | Data::Message(name) => name.to_owned(),
            Data::Object(_) => "object".to_owned(),
            Data::AnyType => "type".to_owned(),
            Data::Type(inner) => format!("type({})", self.name(inner)),
            Data::Param(_) => "any type".to_owned(),
        }
    }
}

impl Scalar {
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Bytes => "bytes",
            Self::Double => "double",
            Self::Int => "int",
            Self::String => "string",
            Self::Uint => "uint",
        }
    }
}

/// The current bindings of type parameters.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    bound: HashMap<u32, Ty>,
    /// What to put back when an attempt fails.
    trail: Vec<(u32, Option<Ty>)>,
    /// How many steps all attempts together have taken.
    pub(crate) steps: usize,
    /// How many bindings cel-go copies for all attempts together.
    pub(crate) copies: usize,
}

impl Mapping {
    fn find(&self, param: u32) -> Option<Ty> {
        self.bound.get(&param).copied()
    }

    fn set(&mut self, param: u32, ty: Ty) {
        let old = self.bound.insert(param, ty);
        self.trail.push((param, old));
    }

    /// Runs an attempt to make types fit; what it learned is kept only if it succeeds.
    fn attempt(&mut self, run: impl FnOnce(&mut Self) -> bool) -> bool {
        self.trail.clear();
        self.copies += self.bound.len();
        let fits = run(self);
        if !fits {
            while let Some((param, old)) = self.trail.pop() {
                match old {
                    Some(ty) => self.bound.insert(param, ty),
                    None => self.bound.remove(&param),
                };
            }
        }
        fits
    }

    /// Whether a value of `from` may stand where `to` is wanted; learns what parameters are.
    pub(crate) fn assignable(&mut self, types: &mut Types, from: Ty, to: Ty) -> bool {
        self.attempt(|mapping| mapping.fits(types, from, to))
    }

    /// [`Mapping::assignable`] for each of two lists of one length.
    pub(crate) fn all_assignable(&mut self, types: &mut Types, from: &[Ty], to: &[Ty]) -> bool {
        from.len() == to.len()
            && self.attempt(|mapping| from.iter().zip(to).all(|(from, to)| mapping.fits(types, *from, *to)))
    }

    fn fits(&mut self, types: &mut Types, from: Ty, to: Ty) -> bool {
        self.steps += 1;
        if let Data::Param(_) = types.get(to) {
            let (valid, bound) = self.substitution(types, from, to);
            if valid || bound {
                return valid;
            }
        }
        if let Data::Param(_) = types.get(from) {
            return self.substitution(types, to, from).0;
        }
        if types.is_dyn_or_error(from) || types.is_dyn_or_error(to) {
            return true;
        }
        match (types.get(from), types.get(to)) {
            (Data::Null, other) | (other, Data::Null) => matches!(
                other,
                Data::Null
                    | Data::Wrapper(_)
                    | Data::Optional(_)
                    | Data::Opaque(_)
                    | Data::Message(_)
                    | Data::Object(_)
                    | Data::Duration
                    | Data::Timestamp
            ),
            (Data::Scalar(left) | Data::Wrapper(left), Data::Scalar(right) | Data::Wrapper(right)) => {
                left == right
            }
            (Data::AnyType | Data::Type(_), Data::AnyType | Data::Type(_)) => true,
            (Data::List(left), Data::List(right)) | (Data::Optional(left), Data::Optional(right)) => {
                self.fits(types, left, right)
            }
            (Data::Map(key, value), Data::Map(other_key, other_value)) => {
                self.fits(types, key, other_key) && self.fits(types, value, other_value)
            }
            (left, right) => left == right,
        }
    }

    /// Whether the parameter `param` may stand for `ty`, and whether it stood for something before.
    fn substitution(&mut self, types: &mut Types, ty: Ty, param: Ty) -> (bool, bool) {
        if ty == param {
            return (true, true);
        }
        let Data::Param(number) = types.get(param) else { return (false, false) };
        if let Some(current) = self.find(number) {
            if types.same(ty, current) {
                return (true, true);
            }
            if !self.fits(types, ty, current) {
                return (false, true);
            }
            let general = most_general(types, ty, current);
            if self.not_within(types, param, general) {
                self.set(number, general);
            }
            return (true, true);
        }
        if self.not_within(types, param, ty) {
            self.set(number, ty);
            return (true, false);
        }
        (false, false)
    }

    fn not_within(&mut self, types: &Types, param: Ty, within: Ty) -> bool {
        self.steps += 1;
        if param == within {
            return false;
        }
        if !types.is_open(within) {
            return true;
        }
        match types.get(within) {
            Data::Param(number) => match self.find(number) {
                Some(ty) => self.not_within(types, param, ty),
                None => true,
            },
            Data::List(part) | Data::Optional(part) | Data::Type(part) => self.not_within(types, param, part),
            Data::Map(key, value) => {
                self.not_within(types, param, key) && self.not_within(types, param, value)
            }
            _ => true,
        }
    }

    /// The type with its parameters replaced by what they stand for; those that stand for nothing
    /// by `dyn` if `close`.
    pub(crate) fn substitute(&mut self, types: &mut Types, ty: Ty, close: bool) -> Ty {
        // cel-go writes the type out to look it up.
        self.copies = self.copies.saturating_add(types.sizes[ty.0 as usize] / 8);
        if !types.is_open(ty) {
            return ty;
        }
        self.steps += 1;
        match types.get(ty) {
            Data::Param(number) => match self.find(number) {
                Some(bound) => self.substitute(types, bound, close),
                None if close => DYN,
                None => ty,
            },
            data => types.rebuild(data, &mut |types, part| self.substitute(types, part, close)),
        }
    }
}

/// The more general of two types that fit each other.
pub(crate) fn most_general(types: &mut Types, left: Ty, right: Ty) -> Ty {
    if less_specific(types, left, right) { left } else { right }
}

fn less_specific(types: &mut Types, left: Ty, right: Ty) -> bool {
    let general = |data: Data| matches!(data, Data::Dyn | Data::Any | Data::Param(_));
    let (first, second) = (types.get(left), types.get(right));
    if general(first) {
        return true;
    }
    if general(second) {
        return false;
    }
    match (first, second) {
        (Data::List(first), Data::List(second)) | (Data::Optional(first), Data::Optional(second)) => {
            less_specific(types, first, second)
        }
        (Data::Map(key, value), Data::Map(other_key, other_value)) => {
            less_specific(types, key, other_key) && less_specific(types, value, other_value)
        }
        (Data::AnyType | Data::Type(_), Data::AnyType | Data::Type(_)) => true,
        _ => types.same(left, right),
    }
}
