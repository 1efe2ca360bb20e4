//! Metadata, selectors and references that every kind shares.
//!
//! Source: `types.go` of `k8s.io/apimachinery/pkg/apis/meta/v1` and `k8s.io/api/core/v1`, v0.34.

use super::fields::GoType::{Any, Bool, Int, List, Map, Struct, Text};
use super::fields::{GoStruct, always, omitempty, pointer};

pub(crate) static OBJECT_REFERENCE: GoStruct = GoStruct::new(&[
    omitempty("apiVersion", Text),
    omitempty("fieldPath", Text),
    omitempty("kind", Text),
    omitempty("name", Text),
    omitempty("namespace", Text),
    omitempty("resourceVersion", Text),
    omitempty("uid", Text),
]);

static OWNER_REFERENCE: GoStruct = GoStruct::new(&[
    always("apiVersion", Text),
    pointer("blockOwnerDeletion", Bool),
    pointer("controller", Bool),
    always("kind", Text),
    always("name", Text),
    always("uid", Text),
]);

pub(crate) static OBJECT_META: GoStruct = GoStruct::new(&[
    omitempty("annotations", Map(&Text)),
    pointer("deletionGracePeriodSeconds", Int),
    pointer("deletionTimestamp", Text),
    omitempty("finalizers", List(&Text)),
    omitempty("generateName", Text),
    omitempty("generation", Int),
    omitempty("labels", Map(&Text)),
    omitempty("managedFields", Any),
    omitempty("name", Text),
    omitempty("namespace", Text),
    omitempty("ownerReferences", List(&Struct(&OWNER_REFERENCE))),
    omitempty("resourceVersion", Text),
    omitempty("selfLink", Text),
    omitempty("uid", Text),
]);

/// What every object begins with.
pub(crate) static OBJECT: GoStruct = GoStruct::new(&[
    omitempty("apiVersion", Text),
    omitempty("kind", Text),
    omitempty("metadata", Struct(&OBJECT_META)),
]);

static LABEL_SELECTOR_REQUIREMENT: GoStruct =
    GoStruct::new(&[always("key", Text), always("operator", Text), omitempty("values", List(&Text))]);

pub(crate) static LABEL_SELECTOR: GoStruct = GoStruct::new(&[
    omitempty("matchExpressions", List(&Struct(&LABEL_SELECTOR_REQUIREMENT))),
    omitempty("matchLabels", Map(&Text)),
]);

pub(crate) static LOCAL_OBJECT_REFERENCE: GoStruct = GoStruct::new(&[omitempty("name", Text)]);
