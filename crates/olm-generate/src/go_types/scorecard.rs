//! The scorecard's configuration.
//!
//! Source: `configuration_types.go` of operator-framework/api v0.45.

use super::fields::GoType::{Bool, List, Map, Struct, Text};
use super::fields::{GoStruct, always, omitempty};

static SCORECARD_METADATA: GoStruct = GoStruct::new(&[omitempty("name", Text)]);

static MOUNT_PATH: GoStruct = GoStruct::new(&[omitempty("path", Text)]);

static STORAGE_SPEC: GoStruct = GoStruct::new(&[omitempty("mountPath", Struct(&MOUNT_PATH))]);

static STORAGE: GoStruct = GoStruct::new(&[always("spec", Struct(&STORAGE_SPEC))]);

static TEST_CONFIGURATION: GoStruct = GoStruct::new(&[
    omitempty("entrypoint", List(&Text)),
    always("image", Text),
    omitempty("labels", Map(&Text)),
    omitempty("storage", Struct(&STORAGE)),
    omitempty("uniqueID", Text),
]);

static STAGE_CONFIGURATION: GoStruct =
    GoStruct::new(&[omitempty("parallel", Bool), always("tests", List(&Struct(&TEST_CONFIGURATION)))]);

pub(crate) static CONFIGURATION: GoStruct = GoStruct::new(&[
    omitempty("apiVersion", Text),
    omitempty("kind", Text),
    omitempty("metadata", Struct(&SCORECARD_METADATA)),
    omitempty("serviceaccount", Text),
    always("stages", List(&Struct(&STAGE_CONFIGURATION))),
    omitempty("storage", Struct(&STORAGE)),
]);
