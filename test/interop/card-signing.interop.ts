import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentCard, canonicalizeAgentCard, generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk";
import { createLocalJWKSet, importPKCS8, type JSONWebKeySet } from "jose";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type CardVerification, verifyCard } from "../../src/card/index.js";
import { keyPair } from "../card/signing/keys.js";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { cache, persistently, succeed } from "./support/tool.js";

/*
 * Signed cards (specification 8.4): others verify ours, and we verify theirs.
 *
 * - The JavaScript and Python libraries drop every empty value before they sign and verify, even REQUIRED ones, against
 *   8.4.1. So a card with empty values has a second signature for them (`alsoWithoutEmpty`), and theirs is accepted
 *   with `acceptWithoutEmpty`. All agree on cards without empty values.
 * - The Python library's server adds fields of A2A 0.3 to a card after signing it.
 * - The Go library (2.3.1) reads signatures, but cannot make or verify them, so go-jose and gowebpki/jcs do.
 */

const here = join(root, "test", "interop", "card-signing");
const folder = mkdtempSync(join(tmpdir(), "parley-signing-"));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
  return join(folder, name);
};
const pairs = [keyPair("ES256"), keyPair("RS256"), keyPair("EdDSA")];
const files = pairs.map(({ alg, jwk }) => file(`${alg}.jwk`, JSON.stringify({ ...jwk, kid: alg })));
const all = { ES256: true, RS256: true, EdDSA: true };

/** The others' signing key. */
const theirs = keyPair("ES256");
const theirFile = file("theirs.pem", theirs.pem);
const byTheirs = (card: object, acceptWithoutEmpty = false): Promise<CardVerification> =>
  verifyCard(card, { keys: [theirs.publicPem], acceptWithoutEmpty });

const home = new Home("--card-key", files.join(","));
let server: ServerProcess;

beforeAll(async () => {
  server = await home.start();
});

afterAll(async () => {
  await home.leave();
  rmSync(folder, { recursive: true, force: true });
});

const json = async (path: string, version?: string): Promise<Record<string, unknown>> => {
  const headers = version === undefined ? {} : { "A2A-Version": version };
  return (await (await fetch(server.url + path, { headers })).json()) as Record<string, unknown>;
};

/** The results of a program in another language. */
interface Seen {
  readonly seen?: number;
  readonly verified: Readonly<Record<string, boolean>>;
  readonly tampered: boolean;
  readonly signed: Record<string, unknown>;
}

describe("the JavaScript library", () => {
  // The library prints each signature that it does not verify.
  beforeAll(() => void vi.spyOn(console, "debug").mockImplementation(() => {}));

  /** Returns for each algorithm whether the library verifies the card. */
  async function verified(card: object): Promise<Record<string, boolean>> {
    const keys = (await json("/.well-known/jwks.json")) as unknown as JSONWebKeySet;
    const results: Record<string, boolean> = {};
    for (const { alg } of pairs) {
      const retrieve = (kid: string) => {
        if (kid !== alg) throw new Error("another key");
        return createLocalJWKSet(keys)({ alg, kid });
      };
      results[alg] = await verifyAgentCardSignature(retrieve)(AgentCard.fromJSON(card)).then(
        () => true,
        () => false,
      );
    }
    return results;
  }

  const signer = async () =>
    generateAgentCardSignature(await importPKCS8(theirs.pem, "ES256"), { alg: "ES256", kid: "js", typ: "JOSE" });

  it("verifies our card by every algorithm, and no other card", async () => {
    const card = await json("/.well-known/agent-card.json");
    expect(await verified(card)).toEqual(all);
    expect(await verified({ ...card, name: "Other" })).toEqual({ ES256: false, RS256: false, EdDSA: false });
  });

  it("signs a card that we verify", async () => {
    const { signatures: _, ...card } = await json("/.well-known/agent-card.json");
    const signed = AgentCard.toJSON(await (await signer())(AgentCard.fromJSON(card))) as Record<string, unknown>;
    expect(await byTheirs(signed)).toMatchObject({ verified: true, uncovered: [], signatures: [{ kid: "js" }] });
    expect((await byTheirs({ ...signed, name: "Other" })).verified).toBe(false);
  });

  it("verifies and signs cards with empty values only without these", async () => {
    const { signatures: _, ...card } = await json("/.well-known/agent-card.json", "1.0");
    const empty = { ...card, skills: [], securityRequirements: [{ schemes: { bearer: {} } }] };
    expect(canonicalizeAgentCard(AgentCard.fromJSON(empty))).not.toMatch(/skills|bearer/);
    const signed = AgentCard.toJSON(await (await signer())(AgentCard.fromJSON(empty))) as Record<string, unknown>;
    expect(await byTheirs(signed)).toMatchObject({ verified: false, signatures: [{ fault: "without-empty" }] });
    expect(await byTheirs(signed, true)).toMatchObject({ verified: true });

    const unsigned = file("empty.json", JSON.stringify(empty));
    const keys = files.flatMap((path) => ["--key", path]);
    const sign = (...flags: readonly string[]): Promise<string> =>
      succeed(process.execPath, [join(root, "dist/src/cli/main.js"), "card", "sign", unsigned, ...keys, ...flags]);
    expect(await verified(JSON.parse(await sign()))).toEqual({ ES256: false, RS256: false, EdDSA: false });
    expect(await verified(JSON.parse(await sign("--also-without-empty")))).toEqual(all);
  });
});

describe("the Python library", () => {
  let seen: Seen;
  beforeAll(async () => {
    const python = await pythonWith("python-a2a-sdk-1.3.0-signing", join(here, "python", "requirements.txt"));
    const env = { ...process.env, ...pythonEnvironment };
    seen = JSON.parse(await succeed(python, [join(here, "python", "client.py"), server.url, theirFile], { env }));
  });

  it("verifies our card by every algorithm, and no other card", () => {
    expect(seen).toMatchObject({ verified: all, tampered: false });
  });

  it("signs a card that we verify, with the fields of 0.3 that its server adds", async () => {
    const result = await byTheirs(seen.signed);
    expect(result).toMatchObject({ verified: true, signatures: [{ kid: "python" }], card: { name: "Probe" } });
    expect((await byTheirs({ ...seen.signed, description: "Other." })).verified).toBe(false);
  });
});

describe("Go", () => {
  let seen: Seen;
  beforeAll(async () => {
    mkdirSync(cache, { recursive: true });
    const program = join(cache, "card-signing");
    await persistently(() => succeed("go", ["build", "-mod=readonly", "-o", program, "."], { cwd: join(here, "go") }));
    seen = JSON.parse(await succeed(program, [server.url, theirFile]));
  });

  it("verifies our card by every algorithm, and its library reads the signatures", () => {
    // The signatures over all members and those over the members of 1.0.
    expect(seen).toMatchObject({ seen: 2 * pairs.length, verified: all, tampered: false });
  });

  it("signs a card that we verify", async () => {
    expect(await byTheirs(seen.signed)).toMatchObject({ verified: true, uncovered: [], signatures: [{ kid: "go" }] });
    expect((await byTheirs({ ...seen.signed, name: "Other" })).verified).toBe(false);
  });
});
