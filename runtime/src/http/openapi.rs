//! The description of the API.

use std::collections::BTreeMap;
use utoipa::openapi::{RefOr, Response};
use utoipa::{IntoResponses, OpenApi, ToSchema};

use crate::wire::ErrorBody;

/// The frame; routes add themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Groundwork",
        description = "Ask documents, with checked citations. Every failure has the shape `ErrorBody`, whatever the route.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "questions", description = "Answers and searches"),
        (name = "documents", description = "What the answers rest on"),
        (name = "operations", description = "Health, progress and syncs")
    )
)]
pub(crate) struct Description;

/// Failures that any route may answer with.
pub(crate) struct Failures;

impl IntoResponses for Failures {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let table = [
            ("400", "A part of the request is wrong; `field` names it."),
            ("401", "No key that is known here; only where keys are asked for."),
            ("403", "Host or Origin is not this server."),
            ("500", "A defect of the server."),
            ("503", "Keywords are not in yet, or the server is ending; see `Retry-After`."),
            ("504", "It took too long."),
        ];
        table.into_iter().map(|(status, description)| (status.to_owned(), failure(description).into())).collect()
    }
}

/// Further failures of routes that read a body and do work.
pub(crate) struct WorkFailures;

impl IntoResponses for WorkFailures {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let table = [
            ("413", "The body is larger than 1 MB."),
            ("415", "The body is not `application/json`."),
            ("429", "Too many at once; see `Retry-After`."),
        ];
        let more = table.into_iter().map(|(status, description)| (status.to_owned(), failure(description).into()));
        Failures::responses().into_iter().chain(more).collect()
    }
}

fn failure(description: &str) -> Response {
    let schema = utoipa::openapi::Ref::from_schema_name(ErrorBody::name());
    let content = utoipa::openapi::ContentBuilder::new().schema(Some(schema)).build();
    utoipa::openapi::ResponseBuilder::new().description(description).content("application/json", content).build()
}
