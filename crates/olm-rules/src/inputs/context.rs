//! The decoded parts of one bundle that all rules share.

use super::claim::Claim;
use super::compressed_size::compressed_size;
use super::crd::Crd;
use super::csv::Csv;
use super::known::{self, BuiltinObject};
use super::metadata::Metadata;
use super::settings::Settings;
use kube_yaml::DecodeError;
use kubernetes_cel::Server;
use olm_model::{Bundle, Object};

/// One bundle, with its typed parts.
#[derive(Debug)]
pub(crate) struct Context<'b> {
    /// The bundle.
    pub(crate) bundle: &'b Bundle,
    /// What is known about the cluster.
    pub(crate) settings: &'b Settings,
    /// The versions of Kubernetes that the bundle is validated for.
    pub(crate) claim: Claim,
    /// The objects in `manifests/`.
    pub(crate) objects: Vec<Object<'b>>,
    /// The CRDs of `apiextensions.k8s.io/v1`.
    pub(crate) crds: Vec<Crd<'b>>,
    /// The CSV, if OLM can decode it; the first one if there are several (csv-several).
    pub(crate) csvs: Vec<Csv<'b>>,
    /// The CSV and the error, if OLM cannot decode it.
    pub(crate) undecodable_csvs: Vec<(Object<'b>, DecodeError)>,
    /// The objects of built-in kinds that the API server can decode.
    pub(crate) known: Vec<BuiltinObject<'b>>,
    /// The objects that the API server cannot decode, and the errors: objects of built-in kinds, and others with
    /// undecodable metadata.
    pub(crate) undecodable: Vec<(Object<'b>, DecodeError)>,
    /// The metadata of all decodable objects except the CSV.
    pub(crate) metadata: Vec<Metadata<'b>>,
    /// The size of the bundle in bytes as OLM counts it; nothing if it is far below OLM's limit.
    pub(crate) compressed_size: Option<u64>,
}

impl<'b> Context<'b> {
    /// Decodes the shared parts of a bundle.
    #[must_use]
    pub(crate) fn new(bundle: &'b Bundle, settings: &'b Settings) -> Self {
        // Compressing a large bundle takes as long as the rest.
        let (compressed_size, mut context) =
            rayon::join(|| compressed_size(bundle), || Self::decoded(bundle, settings));
        context.compressed_size = compressed_size;
        context
    }

    /// Prepares the Deployments of the CSV as the API server of a version does.
    pub(crate) fn prepare(&mut self, server: &Server) {
        self.csvs.iter_mut().for_each(|csv| csv.prepare(server));
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
            claim: Claim::new(bundle, csvs.first(), settings),
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
