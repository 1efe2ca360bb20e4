//! Metadata, selectors and references that every kind shares.
//!
//! Source: `types.go` of `k8s.io/apimachinery/pkg/apis/meta/v1` and `k8s.io/api/core/v1`, v0.34.

use super::fields::Shape::{Any, Bool, Int, List, Map, Struct, Text};
use super::fields::{Fields, given, keep, omit};

pub(super) static OBJECT_REFERENCE: Fields = Fields::of(&[
    omit("apiVersion", Text),
    omit("fieldPath", Text),
    omit("kind", Text),
    omit("name", Text),
    omit("namespace", Text),
    omit("resourceVersion", Text),
    omit("uid", Text),
]);

static OWNER_REFERENCE: Fields = Fields::of(&[
    keep("apiVersion", Text),
    given("blockOwnerDeletion", Bool),
    given("controller", Bool),
    keep("kind", Text),
    keep("name", Text),
    keep("uid", Text),
]);

pub(super) static OBJECT_META: Fields = Fields::of(&[
    omit("annotations", Map(&Text)),
    given("deletionGracePeriodSeconds", Int),
    given("deletionTimestamp", Text),
    omit("finalizers", List(&Text)),
    omit("generateName", Text),
    omit("generation", Int),
    omit("labels", Map(&Text)),
    omit("managedFields", Any),
    omit("name", Text),
    omit("namespace", Text),
    omit("ownerReferences", List(&Struct(&OWNER_REFERENCE))),
    omit("resourceVersion", Text),
    omit("selfLink", Text),
    omit("uid", Text),
]);

/// What every object begins with.
pub(super) static OBJECT: Fields =
    Fields::of(&[omit("apiVersion", Text), omit("kind", Text), omit("metadata", Struct(&OBJECT_META))]);

static LABEL_SELECTOR_REQUIREMENT: Fields =
    Fields::of(&[keep("key", Text), keep("operator", Text), omit("values", List(&Text))]);

pub(super) static LABEL_SELECTOR: Fields = Fields::of(&[
    omit("matchExpressions", List(&Struct(&LABEL_SELECTOR_REQUIREMENT))),
    omit("matchLabels", Map(&Text)),
]);

pub(super) static LOCAL_OBJECT_REFERENCE: Fields = Fields::of(&[omit("name", Text)]);
