//! The store's contract as functions that run on any implementation.
//!
//! Each takes a fresh, empty store. [`all`] runs every one with a factory of stores. They panic where the contract is
//! broken. Terms are plain lower-case words that every analyser of English leaves alone.

mod fixture;
mod reading;
mod searching;
mod syncing;

pub use fixture::{WordEmbedder, dated, document, one_parent, tagged, tokens};

use std::future::Future;
use std::sync::Arc;

use super::KnowledgeStore;

/// Runs the whole contract; `store` makes an empty store each time.
pub async fn all<F: Future<Output = Arc<dyn KnowledgeStore>>>(store: impl Fn() -> F) {
    nothing_is_readable_before_the_first_activation(&*store().await).await;
    a_write_replaces_a_document_for_old_and_new_readers(&*store().await).await;
    a_deleted_document_leaves_nothing(&*store().await).await;
    a_vanished_chunk_is_told_from_one_that_never_was(&*store().await).await;
    chunks_vanish_with_a_switch(&*store().await).await;
    passages_and_bodies_are_verbatim(&*store().await).await;
    documents_come_in_pages(&*store().await).await;
    terms_have_statistics_and_neighbours(&*store().await).await;
    filters_apply_inside_the_search(&*store().await).await;
    a_filter_that_cannot_be_read_is_named(&*store().await).await;
    keyword_scores_are_bm25_and_ties_go_by_chunk(&*store().await).await;
    a_chunk_has_a_share_of_its_parent(&*store().await).await;
    vectors_are_searched_by_cosine(&*store().await).await;
    a_query_vector_of_another_length_is_refused(&*store().await).await;
    vectors_are_reused_by_text(&*store().await).await;
    another_model_behind_a_name_is_refused(&*store().await).await;
    repeating_a_call_changes_nothing(&*store().await).await;
    an_old_lease_is_refused(&*store().await).await;
    a_failure_keeps_the_last_good_version(&*store().await).await;
    stamps_change_nothing_else(&*store().await).await;
    a_changed_contract_is_built_beside_and_switched(&*store().await).await;
}

pub use reading::*;
pub use searching::*;
pub use syncing::*;
