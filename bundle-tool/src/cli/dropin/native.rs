//! What the commands of the other tools are natively: the types of the table that the adapters and `migrate-project` share.

use operator_scaffold::KubebuilderProject;

/// What a command of another tool is natively.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Native {
    /// It only groups other commands.
    Group,
    /// A command that does the same.
    Command(NativeCommand),
    /// No native command does the same, but an adapter does: why, and which native commands there are.
    Adapter(&'static str),
    /// It is not supported: returns why, and what replaces it; the argument is the path of the command.
    Unsupported(fn(&str) -> String),
}

/// Returns the flags that a native command requires in a project, or why it does not apply to the project.
type InProject = fn(&ProjectFacts) -> Result<Vec<String>, &'static str>;

/// A native command that does the same as a command of another tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NativeCommand {
    /// Its path.
    pub(crate) words: &'static [&'static str],
    /// What the flags of the other command become.
    pub(crate) flags: &'static [(&'static str, Becomes)],
    /// The same for flags that several commands share.
    pub(crate) shared_flags: &'static [(&'static str, Becomes)],
    /// Flags to add, each with the flags of the other command that make it unnecessary.
    pub(crate) added: &'static [(&'static str, &'static [&'static str])],
    /// Whether the output has the same format, so that other programs can read it.
    pub(crate) has_same_output: bool,
    /// Whether arguments may be images, which are read from registries on this machine without TLS.
    pub(crate) reads_images: bool,
    /// Returns further flags for a project, or why the command does not apply to it.
    pub(crate) in_project: Option<InProject>,
}

impl NativeCommand {
    /// Returns a command with flags that have the same names.
    pub(crate) const fn new(
        words: &'static [&'static str],
        flags: &'static [(&'static str, Becomes)],
    ) -> Self {
        Self {
            words,
            flags,
            shared_flags: &[],
            added: &[],
            has_same_output: true,
            reads_images: false,
            in_project: None,
        }
    }

    /// Returns what the flags of the other command become.
    pub(crate) fn flags(&self) -> impl Iterator<Item = (&'static str, Becomes)> + use<> {
        self.flags.iter().chain(self.shared_flags).copied()
    }
}

/// What a flag becomes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Becomes {
    /// The same flag. The adapter passes its default, too.
    Same,
    /// The same flag, which has another default.
    IfSet,
    /// The same flag if a value is accepted; otherwise, the reason why there is none.
    IfValue(fn(&str) -> bool, &'static str),
    /// A flag with another name.
    Named(&'static str),
    /// A boolean that takes a value in both tools.
    WithValue,
    /// For a boolean, the flag for true and the one for false; empty for none.
    Bool(&'static str, &'static str),
    /// Omitted, because it has no effect.
    Omitted,
    /// Omitted if a value is the given one; otherwise, the same flag.
    OmittedIf(fn(&str) -> bool),
    /// No flag does the same: why.
    Missing(&'static str),
}

/// What is known about a project.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectFacts {
    /// Its PROJECT file.
    pub(crate) project: KubebuilderProject,
    /// Whether it has a kustomization in config/manifests.
    pub(crate) has_kustomization: bool,
}
