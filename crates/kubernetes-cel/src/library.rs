//! The names that an expression can use: functions and their overloads, types, and protobuf's well-known
//! messages. Read once from the tables beside this file.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::server::Server;
use super::types::{self, Data, Scalar, Ty, Types};

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    pub(crate) id: &'static str,
    /// Whether the first argument stands before the dot.
    pub(crate) member: bool,
    pub(crate) args: Vec<Ty>,
    pub(crate) result: Ty,
    /// Whether it has type parameters.
    pub(crate) open: bool,
    /// The versions that have it.
    versions: Versions,
}

impl Overload {
    /// Returns whether the server has the overload.
    pub(crate) fn is_in(&self, server: &Server) -> bool {
        self.versions.contain(server)
    }
}

/// The minor versions of Kubernetes whose servers compile new expressions with something.
#[derive(Debug, Clone, Copy, Default)]
struct Versions {
    since: Option<u16>,
    until: Option<u16>,
}

impl Versions {
    const fn since(minor: u16) -> Self {
        Self { since: Some(minor), until: None }
    }

    fn contain(self, server: &Server) -> bool {
        self.since.is_none_or(|minor| server.since(minor))
            && self.until.is_none_or(|minor| !server.since(minor))
    }
}

/// Something that a name stands for without being a variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KnownName {
    pub(crate) ty: Ty,
    /// Whether it is a constant rather than a type.
    pub(crate) constant: bool,
    /// Whether the evaluator finds it; cel-go's checker knows more names than its evaluator.
    pub(crate) evaluates: bool,
    /// The versions that have it.
    versions: Versions,
}

/// All functions and names of one environment.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) types: Types,
    functions: HashMap<&'static str, Vec<Overload>>,
    names: HashMap<&'static str, KnownName>,
    messages: HashMap<&'static str, Vec<(&'static str, Ty)>>,
    pub(crate) dialect: Dialect,
}

/// How an environment differs from cel-go's plainest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Each is a switch of cel-go's of its own.
#[allow(clippy::struct_excessive_bools)]
pub(crate) struct Dialect {
    /// What Kubernetes enables: optional syntax, macros with two variables, comparisons of
    /// different kinds of numbers, the checks of literals, and folding of constants.
    pub(crate) kubernetes: bool,
    /// Field names between backticks in every version; Kubernetes reads them since [`ESCAPES`].
    pub(crate) escapes: bool,
}

/// The first version of Kubernetes that reads field names between backticks: cel-go does from 0.27 on.
pub(crate) const ESCAPES: u16 = 37;
/// The first version of Kubernetes with macros of two variables (cel-go `ext.TwoVarComprehensions`).
pub(crate) const TWO_VARIABLES: u16 = 33;
/// The first version of Kubernetes with the list library (cel-go `ext.Lists`).
pub(crate) const LIST_LIBRARY: u16 = 35;
/// The first version of Kubernetes with the types of addresses.
const ADDRESSES: u16 = 31;

/// How many type parameters overloads may name (`A`, `B`, `K`, `V`, `T`); those made while
/// checking are numbered from here on.
pub(crate) const NAMED_PARAMS: u32 = 5;

const FUNCTIONS: &str = include_str!("functions.txt");
const KUBERNETES: &str = include_str!("functions_kubernetes.txt");
const LISTS: &str = include_str!("functions_lists.txt");
/// OLM's function.
const OLM: &str = "semver_compare\n  semver_compare(any; any) int\n";

const WRAPPERS: &[(&str, Scalar)] = &[
    ("google.protobuf.BoolValue", Scalar::Bool),
    ("google.protobuf.BytesValue", Scalar::Bytes),
    ("google.protobuf.DoubleValue", Scalar::Double),
    ("google.protobuf.FloatValue", Scalar::Double),
    ("google.protobuf.Int64Value", Scalar::Int),
    ("google.protobuf.Int32Value", Scalar::Int),
    ("google.protobuf.UInt64Value", Scalar::Uint),
    ("google.protobuf.UInt32Value", Scalar::Uint),
    ("google.protobuf.StringValue", Scalar::String),
];

/// The libraries of all versions of Kubernetes for new expressions; what is in one of them depends on the [`Server`].
pub(crate) fn kubernetes() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let dialect = Dialect { kubernetes: true, escapes: false };
    LIBRARY.get_or_init(|| Library::new(&[FUNCTIONS, KUBERNETES, LISTS], dialect))
}

