//! Numbers of manifests: bounded integers, and decimals that are written as text because the API has no floats.

use super::{Error, Place};

/// A whole number that the schema bounds.
pub(super) fn whole<T: TryFrom<i32>>(place: Box<Place>, value: i32) -> Result<T, Error> {
    let expected = || "it must be a whole number within the bounds of the schema".to_owned();
    T::try_from(value).map_err(|_| Error::Value { place, value: value.to_string(), expected: expected() })
}

/// A whole number that may be left out.
pub(super) fn whole_or<T: TryFrom<i32>>(place: Box<Place>, value: Option<i32>, default: T) -> Result<T, Error> {
    value.map_or(Ok(default), |value| whole(place, value))
}

/// A decimal without sign and exponent, in units of 10^-`places`.
pub(super) fn decimal(place: Box<Place>, text: &str, places: usize) -> Result<u64, Error> {
    parse(text, places).ok_or_else(|| Error::Value {
        place,
        value: text.to_owned(),
        expected: format!("it must be a decimal with at most {places} places, in quotes, for example \"0.2\""),
    })
}

fn parse(text: &str, places: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > places {
        return None;
    }
    let unit = 10u64.checked_pow(u32::try_from(places).ok()?)?;
    let fraction: u64 = format!("{fraction:0<places$}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(fraction)
}
