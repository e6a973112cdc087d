//! Revisions: made by a contract, active one at a time.

use groundwork_config::Contract;

use super::database::{Database, Write, engine};
use crate::store::StoreError;

/// The hash of the active revision's contract.
pub(in crate::store) async fn active(database: &Database) -> Result<Option<String>, StoreError> {
    sqlx::query_scalar("SELECT hash FROM revision WHERE state = 'active'")
        .fetch_optional(database.readers())
        .await
        .map_err(database.failed("open the active revision"))
}

/// Hashes of the revisions that nobody is to read any more.
pub(in crate::store) async fn retired(database: &Database) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar("SELECT hash FROM revision WHERE state = 'retired'")
        .fetch_all(database.readers())
        .await
        .map_err(database.failed("list old revisions"))
}

/// Hashes of all revisions.
#[cfg(feature = "qdrant")]
pub(in crate::store) async fn all(database: &Database) -> Result<Vec<String>, StoreError> {
    sqlx::query_scalar("SELECT hash FROM revision")
        .fetch_all(database.readers())
        .await
        .map_err(database.failed("list the revisions"))
}

/// Makes sure that a revision of this contract exists and is not retired; gives its hash.
pub(in crate::store) async fn ensure(
    database: &Database,
    token: u64,
    contract: &Contract,
) -> Result<String, StoreError> {
    let action = "open a revision for writing";
    let hash = contract.hash();
    let mut write = database.begin_leased(action, token).await?;
    sqlx::query(
        "INSERT INTO revision (hash, contract, state) VALUES (?, ?, 'building') ON CONFLICT (hash) \
         DO UPDATE SET state = CASE state WHEN 'retired' THEN 'building' ELSE state END",
    )
    .bind(&hash)
    .bind(serde_json::to_string(contract).expect("a contract holds only strings and numbers"))
    .execute(&mut *write)
    .await
    .map_err(database.failed(action))?;
    database.commit(action, write).await?;
    Ok(hash)
}

/// Row key and contract of the revision of this hash.
pub(in crate::store) async fn open(database: &Database, hash: &str) -> Result<(i64, Contract), StoreError> {
    let action = "open a revision";
    let (key, contract): (i64, String) = sqlx::query_as("SELECT key, contract FROM revision WHERE hash = ?")
        .bind(hash)
        .fetch_one(database.readers())
        .await
        .map_err(database.failed(action))?;
    Ok((key, serde_json::from_str(&contract).map_err(|error| engine(action, error))?))
}

/// Makes a revision the active one and retires the one before.
pub(in crate::store) async fn activate(write: &mut Write, revision: i64) -> Result<(), sqlx::Error> {
    super::vanished::remember_switch(write, revision).await?;
    for statement in [
        "UPDATE revision SET state = 'retired' WHERE state = 'active' AND key <> ?",
        "UPDATE revision SET state = 'active' WHERE key = ?",
    ] {
        sqlx::query(statement).bind(revision).execute(&mut **write).await?;
    }
    Ok(())
}

/// Stores the report of a finished sync.
pub(in crate::store) async fn record_report(
    write: &mut Write,
    revision: i64,
    report: &serde_json::Value,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE revision SET report = ? WHERE key = ?")
        .bind(report.to_string())
        .bind(revision)
        .execute(&mut **write)
        .await?;
    Ok(())
}
