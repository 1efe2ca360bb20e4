//! A slow, lossy connection to the API server: a proxy that delays, cuts and swallows what the API server sends.

use anyhow::{Context as _, Result};
use kube::config::Kubeconfig;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The largest piece that is forwarded, or lost, at once.
const CHUNK: usize = 4096;
/// The longest delay of a piece in milliseconds.
const MAX_DELAY: u64 = 300;
/// One in this many pieces of a response is delayed.
const DELAYED: usize = 5;
/// One in this many ends its connection.
const CUT: usize = 200;
/// One in this many is swallowed with everything that follows it, and the connection stays open.
const SWALLOWED: usize = 300;

#[derive(Debug, Default)]
struct Counts {
    connections: AtomicUsize,
    delays: AtomicUsize,
    cuts: AtomicUsize,
    swallowed: AtomicUsize,
}

/// The proxy; it ends when it is dropped.
pub struct LossyProxy {
    directory: TempDir,
    counts: Arc<Counts>,
    accepting: JoinHandle<()>,
}

impl LossyProxy {
    /// Starts a proxy to the API server of `KUBECONFIG`.
    ///
    /// # Errors
    /// There is no configuration, or its API server's address is not one of TCP.
    pub async fn start() -> Result<Self> {
        let mut config = Kubeconfig::read().context("KUBECONFIG does not configure a cluster")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let named = config.clusters.iter_mut().find_map(|named| named.cluster.as_mut());
        let cluster = named.context("the kubeconfig has no cluster")?;
        let server: http::Uri =
            cluster.server.as_deref().context("the cluster has no server")?.parse().context("server")?;
        let host = server.host().context("the server's address has no host")?.to_owned();
        let upstream = format!("{host}:{}", server.port_u16().unwrap_or(443));
        cluster.server = Some(format!("https://{address}"));
        cluster.tls_server_name.get_or_insert(host);
        let directory = tempfile::tempdir()?;
        std::fs::write(directory.path().join("config"), serde_saphyr::to_string(&config)?)?;
        let counts = Arc::new(Counts::default());
        let accepting = tokio::spawn(accept(listener, upstream, Arc::clone(&counts)));
        Ok(Self { directory, counts, accepting })
    }

    /// Returns the path of a kubeconfig whose API server is this proxy.
    #[must_use]
    pub fn kubeconfig(&self) -> std::path::PathBuf {
        Path::new(self.directory.path()).join("config")
    }
}

impl Drop for LossyProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl fmt::Display for LossyProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { connections, delays, cuts, swallowed } = &*self.counts;
        let [connections, delays, cuts, swallowed] =
            [connections, delays, cuts, swallowed].map(|count| count.load(Ordering::Relaxed));
        write!(f, "{connections} connections, {delays} pieces delayed, {cuts} cut, {swallowed} swallowed")
    }
}

async fn accept(listener: TcpListener, upstream: String, counts: Arc<Counts>) {
    while let Ok((client, _)) = listener.accept().await {
        let (upstream, counts) = (upstream.clone(), Arc::clone(&counts));
        tokio::spawn(async move {
            let Ok(server) = TcpStream::connect(&upstream).await else { return };
            counts.connections.fetch_add(1, Ordering::Relaxed);
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            // Whichever ends first ends the connection in both directions.
            tokio::select! {
                () = forward(from_client, to_server, None) => {}
                () = forward(from_server, to_client, Some(&counts)) => {}
            }
        });
    }
}

/// Forwards bytes until either side ends, or until the connection is cut; with `counts`, not all of them.
async fn forward(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, counts: Option<&Counts>) {
    let mut buffer = vec![0; CHUNK];
    let mut swallowing = false;
    loop {
        let Ok(length @ 1..) = from.read(&mut buffer).await else { return };
        if let Some(counts) = counts {
            if fastrand::usize(..CUT) == 0 {
                counts.cuts.fetch_add(1, Ordering::Relaxed);
                return;
            }
            if !swallowing && fastrand::usize(..SWALLOWED) == 0 {
                counts.swallowed.fetch_add(1, Ordering::Relaxed);
                swallowing = true;
            }
            if fastrand::usize(..DELAYED) == 0 {
                counts.delays.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(fastrand::u64(..MAX_DELAY))).await;
            }
        }
        if !swallowing && to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