/// The library of `olm.constraint` (operator-framework/api `pkg/constraints/cel.go`): the
/// standard library and its own `semver_compare`.
pub(crate) fn olm() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let dialect = Dialect { kubernetes: false, escapes: true };
    LIBRARY.get_or_init(|| Library::new(&[FUNCTIONS, OLM], dialect))
}

/// Parses the versions of an overload: `1.34` for those since 1.34, `-1.37` for those before 1.37.
fn marked(marker: &str) -> Versions {
    let minor = |text: &str| text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
    match marker.strip_prefix('-') {
        Some(until) => Versions { since: None, until: minor(until) },
        None => Versions { since: minor(marker), until: None },
    }
}

impl Library {
    fn new(tables: &[&'static str], dialect: Dialect) -> Self {
        let mut library = Self {
            types: Types::default(),
            functions: HashMap::new(),
            names: HashMap::new(),
            messages: HashMap::new(),
            dialect,
        };
        for table in tables {
            library.read(table);
        }
        library.declare_types();
        library.declare_messages();
        library
    }

    /// A function's overloads.
    pub(crate) fn function(&self, name: &str) -> Option<&[Overload]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// A function's name as the library holds it, if the server has one of its overloads.
    pub(crate) fn function_name(&self, name: &str, server: &Server) -> Option<&'static str> {
        let (name, overloads) = self.functions.get_key_value(name)?;
        overloads.iter().any(|overload| overload.is_in(server)).then_some(*name)
    }

    /// Returns why the server does not have a function that other versions have.
    pub(crate) fn unavailable(&self, name: &str, server: &Server) -> Option<String> {
        let overloads = self.functions.get(name)?;
        if overloads.iter().any(|overload| overload.is_in(server)) {
            return None;
        }
        let since = overloads.iter().filter_map(|overload| overload.versions.since).min()?;
        Some(format!("function `{name}` requires Kubernetes 1.{since}"))
    }

