//! The messages of the services, as protocol buffers: `registry.proto` of operator-registry, gRPC's health checking and
//! server reflection, and `google.protobuf.Struct`.
//!
//! The types are the wire format; what they mean is decided in `query` and `grpc`.

/// A package's channel with the bundle at its head.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Channel {
    /// The channel's name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The name of the bundle at the channel's head.
    #[prost(string, tag = "2")]
    pub csv_name: String,
    /// Set if the channel is deprecated.
    #[prost(message, optional, tag = "3")]
    pub deprecation: Option<Deprecation>,
}

/// The name of a package.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct PackageName {
    /// The name.
    #[prost(string, tag = "1")]
    pub name: String,
}

/// A package with its channels.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Package {
    /// The package's name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The channels, sorted by name.
    #[prost(message, repeated, tag = "2")]
    pub channels: Vec<Channel>,
    /// The channel of subscriptions that do not name one.
    #[prost(string, tag = "3")]
    pub default_channel_name: String,
    /// Set if the package is deprecated.
    #[prost(message, optional, tag = "4")]
    pub deprecation: Option<Deprecation>,
}

/// An API.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct GroupVersionKind {
    /// The API's group.
    #[prost(string, tag = "1")]
    pub group: String,
    /// The API's version.
    #[prost(string, tag = "2")]
    pub version: String,
    /// The API's kind.
    #[prost(string, tag = "3")]
    pub kind: String,
    /// The API's plural name, which file-based catalogs do not have.
    #[prost(string, tag = "4")]
    pub plural: String,
}

/// A property or a dependency of a bundle.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Property {
    /// The property's type.
    #[prost(string, tag = "1")]
    pub r#type: String,
    /// The property's value, as JSON.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// A bundle in a channel.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Bundle {
    /// The bundle's name.
    #[prost(string, tag = "1")]
    pub csv_name: String,
    /// The bundle's package.
    #[prost(string, tag = "2")]
    pub package_name: String,
    /// The channel.
    #[prost(string, tag = "3")]
    pub channel_name: String,
    /// The CSV as JSON.
    #[prost(string, tag = "4")]
    pub csv_json: String,
    /// The bundle's objects as JSON.
    #[prost(string, repeated, tag = "5")]
    pub object: Vec<String>,
    /// The bundle's image.
    #[prost(string, tag = "6")]
    pub bundle_path: String,
    /// The APIs that the bundle provides.
    #[prost(message, repeated, tag = "7")]
    pub provided_apis: Vec<GroupVersionKind>,
    /// The APIs that the bundle requires.
    #[prost(message, repeated, tag = "8")]
    pub required_apis: Vec<GroupVersionKind>,
    /// The bundle's version.
    #[prost(string, tag = "9")]
    pub version: String,
    /// The versions from which OLM upgrades directly to this one.
    #[prost(string, tag = "10")]
    pub skip_range: String,
    /// The bundle's dependencies.
    #[prost(message, repeated, tag = "11")]
    pub dependencies: Vec<Property>,
    /// The bundle's properties.
    #[prost(message, repeated, tag = "12")]
    pub properties: Vec<Property>,
    /// The bundle that this one replaces.
    #[prost(string, tag = "13")]
    pub replaces: String,
    /// The bundles that this one skips.
    #[prost(string, repeated, tag = "14")]
    pub skips: Vec<String>,
    /// Set if the bundle is deprecated.
    #[prost(message, optional, tag = "15")]
    pub deprecation: Option<Deprecation>,
}

/// An edge of an upgrade graph.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, prost::Message)]
pub struct ChannelEntry {
    /// The package.
    #[prost(string, tag = "1")]
    pub package_name: String,
    /// The channel.
    #[prost(string, tag = "2")]
    pub channel_name: String,
    /// The bundle.
    #[prost(string, tag = "3")]
    pub bundle_name: String,
    /// The bundle that it replaces.
    #[prost(string, tag = "4")]
    pub replaces: String,
}

/// Why something should not be used any more.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Deprecation {
    /// The reason, for people.
    #[prost(string, tag = "1")]
    pub message: String,
}

/// A request with up to four strings, which all requests of `api.Registry` and `api.ExperimentalRegistry` are: a
/// package, channel and bundle, or a group, version, kind and plural.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Names {
    /// The first field.
    #[prost(string, tag = "1")]
    pub first: String,
    /// The second field.
    #[prost(string, tag = "2")]
    pub second: String,
    /// The third field.
    #[prost(string, tag = "3")]
    pub third: String,
    /// The fourth field.
    #[prost(string, tag = "4")]
    pub fourth: String,
}

/// `grpc.health.v1.HealthCheckRequest`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckRequest {
    /// The service; empty for the server as a whole.
    #[prost(string, tag = "1")]
    pub service: String,
}

/// `grpc.health.v1.HealthCheckResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct HealthCheckResponse {
    /// [`SERVING`], or another state.
    #[prost(int32, tag = "1")]
    pub status: i32,
}

/// `grpc.health.v1.HealthCheckResponse.SERVING`
pub const SERVING: i32 = 1;

/// `google.protobuf.Struct`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Struct {
    /// The fields.
    #[prost(btree_map = "string, message", tag = "1")]
    pub fields: std::collections::BTreeMap<String, Value>,
}

