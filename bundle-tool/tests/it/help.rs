//! The `--help` of every command, as people read it.

use std::process::Command;

fn help(command: &[String]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(command)
        .arg("--help")
        .env("COLUMNS", "100")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names below `Commands:`.
fn commands(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_help_text() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/help");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut pending = vec![Vec::new()];
    let mut seen = 0;
    while let Some(command) = pending.pop() {
        let text = help(&command);
        for name in commands(&text) {
            pending.push(command.iter().cloned().chain([name]).collect::<Vec<_>>());
        }
        let name = std::iter::once("bundle-tool".to_owned()).chain(command).collect::<Vec<_>>().join("-");
        settings.bind(|| insta::assert_snapshot!(name, text));
        seen += 1;
    }
    assert!(seen > 10, "only {seen} commands were found");
}
