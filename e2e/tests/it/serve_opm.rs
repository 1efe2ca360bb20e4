//! `bundle-tool serve` beside `opm serve`, on the same catalogs: every method, every message, every error.
//!
//! Needs opm (`OPM`); skipped without it. `LARGE_CATALOG` is a catalog directory to compare as well. No cluster is involved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use catalog_server::client::Client;
use catalog_server::proto::{
    Bundle, ChannelEntry, HealthCheckRequest, HealthCheckResponse, Names, Package, PackageName,
    ReflectionAnswer, ReflectionQuery, ReflectionRequest, ReflectionResponse, SERVING, Struct,
};
use e2e::{Programs, opm, skip};
use prost::Message;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long a server may take to start.
const START: Duration = Duration::from_mins(5);

const SMALL: &str = r#"---
schema: olm.package
name: gizmo
defaultChannel: stable
description: "Gizmos <b>&</b> \u2028 more"
icon:
  mediatype: image/svg+xml
  base64data: PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjwvc3ZnPg==
---
schema: olm.channel
package: gizmo
name: stable
entries:
- name: gizmo.v1.0.0
- name: gizmo.v1.1.0
  replaces: gizmo.v1.0.0
- name: gizmo.v2.0.0
  replaces: gizmo.v1.0.0
  skips: [gizmo.v1.1.0, gizmo.v0.9.0, gizmo.v1.0.0]
  skipRange: ">=0.9.0 <2.0.0"
---
schema: olm.channel
package: gizmo
name: old
entries:
- name: gizmo.v1.0.0
  replaces: gizmo.v0.8.0
---
schema: olm.bundle
package: gizmo
name: gizmo.v1.0.0
image: example.com/gizmo@sha256:0000000000000000000000000000000000000000000000000000000000000000
properties:
- type: olm.package
  value: {packageName: gizmo, version: 1.0.0}
- type: olm.gvk
  value: {group: example.com, kind: Gizmo, version: v1}
- type: olm.gvk.required
  value: {group: other.com, kind: Other, version: v1beta1}
- type: olm.package.required
  value: {versionRange: ">=1.0.0 <2.0.0", packageName: other}
- type: numbers
  value: {big: 9007199254740993, float: 1.50, tiny: 0.0000001, "<key>": null, nested: [1, "ü", {b: 1, a: 2}]}
- type: "null"
  value: null
- type: olm.csv.metadata
  value:
    annotations: {b: "<1>", a: "2"}
    displayName: Gizmo
    maturity: alpha
    apiServiceDefinitions: {owned: [{name: x, group: g, version: v1, kind: K, containerPort: 8443}]}
    crdDescriptions:
      owned:
      - name: gizmos.example.com
        version: v1
        kind: Gizmo
        unknown: dropped
        specDescriptors:
        - {path: size, x-descriptors: ["urn:x"], value: {b: 1.0, a: "<"}}
        - {path: none, value: null}
    installModes: [{type: AllNamespaces, supported: true}, {type: OwnNamespace}]
    keywords: [a, b]
    links: [{name: L, url: "https://example.com/?a=1&b=2"}]
    maintainers: [{email: a@example.com, name: A}]
    minKubeVersion: 1.25.0
    nativeAPIs: [{group: "", version: v1, kind: Pod}]
    provider: {name: P}
relatedImages:
- {name: "", image: example.com/gizmo:1}
- {name: manager, image: example.com/gizmo:2}
---
schema: olm.bundle
package: gizmo
name: gizmo.v1.1.0
image: example.com/gizmo:v1.1.0
properties:
- type: olm.package
  value: {packageName: gizmo, version: 1.1.0}
- type: olm.csv.metadata
  value: {description: "Its own"}
---
schema: olm.bundle
package: gizmo
name: gizmo.v2.0.0
image: ""
properties:
- type: olm.package
  value: {packageName: gizmo, version: 2.0.0}
- type: olm.gvk
  value: {group: example.com, kind: Gizmo, version: v1}
- type: olm.bundle.object
  value: {data: eyJraW5kIjogIlNlY3JldCIsICAiYXBpVmVyc2lvbiI6ICJ2MSJ9}
- type: olm.bundle.object
  value: {data: a2luZDogQ2x1c3RlclNlcnZpY2VWZXJzaW9uCmFwaVZlcnNpb246IG9wZXJhdG9ycy5jb3Jlb3MuY29tL3YxYWxwaGExCm1ldGFkYXRhOiB7bmFtZTogZ2l6bW8udjIuMC4wLCBsYWJlbHM6IHthOiAiPCJ9fQo=}