/// `google.protobuf.Value`
#[derive(Clone, PartialEq, prost::Message)]
pub struct Value {
    /// The value.
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<Kind>,
}

/// The kind of a [`Value`].
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Kind {
    /// `null`
    #[prost(int32, tag = "1")]
    Null(i32),
    /// A number
    #[prost(double, tag = "2")]
    Number(f64),
    /// A string
    #[prost(string, tag = "3")]
    String(String),
    /// A boolean
    #[prost(bool, tag = "4")]
    Bool(bool),
    /// An object
    #[prost(message, tag = "5")]
    Struct(Struct),
    /// A list
    #[prost(message, tag = "6")]
    List(ListValue),
}

/// `google.protobuf.ListValue`
#[derive(Clone, PartialEq, prost::Message)]
pub struct ListValue {
    /// The items.
    #[prost(message, repeated, tag = "1")]
    pub values: Vec<Value>,
}

impl From<&serde_json::Value> for Value {
    fn from(json: &serde_json::Value) -> Self {
        use serde_json::Value as Json;
        Self {
            kind: Some(match json {
                Json::Null => Kind::Null(0),
                Json::Bool(value) => Kind::Bool(*value),
                Json::Number(number) => Kind::Number(number.as_f64().unwrap_or_default()),
                Json::String(string) => Kind::String(string.clone()),
                Json::Array(items) => {
                    Kind::List(ListValue { values: items.iter().map(Self::from).collect() })
                }
                Json::Object(map) => Kind::Struct(Struct::from(map)),
            }),
        }
    }
}

impl From<&serde_json::Map<String, serde_json::Value>> for Struct {
    fn from(map: &serde_json::Map<String, serde_json::Value>) -> Self {
        Self { fields: map.iter().map(|(key, value)| (key.clone(), value.into())).collect() }
    }
}

/// `grpc.reflection.v1.ServerReflectionRequest`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReflectionRequest {
    /// The server's name, which is sent back.
    #[prost(string, tag = "1")]
    pub host: String,
    /// What is asked for.
    #[prost(oneof = "ReflectionQuery", tags = "3, 4, 5, 6, 7")]
    pub query: Option<ReflectionQuery>,
}

/// What a [`ReflectionRequest`] asks for.
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum ReflectionQuery {
    /// The file of this name
    #[prost(string, tag = "3")]
    FileByFilename(String),
    /// The file that declares a symbol
    #[prost(string, tag = "4")]
    FileContainingSymbol(String),
    /// The file that declares an extension
    #[prost(message, tag = "5")]
    FileContainingExtension(ExtensionRequest),
    /// The extensions of a type
    #[prost(string, tag = "6")]
    AllExtensionNumbersOfType(String),
    /// The services
    #[prost(string, tag = "7")]
    ListServices(String),
}

/// `grpc.reflection.v1.ExtensionRequest`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ExtensionRequest {
    /// The type that is extended.
    #[prost(string, tag = "1")]
    pub containing_type: String,
    /// The extension's number.
    #[prost(int32, tag = "2")]
    pub extension_number: i32,
}

/// `grpc.reflection.v1.ServerReflectionResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ReflectionResponse {
    /// The host of the request.
    #[prost(string, tag = "1")]
    pub valid_host: String,
    /// The request.
    #[prost(message, optional, tag = "2")]
    pub original_request: Option<ReflectionRequest>,
    /// The answer.
    #[prost(oneof = "ReflectionAnswer", tags = "4, 5, 6, 7")]
    pub answer: Option<ReflectionAnswer>,
}

/// The answer to a [`ReflectionQuery`].
#[derive(Clone, PartialEq, Eq, prost::Oneof)]
pub enum ReflectionAnswer {
    /// Files, each as a `FileDescriptorProto`
    #[prost(message, tag = "4")]
    Files(FileDescriptorResponse),
    /// The extensions of a type
    #[prost(message, tag = "5")]
    Extensions(ExtensionNumberResponse),
    /// The services
    #[prost(message, tag = "6")]
    Services(ListServiceResponse),
    /// An error
    #[prost(message, tag = "7")]
    Error(ErrorResponse),
}

/// `grpc.reflection.v1.FileDescriptorResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct FileDescriptorResponse {
    /// The files.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub file_descriptor_proto: Vec<Vec<u8>>,
}

/// `grpc.reflection.v1.ExtensionNumberResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ExtensionNumberResponse {
    /// The type that is extended.
    #[prost(string, tag = "1")]
    pub base_type_name: String,
    /// The extensions' numbers.
    #[prost(int32, repeated, tag = "2")]
    pub extension_number: Vec<i32>,
}

/// `grpc.reflection.v1.ListServiceResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ListServiceResponse {
    /// The services.
    #[prost(message, repeated, tag = "1")]
    pub service: Vec<PackageName>,
}

/// `grpc.reflection.v1.ErrorResponse`
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ErrorResponse {
    /// The status code.
    #[prost(int32, tag = "1")]
    pub error_code: i32,
    /// The message.
    #[prost(string, tag = "2")]
    pub error_message: String,
}
