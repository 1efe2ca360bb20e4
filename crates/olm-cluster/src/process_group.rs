//! The processes that an exec plugin starts, which are killed with it where they have not ended.

#[cfg(unix)]
pub(crate) use unix::{ProcessGroup, begin};

#[cfg(not(unix))]
pub(crate) use other::{ProcessGroup, begin};

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal, kill_process_group};
    use tokio::process::Command;

    /// Makes a program the first one of a process group.
    pub(crate) fn begin(command: &mut Command) {
        command.process_group(0);
    }

    /// A process group, which is killed on drop.
    pub(crate) struct ProcessGroup(Option<u32>);

    impl ProcessGroup {
        /// Returns the group of its first process, if there is one.
        pub(crate) fn new(first: Option<u32>) -> Self {
            Self(first)
        }

        /// Lets the processes that are left live.
        pub(crate) fn leave(mut self) {
            self.0 = None;
        }
    }

    impl Drop for ProcessGroup {
        fn drop(&mut self) {
            let group = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
            if let Some(group) = group {
                // They may have ended meanwhile.
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }
}

/// Windows, where only the plugin itself is killed, by `kill_on_drop`.
#[cfg(not(unix))]
mod other {
    use tokio::process::Command;

    /// Does nothing.
    pub(crate) fn begin(_command: &mut Command) {}

    /// Nothing.
    pub(crate) struct ProcessGroup;

    impl ProcessGroup {
        pub(crate) fn new(_first: Option<u32>) -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "other systems have a group")]
        pub(crate) fn leave(self) {}
    }
}
