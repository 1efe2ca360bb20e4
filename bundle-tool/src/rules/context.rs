//! The decoded parts of one bundle that all rules share.

use super::crds::Crd;
use crate::model::csv::ClusterServiceVersion;
use crate::model::yaml::{self, DecodeError, Path, Unknown, Value};
use crate::model::{Bundle, Object};

use super::kubernetes::labels;
use super::metadata::Metadata;
use super::objects::{self, Known};
use super::workload::Prepared;

/// One bundle, with its typed parts.
#[derive(Debug)]
pub struct Context<'b> {
    /// The bundle.
    pub bundle: &'b Bundle,
    /// The objects in `manifests/`.
    pub objects: Vec<Object<'b>>,
    /// The CRDs of `apiextensions.k8s.io/v1`.
    pub crds: Vec<Crd<'b>>,
    /// The CSV, if OLM can decode it; the first one if there are several (csv-several).
    pub csvs: Vec<Csv<'b>>,
    /// The CSV and the error, if OLM cannot decode it.
    pub undecodable_csvs: Vec<(Object<'b>, DecodeError)>,
    /// The objects of built-in kinds that the API server can decode.
    pub known: Vec<Known<'b>>,
    /// The objects that the API server cannot decode, and the errors: objects of built-in kinds, and others with
    /// undecodable metadata.
    pub undecodable: Vec<(Object<'b>, DecodeError)>,
    /// The metadata of all decodable objects except the CSV.
    pub metadata: Vec<Metadata<'b>>,
}

/// A `ClusterServiceVersion`, as written and as OLM decodes it.
#[derive(Debug)]
pub struct Csv<'b> {
    /// As written, with positions.
    pub object: Object<'b>,
    /// As OLM decodes it.
    pub typed: ClusterServiceVersion,
    /// The fields that OLM drops.
    pub unknown: Vec<Unknown>,
    /// The Deployments of its install strategy as the API server validates them.
    pub deployments: Vec<Prepared>,
    /// How many bytes the keys and values of its annotations take.
    pub annotation_bytes: usize,
}

impl<'b> Csv<'b> {
    /// Returns the value that a chain of keys leads to, as it is written. Keys may differ in case, as they may for OLM.
    #[must_use]
    pub fn dig(&self, keys: &[&str]) -> Option<Value<'b>> {
        keys.iter().try_fold(self.object.root, |value, key| {
            value.get(key).or_else(|| {
                let mut entries = value.entries();
                entries.find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
            })
        })
    }
}

impl<'b> Context<'b> {
    /// Decodes the shared parts of a bundle.
    #[must_use]
    pub fn new(bundle: &'b Bundle) -> Self {
        let objects: Vec<_> = bundle.objects().collect();
        let mut csvs = Vec::new();
        let mut undecodable_csvs = Vec::new();
        for object in objects.iter().filter(|object| object.kind() == "ClusterServiceVersion").take(1) {
            match yaml::decode_ignoring_case::<ClusterServiceVersion>(object.root, &Path::ROOT) {
                Ok(decoded) => {
                    let strategy = &decoded.object.spec.install.spec;
                    let deployments = strategy.deployments.iter().map(Prepared::new).collect();
                    let annotations = decoded.object.metadata.annotations.as_ref();
                    let annotation_bytes = annotations.map_or(0, labels::size);
                    csvs.push(Csv {
                        object: *object,
                        typed: decoded.object,
                        unknown: decoded.unknown,
                        deployments,
                        annotation_bytes,
                    });
                }
                Err(error) => undecodable_csvs.push((*object, error)),
            }
        }
        let crds = Crd::all(&objects);
        let (known, mut undecodable) = objects::decode(&objects);
        let mut metadata = Vec::new();
        for object in &objects {
            match Metadata::new(object) {
                Some(Ok(one)) => metadata.push(one),
                Some(Err(error)) if objects::is_of_other_kind(object, &error) => {
                    undecodable.push((*object, error));
                }
                Some(Err(_)) | None => {}
            }
        }
        Self { bundle, objects, crds, csvs, undecodable_csvs, known, undecodable, metadata }
    }
}
