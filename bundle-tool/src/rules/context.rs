//! What all rules share about one bundle, decoded once.

use super::crds::Crd;
use crate::model::csv::ClusterServiceVersion;
use crate::model::yaml::{DecodeError, Unknown};
use crate::model::{Bundle, Object};

/// One bundle, with its typed parts.
#[derive(Debug)]
pub struct Context<'b> {
    /// The bundle.
    pub bundle: &'b Bundle,
    /// The objects in `manifests/`.
    pub objects: Vec<Object<'b>>,
    /// The CRDs of `apiextensions.k8s.io/v1`.
    pub crds: Vec<Crd<'b>>,
    /// The CSV, where OLM can decode it. Of several, which csv-several names, it is the first one.
    pub csvs: Vec<Csv<'b>>,
    /// The CSV, where OLM cannot decode it, and why.
    pub undecodable_csvs: Vec<(Object<'b>, DecodeError)>,
}

/// A `ClusterServiceVersion`, as written and as OLM reads it.
#[derive(Debug)]
pub struct Csv<'b> {
    /// As written, with places.
    pub object: Object<'b>,
    /// As OLM reads it.
    pub typed: ClusterServiceVersion,
    /// The fields that OLM drops.
    pub unknown: Vec<Unknown>,
}

impl<'b> Context<'b> {
    /// Decodes what rules share.
    #[must_use]
    pub fn new(bundle: &'b Bundle) -> Self {
        let objects: Vec<_> = bundle.objects().collect();
        let mut csvs = Vec::new();
        let mut undecodable_csvs = Vec::new();
        for object in objects.iter().filter(|object| object.kind() == "ClusterServiceVersion").take(1) {
            match object.decode::<ClusterServiceVersion>() {
                Ok(decoded) => {
                    csvs.push(Csv { object: *object, typed: decoded.object, unknown: decoded.unknown });
                }
                Err(error) => undecodable_csvs.push((*object, error)),
            }
        }
        let crds = objects.iter().filter_map(Crd::new).collect();
        Self { bundle, objects, crds, csvs, undecodable_csvs }
    }
}
