//! `control`: where it listens, and what it takes to be let in.

use crate::config::error::{ConfigError, ConfigErrors};
use crate::config::text::Written;
use crate::config::{Control, ControlListen, Token, file};

use super::{Merged, need};

/// The variable that holds the token; it is above the file.
const VARIABLE: &str = "MCP_WATCHDOG_TOKEN";

pub(super) fn settle(
    written: file::Control,
    merged: &Merged<'_>,
    warnings: &mut Vec<String>,
) -> Result<Control, ConfigErrors> {
    let listen = need(written.listen, "control.listen")?;
    let allow_remote = need(written.allow_remote, "control.allow_remote")?;
    let health_listen = written.health_listen.map(|Written(address)| address);
    // Whoever switches the control plane off must not need its secret.
    let token = if listen == ControlListen::Off { None } else { token(written.token_file, merged)? };
    if let ControlListen::Tcp(address) = &listen {
        if health_listen.as_ref() == Some(address) && address.port != 0 {
            let message = format!("{address} is the address of `control.listen` already; health needs one of its own");
            return Err(merged.error("control.health_listen", message).into());
        }
        let asks = format!("{address} can be reached by other machines");
        match (address.is_loopback(), allow_remote, &token) {
            (false, false, _) => {
                let message = format!("{asks}: that takes `control.allow_remote: true` and a token");
                return Err(merged.error("control.listen", message).into());
            }
            (false, true, None) => {
                let message = format!("{asks}: that takes a token, in `control.token_file` or {VARIABLE}");
                return Err(merged.error("control.listen", message).into());
            }
            (true, _, None) => warnings.push(format!(
                "`control.listen`: every user of this machine can reach {address}, and there is no token \
                 (`control.token_file` or {VARIABLE})"
            )),
            (_, _, Some(_)) => {}
        }
    }
    Ok(Control { listen, health_listen, token, allow_remote })
}

fn token(written: Option<Written<String>>, merged: &Merged<'_>) -> Result<Option<Token>, ConfigError> {
    if let Some(value) = merged.environment.get(VARIABLE).filter(|value| !value.is_empty()) {
        let text = value.to_str().ok_or("the token is not UTF-8");
        return text.and_then(Token::new).map(Some).map_err(|error| ConfigError::about(VARIABLE, error));
    }
    let Some(Written(name)) = written else { return Ok(None) };
    let path = merged.path("control.token_file", &name)?;
    Token::read(&path).map(Some).map_err(|message| merged.error("control.token_file", message))
}
