//! The decoded parts of one bundle that all rules share.

use super::compressed_size::compressed_size;
use super::crd::Crd;
use super::csv::Csv;
use super::known::{self, Known};
use super::metadata::Metadata;
use super::settings::Settings;
use crate::model::yaml::DecodeError;
use crate::model::{Bundle, Object};

/// One bundle, with its typed parts.
#[derive(Debug)]
pub(in crate::rules) struct Context<'b> {
    /// The bundle.
    pub(in crate::rules) bundle: &'b Bundle,
    /// What is known about the cluster.
    pub(in crate::rules) settings: &'b Settings,
    /// The objects in `manifests/`.
    pub(in crate::rules) objects: Vec<Object<'b>>,
    /// The CRDs of `apiextensions.k8s.io/v1`.
    pub(in crate::rules) crds: Vec<Crd<'b>>,
    /// The CSV, if OLM can decode it; the first one if there are several (csv-several).
    pub(in crate::rules) csvs: Vec<Csv<'b>>,
    /// The CSV and the error, if OLM cannot decode it.
    pub(in crate::rules) undecodable_csvs: Vec<(Object<'b>, DecodeError)>,
    /// The objects of built-in kinds that the API server can decode.
    pub(in crate::rules) known: Vec<Known<'b>>,
    /// The objects that the API server cannot decode, and the errors: objects of built-in kinds, and others with
    /// undecodable metadata.
    pub(in crate::rules) undecodable: Vec<(Object<'b>, DecodeError)>,
    /// The metadata of all decodable objects except the CSV.
    pub(in crate::rules) metadata: Vec<Metadata<'b>>,
    /// The size of the bundle in bytes as OLM counts it; nothing if it is far below OLM's limit.
    pub(in crate::rules) compressed_size: Option<u64>,
}

impl<'b> Context<'b> {
    /// Decodes the shared parts of a bundle.
    #[must_use]
    pub(in crate::rules) fn new(bundle: &'b Bundle, settings: &'b Settings) -> Self {
        // Compressing a large bundle takes as long as the rest.
        let (compressed_size, mut context) =
            rayon::join(|| compressed_size(bundle), || Self::decoded(bundle, settings));
        context.compressed_size = compressed_size;
        context
    }

    /// Decodes the shared parts of a bundle, without its size.
    fn decoded(bundle: &'b Bundle, settings: &'b Settings) -> Self {
        let objects: Vec<_> = bundle.objects().collect();
        let mut csvs = Vec::new();
        let mut undecodable_csvs = Vec::new();
        for object in objects.iter().filter(|object| object.kind() == "ClusterServiceVersion").take(1) {
            match Csv::new(*object) {
                Ok(csv) => csvs.push(csv),
                Err(error) => undecodable_csvs.push((*object, error)),
            }
        }
        let crds = Crd::all(&objects);
        let (known, mut undecodable) = known::decode(&objects);
        let mut metadata = Vec::new();
        for object in &objects {
            match Metadata::new(object) {
                Some(Ok(one)) => metadata.push(one),
                Some(Err(error)) if known::is_of_other_kind(object, &error) => {
                    undecodable.push((*object, error));
                }
                Some(Err(_)) | None => {}
            }
        }
        Self {
            bundle,
            settings,
            objects,
            crds,
            csvs,
            undecodable_csvs,
            known,
            undecodable,
            metadata,
            compressed_size: None,
        }
    }
}
