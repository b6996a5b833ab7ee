import { createPrivateKey } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import { tlsFaults, tlsWarnings } from "../../src/server/tls.js";
import { Certificates } from "./certificates.js";

const certificates = new Certificates();
afterAll(() => certificates.clean());

const rsa = certificates.make("agents.example", { kind: "rsa:2048" });
const other = certificates.make("other.example", { kind: "rsa:2048" });
const ec = certificates.make("curve.example");

describe("tlsFaults()", () => {
  it("takes a key with its certificate, also with more in either file", () => {
    for (const pair of [rsa, ec]) expect(tlsFaults(pair)).toEqual([]);
    expect(tlsFaults({ key: Buffer.from(rsa.key), cert: Buffer.from(rsa.cert + other.cert) })).toEqual([]);
    const both = rsa.cert + rsa.key;
    expect(tlsFaults({ key: both, cert: both })).toEqual([]);
  });

  it("names a key that belongs to another certificate, of the same kind and of another", () => {
    const fault = "tls: the key does not belong to the certificate (of agents.example)";
    expect(tlsFaults({ cert: rsa.cert, key: other.key })).toEqual([fault]);
    // Node takes these two, and then no handshake succeeds.
    expect(tlsFaults({ cert: rsa.cert, key: ec.key })).toEqual([fault]);
  });

  it("names what is swapped, in the wrong order, or no PEM at all", () => {
    expect(tlsFaults({ cert: rsa.key, key: rsa.cert })[0]).toContain("key and cert are swapped");
    expect(tlsFaults({ cert: other.cert + rsa.cert, key: rsa.key })[0]).toContain(
      "the key belongs to certificate 2 of the file: the server's own must be the first",
    );
    expect(tlsFaults({ cert: rsa.cert, key: rsa.cert })).toEqual(["tls: key is not a private key in PEM"]);
    expect(tlsFaults({ cert: rsa.key, key: rsa.key })).toEqual(["tls: cert is not a certificate in PEM"]);
    expect(tlsFaults({ cert: "", key: rsa.key })).toEqual(["tls needs both key and cert"]);
  });

  it("names a key with a passphrase, and one that is damaged", () => {
    const secret = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" } as const;
    const key = createPrivateKey(rsa.key).export(secret) as string;
    expect(tlsFaults({ cert: rsa.cert, key })[0]).toContain("passphrase");
    expect(tlsFaults({ cert: rsa.cert, key: rsa.key.replace(/\n.*\n/, "\n") })[0]).toContain("cannot be used");
  });
});

describe("tlsWarnings()", () => {
  it("names a certificate that has expired, and one that is not valid yet", () => {
    expect(tlsWarnings(rsa)).toEqual([]);
    expect(tlsWarnings(certificates.make("old.example", { to: "20210203000000Z" }))).toEqual([
      "the TLS certificate of old.example expired on 2021-02-03: most clients refuse it",
    ]);
    expect(tlsWarnings(certificates.make("new.example", { from: "21100203000000Z" }))).toEqual([
      "the TLS certificate of new.example is not valid before 2110-02-03: most clients refuse it",
    ]);
  });
});
