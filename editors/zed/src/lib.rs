//! Starts `bundle-tool lsp` in Zed.

use zed_extension_api::settings::LspSettings;
use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct BundleTool;

impl zed::Extension for BundleTool {
    fn new() -> Self {
        Self
    }

    /// Returns the command of the settings `lsp.bundle-tool.binary`, or `bundle-tool lsp` from `PATH`.
    fn language_server_command(&mut self, server: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(server.as_ref(), worktree)?.binary;
        let (path, arguments, env) = binary.map_or((None, None, None), |it| (it.path, it.arguments, it.env));
        let command = path.or_else(|| worktree.which("bundle-tool")).ok_or_else(|| {
            "bundle-tool is not in PATH: install it, or set lsp.bundle-tool.binary.path in the settings"
                .to_owned()
        })?;
        let mut environment = worktree.shell_env();
        environment.extend(env.unwrap_or_default());
        Ok(Command { command, args: arguments.unwrap_or_else(|| vec!["lsp".to_owned()]), env: environment })
    }
}

zed::register_extension!(BundleTool);
