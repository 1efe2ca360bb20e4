//! `bundle-tool registry`: a small registry.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::exit::Exit;
use super::runtime::runtime;
use super::signals::Signals;
use oci_images::registry::server::{Options, Server};

/// Run a small registry for tests and trials
#[derive(Debug, Args)]
pub(super) struct Registry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Serve),
}

/// Serve a registry that stores into a directory
///
/// Prints its address as the one line on standard output and runs until SIGINT or SIGTERM, after which requests in
/// progress have 10 seconds to complete; a second signal ends it at once. Without --listen-anywhere only this machine
/// can reach it. Every client may read, write and delete, except web pages of other origins.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bundle-tool registry serve --dir /var/tmp/registry
  bundle-tool registry serve --address 127.0.0.1:0 --dir registry
  bundle-tool registry serve --address 0.0.0.0:5000 --listen-anywhere --dir registry")]
struct Serve {
    /// Address to listen on; port 0 chooses a free port
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:5000")]
    address: SocketAddr,
    /// Directory to store into: a registry of this command, or a directory that is empty or does not exist
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Accept an address that other machines can reach
    #[arg(long)]
    listen_anywhere: bool,
    /// Name under which clients reach the registry, beside its IP address and localhost (repeatable)
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// Serve an existing registry without changing it
    #[arg(long)]
    read_only: bool,
}

impl Registry {
    pub(super) fn run(self) -> Result<Exit> {
        let Command::Serve(Serve { address, dir, listen_anywhere, host, read_only }) = self.command;
        let mut options = Options::new(address, dir);
        options.listen_anywhere = listen_anywhere;
        options.hosts = host;
        options.read_only = read_only;
        let runtime = runtime()?;
        let exit = runtime.block_on(serve(options));
        // Whatever still runs was cut off: nothing waits for it.
        runtime.shutdown_background();
        exit
    }
}

async fn serve(options: Options) -> Result<Exit> {
    let server = Server::bind(options).await?;
    let signals = Signals::listen()?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.address())?;
    out.flush()?;
    drop(out);
    signals.serve("requests", |stop| server.serve(stop)).await
}
