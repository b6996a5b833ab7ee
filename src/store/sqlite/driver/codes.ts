/**
 * SQLite's names of its errors (https://www.sqlite.org/rescode.html): the drivers have the number in
 * `errcode`.
 */

/** By number, from 0 on. */
const PRIMARY = (
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY " +
  "SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB"
).split(" ");

/** The suffix of an extended code, by its number divided by 256, from 1. */
const EXTENDED: Readonly<Record<string, readonly string[]>> = {
  ERROR: "MISSING_COLLSEQ RETRY SNAPSHOT".split(" "),
  BUSY: "RECOVERY SNAPSHOT TIMEOUT".split(" "),
  LOCKED: "SHAREDCACHE VTAB".split(" "),
  READONLY: "RECOVERY CANTLOCK ROLLBACK DBMOVED CANTINIT DIRECTORY".split(" "),
  IOERR: (
    "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK " +
    "CLOSE DIR_CLOSE SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC " +
    "COMMIT_ATOMIC ROLLBACK_ATOMIC DATA CORRUPTFS IN_PAGE"
  ).split(" "),
  CORRUPT: "VTAB SEQUENCE INDEX".split(" "),
  CANTOPEN: "NOTEMPDIR ISDIR FULLPATH CONVPATH DIRTYWAL SYMLINK".split(" "),
  CONSTRAINT: "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE".split(
    " ",
  ),
};

/** SQLite's name of a driver error, such as `SQLITE_IOERR_FSYNC`; the code of another error; or empty. */
export function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "";
  if ("errcode" in thrown && typeof thrown.errcode === "number") return nameOf(thrown.errcode);
  return "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
}

function nameOf(errcode: number): string {
  const primary = PRIMARY[errcode & 0xff];
  if (primary === undefined) return `SQLITE_${errcode}`;
  const extended = EXTENDED[primary]?.[(errcode >> 8) - 1];
  return extended === undefined ? `SQLITE_${primary}` : `SQLITE_${primary}_${extended}`;
}
