//! Issues and verifies certificates: a certificate authority, and serving certificates signed by it. Does no I/O.

use crate::identity::Identity;
use anyhow::{Context as _, ensure};
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::Arc;
use std::time::Duration;

/// How long the certificate authority is valid.
const AUTHORITY_DAYS: i64 = 3650;
/// Clocks differ: certificates are valid from a little before now.
const LEEWAY: SignedDuration = SignedDuration::from_mins(5);

/// A certificate and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PemPair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Returns a new certificate authority.
pub(crate) fn new_authority(identity: &Identity, now: Timestamp) -> Result<PemPair, rcgen::Error> {
    let key = KeyPair::generate()?;
    let params = authority_params(identity, now)?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(PemPair { certificate, key: key.serialize_pem() })
}

/// Returns a certificate for a server with these names, valid for `lifetime`.
pub(crate) fn new_serving_certificate(
    identity: &Identity,
    authority: &PemPair,
    names: &[String],
    now: Timestamp,
    lifetime: SignedDuration,
) -> Result<PemPair, rcgen::Error> {
    let authority_key = KeyPair::from_pem(&authority.key)?;
    // Only the issuer's name and key go into what it signs, and the name is the same for every authority made here.
    let params = authority_params(identity, now)?;
    let issuer = Issuer::from_params(&params, authority_key);
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(names)?;
    valid(&mut params, now, lifetime);
    params.distinguished_name.push(DnType::CommonName, names.first().map_or("localhost", String::as_str));
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(PemPair { certificate, key: key.serialize_pem() })
}

/// Checks that clients that trust `authority` accept the certificate for all of `names` at a time.
///
/// # Errors
/// When a certificate cannot be parsed, was not signed by the authority, is not valid at that time, or lacks a name.
pub(crate) fn verify(
    authority: &str,
    certificate: &str,
    names: &[String],
    at: Timestamp,
) -> anyhow::Result<()> {
    let parse = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(parse(authority).context("invalid certificate authority")?)?;
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
    let certificate = parse(certificate).context("invalid certificate")?;
    ensure!(!names.is_empty(), "no names to verify");
    let at = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(at.as_second())?));
    for name in names {
        verifier.verify_server_cert(&certificate, &[], &ServerName::try_from(name.as_str())?, &[], at)?;
    }
    Ok(())
}

fn authority_params(identity: &Identity, now: Timestamp) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    valid(&mut params, now, SignedDuration::from_hours(24 * AUTHORITY_DAYS));
    params.distinguished_name.push(DnType::CommonName, format!("{} webhook CA", identity.name));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn valid(params: &mut CertificateParams, now: Timestamp, lifetime: SignedDuration) {
    let at = |time: Timestamp| {
        date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default())
    };
    params.not_before = at(now - LEEWAY);
    params.not_after = at(now + lifetime);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample::IDENTITY;

    #[test]
    fn client_that_trusts_the_authority_accepts_its_certificates_while_they_are_valid() {
        let now = Timestamp::now();
        let trusted = new_authority(&IDENTITY, now).unwrap();
        // Issued later, by an authority that was read back from its Secret.
        let later = now + SignedDuration::from_hours(1000);
        let name = |text: &str| [text.to_owned()];
        let pair = new_serving_certificate(
            &IDENTITY,
            &trusted,
            &name("svc.ns.svc"),
            later,
            SignedDuration::from_hours(2),
        )
        .unwrap();
        let verified = |authority: &PemPair, text: &str, hours: i64| {
            let at = later + SignedDuration::from_hours(hours);
            verify(&authority.certificate, &pair.certificate, &name(text), at).is_ok()
        };
        assert!(verified(&trusted, "svc.ns.svc", 1));
        assert!(!verified(&trusted, "svc.ns.svc", 3), "expired");
        assert!(!verified(&trusted, "other.ns.svc", 1), "another name");
        assert!(!verified(&new_authority(&IDENTITY, now).unwrap(), "svc.ns.svc", 1), "another authority");
    }
}
