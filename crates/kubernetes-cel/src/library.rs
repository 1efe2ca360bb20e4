//! The names that an expression can use: functions and their overloads, types, and protobuf's well-known
//! messages. Read once from the tables beside this file.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::types::{self, Data, Scalar, Ty, Types};

/// One signature of a function.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) id: &'static str,
    /// Whether the first argument stands before the dot.
    pub(super) member: bool,
    pub(super) args: Vec<Ty>,
    pub(super) result: Ty,
    /// Whether it has type parameters.
    pub(super) open: bool,
}

/// Something that a name stands for without being a variable.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) ty: Ty,
    /// Whether it is a constant rather than a type.
    pub(super) constant: bool,
    /// Whether the evaluator finds it; cel-go's checker knows more names than its evaluator.
    pub(super) evaluates: bool,
}

/// All functions and names of one environment.
#[derive(Debug)]
pub(super) struct Library {
    pub(super) types: Types,
    functions: HashMap<&'static str, Vec<Overload>>,
    names: HashMap<&'static str, Known>,
    messages: HashMap<&'static str, Vec<(&'static str, Ty)>>,
    pub(super) dialect: Dialect,
}

/// How an environment differs from cel-go's plainest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// Each is a switch of cel-go's of its own.
#[allow(clippy::struct_excessive_bools)]
pub(super) struct Dialect {
    /// What Kubernetes enables: optional syntax, macros with two variables, comparisons of
    /// different kinds of numbers, the checks of literals, and folding of constants.
    pub(super) kubernetes: bool,
    /// The list library's macro.
    pub(super) lists: bool,
    /// Field names between backticks, as cel-go reads them from 0.27 on.
    pub(super) escapes: bool,
}

/// How many type parameters overloads may name (`A`, `B`, `K`, `V`, `T`); those made while
/// checking are numbered from here on.
pub(super) const NAMED_PARAMS: u32 = 5;

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

/// The library of Kubernetes 1.34 for new expressions: everything up to its minimum compatibility version, 1.33, which
/// excludes the list library.
pub(super) fn kubernetes() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let dialect = Dialect { kubernetes: true, lists: false, escapes: false };
    LIBRARY.get_or_init(|| Library::new(&[FUNCTIONS, KUBERNETES], dialect))
}

/// [`kubernetes`] and the list library, as a server has it whose minimum compatibility version is 1.34.
pub(super) fn kubernetes_with_lists() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let dialect = Dialect { kubernetes: true, lists: true, escapes: false };
    LIBRARY.get_or_init(|| Library::new(&[FUNCTIONS, KUBERNETES, LISTS], dialect))
}

/// The library of `olm.constraint` (operator-framework/api `pkg/constraints/cel.go`): the
/// standard library and its own `semver_compare`.
pub(super) fn olm() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let dialect = Dialect { kubernetes: false, lists: false, escapes: true };
    LIBRARY.get_or_init(|| Library::new(&[FUNCTIONS, OLM], dialect))
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
    pub(super) fn function(&self, name: &str) -> Option<&[Overload]> {
        self.functions.get(name).map(Vec::as_slice)
    }

    /// A function's name as the library holds it.
    pub(super) fn function_name(&self, name: &str) -> Option<&'static str> {
        self.functions.get_key_value(name).map(|(name, _)| *name)
    }

    /// All functions' names.
    pub(super) fn function_names(&self) -> impl Iterator<Item = &'static str> {
        self.functions.keys().copied()
    }

    /// What a (dotted) name stands for.
    pub(super) fn name(&self, name: &str) -> Option<(&'static str, Known)> {
        self.names.get_key_value(name).map(|(name, known)| (*name, *known))
    }

    /// Whether a message of this name exists, and a field's type.
    pub(super) fn message_field(&self, message: &str, field: &str) -> Option<Ty> {
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
            let Some((id, rest)) = signature.split_once('(') else { continue };
            let Some((args, result)) = rest.rsplit_once(") ") else { continue };
            let args: Vec<Ty> =
                args.split("; ").filter(|arg| !arg.is_empty()).map(|arg| self.ty(arg)).collect();
            let result = self.ty(result);
            let open = self.types.is_open(result) || args.iter().any(|arg| self.types.is_open(*arg));
            self.functions.entry(function).or_default().push(Overload { id, member, args, result, open });
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
            self.declare(name, ty, true);
        }
        if self.dialect.kubernetes {
            for name in ["optional_type", "net.IP", "net.CIDR"] {
                let ty = self.types.make(Data::Opaque(name));
                self.declare(name, ty, true);
            }
            self.declare("duration", types::DURATION, false);
            self.declare("timestamp", types::TIMESTAMP, false);
        }
        let (dyn_list, dyn_map) = (self.types.list(types::DYN), self.types.map(types::STRING, types::DYN));
        let unevaluated = [
            ("google.protobuf.Any", types::ANY),
            ("google.protobuf.Value", types::DYN),
            ("google.protobuf.ListValue", dyn_list),
            ("google.protobuf.Struct", dyn_map),
        ];
        for (name, ty) in unevaluated {
            self.declare(name, ty, false);
        }
        for (name, scalar) in WRAPPERS {
            let ty = self.types.make(Data::Wrapper(*scalar));
            self.declare(name, ty, false);
        }
        let constant = Known { ty: types::INT, constant: true, evaluates: true };
        self.names.insert("google.protobuf.NullValue.NULL_VALUE", constant);
    }

    fn declare(&mut self, name: &'static str, ty: Ty, evaluates: bool) {
        // The name `type` itself stands for the type of types.
        let ty = self.types.make(Data::Type(ty));
        self.names.insert(name, Known { ty, constant: false, evaluates });
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
