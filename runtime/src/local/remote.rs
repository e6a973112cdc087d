//! The instance of another process, over its HTTP address.

use async_trait::async_trait;
use groundwork_knowledge::store::Principal;
use reqwest::{RequestBuilder, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

use super::service::{Service, ServiceError};
use crate::wire::{
    Answer, AskEvent, AskRequest, ChunkView, DocumentView, DocumentsQuery, DocumentsResponse, ErrorBody, ErrorCode,
    Scope, SearchRequest, SearchResponse, Status, SyncRequest, SyncResponse,
};

const CONNECT: Duration = Duration::from_secs(2);

/// A client of a running `up`. The principal is the server's business: a client sends none.
pub(crate) struct Remote {
    client: reqwest::Client,
    base: Url,
}

impl Remote {
    /// A client of the instance at this address (`http://127.0.0.1:7377`). Nothing is sent yet.
    pub(crate) fn new(url: &str) -> Result<Self, ServiceError> {
        let wrong =
            |reason: String| ServiceError::invalid("url", format!("failed to read the address {url}: {reason}"));
        let mut base = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(wrong("it must begin with http:// or https://".into()));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let client = reqwest::Client::builder().connect_timeout(CONNECT).no_proxy().build();
        let client = client.map_err(|error| ServiceError::new(ErrorCode::Internal, error.to_string()))?;
        Ok(Self { client, base })
    }

    fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("http addresses have a path").pop_if_empty().extend(segments);
        url
    }

    async fn get<T: DeserializeOwned>(&self, segments: &[&str], query: &impl Serialize) -> Result<T, ServiceError> {
        let mut url = self.url(segments);
        let values = serde_json::to_value(query).expect("queries hold only strings and numbers");
        for (key, value) in values.as_object().into_iter().flatten() {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            url.query_pairs_mut().append_pair(key, &text);
        }
        self.send(self.client.get(url)).await
    }

    async fn post<T: DeserializeOwned>(&self, segments: &[&str], body: &impl Serialize) -> Result<T, ServiceError> {
        self.send(self.client.post(self.url(segments)).json(body)).await
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ServiceError> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = response.status();
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| self.strange(&error.to_string()));
        }
        match serde_json::from_slice::<ErrorBody>(&bytes) {
            Ok(body) => Err(body.into()),
            Err(_) => Err(self.strange(&format!("status {status}"))),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ServiceError {
        let mut cause: &dyn std::error::Error = error;
        while let Some(below) = cause.source() {
            cause = below;
        }
        ServiceError::new(ErrorCode::NotReady, format!("failed to reach groundwork at {}: {cause}", self.base))
    }

    fn strange(&self, reason: &str) -> ServiceError {
        let message =
            format!("failed to understand the reply of {}: {reason}; is it groundwork, of this version?", self.base);
        ServiceError::new(ErrorCode::Internal, message)
    }
}

#[derive(Serialize)]
struct ScopeQuery {
    scope: Scope,
}

#[derive(Serialize)]
struct NoQuery {}

#[async_trait]
impl Service for Remote {
    async fn ask(
        &self,
        _principal: &Principal,
        request: AskRequest,
        observe: &mut (dyn FnMut(AskEvent) + Send),
    ) -> Result<Answer, ServiceError> {
        let answer: Answer = self.post(&["v1", "ask"], &AskRequest { stream: false, ..request }).await?;
        observe(AskEvent::Done { answer: Box::new(answer.clone()) });
        Ok(answer)
    }

    async fn search(&self, _principal: &Principal, request: SearchRequest) -> Result<SearchResponse, ServiceError> {
        self.post(&["v1", "search"], &request).await
    }

    async fn documents(
        &self,
        _principal: &Principal,
        query: DocumentsQuery,
    ) -> Result<DocumentsResponse, ServiceError> {
        self.get(&["v1", "documents"], &query).await
    }

    async fn document(&self, _principal: &Principal, id: &str) -> Result<DocumentView, ServiceError> {
        self.get(&["v1", "documents", id], &NoQuery {}).await
    }

    async fn chunk(&self, _principal: &Principal, id: &str, scope: Scope) -> Result<ChunkView, ServiceError> {
        self.get(&["v1", "chunks", id], &ScopeQuery { scope }).await
    }

    async fn sync(&self, request: SyncRequest) -> Result<SyncResponse, ServiceError> {
        self.post(&["v1", "sync"], &request).await
    }

    async fn status(&self) -> Result<Status, ServiceError> {
        // 503 carries the same body: not ready yet is an answer, not a failure.
        let request = self.client.get(self.url(&["readyz"]));
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let bytes = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| self.strange(&error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_must_be_http() {
        for wrong in ["", "localhost:7377", "ftp://127.0.0.1", "not an address"] {
            let error = Remote::new(wrong).err().expect("refused");
            assert_eq!(error.detail.field.as_deref(), Some("url"), "{wrong}");
        }
    }
}
