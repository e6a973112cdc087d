//! What goes over HTTP and out of `-o json`: one set of types for the server, its clients and the commands. Field names
//! are stable. Positions are given as text (`before`, `quote`, `after`), never as offsets.

mod answer;
mod document;
mod error;
mod search;
mod status;

pub(crate) use answer::{Answer, AskEvent, AskRequest, Band, Citation, CitationCheck, StepUsage};
#[cfg(test)]
pub(crate) use answer::{Sentence, StopReason};
pub(crate) use document::{ChunkView, DocumentSummary, DocumentView, DocumentsQuery, DocumentsResponse, Scope};
pub(crate) use error::{ErrorBody, ErrorCode, ErrorDetail};
pub(crate) use search::{
    Arm, ArmReport, ArmScore, Excerpt, FilterSpec, Mode, SearchHit, SearchRequest, SearchResponse,
};
pub(crate) use status::{DocumentProblem, KnowledgeBaseStatus, Phase, Status, SyncReport, SyncRequest, SyncResponse};
