//! `grpc_health_probe`: what OLM's probes of catalog pods execute. Arguments and exit status are those of the program of
//! this name.
//!
//! Source: `main.go` of grpc-ecosystem/grpc-health-probe.

use std::time::Duration;

use prost::Message as _;

use super::client::Client;
use super::proto::{HealthCheckRequest, HealthCheckResponse, SERVING};

const CHECK: &str = "/grpc.health.v1.Health/Check";

/// Why a probe fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The arguments are invalid.
    #[error("{0}")]
    Arguments(String),
    /// The server cannot be reached.
    #[error("failed to connect to {address}: {error}")]
    Connect {
        /// The address.
        address: String,
        /// The cause.
        error: std::io::Error,
    },
    /// The call fails.
    #[error("the health check failed: {0}")]
    Call(String),
    /// The server is not ready.
    #[error("the server is not serving (status {0})")]
    NotServing(i32),
}

impl ProbeError {
    /// Returns the exit status.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Arguments(_) => 1,
            Self::Connect { .. } => 2,
            Self::Call(_) => 3,
            Self::NotServing(_) => 4,
        }
    }
}

/// What to probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    address: String,
    service: String,
    connect_timeout: Duration,
    call_timeout: Duration,
}

impl Probe {
    /// Parses arguments as Go's `flag` package does: `-name=value`, `--name=value` or `-name value`.
    ///
    /// # Errors
    /// An argument is unknown or invalid, or `-addr` is missing.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, ProbeError> {
        let wrong = |message: String| ProbeError::Arguments(message);
        let second = Duration::from_secs(1);
        let mut probe = Self {
            address: String::new(),
            service: String::new(),
            connect_timeout: second,
            call_timeout: second,
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let Some(flag) = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')) else {
                return Err(wrong(format!("unexpected argument `{argument}`")));
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            if !matches!(name, "addr" | "service" | "connect-timeout" | "rpc-timeout" | "v") {
                return Err(wrong(format!("unknown option `-{name}`")));
            }
            if name == "v" {
                continue;
            }
            let Some(value) = value.or_else(|| arguments.next()) else {
                return Err(wrong(format!("option `-{name}` requires a value")));
            };
            let duration = |value: &str| {
                let parsed = value.parse::<jiff::SignedDuration>().ok();
                let parsed = parsed.and_then(|duration| Duration::try_from(duration).ok());
                parsed.filter(|duration| !duration.is_zero()).ok_or_else(|| {
                    wrong(format!("invalid duration `{value}` of `-{name}`: expected one such as 5s"))
                })
            };
            match name {
                "addr" => probe.address = value,
                "service" => probe.service = value,
                "connect-timeout" => probe.connect_timeout = duration(&value)?,
                _ => probe.call_timeout = duration(&value)?,
            }
        }
        if probe.address.is_empty() {
            return Err(wrong("missing option `-addr`: set it to the server's HOST:PORT".to_owned()));
        }
        // As in Go, no host is this one. Its name is not used: an image FROM scratch need not know it.
        if probe.address.starts_with(':') {
            probe.address.insert_str(0, "127.0.0.1");
        }
        Ok(probe)
    }

    /// Asks the server whether it serves.
    ///
    /// # Errors
    /// It does not, or cannot be asked.
    pub async fn run(&self) -> Result<(), ProbeError> {
        let Self { address, service, connect_timeout, call_timeout } = self;
        let connect = |error| ProbeError::Connect { address: address.clone(), error };
        let client = tokio::time::timeout(*connect_timeout, Client::connect(address.as_str())).await;
        let client = client.map_err(|_| connect(std::io::ErrorKind::TimedOut.into()))?.map_err(connect)?;
        let request = HealthCheckRequest { service: service.clone() };
        let call = tokio::time::timeout(*call_timeout, client.call(CHECK, &request)).await;
        let message = call
            .map_err(|_| ProbeError::Call("timed out".to_owned()))?
            .map_err(|status| ProbeError::Call(format!("{}: {}", status.code(), status.message())))?;
        let response =
            HealthCheckResponse::decode(message).map_err(|error| ProbeError::Call(error.to_string()))?;
        match response.status {
            SERVING => Ok(()),
            other => Err(ProbeError::NotServing(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Probe, ProbeError> {
        Probe::parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn arguments_are_those_of_go() {
        let probe = parse(&["-addr=:50051", "--rpc-timeout", "5s", "-connect-timeout=250ms", "-v"]).unwrap();
        assert_eq!(probe.address, "127.0.0.1:50051");
        assert_eq!(probe.call_timeout, Duration::from_secs(5));
        assert_eq!(probe.connect_timeout, Duration::from_millis(250));
        for (arguments, expected) in [
            (&["-rpc-timeout=5s"][..], "missing option `-addr`"),
            (&["-addr"], "requires a value"),
            (&["-addr=:1", "-rpc-timeout=0s"], "invalid duration"),
            (&["-tls", "-addr=:1"], "unknown option `-tls`"),
            (&["x"], "unexpected argument `x`"),
        ] {
            let error = parse(arguments).unwrap_err();
            assert!(error.to_string().contains(expected) && error.status() == 1, "{error}");
        }
    }
}
