import { describe, expect, it } from "vitest";
import { toOpeningError, toStoreError } from "../../../src/store/postgres/errors.js";

const failure = (code: string): Error => Object.assign(new Error("what happened"), { code });

describe("toStoreError()", () => {
  it.each(["ECONNREFUSED", "ENOTFOUND", "EPIPE", "57P01", "53300", "53100", "28P01", "25006"])(
    "reports an outage of the server or of the connection: %s",
    (code) => expect(toStoreError(failure(code), "Reading")).toMatchObject({ kind: "unavailable" }),
  );

  it.each([
    "CERT_HAS_EXPIRED",
    "CERT_NOT_YET_VALID",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "SELF_SIGNED_CERT_IN_CHAIN",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE",
  ])("reports a failed TLS connection as an outage: %s", (code) => {
    expect(toStoreError(failure(code), "Reading")).toMatchObject({ kind: "unavailable" });
    expect(toOpeningError(failure(code), "Opening")).toMatchObject({ kind: "unavailable" });
  });

  it.each(["23505", "42P01", "22021", "ERR_INVALID_URL"])("reports an error of one statement: %s", (code) =>
    expect(toStoreError(failure(code), "Reading")).toMatchObject({ kind: "failed" }),
  );
});
