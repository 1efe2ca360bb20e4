//! What every object has: names, labels, annotations, finalizers and owners.

/// The metadata of an object whose name is of the class `name`, as a template's text in braces.
#[must_use]
pub(crate) fn template(name: &str) -> String {
    format!(
        r#"{{
  name: {name},
  "labels?": $labels,
  "annotations?": $annotations,
  "finalizers?": ['$v[["example.com/a","foregroundDeletion"],["a","","a b","example.com/","/a","Example.com/a","a/b/c"]]'],
  "generation?": '$v[[],[-1,"1"]]',
  "creationTimestamp?": '$v[[],["a",1]]',
  "ownerReferences?": [{{
    apiVersion: '$v[["v1","apps/v1"],["","a/b/c","v1/Event"]]', kind: '$v[["ConfigMap"],["","Event"]]',
    name: '$v[["a"],[""]]', uid: '$v[["0f7bd1a5-9b6a-4b1a-8a36-5d3cb0c1a001"],[""]]', "controller?": $bool}}]
}}"#
    )
}
