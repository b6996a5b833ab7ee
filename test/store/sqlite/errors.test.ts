import { describe, expect, it } from "vitest";
import { codeOf } from "../../../src/store/sqlite/driver/codes.js";
import { toStoreError } from "../../../src/store/sqlite/errors.js";
import { StoreError } from "../../../src/store/task-store.js";

const sqlite = (code: string): Error => Object.assign(new Error("what happened"), { code });

describe("toStoreError()", () => {
  it("tells damage, and what concerns every write, from other trouble", () => {
    for (const code of ["SQLITE_CORRUPT", "SQLITE_CORRUPT_INDEX", "SQLITE_NOTADB"]) {
      expect(toStoreError(sqlite(code), "Reading")).toMatchObject({ kind: "damaged" });
    }
    for (const code of ["SQLITE_FULL", "SQLITE_IOERR_FSYNC", "SQLITE_BUSY", "SQLITE_READONLY", "ENOSPC", "EIO"]) {
      expect(toStoreError(sqlite(code), "Reading")).toMatchObject({ kind: "unavailable" });
    }
    for (const code of ["SQLITE_CONSTRAINT", "SQLITE_TOOBIG", "SQLITE_ERROR", "EACCES"]) {
      expect(toStoreError(sqlite(code), "Reading")).toMatchObject({ kind: "failed" });
    }
  });

  it("says what was being done, what happened and its code, and keeps the cause", () => {
    const cause = sqlite("SQLITE_FULL");
    const error = toStoreError(cause, "The commit failed");
    expect(error.message).toBe("The commit failed: what happened (SQLITE_FULL)");
    expect(error.cause).toBe(cause);
  });

  it("takes what is no error of SQLite", () => {
    expect(toStoreError(new TypeError("odd"), "Reading")).toMatchObject({ kind: "failed", message: "Reading: odd" });
    expect(toStoreError("text", "Reading")).toMatchObject({ kind: "failed", message: "Reading: text" });
    const own = new StoreError("conflict", "no");
    expect(toStoreError(own, "Reading")).toBe(own);
  });
});

describe("codeOf()", () => {
  it("is the code of an error that has one", () => {
    expect(codeOf(sqlite("SQLITE_BUSY"))).toBe("SQLITE_BUSY");
    expect(codeOf(Object.assign(new Error("x"), { code: 5 }))).toBe("");
    expect(codeOf(new Error("x"))).toBe("");
    expect(codeOf(undefined)).toBe("");
  });
});
