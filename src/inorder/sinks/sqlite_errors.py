"""What SQLite says, as one line that says whose it is to mend."""

import sqlite3

from inorder.errors import BusyError, InfrastructureError, IntegrityError, OperatorError

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PLACE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_MACHINE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_INTERNAL,
}


def explained(error: sqlite3.Error, path: str, doing: str) -> OperatorError | InfrastructureError | IntegrityError:
    """The error to raise instead. An error of SQL is the operator's, because the SQL is."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in _BUSY:
        return BusyError(f"{path}: {doing}: another program holds it locked")
    if code == sqlite3.SQLITE_NOTADB:
        return OperatorError(f"{path} is not an SQLite database; it is left as it is")
    if code == sqlite3.SQLITE_CORRUPT:
        return IntegrityError(f"{path} is damaged ({error}); remove it and run again")
    if code in _MACHINE:
        return InfrastructureError(f"{path}: {doing}: {error}")
    if code in _PLACE:
        return OperatorError(f"{path}: {doing}: {error}")
    return OperatorError(f"{path}: {doing}: SQL failed: {error}")
