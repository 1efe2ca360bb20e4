//! IP addresses and networks as older fields of Kubernetes accept them: the parts of an IPv4 address may have leading
//! zeros.
//!
//! Source: `k8s.io/apimachinery/pkg/util/validation/ip.go` (`IsValidIPForLegacyField`, `IsValidCIDRForLegacyField`,
//! strict since [`STRICT`]) over `k8s.io/utils/net` (`ParseIPSloppy`, `ParseCIDRSloppy`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Parses an address.
#[must_use]
pub(crate) fn parse_ip(text: &str) -> Option<IpAddr> {
    match text.find([':', '.']) {
        Some(at) if text.as_bytes()[at] == b'.' => parse_v4(text).map(IpAddr::V4),
        Some(_) => parse_v6(text).map(IpAddr::V6),
        None => None,
    }
}

fn parse_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| octets.into())
}

fn parse_v6(text: &str) -> Option<Ipv6Addr> {
    if let Some((head, tail)) = text.rsplit_once(':')
        && tail.contains('.')
    {
        let [a, b, c, d] = parse_v4(tail)?.octets();
        let groups = format!("{head}:{:x}:{:x}", u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        return groups.parse().ok();
    }
    text.parse().ok()
}

/// The first version of Kubernetes that accepts no leading zeros and no IPv4-mapped IPv6 addresses (`StrictIPCIDRValidation`).
pub(crate) const STRICT: u16 = 36;

/// Parses an address; `is_strict` tells whether the server is strict, and is only asked where that makes a difference.
#[must_use]
pub(crate) fn parse_ip_by_version(text: &str, is_strict: &dyn Fn() -> bool) -> Option<IpAddr> {
    let address = parse_ip(text)?;
    let is_mapped = matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some());
    let has_zeros =
        text.split([':', '.']).any(|part| part.len() > 1 && part.starts_with('0')) && text.contains('.');
    if (is_mapped || has_zeros) && is_strict() { None } else { Some(address) }
}

/// Validates an IPv4 or IPv6 address.
pub(crate) fn ip(text: &str, is_strict: &dyn Fn() -> bool) -> Result<(), String> {
    if parse_ip_by_version(text, is_strict).is_some() {
        Ok(())
    } else {
        Err(super::names::invalid("IP address", text, ""))
    }
}

/// Returns whether an address is IPv6; an IPv4-mapped IPv6 address is not.
#[must_use]
pub(crate) fn is_v6(address: IpAddr) -> bool {
    matches!(address.to_canonical(), IpAddr::V6(_))
}

/// Returns whether an address is not unspecified, loopback or link-local.
#[must_use]
pub(crate) fn is_reachable(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_link_local()
                || [a, b, c] == [224, 0, 0])
        }
        IpAddr::V6(address) => {
            // Link-local multicast: ff02::/16.
            let multicast = address.segments()[0] == 0xff02;
            !(address.is_unspecified()
                || address.is_loopback()
                || address.is_unicast_link_local()
                || multicast)
        }
    }
}

/// A network: an address and the length of its prefix in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses a network in CIDR notation: `10.0.0.0/8`.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = parse_ip(address)?;
        if bits.is_empty() || !bits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits = bits.trim_start_matches('0');
        let bits: u8 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        let longest = if address.is_ipv4() { 32 } else { 128 };
        (bits <= longest).then_some(Self { address, bits })
    }

    /// Returns whether the address names a host of the network, not the network.
    fn has_bits_beyond_the_prefix(&self) -> bool {
        let (address, length) = match self.address {
            IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let host = length - u32::from(self.bits);
        address & 1_u128.checked_shl(host).map_or(u128::MAX, |bit| bit - 1) != 0
    }

    /// Returns whether `other` lies within this network and is smaller.
    #[must_use]
    pub(crate) fn strictly_contains(&self, other: &Self) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let mask = |length: u8| u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0);
        let same_family = self.address.is_ipv4() == other.address.is_ipv4();
        let masked = bits(other.address) & mask(other.bits);
        same_family && self.bits < other.bits && (bits(self.address) ^ masked) & mask(self.bits) == 0
    }
}

/// Validates a network in CIDR notation; `is_strict` is as for [`parse_ip_by_version`].
pub(crate) fn cidr(text: &str, is_strict: &dyn Fn() -> bool) -> Result<Network, String> {
    let invalid = |rule| Err(super::names::invalid("network", text, rule));
    let Some(network) = Network::parse(text) else {
        return invalid("must be in CIDR notation, such as `10.0.0.0/8`");
    };
    let (address, bits) = text.split_once('/').unwrap_or((text, ""));
    let rule = if network.has_bits_beyond_the_prefix() {
        "must not have bits set beyond the prefix length"
    } else if (bits.len() > 1 && bits.starts_with('0')) || parse_ip_by_version(address, &|| true).is_none() {
        "must have neither leading zeros nor an IPv4-mapped IPv6 address"
    } else {
        return Ok(network);
    };
    if is_strict() { invalid(rule) } else { Ok(network) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_have_leading_zeros() {
        for text in ["10.0.0.1", "010.000.0.1", "::1", "fe80::1", "::ffff:10.0.0.1", "1:2:3:4:5:6:7:8", "::"]
        {
            assert!(parse_ip(text).is_some(), "{text}");
        }
        for text in [
            "",
            "10.0.0",
            "10.0.0.256",
            "10.0.0.1.2",
            "fe80::1%eth0",
            "1::2::3",
            "localhost",
            "1.2.3.4/8",
            "0x1.2.3.4",
        ] {
            assert!(parse_ip(text).is_none(), "{text}");
        }
    }

    #[test]
    fn strict_versions_accept_only_canonical_notations() {
        for (text, is_strict) in
            [("10.0.0.1", true), ("010.0.0.1", false), ("::ffff:10.0.0.1", false), ("::1", true)]
        {
            assert!(ip(text, &|| false).is_ok(), "{text}");
            assert_eq!(ip(text, &|| true).is_ok(), is_strict, "{text}");
        }
        for (text, is_strict) in [
            ("10.0.0.0/8", true),
            ("10.0.0.1/8", false),
            ("10.0.0.0/08", false),
            ("::/0", true),
            ("1.2.3.4/32", true),
            ("0.0.0.0/0", true),
        ] {
            assert!(cidr(text, &|| false).is_ok(), "{text}");
            assert_eq!(cidr(text, &|| true).is_ok(), is_strict, "{text}");
        }
    }

    #[test]
    fn networks_contain_smaller_ones() {
        let network = |text| Network::parse(text).unwrap();
        assert!(network("10.0.0.0/8").strictly_contains(&network("10.1.0.0/16")));
        assert!(!network("10.0.0.0/8").strictly_contains(&network("10.0.0.0/8")));
        assert!(!network("10.0.0.0/8").strictly_contains(&network("11.0.0.0/16")));
        assert!(network("::/0").strictly_contains(&network("fe80::/64")));
        for text in ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "/8", "::/129"] {
            assert!(Network::parse(text).is_none(), "{text}");
        }
    }
}
