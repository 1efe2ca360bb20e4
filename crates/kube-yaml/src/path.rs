//! The path from an object's root to one of its fields. It is built on the stack while walking, and formatted only for a
//! finding: `spec.install.spec.deployments[0].name`.

use std::fmt;

/// One step of a [`Path`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'p> {
    /// A field of a typed object: `.name`.
    Field(&'p str),
    /// A key of a free map, such as a label: `[app.kubernetes.io/name]`.
    Key(&'p str),
    /// An item of a list, from zero: `[0]`.
    Index(usize),
}

/// A field path; the root of an object is [`Path::ROOT`].
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Option<Step<'p>>,
}

impl<'p> Path<'p> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path { parent: None, step: None };

    /// Returns the path of the field `name`; dots in `name` separate several fields.
    #[must_use]
    pub const fn field(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Some(Step::Field(name)) }
    }

    /// Returns the path of the key `name` of a free map.
    #[must_use]
    pub const fn key(&'p self, name: &'p str) -> Path<'p> {
        Path { parent: Some(self), step: Some(Step::Key(name)) }
    }

    /// Returns the path of the item `index`, from zero, of a list.
    #[must_use]
    pub const fn index(&'p self, index: usize) -> Path<'p> {
        Path { parent: Some(self), step: Some(Step::Index(index)) }
    }

    /// Returns the steps, from the root on.
    #[must_use]
    pub fn steps(&self) -> Vec<Step<'p>> {
        let mut steps = Vec::new();
        let mut here = Some(*self);
        while let Some(path) = here {
            steps.extend(path.step);
            here = path.parent.copied();
        }
        steps.reverse();
        steps
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for step in self.steps() {
            match step {
                Step::Field(name) if first => write!(f, "{name}")?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Key(name) => write!(f, "[{name}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
            first = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_kubernetes_writes_it() {
        let root = Path::ROOT;
        let metadata = root.field("metadata");
        let labels = metadata.field("labels");
        assert_eq!(
            labels.key("app.kubernetes.io/name").to_string(),
            "metadata.labels[app.kubernetes.io/name]"
        );
        let owned = root.field("spec.customresourcedefinitions.owned");
        assert_eq!(owned.index(2).field("kind").to_string(), "spec.customresourcedefinitions.owned[2].kind");
    }
}
