//! The limit on the size of objects.

use olm_model::File;

/// Maximum size of an object in etcd, in bytes of JSON.
pub(crate) const MAX_OBJECT_SIZE: u64 = 3 << 19;

/// Returns whether the object of a file exceeds the limit of etcd.
pub(crate) fn too_large(file: &File) -> bool {
    // JSON is rarely longer than YAML, and serializing it takes time.
    file.size > MAX_OBJECT_SIZE
        && file
            .document()
            .is_some_and(|tree| tree.root().to_json().to_string().len() as u64 > MAX_OBJECT_SIZE)
}
