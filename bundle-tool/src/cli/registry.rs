//! `bundle-tool registry`: a small registry of one's own.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, runtime};
use oci_images::registry::server::Server;

/// A small registry for trying things out.
#[derive(Debug, Args)]
pub(super) struct Registry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Serve),
}

/// Serves a registry that stores into a folder, until it is interrupted.
///
/// Its address is the one line on standard output. It knows no users: whoever reaches it may read, write and delete.
#[derive(Debug, Args)]
struct Serve {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:5000")]
    address: SocketAddr,
    /// Where to store, made where there is none
    #[arg(long, value_name = "FOLDER")]
    dir: PathBuf,
    /// Listen also on an address that other machines reach
    #[arg(long)]
    listen_anywhere: bool,
}

impl Registry {
    pub(super) fn run(self) -> Result<Exit> {
        let Command::Serve(Serve { address, dir, listen_anywhere }) = self.command;
        runtime()?.block_on(async {
            let server = Server::bind(address, &dir, listen_anywhere).await?;
            let mut interrupted = signal(SignalKind::interrupt())?;
            let mut terminated = signal(SignalKind::terminate())?;
            let mut out = io::stdout().lock();
            writeln!(out, "{}", server.address())?;
            out.flush()?;
            drop(out);
            let stop = async move {
                tokio::select! {
                    _ = interrupted.recv() => {}
                    _ = terminated.recv() => {}
                }
            };
            server.serve(stop).await?;
            Ok(Exit::Success)
        })
    }
}
