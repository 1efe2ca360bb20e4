//! The scorecard's configuration.
//!
//! Source: `configuration_types.go` of operator-framework/api v0.45.

use super::fields::Shape::{Bool, List, Map, Struct, Text};
use super::fields::{Fields, keep, omit};

static SCORECARD_METADATA: Fields = Fields::of(&[omit("name", Text)]);

static MOUNT_PATH: Fields = Fields::of(&[omit("path", Text)]);

static STORAGE_SPEC: Fields = Fields::of(&[omit("mountPath", Struct(&MOUNT_PATH))]);

static STORAGE: Fields = Fields::of(&[keep("spec", Struct(&STORAGE_SPEC))]);

static TEST_CONFIGURATION: Fields = Fields::of(&[
    omit("entrypoint", List(&Text)),
    keep("image", Text),
    omit("labels", Map(&Text)),
    omit("storage", Struct(&STORAGE)),
    omit("uniqueID", Text),
]);

static STAGE_CONFIGURATION: Fields =
    Fields::of(&[omit("parallel", Bool), keep("tests", List(&Struct(&TEST_CONFIGURATION)))]);

pub(in crate::generate) static CONFIGURATION: Fields = Fields::of(&[
    omit("apiVersion", Text),
    omit("kind", Text),
    omit("metadata", Struct(&SCORECARD_METADATA)),
    omit("serviceaccount", Text),
    keep("stages", List(&Struct(&STAGE_CONFIGURATION))),
    omit("storage", Struct(&STORAGE)),
]);
