//! The SQLite file: opening, transactions, errors.

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};
use std::path::{Path, PathBuf};
use std::time::Duration;
use uuid::Uuid;

use crate::store::StoreError;

/// SQLite's primary result codes that get an error of their own (sqlite.org/rescode.html).
const SQLITE_CORRUPT: u32 = 11;
const SQLITE_FULL: u32 = 13;
const SQLITE_NOTADB: u32 = 26;

static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("src/store/state/migrations");

/// A write transaction on the store's file.
pub(in crate::store) type Write = Transaction<'static, Sqlite>;

/// The file with its connections: one writes, a few read.
pub(in crate::store) struct Database {
    path: PathBuf,
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens or creates the file and brings its tables up to date.
    pub(in crate::store) async fn open(path: PathBuf) -> Result<Self, StoreError> {
        let action = "open the store";
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .foreign_keys(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(Duration::from_secs(5));
        let connect = |connections| SqlitePoolOptions::new().max_connections(connections).min_connections(0);
        let writer = connect(1).connect_with(options.clone()).await.map_err(|e| sql_error(&path, action, e))?;
        MIGRATIONS.run(&writer).await.map_err(|e| migrate_error(&path, e))?;
        let readers = connect(4).connect_lazy_with(options.read_only(true));
        Ok(Self { path, writer, readers })
    }

    /// Connections for reading.
    pub(in crate::store) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Turns an engine's error into the store's.
    pub(in crate::store) fn failed(&self, action: &'static str) -> impl Fn(sqlx::Error) -> StoreError + '_ {
        move |error| sql_error(&self.path, action, error)
    }

    /// Begins a write without a lease: for what is not part of a sync.
    pub(in crate::store) async fn begin(&self, action: &'static str) -> Result<Write, StoreError> {
        match self.writer.begin_with("BEGIN IMMEDIATE").await {
            Err(sqlx::Error::InvalidSavePointStatement) => {
                self.renew_writer().await.map_err(self.failed(action))?;
                self.writer.begin_with("BEGIN IMMEDIATE").await.map_err(self.failed(action))
            }
            begun => begun.map_err(self.failed(action)),
        }
    }

    /// SQLite ends a transaction by itself when the disk is full (sqlite.org/lang_transaction.html, "Response To Errors"),
    /// while the connection goes on counting it as open and begins no other.
    async fn renew_writer(&self) -> Result<(), sqlx::Error> {
        self.writer.acquire().await?.close().await
    }

    /// Begins a write of a sync; refuses a lease that is not the newest.
    pub(in crate::store) async fn begin_leased(&self, action: &'static str, token: u64) -> Result<Write, StoreError> {
        let mut write = self.begin(action).await?;
        let newest: String = sqlx::query_scalar("SELECT value FROM meta WHERE name = 'lease'")
            .fetch_one(&mut *write)
            .await
            .map_err(self.failed(action))?;
        if newest == token.to_string() { Ok(write) } else { Err(StoreError::LeaseLost { action }) }
    }

    /// Commits.
    pub(in crate::store) async fn commit(&self, action: &'static str, write: Write) -> Result<(), StoreError> {
        write.commit().await.map_err(self.failed(action))
    }

    /// Takes the newest lease.
    pub(in crate::store) async fn take_lease(&self) -> Result<u64, StoreError> {
        let action = "take the lease";
        let mut write = self.begin(action).await?;
        let token: String = sqlx::query_scalar(
            "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE name = 'lease' RETURNING value",
        )
        .fetch_one(&mut *write)
        .await
        .map_err(self.failed(action))?;
        self.commit(action, write).await?;
        token.parse().map_err(|e| engine(action, e))
    }

    /// Identity of this file, so that indexes of another are not taken for its own.
    pub(in crate::store) async fn identity(&self) -> Result<String, StoreError> {
        let action = "open the store";
        let mut write = self.begin(action).await?;
        sqlx::query("INSERT OR IGNORE INTO meta (name, value) VALUES ('store', ?)")
            .bind(Uuid::new_v4().to_string())
            .execute(&mut *write)
            .await
            .map_err(self.failed(action))?;
        let identity = sqlx::query_scalar("SELECT value FROM meta WHERE name = 'store'")
            .fetch_one(&mut *write)
            .await
            .map_err(self.failed(action))?;
        self.commit(action, write).await?;
        Ok(identity)
    }

    /// Closes all connections; the last one empties the log.
    pub(in crate::store) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Raises the revision's generation and gives the new one.
pub(in crate::store) async fn raise_generation(write: &mut Write, revision: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("UPDATE revision SET generation = generation + 1 WHERE key = ? RETURNING generation")
        .bind(revision)
        .fetch_one(&mut **write)
        .await
}

/// An error of the engine below without a case of its own.
pub(in crate::store) fn engine(
    action: &'static str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Engine { action, source: source.into() }
}

/// An error of files or of the keyword index: a full disk gets its own case.
pub(in crate::store) fn file_error(
    directory: &Path,
    action: &'static str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> StoreError {
    if is_disk_full(&source) {
        return StoreError::DiskFull { action, path: directory.display().to_string() };
    }
    engine(action, source)
}

/// The keyword engine wraps I/O errors without naming them as a source, so that only their text is left.
fn is_disk_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let full = |error: &std::io::Error| error.kind() == std::io::ErrorKind::StorageFull;
    error.downcast_ref::<std::io::Error>().is_some_and(full)
        || error.to_string().contains("os error 28")
        || error.source().is_some_and(is_disk_full)
}

fn migrate_error(path: &Path, error: sqlx::migrate::MigrateError) -> StoreError {
    match error {
        sqlx::migrate::MigrateError::VersionMissing(_) | sqlx::migrate::MigrateError::VersionTooNew(..) => {
            StoreError::Newer { path: path.display().to_string() }
        }
        sqlx::migrate::MigrateError::Execute(error) | sqlx::migrate::MigrateError::ExecuteMigration(error, _) => {
            sql_error(path, "open the store", error)
        }
        other => engine("open the store", other),
    }
}

fn sql_error(path: &Path, action: &'static str, error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|e| e.code()).and_then(|code| code.parse::<u32>().ok());
    match code.map(|code| code & 0xff) {
        Some(SQLITE_FULL) => StoreError::DiskFull { action, path: path.display().to_string() },
        Some(SQLITE_CORRUPT | SQLITE_NOTADB) => {
            StoreError::Corrupt { path: path.display().to_string(), source: Box::new(error) }
        }
        _ => engine(action, error),
    }
}