---
schema: olm.deprecations
package: gizmo
entries:
- reference: {schema: olm.package}
  message: the package is deprecated
- reference: {schema: olm.channel, name: old}
  message: the channel is deprecated
- reference: {schema: olm.bundle, name: gizmo.v1.0.0}
  message: the bundle is deprecated
---
schema: custom.schema
package: gizmo
name: one
value: {list: [1, 2.5, true, null, "x", {}]}
---
schema: custom.schema
package: gizmo
name: two
---
schema: custom.schema
name: of-no-package
---
schema: olm.package
name: a-gadget
defaultChannel: alpha
---
schema: olm.channel
package: a-gadget
name: alpha
entries: [{name: gadget.v0.1.0}]
---
schema: olm.channel
package: a-gadget
name: stable
entries: [{name: gadget.v0.1.0, replaces: gizmo.v1.0.0}]
---
schema: olm.bundle
package: a-gadget
name: gadget.v0.1.0
image: example.com/gadget:v0.1.0
properties:
- type: olm.package
  value: {packageName: a-gadget, version: 0.1.0}
- type: olm.gvk
  value: {group: example.com, kind: Gizmo, version: v1}
"#;

/// A running server, killed on drop.
struct Server {
    client: Client,
    _child: Child,
}

impl Server {
    async fn opm(opm: &Path, catalog: &Path, cache: &Path) -> Result<Self> {
        // Some port that is free now.
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(opm)
            .args(["serve", "--pprof-addr", "", "--port", &port.to_string()])
            .arg("--cache-enforce-integrity=false")
            .arg("--cache-dir")
            .arg(cache)
            .arg(catalog)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let begin = Instant::now();
        loop {
            if let Ok(client) = Client::connect(("127.0.0.1", port)).await {
                return Ok(Self { client, _child: child });
            }
            ensure!(begin.elapsed() < START, "opm does not serve {}", catalog.display());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn ours(programs: &Programs, catalog: &Path, index: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(programs.path("bundle-tool"));
        command.args(["serve", "--port", "0"]).arg(catalog);
        if let Some(index) = index {
            command.arg("--cache-enforce-integrity").arg("--index").arg(index);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true).spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().context("no standard output")?;
        tokio::time::timeout(START, BufReader::new(out).read_line(&mut line)).await??;
        let port: u16 = line.trim().rsplit(':').next().unwrap_or_default().parse()?;
        Ok(Self { client: Client::connect(("127.0.0.1", port)).await?, _child: child })
    }
}

/// What a call returns: messages, or the code and message of an error.
type Outcome = Result<Vec<Vec<u8>>, (i32, String)>;

/// Both servers, and how much was compared.
struct Pair {
    opm: Server,
    ours: Server,
    compared: usize,
}

fn names(words: &[&str]) -> Names {
    let word = |index: usize| words.get(index).copied().unwrap_or_default().to_owned();
    Names { first: word(0), second: word(1), third: word(2), fourth: word(3) }
}

async fn call(server: &Server, path: &'static str, request: &impl Message) -> Outcome {
    match server.client.call(path, request).await {
        Ok(message) => Ok(vec![message.to_vec()]),
        Err(status) => Err((status.code() as i32, status.message().to_owned())),
    }
}

async fn list(
    server: &Server,
    path: &'static str,
    request: &impl Message,
    headers: &[(&'static str, &'static str)],
) -> Outcome {
    match server.client.list(path, request, headers).await {
        Ok(messages) => Ok(messages.iter().map(|message| message.to_vec()).collect()),
        Err(status) => Err((status.code() as i32, status.message().to_owned())),
    }
}

fn decode<M: Message + Default>(messages: &[Vec<u8>]) -> Result<Vec<M>> {
    messages.iter().map(|message| Ok(M::decode(message.as_slice())?)).collect()
}

impl Pair {
    /// Compares what both return, message by message; `sorted` ignores the order, which is random in opm.
    async fn compare<M: Message + Default + PartialEq + std::fmt::Debug>(
        &mut self,
        is_stream: bool,
        path: &'static str,
        words: &[&str],
        sorted: bool,
    ) -> Result<Vec<M>> {
        let request = names(words);
        let (theirs, ours) = if is_stream {
            (list(&self.opm, path, &request, &[]).await, list(&self.ours, path, &request, &[]).await)
        } else {
            (call(&self.opm, path, &request).await, call(&self.ours, path, &request).await)
        };
        self.equal(path, words, theirs, ours, sorted)
    }

    fn equal<M: Message + Default + PartialEq + std::fmt::Debug>(
        &mut self,
        path: &str,
        words: &[&str],
        theirs: Outcome,
        ours: Outcome,
        sorted: bool,
    ) -> Result<Vec<M>> {
        self.compared += 1;
        let (mut theirs, mut ours) = match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => (theirs, ours),
            (theirs, ours) => {
                ensure!(theirs == ours, "{path} {words:?}:\n  opm  {theirs:?}\n  ours {ours:?}");
                return Ok(Vec::new());
            }
        };
        if sorted {
            theirs.sort();
            ours.sort();
        }
        ensure!(theirs.len() == ours.len(), "{path} {words:?}: {} and {} messages", theirs.len(), ours.len());
        for (theirs, ours) in theirs.iter().zip(&ours) {
            self.compared += 1;
            let (theirs_read, ours_read) = (M::decode(theirs.as_slice())?, M::decode(ours.as_slice())?);
            ensure!(
                theirs_read == ours_read,
                "{path} {words:?}:\n  opm  {theirs_read:?}\n  ours {ours_read:?}"
            );
            // No field is unknown here, and the order of fields is the same, except for Go's maps.
            let is_map = path.ends_with("CustomSchemas");
            ensure!(is_map || theirs == ours, "{path} {words:?}: the messages differ in their encoding");
        }
        decode(&ours)
    }

    async fn call<M: Message + Default + PartialEq + std::fmt::Debug>(
        &mut self,
        path: &'static str,
        words: &[&str],
    ) -> Result<Vec<M>> {
        self.compare(false, path, words, false).await
    }

    async fn entries(&mut self, path: &'static str, words: &[&str]) -> Result<()> {
        self.compare::<ChannelEntry>(true, path, words, true).await.map(drop)
    }

    /// Compares all that can be asked of the catalog.
    async fn everything(&mut self) -> Result<()> {
        let packages: Vec<PackageName> = self.compare(true, "/api.Registry/ListPackages", &[], true).await?;
        ensure!(!packages.is_empty(), "no packages");
        let bundles: Vec<Bundle> = self.compare(true, "/api.Registry/ListBundles", &[], false).await?;
        let mut replaced: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
        let mut known = BTreeSet::new();
        let mut apis = BTreeSet::new();
        for bundle in &bundles {
            let (package, channel, name) = (&*bundle.package_name, &*bundle.channel_name, &*bundle.csv_name);
            known.insert(name);
            apis.extend(
                bundle
                    .provided_apis
                    .iter()
                    .chain(&bundle.required_apis)
                    .map(|api| (api.group.as_str(), api.version.as_str(), api.kind.as_str())),
            );
            for old in bundle.skips.iter().chain([&bundle.replaces]) {
                known.insert(old);
                replaced.entry((package, channel, old)).or_default().insert(name);
            }
            let found: Vec<Bundle> = self.call("/api.Registry/GetBundle", &[package, channel, name]).await?;
            ensure!(found.len() == 1, "{name} is not found");
        }
        for PackageName { name } in &packages {
            let package: Vec<Package> = self.call("/api.Registry/GetPackage", &[name]).await?;
            for channel in package.iter().flat_map(|package| &package.channels) {
                self.call::<Bundle>("/api.Registry/GetBundleForChannel", &[name, &channel.name]).await?;
                // opm's choice among several is random: ours has to be one of them.
                let path = "/api.Registry/GetBundleThatReplaces";
                self.call::<Bundle>(path, &["no-such-bundle", name, &channel.name]).await?;
            }
        }
        for ((package, channel, old), new) in replaced {
            let words = [old, package, channel];
            let path = "/api.Registry/GetBundleThatReplaces";
            if new.len() == 1 {
                self.call::<Bundle>(path, &words).await?;
                continue;
            }
            let ours = call(&self.ours, path, &names(&words)).await;
            let ours = ours.ok().context("no bundle")?;
            let found: Bundle = Bundle::decode(ours.first().context("no message")?.as_slice())?;
            ensure!(new.contains(found.csv_name.as_str()), "{words:?}: {}", found.csv_name);
            self.compared += 1;
        }
        for name in known {
            self.entries("/api.Registry/GetChannelEntriesThatReplace", &[name]).await?;
        }
        for (group, version, kind) in apis {
            let words = [group, version, kind, ""];
            self.entries("/api.Registry/GetChannelEntriesThatProvide", &words).await?;
            self.entries("/api.Registry/GetLatestChannelEntriesThatProvide", &words).await?;
            self.call::<Bundle>("/api.Registry/GetDefaultBundleThatProvides", &words).await?;
        }
        let (package, channel) = (&*bundles[0].package_name, &*bundles[0].channel_name);
        self.errors(package, channel).await?;
        self.services().await
    }

    async fn errors(&mut self, package: &str, channel: &str) -> Result<()> {
        for odd in ["", "no such", "a\"b\\c", "tab\tbell\u{7}\u{1}\u{7f}", "ümlaut"] {
            self.call::<Package>("/api.Registry/GetPackage", &[odd]).await?;
            for words in [[odd, channel, "x"], [package, odd, "x"], [package, channel, odd]] {
                self.call::<Bundle>("/api.Registry/GetBundle", &words).await?;
            }
            for words in [[odd, channel], [package, odd]] {
                self.call::<Bundle>("/api.Registry/GetBundleForChannel", &words).await?;
            }
            for words in [["x", odd, channel], ["x", package, odd]] {
                self.call::<Bundle>("/api.Registry/GetBundleThatReplaces", &words).await?;
            }
            self.entries("/api.Registry/GetChannelEntriesThatReplace", &[&format!("no {odd}")]).await?;
            let words = [odd, "v1", "x"];
            self.entries("/api.Registry/GetChannelEntriesThatProvide", &words).await?;
            self.entries("/api.Registry/GetLatestChannelEntriesThatProvide", &words).await?;
            self.call::<Bundle>("/api.Registry/GetDefaultBundleThatProvides", &words).await?;
        }
        for path in [
            "/api.Registry/NoSuchMethod",
            "/api.ExperimentalRegistry/NoSuchMethod",
            "/grpc.health.v1.Health/NoSuchMethod",
            "/no.such.Service/Method",
            "/a/b/c",
            "/malformed",
        ] {
            self.call::<Package>(path, &[]).await?;
        }
        Ok(())
    }

    async fn services(&mut self) -> Result<()> {
        for service in ["", "api.Registry", "no.such.Service"] {
            let request = HealthCheckRequest { service: service.to_owned() };
            let path = "/grpc.health.v1.Health/Check";
            let (theirs, ours) =
                (call(&self.opm, path, &request).await, call(&self.ours, path, &request).await);
            let found: Vec<HealthCheckResponse> = self.equal(path, &[service], theirs, ours, false)?;
            ensure!(found == [HealthCheckResponse { status: SERVING }], "{found:?}");
        }
        self.compare::<HealthCheckResponse>(true, "/grpc.health.v1.Health/Watch", &[], false).await?;
        self.call::<HealthCheckResponse>("/grpc.health.v1.Health/List", &[]).await?;
        let path = "/api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas";
        for words in [
            &["custom.schema", "gizmo"][..],
            &["custom.schema"],
            &["custom.schema", "other"],
            &["other"],
            &["", "gizmo"],
            &["../x"],
            &["custom.schema", "-x\""],
        ] {
            for headers in
                [&[][..], &[("x-acknowledge-experimental", "true")], &[("x-acknowledge-experimental", "yes")]]
            {
                let request = names(words);
                let theirs = list(&self.opm, path, &request, headers).await;
                let ours = list(&self.ours, path, &request, headers).await;
                self.equal::<Struct>(path, words, theirs, ours, false)?;
            }
        }
        self.reflection("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo").await?;
        self.reflection("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo").await
    }

    async fn reflection(&mut self, path: &'static str) -> Result<()> {
        use ReflectionQuery::{
            AllExtensionNumbersOfType, FileByFilename, FileContainingSymbol, ListServices,
        };
        let mut queries: Vec<_> = [
            "api.Registry",
            "api.Registry.GetBundle",
            "api.Bundle",
            "api.Bundle.csvJson",
            "api.ExperimentalRegistry",
            "google.protobuf.Value.kind",
            "google.protobuf.NULL_VALUE",
            "google.protobuf.Struct.FieldsEntry",
            "grpc.health.v1.Health",
            "grpc.health.v1.HealthCheckResponse.SERVING",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
        .map(|name| FileContainingSymbol(name.to_owned()))
        .into();
        queries.push(FileByFilename("registry.proto".to_owned()));
        queries.push(ListServices(String::new()));
        queries.push(AllExtensionNumbersOfType("api.Bundle".to_owned()));
        for query in queries {
            let request = ReflectionRequest { host: "h".to_owned(), query: Some(query) };
            let message = vec![request.encode_to_vec().into()];
            let theirs = reflected(&self.opm, path, message.clone()).await?;
            let ours = reflected(&self.ours, path, message).await?;
            ensure!(theirs == ours, "{request:?}:\n  opm  {theirs:#?}\n  ours {ours:#?}");
            self.compared += 1;
        }
        Ok(())
    }
}

/// What reflection returns, with decoded files, without their options.
async fn reflected(
    server: &Server,
    path: &'static str,
    requests: Vec<bytes::Bytes>,
) -> Result<(Vec<ReflectionResponse>, Vec<FileDescriptor>)> {
    let messages = server.client.converse(path, requests).await;
    let messages = messages.map_err(|status| anyhow::anyhow!("{}: {}", status.code(), status.message()))?;
    let mut files = Vec::new();
    let mut responses = Vec::new();
    for message in messages {
        let mut response = ReflectionResponse::decode(message)?;
        if let Some(ReflectionAnswer::Files(found)) = &mut response.answer {
            for file in std::mem::take(&mut found.file_descriptor_proto) {
                files.push(FileDescriptor::decode(file.as_slice())?);
            }
        }
        responses.push(response);
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((responses, files))
}

/// `google.protobuf.FileDescriptorProto` without options.
#[derive(Clone, PartialEq, Message)]
struct FileDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    package: String,
    #[prost(string, repeated, tag = "3")]
    dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    message: Vec<MessageDescriptor>,
    #[prost(message, repeated, tag = "5")]
    enumeration: Vec<EnumDescriptor>,
    #[prost(message, repeated, tag = "6")]
    service: Vec<ServiceDescriptor>,
    #[prost(string, tag = "12")]
    syntax: String,
}

#[derive(Clone, PartialEq, Message)]
struct MessageDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    field: Vec<FieldDescriptor>,
    #[prost(message, repeated, tag = "3")]
    nested: Vec<MessageDescriptor>,
    #[prost(message, repeated, tag = "4")]
    enumeration: Vec<EnumDescriptor>,
    #[prost(message, repeated, tag = "8")]
    oneof: Vec<PackageName>,
}

#[derive(Clone, PartialEq, Message)]
struct FieldDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "3")]
    number: i32,
    #[prost(int32, tag = "4")]
    label: i32,
    #[prost(int32, tag = "5")]
    kind: i32,
    #[prost(string, tag = "6")]
    type_name: String,
    #[prost(int32, optional, tag = "9")]
    oneof: Option<i32>,
    #[prost(string, tag = "10")]
    json_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct EnumDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    value: Vec<EnumValue>,
}

