//! Times in the format of ISO 8601, as `dateutil.parser.isoparse` reads them.

/// Returns the date, and the rest with the time, of `2026-01-31`, `2026-01-31T12:00:00Z` or `20260131`.
pub(crate) fn iso(text: &str) -> Option<(&str, &str)> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let dashed = text.get(..10).filter(|date| {
        let parts: Vec<&str> = date.split('-').collect();
        matches!(parts[..], [year, month, day] if year.len() == 4 && month.len() == 2 && day.len() == 2)
            && digits(&date.replace('-', ""))
    });
    let date = dashed.or_else(|| text.get(..8).filter(|date| digits(date)))?;
    let compact = date.replace('-', "");
    let number = |range: std::ops::Range<usize>| compact.get(range).and_then(|text| text.parse::<u32>().ok());
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let rest = &text[date.len()..];
    (year > 0 && (1..=days).contains(&day) && is_time(rest)).then_some((date, rest))
}

/// Returns a time in the format of ISO 8601 for one that differs in its separators, its padding or its zone alone:
/// `2026/1/31`, `2026-01-31T12:00:00 UTC`.
pub(crate) fn corrected(text: &str) -> Option<String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !"-/.".contains(c)).unwrap_or(text.len());
    let (date, time) = text.split_at(end);
    let parts: Vec<&str> = date.split(['-', '/', '.']).collect();
    // The year first: the order of day and month is not known otherwise.
    let [year, month, day] = parts[..] else { return None };
    if year.len() != 4 {
        return None;
    }
    let time = time.trim_start_matches(['T', 't', ' ']).trim_end_matches(['Z', 'z']);
    let time = time.trim_end_matches("UTC").trim_end_matches("GMT").trim();
    let corrected = if time.is_empty() {
        format!("{year}-{month:0>2}-{day:0>2}")
    } else {
        format!("{year}-{month:0>2}-{day:0>2}T{time}Z")
    };
    iso(&corrected).is_some().then_some(corrected)
}

/// Returns whether a string is empty, or a separator and a time, with or without a zone.
fn is_time(rest: &str) -> bool {
    let mut chars = rest.chars();
    if chars.next().is_none() {
        return true;
    }
    let time = chars.as_str();
    let (time, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, ""),
    };
    let clock = |text: &str, seconds: bool| {
        let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
        let parts: Vec<&str> = if whole.contains(':') {
            whole.split(':').collect()
        } else {
            whole.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect()
        };
        let limits = [24, 59, 59];
        !parts.is_empty()
            && parts.len() <= if seconds { 3 } else { 2 }
            && parts.iter().zip(limits).all(|(part, limit)| {
                part.len() == 2 && part.parse::<u32>().is_ok_and(|number| number <= limit)
            })
            && !fraction.is_empty()
            && fraction.bytes().all(|byte| byte.is_ascii_digit())
    };
    let zone_is_valid = match zone.strip_prefix('Z') {
        Some(rest) => rest.is_empty(),
        None => zone.is_empty() || clock(&zone[1..], false),
    };
    clock(time, true) && zone_is_valid
}

#[cfg(test)]
mod tests {
    use super::{corrected, iso};

    #[test]
    fn times_that_can_be_meant_in_one_way_are_corrected() {
        for (text, expected) in [
            ("2026/01/31", "2026-01-31"),
            ("2026-1-3", "2026-01-03"),
            ("2026-01-31T12:00:00 UTC", "2026-01-31T12:00:00Z"),
            ("2026.01.31 12:00", "2026-01-31T12:00Z"),
        ] {
            assert_eq!(corrected(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "yesterday", "31.01.2026", "01/02/03", "2026-13-01", "2026-01-31T noon", "2026"] {
            assert_eq!(corrected(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_as_the_pipeline_reads_them() {
        for text in [
            "2026-01-31",
            "20260131",
            "2026-01-31T12",
            "2026-01-31T12:00",
            "2026-01-31 12:00:00",
            "2026-01-31T12:00:00Z",
            "2026-01-31T12:00:00.123Z",
            "2026-01-31T12:00:00+02:00",
            "2024-02-29T120000-0800",
        ] {
            assert!(iso(text).is_some(), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-1-31",
            "2026/01/31",
            "2026-02-29",
            "2026-13-01",
            "2026-01-31T",
            "2026-01-31Tnoon",
            "2026-01-31T25:00",
            "2026-01-31T12:00:00 UTC",
            "31 Jan 2026",
            "2026-01-31ä",
        ] {
            assert!(iso(text).is_none(), "{text}");
        }
    }
}
