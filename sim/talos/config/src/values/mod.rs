//! Texts that mean something, read by the rules of the Go libraries Talos reads them with.

mod address;
mod duration;
mod size;
mod url;

pub(crate) use address::{address, address_port, cidr, hardware, host_port, ip, prefix, subnet_or_address};
pub(crate) use duration::duration;
pub(crate) use size::{bytes, percent};
pub(crate) use url::{Url, endpoint};

/// A text as Go prints it with `%q`.
pub(crate) fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Base64 as in a configuration: standard, padded, line breaks anywhere.
pub(crate) fn base64(text: &str) -> Result<Vec<u8>, String> {
    use ::base64::{DecodeError, Engine, engine::general_purpose::STANDARD};
    let bare: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    STANDARD.decode(&bare).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding if !bare.ends_with('=') => bare.len() - bare.len() % 4,
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => bare.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}
