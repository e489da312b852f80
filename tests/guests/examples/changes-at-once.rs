//! Sends two changes at the same time, before either has an answer.

use emhost_sdk::{Failure, Unit};
use wasip2::http::outgoing_handler::{FutureIncomingResponse, handle};
use wasip2::http::types::{Fields, Method, OutgoingBody, OutgoingRequest, Scheme};

fn send(path: &str) -> Result<FutureIncomingResponse, Failure> {
    let failed = |what: &str| Failure::internal("guest/request", what);
    let request = OutgoingRequest::new(Fields::new());
    request.set_method(&Method::Post).map_err(|()| failed("method"))?;
    request.set_scheme(Some(&Scheme::Https)).map_err(|()| failed("scheme"))?;
    request.set_authority(Some("pve.emhost.internal")).map_err(|()| failed("authority"))?;
    request.set_path_with_query(Some(path)).map_err(|()| failed("path"))?;
    let body = request.body().map_err(|()| failed("body"))?;
    let pending = handle(request, None).map_err(|code| failed(&format!("{code:?}")))?;
    OutgoingBody::finish(body, None).map_err(|code| failed(&format!("{code:?}")))?;
    Ok(pending)
}

fn act(_: Unit<'_>) -> Result<String, Failure> {
    let both = [send("/first")?, send("/second")?];
    let answered = both
        .iter()
        .filter(|pending| {
            pending.subscribe().block();
            matches!(pending.get(), Some(Ok(Ok(_))))
        })
        .count();
    Ok(format!("{answered} answers"))
}

guests::provisioner!(act, asks: ["http:pve"]);
