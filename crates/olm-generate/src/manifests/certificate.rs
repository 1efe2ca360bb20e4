//! Certificates that are made once, for clusters without cert-manager.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::context::Pair;

/// How long certificates are valid, as OLM's are.
const DAYS: i64 = 730;

/// Makes a certificate for a server with these names.
///
/// # Errors
/// A name is invalid.
pub fn make(names: &[String]) -> Result<Pair, rcgen::Error> {
    let now = jiff::Timestamp::now();
    let at = |time: jiff::Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(seconds)
    };
    let params = |names: &[String], common_name: &str| -> Result<CertificateParams, rcgen::Error> {
        let mut params = CertificateParams::new(names)?;
        // Clocks differ.
        params.not_before = at(now - jiff::SignedDuration::from_mins(5));
        params.not_after = at(now + jiff::SignedDuration::from_hours(24 * DAYS));
        params.distinguished_name.push(DnType::CommonName, common_name);
        Ok(params)
    };
    let name = names.first().map_or("localhost", String::as_str);
    let authority_key = KeyPair::generate()?;
    let mut authority = params(&[], &format!("{name} CA"))?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority_certificate = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate()?;
    let mut server = params(names, name)?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = server.signed_by(&key, &issuer)?.pem();
    Ok(Pair { certificate, key: key.serialize_pem(), authority: authority_certificate })
}