    /// All functions' names in the newest version.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = &'static str> {
        let is_kept = |overloads: &[Overload]| overloads.iter().any(|one| one.versions.until.is_none());
        self.functions.iter().filter(move |(_, overloads)| is_kept(overloads)).map(|(name, _)| *name)
    }

    /// What a (dotted) name stands for.
    pub(crate) fn name(&self, name: &str, server: &Server) -> Option<(&'static str, KnownName)> {
        let (name, known) = self.names.get_key_value(name)?;
        known.versions.contain(server).then_some((*name, *known))
    }

    /// Whether a message of this name exists, and a field's type.
    pub(crate) fn message_field(&self, message: &str, field: &str) -> Option<Ty> {
        let fields = self.messages.get(message)?;
        fields.iter().find(|(name, _)| *name == field).map(|(_, ty)| *ty)
    }

    fn read(&mut self, table: &'static str) {
        let mut function = "";
        for line in table.lines() {
            if line.starts_with('#') {
                continue;
            }
            let Some(signature) = line.strip_prefix("  ") else {
                function = line;
                continue;
            };
            let (signature, member) = match signature.strip_prefix('.') {
                Some(rest) => (rest, true),
                None => (signature, false),
            };
            let (signature, versions) = match signature.split_once(" @") {
                Some((signature, marker)) => (signature, marked(marker)),
                None => (signature, Versions::default()),
            };
            let Some((id, rest)) = signature.split_once('(') else { continue };
            let Some((args, result)) = rest.rsplit_once(") ") else { continue };
            let args: Vec<Ty> =
                args.split("; ").filter(|arg| !arg.is_empty()).map(|arg| self.ty(arg)).collect();
            let result = self.ty(result);
            let open = self.types.is_open(result) || args.iter().any(|arg| self.types.is_open(*arg));
            self.functions.entry(function).or_default().push(Overload {
                id,
                member,
                args,
                result,
                open,
                versions,
            });
        }
    }

    /// A type as the tables write it.
    fn ty(&mut self, text: &'static str) -> Ty {
        let inside = |prefix: &str| text.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(')'));
        if let Some(element) = inside("list(") {
            let element = self.ty(element);
            return self.types.list(element);
        }
        if let Some(inner) = inside("optional(") {
            let inner = self.ty(inner);
            return self.types.optional(inner);
        }
        if let Some(inner) = inside("type(") {
            let inner = self.ty(inner);
            return self.types.make(Data::Type(inner));
        }
        if let Some((key, value)) = inside("map(").and_then(|pair| pair.split_once(',')) {
            let (key, value) = (self.ty(key), self.ty(value));
            return self.types.map(key, value);
        }
        match text {
            "dyn" => types::DYN,
            "any" => types::ANY,
            "bool" => types::BOOL,
            "bytes" => types::BYTES,
            "double" => types::DOUBLE,
            "int" => types::INT,
            "string" => types::STRING,
            "uint" => types::UINT,
            "duration" => types::DURATION,
            "timestamp" => types::TIMESTAMP,
            "A" => self.types.make(Data::Param(0)),
            "B" => self.types.make(Data::Param(1)),
            "K" => self.types.make(Data::Param(2)),
            "V" => self.types.make(Data::Param(3)),
            "T" => self.types.make(Data::Param(4)),
            "net.IP" | "net.CIDR" => self.types.make(Data::Opaque(text)),
            message => self.types.make(Data::Message(message)),
        }
    }

    fn declare_types(&mut self) {
        let (a, b) = (self.ty("A"), self.ty("B"));
        let (list, map) = (self.types.list(a), self.types.map(a, b));
        let evaluated = [
            ("bool", types::BOOL),
            ("bytes", types::BYTES),
            ("double", types::DOUBLE),
            ("google.protobuf.Duration", types::DURATION),
            ("google.protobuf.Timestamp", types::TIMESTAMP),
            ("int", types::INT),
            ("list", list),
            ("map", map),
            ("null_type", types::NULL),
            ("string", types::STRING),
            ("type", types::TYPE),
            ("uint", types::UINT),
            ("google.protobuf.Empty", self.types.make(Data::Message("google.protobuf.Empty"))),
            (
                "google.protobuf.Struct.FieldsEntry",
                self.types.make(Data::Message("google.protobuf.Struct.FieldsEntry")),
            ),
        ];
        for (name, ty) in evaluated {
            self.declare(name, ty, true, Versions::default());
        }
        if self.dialect.kubernetes {
            for name in ["optional_type", "net.IP", "net.CIDR"] {
                let ty = self.types.make(Data::Opaque(name));
                let is_address = name.starts_with("net.");
                let versions = if is_address { Versions::since(ADDRESSES) } else { Versions::default() };
                self.declare(name, ty, true, versions);
            }
            self.declare("duration", types::DURATION, false, Versions::default());
            self.declare("timestamp", types::TIMESTAMP, false, Versions::default());
        }
        let (dyn_list, dyn_map) = (self.types.list(types::DYN), self.types.map(types::STRING, types::DYN));
        let unevaluated = [
            ("google.protobuf.Any", types::ANY),
            ("google.protobuf.Value", types::DYN),
            ("google.protobuf.ListValue", dyn_list),
            ("google.protobuf.Struct", dyn_map),
        ];
        for (name, ty) in unevaluated {
            self.declare(name, ty, false, Versions::default());
        }
        for (name, scalar) in WRAPPERS {
            let ty = self.types.make(Data::Wrapper(*scalar));
            self.declare(name, ty, false, Versions::default());
        }
        let constant =
            KnownName { ty: types::INT, constant: true, evaluates: true, versions: Versions::default() };
        self.names.insert("google.protobuf.NullValue.NULL_VALUE", constant);
    }

    fn declare(&mut self, name: &'static str, ty: Ty, evaluates: bool, versions: Versions) {
        // The name `type` itself stands for the type of types.
        let ty = self.types.make(Data::Type(ty));
        self.names.insert(name, KnownName { ty, constant: false, evaluates, versions });
    }

    fn declare_messages(&mut self) {
        let dyn_list = self.types.list(types::DYN);
        let dyn_map = self.types.map(types::STRING, types::DYN);
        let time = vec![("seconds", types::INT), ("nanos", types::INT)];
        self.messages.insert("google.protobuf.Duration", time.clone());
        self.messages.insert("google.protobuf.Timestamp", time);
        self.messages.insert("google.protobuf.Empty", Vec::new());
        self.messages
            .insert("google.protobuf.Any", vec![("type_url", types::STRING), ("value", types::BYTES)]);
        self.messages.insert("google.protobuf.Struct", vec![("fields", dyn_map)]);
        self.messages.insert(
            "google.protobuf.Struct.FieldsEntry",
            vec![("key", types::STRING), ("value", types::DYN)],
        );
        self.messages.insert("google.protobuf.ListValue", vec![("values", dyn_list)]);
        self.messages.insert(
            "google.protobuf.Value",
            vec![
                ("null_value", types::INT),
                ("number_value", types::DOUBLE),
                ("string_value", types::STRING),
                ("bool_value", types::BOOL),
                ("struct_value", dyn_map),
                ("list_value", dyn_list),
            ],
        );
        for (name, scalar) in WRAPPERS {
            let value = self.types.make(Data::Scalar(*scalar));
            self.messages.insert(name, vec![("value", value)]);
        }
    }
}
