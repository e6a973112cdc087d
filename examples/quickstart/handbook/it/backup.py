"""Nightly backup of the measurement archive.

Runs at 02:30 on the archive host. A backup that cannot be restored is not a backup: on the last Sunday of each month,
another script restores one random site into a scratch database and compares the row counts.
"""

import datetime
import pathlib

# Backups of the measurement archive are kept for 35 days, then deleted.
RETENTION_DAYS = 35
TARGET = pathlib.Path("/srv/backup/archive")


def expired(name: str, today: datetime.date) -> bool:
    """Whether a backup, named by its date, is older than the retention."""
    taken = datetime.date.fromisoformat(name)
    return (today - taken).days > RETENTION_DAYS


def prune(today: datetime.date) -> list[str]:
    """Deletes expired backups and returns their names. The newest one is never deleted."""
    names = sorted(path.name for path in TARGET.iterdir() if path.is_dir())
    gone = [name for name in names[:-1] if expired(name, today)]
    for name in gone:
        for file in (TARGET / name).iterdir():
            file.unlink()
        (TARGET / name).rmdir()
    return gone
