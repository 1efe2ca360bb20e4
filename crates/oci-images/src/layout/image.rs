//! Images: a manifest, a configuration and layers; and the recipe that builds one.

use std::collections::{BTreeMap, HashMap};

use oci_spec::image::{
    Descriptor, Digest, ImageConfiguration, ImageManifest, ImageManifestBuilder, MediaType, SCHEMA_VERSION,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::blob::Blob;
use super::error::Error;
use super::layer::Layer;
use crate::platform::Platform;

/// The maximum number of layers in an image. Container runtimes accept a few hundred at most.
const MAX_LAYERS: usize = 1000;

impl From<&oci_spec::image::Platform> for Platform {
    fn from(platform: &oci_spec::image::Platform) -> Self {
        Self {
            os: platform.os().to_string(),
            architecture: platform.architecture().to_string(),
            variant: platform.variant().clone(),
        }
    }
}

impl Platform {
    /// Returns the platform in an image's configuration; `None` if it has none.
    ///
    /// # Errors
    ///
    /// The configuration is not JSON.
    pub(crate) fn from_config(config: &[u8]) -> Result<Option<Self>, serde_json::Error> {
        let config: Value = serde_json::from_slice(config)?;
        let text = |name: &str| config[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(text("os").zip(text("architecture")).map(|(os, architecture)| Self {
            os,
            architecture,
            variant: text("variant"),
        }))
    }
}

/// An immutable image: its documents are in memory, and its layers are opened when they are read.
#[derive(Debug, Clone)]
pub struct Image {
    manifest: Blob,
    config: Blob,
    layers: Vec<Blob>,
    labels: BTreeMap<String, String>,
}

impl Image {
    /// Reads a manifest and finds its configuration and layers with `locate`.
    ///
    /// Docker's manifests (schema 2) are read like those of OCI. An image may have 1,000 layers.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if manifest or configuration have another form, [`Error::TooMany`] for too many layers, those
    /// of [`Blob::document`] otherwise.
    pub fn read(manifest: Blob, locate: impl Fn(Descriptor) -> Blob) -> Result<Self, Error> {
        let bytes = manifest.document()?;
        let parsed: ImageManifest = serde_json::from_slice(&bytes).map_err(|error| {
            Error::malformed_json(manifest.digest().to_string(), "image manifest", &error)
        })?;
        if parsed.layers().len() > MAX_LAYERS {
            let what = format!("the number of layers in {}", manifest.digest());
            return Err(Error::TooMany { what, limit: MAX_LAYERS as u64 });
        }
        let config = locate(parsed.config().clone());
        let labels = read_config(&config)?.labels_of_config().cloned().unwrap_or_default();
        let layers = parsed.layers().iter().cloned().map(locate).collect();
        Ok(Self { manifest, config, layers, labels: labels.into_iter().collect() })
    }

    /// Returns the manifest, whose digest is the image's.
    #[must_use]
    pub fn manifest(&self) -> &Blob {
        &self.manifest
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Blob {
        &self.config
    }

    /// Returns the layers, lowest first.
    #[must_use]
    pub fn layers(&self) -> &[Blob] {
        &self.layers
    }

    /// Returns the labels of the configuration.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Returns whether a container of the image runs a program of its own: it has an entrypoint or a command.
    ///
    /// # Errors
    ///
    /// As for [`Image::read`].
    pub fn has_program(&self) -> Result<bool, Error> {
        let image = read_config(&self.config)?;
        let has_words = |list: &Option<Vec<String>>| list.as_ref().is_some_and(|words| !words.is_empty());
        Ok(self.has_entrypoint()? || image.config().as_ref().is_some_and(|config| has_words(config.cmd())))
    }

    /// Returns whether the image has an entrypoint, to which the command of an image on this base is passed.
    ///
    /// # Errors
    ///
    /// As for [`Image::read`].
    pub fn has_entrypoint(&self) -> Result<bool, Error> {
        let image = read_config(&self.config)?;
        let entrypoint = image.config().as_ref().and_then(|config| config.entrypoint().as_ref());
        Ok(entrypoint.is_some_and(|words| !words.is_empty()))
    }

    /// Returns the digest of the image, which is that of its manifest.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        self.manifest.digest()
    }

    /// Returns configuration and layers, which a registry must have before it accepts the manifest.
    pub fn blobs(&self) -> impl Iterator<Item = &Blob> {
        self.layers.iter().chain([&self.config])
    }

    /// Returns the image with absent layers replaced by those of `fetched`, by digest.
    #[must_use]
    pub fn with_layers(mut self, fetched: &BTreeMap<String, Blob>) -> Self {
        for layer in &mut self.layers {
            if let Some(blob) = fetched.get(layer.digest().as_ref()) {
                *layer = blob.clone();
            }
        }
        self
    }
}

fn read_config(config: &Blob) -> Result<ImageConfiguration, Error> {
    serde_json::from_slice(&config.document()?)
        .map_err(|error| Error::malformed_json(config.digest().to_string(), "image configuration", &error))
}

/// The parts of a new image. Fields that are `None` or empty are the base's, or absent.
#[derive(Debug, Clone, Default)]
pub struct ImageBuilder {
    /// The base image; `None` is FROM scratch.
    pub base: Option<Image>,
    /// The layers on top of the base's, lowest first.
    pub layers: Vec<Layer>,
    /// The platform of an image FROM scratch. With a base, the base's platform is kept.
    pub platform: Platform,
    /// The program and its first arguments.
    pub entrypoint: Option<Vec<String>>,
    /// The default arguments, which a container may replace.
    pub command: Option<Vec<String>>,
    /// The user, or user and group, by number or name.
    pub user: Option<String>,
    /// The directory in which the program starts.
    pub working_dir: Option<String>,
    /// Environment variables, which replace the base's of the same name.
    pub env: BTreeMap<String, String>,
    /// Labels, which replace the base's of the same name.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the manifest. The base's are not inherited: they describe the base.
    pub annotations: BTreeMap<String, String>,
    /// The creation time in the image, in seconds since 1970.
    pub created: u64,
    /// The program that the image's history names; this crate by default.
    pub created_by: Option<String>,
}

impl ImageBuilder {
    /// Builds the image. The same recipe produces the same bytes everywhere.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the base's documents have another form, [`Error::TooMany`] beyond 1,000 layers.
    pub fn build(self) -> Result<Image, Error> {
        let Self {
            base,
            layers,
            platform,
            entrypoint,
            command,
            user,
            working_dir,
            env,
            labels,
            annotations,
            created,
            created_by,
        } = self;
        let created_by = created_by.unwrap_or_else(|| "oci-images".to_owned());
        // A plain value and not `ImageConfiguration`: a base's configuration may have fields that only Docker knows,
        // and they are kept.
        let mut config = match &base {
            Some(base) => base_config(&base.config)?,
            None => platform_only(&platform),
        };
        let mut blobs = base.as_ref().map(|base| base.layers.clone()).unwrap_or_default();
        let mut all_labels = base.map(|base| base.labels).unwrap_or_default();
        all_labels.extend(labels);

        let time = jiff::Timestamp::from_second(i64::try_from(created).unwrap_or(i64::MAX))
            .map_err(|error| Error::malformed(created.to_string(), "time", &error))?
            .to_string();
        config["created"] = json!(time);
        let settings = &mut config["config"];
        if let Some(entrypoint) = entrypoint {
            settings["Entrypoint"] = json!(entrypoint);
            // As with ENTRYPOINT in a Dockerfile: the base's arguments are for the base's program.
            settings["Cmd"] = Value::Null;
        }
        if let Some(command) = command {
            settings["Cmd"] = json!(command);
        }
        if let Some(user) = user {
            settings["User"] = json!(user);
        }
        if let Some(directory) = working_dir {
            settings["WorkingDir"] = json!(directory);
        }
        if !env.is_empty() {
            settings["Env"] = json!(merged_env(&settings["Env"], env));
        }
        if !all_labels.is_empty() {
            settings["Labels"] = json!(all_labels);
        }
        remove_nulls(settings);

        let mut diff_ids = list(&config["rootfs"]["diff_ids"]);
        let mut history = list(&config["history"]);
        if diff_ids.len() != blobs.len() {
            let reason =
                format!("it lists {} layers, but its manifest lists {}", diff_ids.len(), blobs.len());
            return Err(Error::malformed("the base image", "image configuration", &reason));
        }
        if blobs.len() + layers.len() > MAX_LAYERS {
            let what = "the number of layers in the new image".to_owned();
            return Err(Error::TooMany { what, limit: MAX_LAYERS as u64 });
        }
        for layer in layers {
            diff_ids.push(json!(layer.diff_id));
            history.push(json!({ "created": time, "created_by": created_by }));
            blobs.push(layer.blob);
        }
        config["rootfs"] = json!({ "type": "layers", "diff_ids": diff_ids });
        config["history"] = json!(history);

        let config = Blob::from_bytes(MediaType::ImageConfig, document(&config)?);
        let mut manifest = ImageManifestBuilder::default()
            .schema_version(SCHEMA_VERSION)
            .media_type(MediaType::ImageManifest)
            .config(config.descriptor().clone())
            .layers(blobs.iter().map(|blob| as_oci(blob.descriptor())).collect::<Vec<_>>());
        if !annotations.is_empty() {
            manifest = manifest.annotations(annotations.into_iter().collect::<HashMap<_, _>>());
        }
        let manifest =
            manifest.build().map_err(|error| Error::malformed("the new image", "image manifest", &error))?;
        let manifest = Blob::from_bytes(MediaType::ImageManifest, document(&manifest)?);
        Ok(Image { manifest, config, layers: blobs, labels: all_labels })
    }
}

/// Returns the configuration of a base as a plain value.
fn base_config(config: &Blob) -> Result<Value, Error> {
    let what = || config.digest().to_string();
    let value: Value = serde_json::from_slice(&config.document()?)
        .map_err(|error| Error::malformed_json(what(), "image configuration", &error))?;
    // `oci-spec` also reads an array as the fields of an object.
    if value.is_object() && (value["config"].is_object() || value["config"].is_null()) {
        return Ok(value);
    }
    Err(Error::malformed(what(), "image configuration", "expected an object, and an object in `config`"))
}

fn platform_only(platform: &Platform) -> Value {
    let Platform { os, architecture, variant } = platform;
    let mut config = json!({ "os": os, "architecture": architecture });
    if let Some(variant) = variant {
        config["variant"] = json!(variant);
    }
    config
}

/// Serializes a document with sorted keys: some maps of `oci-spec` have no order.
pub(crate) fn document(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let fail = |error| Error::malformed("the new image", "document", &error);
    let mut value = serde_json::to_value(value).map_err(fail)?;
    value.sort_all_objects();
    serde_json::to_vec(&value).map_err(fail)
}

/// Returns the base's variables in their order, replaced by name, then the new ones.
fn merged_env(base: &Value, mut env: BTreeMap<String, String>) -> Vec<String> {
    let mut merged = Vec::new();
    for variable in list(base).iter().filter_map(Value::as_str) {
        let name = variable.split('=').next().unwrap_or(variable);
        merged.push(env.remove(name).map_or_else(|| variable.to_owned(), |value| format!("{name}={value}")));
    }
    merged.extend(env.into_iter().map(|(name, value)| format!("{name}={value}")));
    merged
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn remove_nulls(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    } else {
        *value = json!({});
    }
}

/// Replaces Docker's media type with OCI's: the bytes are the same, and a manifest must not mix them.
fn as_oci(descriptor: &Descriptor) -> Descriptor {
    let mut descriptor = descriptor.clone();
    let media_type = match descriptor.media_type().as_ref() {
        "application/vnd.docker.image.rootfs.diff.tar.gzip" => MediaType::ImageLayerGzip,
        "application/vnd.docker.image.rootfs.diff.tar" => MediaType::ImageLayer,
        _ => return descriptor,
    };
    descriptor.set_media_type(media_type);
    descriptor
}

#[cfg(test)]
mod tests {
    use super::super::{File, FileMap, Source, layer};
    use super::*;

    fn one_file(path: &str) -> Layer {
        let mut files = FileMap::new();
        files.add(path, File { source: Source::Bytes(path.into()), executable: false }).unwrap();
        layer(&files, 0).unwrap()
    }

    fn base() -> Image {
        ImageBuilder {
            layers: vec![one_file("bin/opm")],
            entrypoint: Some(vec!["/bin/opm".into()]),
            command: Some(vec!["help".into()]),
            env: [("PATH".to_owned(), "/bin".to_owned()), ("A".to_owned(), "1".to_owned())].into(),
            labels: [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "1".to_owned())].into(),
            created_by: Some("bundle-tool".to_owned()),
            ..ImageBuilder::default()
        }
        .build()
        .unwrap()
    }

    fn config(image: &Image) -> Value {
        serde_json::from_slice(&image.config().document().unwrap()).unwrap()
    }

    #[test]
    fn image_is_built_from_scratch() {
        let image = base();
        assert_eq!(
            String::from_utf8(image.manifest().document().unwrap()).unwrap(),
            concat!(
                r#"{"config":{"digest":"sha256:e28331b527b8443c26e0ab809cbb7c25c42a5000a305c0da9373db728577eff8","#,
                r#""mediaType":"application/vnd.oci.image.config.v1+json","size":363},"#,
                r#""layers":[{"digest":"sha256:8da94886456ee466a5008946009b905af314e50938347bb779c1512c6ae301e3","#,
                r#""mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":107}],"#,
                r#""mediaType":"application/vnd.oci.image.manifest.v1+json","schemaVersion":2}"#,
            )
        );
        assert_eq!(
            String::from_utf8(image.config().document().unwrap()).unwrap(),
            concat!(
                r#"{"architecture":"amd64","config":{"Cmd":["help"],"Entrypoint":["/bin/opm"],"Env":["A=1","PATH=/bin"],"#,
                r#""Labels":{"a":"1","b":"1"}},"created":"1970-01-01T00:00:00Z","#,
                r#""history":[{"created":"1970-01-01T00:00:00Z","created_by":"bundle-tool"}],"os":"linux","#,
                r#""rootfs":{"diff_ids":["sha256:40da1c4df8643fd602df6259b80b4e97c8fc26008882740dc4e8eb35de271264"],"#,
                r#""type":"layers"}}"#,
            )
        );
    }

    #[test]
    fn image_is_built_on_a_base() {
        let base = base();
        let image = ImageBuilder {
            base: Some(base.clone()),
            layers: vec![one_file("configs/x.yaml")],
            command: Some(vec!["serve".into(), "/configs".into()]),
            env: [("A".to_owned(), "2".to_owned()), ("B".to_owned(), "3".to_owned())].into(),
            labels: [("b".to_owned(), "2".to_owned())].into(),
            ..ImageBuilder::default()
        }
        .build()
        .unwrap();
        let config = config(&image);
        assert_eq!(config["config"]["Entrypoint"], json!(["/bin/opm"]));
        assert_eq!(config["config"]["Cmd"], json!(["serve", "/configs"]));
        assert_eq!(config["config"]["Env"], json!(["A=2", "PATH=/bin", "B=3"]));
        assert_eq!(config["config"]["Labels"], json!({ "a": "1", "b": "2" }));
        assert_eq!(config["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
        assert_eq!(image.layers()[0].digest(), base.layers()[0].digest());
        let read = Image::read(image.manifest().clone(), |descriptor| {
            if &descriptor == image.config().descriptor() {
                image.config().clone()
            } else {
                Blob::absent(descriptor)
            }
        })
        .unwrap();
        assert_eq!(read.labels(), image.labels());
        assert_eq!(read.digest(), image.digest());
        assert!(!read.layers()[0].is_present());
    }

    #[test]
    fn annotations_are_those_of_the_builder() {
        let annotations = BTreeMap::from([("b".to_owned(), "2".to_owned()), ("a".to_owned(), String::new())]);
        let base = ImageBuilder { annotations, ..ImageBuilder::default() }.build().unwrap();
        let manifest = |image: &Image| String::from_utf8(image.manifest().document().unwrap()).unwrap();
        assert!(manifest(&base).starts_with(r#"{"annotations":{"a":"","b":"2"},"config":"#));
        let image = ImageBuilder { base: Some(base), layers: vec![one_file("a")], ..ImageBuilder::default() };
        assert!(!manifest(&image.build().unwrap()).contains("annotations"), "the base's are not inherited");
    }

    #[test]
    fn base_that_cannot_be_extended_is_an_error() {
        let on = |config: &str, layers: usize| {
            let config = Blob::from_bytes(MediaType::ImageConfig, config.as_bytes());
            let layer = one_file("a").blob;
            let base = Image {
                manifest: config.clone(),
                config,
                layers: vec![layer; layers],
                labels: BTreeMap::new(),
            };
            ImageBuilder {
                base: Some(base),
                layers: vec![one_file("b")],
                user: Some("1".into()),
                ..ImageBuilder::default()
            }
            .build()
        };
        for config in [
            r#"[null,null,"amd64","linux",null,{"type":"layers","diff_ids":[]},null]"#,
            r#"{"config":["root"],"rootfs":{"diff_ids":[]}}"#,
            r#"{"rootfs":{"diff_ids":["x"]}}"#,
            "null",
        ] {
            let error = on(config, 0).unwrap_err();
            assert!(matches!(error, Error::Malformed { .. }), "{config}: {error}");
        }
        let ids = vec![r#""x""#; MAX_LAYERS].join(",");
        let error = on(&format!(r#"{{"rootfs":{{"diff_ids":[{ids}]}}}}"#), MAX_LAYERS).unwrap_err();
        assert!(matches!(error, Error::TooMany { limit: 1000, .. }), "{error}");
    }

    #[test]
    fn new_entrypoint_drops_the_old_arguments() {
        let image = ImageBuilder {
            base: Some(base()),
            entrypoint: Some(vec!["/bin/other".into()]),
            ..ImageBuilder::default()
        };
        assert_eq!(config(&image.build().unwrap())["config"].get("Cmd"), None);
    }
}