#[derive(Clone, PartialEq, Message)]
struct EnumValue {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    number: i32,
}

#[derive(Clone, PartialEq, Message)]
struct ServiceDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, repeated, tag = "2")]
    method: Vec<MethodDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct MethodDescriptor {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    input: String,
    #[prost(string, tag = "3")]
    output: String,
    #[prost(bool, tag = "5")]
    client_streaming: bool,
    #[prost(bool, tag = "6")]
    server_streaming: bool,
}

async fn compare(name: &str, opm: &Path, catalog: &Path) -> Result<()> {
    let programs = Programs::from_env()?;
    let scratch = tempfile::tempdir()?;
    let begin = Instant::now();
    let theirs = Server::opm(opm, catalog, &scratch.path().join("cache")).await?;
    let ours = Server::ours(&programs, catalog, None).await?;
    let mut pair = Pair { opm: theirs, ours, compared: 0 };
    pair.everything().await.with_context(|| format!("{name}, from the catalog"))?;
    let index = scratch.path().join("index");
    let path = |path: &Path| path.display().to_string();
    programs.tool(&["serve", &path(catalog), "--build-index", &path(&index)], &[])?;
    pair.ours = Server::ours(&programs, catalog, Some(&index)).await?;
    pair.everything().await.with_context(|| format!("{name}, from the index"))?;
    eprintln!("{name}: {} answers and messages are equal ({:.0?})", pair.compared, begin.elapsed());
    Ok(())
}

#[tokio::test]
async fn every_answer_is_that_of_opm() -> Result<()> {
    let Some(opm) = opm()? else {
        skip("OPM is not set");
        return Ok(());
    };
    let scratch = tempfile::tempdir()?;
    std::fs::write(scratch.path().join("catalog.yaml"), SMALL)?;
    compare("a small catalog", &opm, scratch.path()).await?;
    let Some(large) = std::env::var_os("LARGE_CATALOG").map(PathBuf::from) else {
        eprintln!("LARGE_CATALOG is not set: only the small catalog is compared");
        return Ok(());
    };
    compare("the large catalog", &opm, &large).await
}
