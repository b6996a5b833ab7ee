import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { receiverLimits } from "../../src/console/receiver/limits.js";
import { guardedFetch } from "../../src/console/relay.js";
import { sessionIdle } from "../../src/console/sessions.js";
import type { PushSigningOptions } from "../../src/push/options.js";
import { createPushSigner } from "../../src/push/signature/signer.js";
import { TargetGuard } from "../../src/push/target/guard.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { keyPair } from "../card/signing/keys.js";
import { newSecret, newWebhookKeys } from "../push/signature/keys.js";
import { bodyOf, idOf, jwksOf, listen } from "../push-receiver/world.js";
import { setConstants } from "../support/constants.js";
import { ask, type ConsoleWorld, openConsole, own, sessionOf, tokenIn } from "./world.js";

let world: ConsoleWorld;
beforeAll(async () => {
  world = await openConsole({ admin: { listen: "127.0.0.1:0", tokens: operators } });
});
afterAll(() => world.server.close());

type Session = Readonly<Record<string, string>>;
let session: Session;
beforeEach(async () => {
  session = await newSession();
});

const newSession = () => sessionOf(world.base, { token: tokenIn(world.server.consoleUrl) });

const api = (path = "", method = "POST", body?: object, as: Session = session) =>
  ask(`${world.base}/api/receiver${path}`, {
    method,
    headers: as,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

/** Opens or reads the receiver of a session. */
async function opened(as: Session = session, after = 0) {
  const { status, text } = await api(`?after=${after}`, "POST", undefined, as);
  expect(status).toBe(200);
  return JSON.parse(text);
}

interface Post {
  readonly token?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const post = (url: string, { token, body = bodyOf("task-1", "hello"), headers = {} }: Post) =>
  ask(url, {
    method: "POST",
    headers: {
      "content-type": "application/a2a+json",
      ...(token && { "x-a2a-notification-token": token }),
      ...headers,
    },
    body,
  });

const key = keyPair("ES256");
const secret = newSecret();
const pair = newWebhookKeys();

/** A notification that a server signs. */
async function signed(
  signing: PushSigningOptions,
  { issuer = "", url = "", token = "", body = bodyOf("task-1", "hello") },
) {
  const [taskId, configId, generation] = ["task-1", "config-1", 1];
  const signer = await createPushSigner({ signing, issuer: () => issuer });
  const id = idOf(taskId, configId, generation);
  const headers = await signer.headers({ id, taskId, configId, generation, time: Date.now(), url, body, token });
  return { token, body, headers: headers as Record<string, string> };
}

describe("the receiver of a console", () => {
  it("takes notifications with its token, without a session, and tells what they are", async () => {
    const { address, token, notifications } = await opened();
    expect(address).toMatch(new RegExp(`^${world.base}/hooks/[\\w-]{43}$`));
    expect(notifications).toEqual([]);
    expect(await post(address, { token })).toMatchObject({ status: 204, text: "" });
    const after = await opened();
    expect(after).toMatchObject({ address, token, first: 1, last: 1, limits: receiverLimits });
    expect(after.notifications).toEqual([
      {
        ...{ number: 1, at: expect.any(String), status: 204, signatures: [], unchecked: [], isTest: false },
        ...{ isRepeat: false, kind: "statusUpdate", taskId: "task-1", contextId: "context-1", state: 2 },
        size: expect.any(Number),
      },
    ]);
    expect((await opened(session, 1)).notifications).toEqual([]);
    const { text } = await api("/notifications/1", "GET");
    expect(JSON.parse(text).body).toBe(bodyOf("task-1", "hello"));
  });

  it("answers and keeps what it refuses, with the reason", async () => {
    const { address, token } = await opened();
    expect(await post(address, {})).toMatchObject({ status: 403, text: expect.stringContaining("missing or wrong") });
    expect((await post(address, { token: `${token}x` })).status).toBe(403);
    expect((await post(address, { token, body: "{" })).status).toBe(400);
    expect((await post(address, { token, headers: { "content-type": "text/plain" } })).status).toBe(415);
    const { notifications } = await opened();
    expect(notifications).toMatchObject([
      { status: 403, refusal: { code: "token" }, taskId: "task-1", kind: "statusUpdate" },
      { status: 403, refusal: { code: "token" } },
      { status: 400, refusal: { code: "malformed", reason: "The notification is not JSON in UTF-8." } },
      { status: 415, refusal: { code: "content-type" } },
    ]);
  });

  it("neither keeps nor shows credentials", async () => {
    const { address, token } = await opened();
    const headers = { authorization: "Bearer of-the-sender", cookie: "a=of-the-cookie", "x-api-key": "of-the-key" };
    await post(address, { token, headers });
    const { text } = await api("/notifications/1", "GET");
    expect(JSON.parse(text).headers).toEqual({
      "content-type": "application/a2a+json",
      ...{ "x-a2a-notification-token": "[redacted]", authorization: "[redacted]" },
      ...{ cookie: "[redacted]", "x-api-key": "[redacted]" },
    });
    await api("/proofs", "POST", { proof: secret });
    const all = JSON.stringify([text, (await opened()).proofs, world.lines, world.records]);
    expect(all).not.toContain("of-the");
    expect(all).not.toContain(token);
    expect(all).not.toContain(secret.slice(6));
  });

  it("verifies the JWT of a server whose keys it fetches, and refuses those of others", async () => {
    const { address, token } = await opened();
    const issuer = await listen((request, response) => {
      if (request.url === "/.well-known/jwks.json") response.end(JSON.stringify(jwksOf(["k1", key])));
      else response.writeHead(404).end();
    });
    const signing = { keys: [{ key: key.pem, kid: "k1" }] };
    const real = await signed(signing, { issuer, url: address, token });
    await post(address, real);
    // The server's public URL may be a parent of the agent's.
    expect((await api("/proofs", "POST", { proof: `${issuer}/agents/one` })).status).toBe(204);
    const forged = await signed({ keys: [{ key: keyPair("ES256").pem, kid: "k1" }] }, { issuer, url: address, token });
    const foreign = await signed(signing, { issuer: "https://other.example", url: address, token });
    const elsewhere = await signed(signing, { issuer, url: "https://hooks.example/", token });
    expect((await post(address, forged)).status).toBe(403);
    expect((await post(address, foreign)).status).toBe(403);
    expect((await post(address, elsewhere)).status).toBe(403);
    expect((await post(address, { ...real, body: bodyOf("task-1", "changed") })).status).toBe(403);
    expect((await post(address, real)).status).toBe(204);
    expect((await opened()).notifications).toMatchObject([
      { status: 204, signatures: [], unchecked: ["Parley-Signature"] },
      { refusal: { code: "signature", reason: "Parley-Signature: The token's signature is wrong." } },
      { refusal: { code: "issuer", detail: expect.stringContaining("https://other.example") } },
      { refusal: { code: "audience", detail: expect.stringContaining(address) } },
      { refusal: { code: "signature", reason: "Parley-Signature is of another body." } },
      { status: 204, signatures: [{ kind: "jwt", issuer }], unchecked: [], eventId: expect.stringMatching(/^evt_/) },
    ]);
  });

  it.each([
    ["secret of a server", { webhookSecrets: [secret], secretPer: "server" }, secret, "v1"],
    ["secret that is derived for the token", { webhookSecrets: [secret], secretPer: "token" }, secret, "v1"],
    ["public key", { webhookSecrets: [pair.whsk] }, pair.whpk, "v1a"],
  ] as const)("verifies Standard Webhooks by the %s, and refuses others", async (_what, signing, proof, kind) => {
    const { address, token } = await opened();
    const sent = await signed(signing, { url: address, token });
    await post(address, sent);
    await api("/proofs", "POST", { proof });
    await post(address, sent);
    await post(address, { ...sent, body: bodyOf("task-1", "changed") });
    const { notifications, proofs } = await opened();
    expect(notifications).toMatchObject([
      { status: 204, signatures: [], unchecked: ["webhook-signature"] },
      { status: 204, signatures: [{ kind }], unchecked: [] },
      { status: 403, refusal: { code: "signature" } },
    ]);
    await api(`/proofs/${proofs[0].id}`, "DELETE");
    expect((await opened()).proofs).toEqual([]);
  });

  it("marks repeats and test events", async () => {
    const { address, token } = await opened();
    await api("/proofs", "POST", { proof: secret });
    const sent = await signed({ webhookSecrets: [secret], secretPer: "server" }, { url: address, token });
    await post(address, sent);
    await post(address, sent);
    await post(address, { token, headers: { "parley-test": "true" } });
    const { notifications } = await opened();
    expect(notifications.map((each: Record<string, unknown>) => [each.isRepeat, each.isTest])).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ]);
  });

  it.each([
    ["nothing", "", /URL of an agent/],
    ["a short secret", "whsec_AAAA", /24 to 64 bytes/],
    ["a short key", "whpk_AAAA", /32 bytes/],
    ["a URL in clear", "http://agents.example", /not https/],
    ["a URL with credentials", "https://a:b@agents.example", /credentials/],
  ])("does not take %s as a proof", async (_what, proof, reason) => {
    await opened();
    const { status, text } = await api("/proofs", "POST", { proof });
    expect([status, JSON.parse(text).error]).toEqual([400, expect.stringMatching(reason)]);
  });
});

describe("the address of a receiver", () => {
  const nowhere = () => `${world.base}/hooks/${"A".repeat(43)}`;

  it("gets the same answer whether it never existed or belongs to nobody anymore", async () => {
    const { address, token } = await opened();
    const never = await post(nowhere(), { token });
    expect(never.status).toBe(404);
    expect((await api("", "DELETE")).status).toBe(204);
    const { headers, ...ended } = await post(address, { token });
    expect(ended).toEqual({ status: never.status, text: never.text });
    expect(Object.keys(headers).sort()).toEqual(Object.keys(never.headers).sort());
    const other = await opened();
    expect(other.address).not.toBe(address);
    for (const url of [other.address, nowhere()]) expect((await ask(url)).status).toBe(405);
    expect((await opened()).notifications).toEqual([]);
  });

  it.each([
    ["logs out", (as: Session) => ask(`${world.base}/api/session`, { method: "DELETE", headers: as })],
    ["is not used for 12 hours", async () => setConstants(sessionIdle, { timeoutMs: -1 })],
  ])("ends when its session %s", async (_how, end) => {
    const { address, token } = await opened();
    await end(session);
    expect((await post(address, { token })).status).toBe(404);
  });

  it("ends with the credentials that began its session", async () => {
    const list = [...operators];
    const check = async (token: string) => {
      const found = list.find((each) => each.token === token);
      return found && { owner: found.name, scopes: [found.role] };
    };
    const { httpBearerScheme } = await import("../../src/auth/index.js");
    const other = await openConsole({
      console: { local: false },
      admin: {
        ...{ listen: "127.0.0.1:0", roles: { read: "read", write: "write" } },
        security: { schemes: { sso: httpBearerScheme({ check }) } },
      },
    });
    try {
      const as = await sessionOf(other.base, bearer(tokens.write));
      const { address, token } = JSON.parse(
        (await ask(`${other.base}/api/receiver`, { method: "POST", headers: as })).text,
      );
      expect((await post(address, { token })).status).toBe(204);
      list.length = 0;
      expect((await post(address, { token })).status).toBe(404);
    } finally {
      await other.server.close();
    }
  });

  it("belongs to one session", async () => {
    const { address, token } = await opened();
    await post(address, { token });
    const other = await newSession();
    expect((await api("/notifications/1", "GET", undefined, other)).status).toBe(404);
    const theirs = await opened(other);
    expect([theirs.address, theirs.token, theirs.notifications]).not.toContain(address);
    expect(theirs.notifications).toEqual([]);
    expect((await post(address, { token: theirs.token })).status).toBe(403);
    expect((await ask(`${world.base}/api/receiver`, { method: "POST", headers: own })).status).toBe(401);
    const foreign = { ...session, "sec-fetch-site": "cross-site" };
    expect((await api("", "POST", undefined, foreign)).status).toBe(403);
  });

  it("needs the role write where others reach the console", async () => {
    const other = await openConsole({ console: { local: false }, admin: { listen: "127.0.0.1:0", tokens: operators } });
    try {
      for (const [token, status] of [
        [tokens.read, 403],
        [tokens.write, 200],
      ] as const) {
        const headers = await sessionOf(other.base, bearer(token));
        expect((await ask(`${other.base}/api/receiver`, { method: "POST", headers })).status).toBe(status);
      }
    } finally {
      await other.server.close();
    }
  });
});

describe("the limits of receivers", () => {
  it("are stated", () => {
    expect(receiverLimits).toMatchObject({
      ...{ receivers: 16, notifications: 200, bytes: 4_194_304, bodyBytes: 1_048_576, perMinute: 600, proofs: 32 },
    });
  });

  it("refuse a body that is too large, and tell of it", async () => {
    setConstants(receiverLimits, { bodyBytes: 1_000 });
    const { address, token } = await opened();
    expect((await post(address, { token, body: bodyOf("task-1", "x".repeat(1_000)) })).status).toBe(413);
    expect((await opened()).notifications).toMatchObject([
      { status: 413, size: 0, refusal: { code: "too-large", reason: "The notification has more than 1000 bytes." } },
    ]);
  });

  it("keep the latest notifications, by their number and their bytes", async () => {
    setConstants(receiverLimits, { notifications: 3 });
    const { address, token } = await opened();
    for (let at = 0; at < 5; at++) await post(address, { token });
    expect(await opened()).toMatchObject({
      first: 3,
      last: 5,
      notifications: [{ number: 3 }, { number: 4 }, { number: 5 }],
    });
    setConstants(receiverLimits, { bytes: 3_000 });
    await post(address, { token, body: bodyOf("task-1", "x".repeat(2_000)) });
    const { first, last } = await opened();
    expect([first > 3, last]).toEqual([true, 6]);
    expect((await api("/notifications", "DELETE")).status).toBe(204);
    expect(await opened()).toMatchObject({ first: 7, last: 6, notifications: [] });
  });

  it("slow senders down, and count what was refused", async () => {
    setConstants(receiverLimits, { perMinute: 2 });
    const { address, token } = await opened();
    const answers = [];
    for (let at = 0; at < 4; at++) answers.push(await post(address, { token }));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 429, 429]);
    expect(Number(answers[3]?.headers["retry-after"])).toBeGreaterThan(0);
    expect(await opened()).toMatchObject({ limited: 2, last: 2 });
  });

  it("close the receiver whose page asked least recently", async () => {
    setConstants(receiverLimits, { receivers: 2 });
    const sessions = [await newSession(), await newSession(), await newSession()] as const;
    const [first, second] = [await opened(sessions[0]), await opened(sessions[1])];
    await opened(sessions[0]);
    await opened(sessions[2]);
    expect((await post(first.address, first)).status).not.toBe(404);
    expect((await post(second.address, second)).status).toBe(404);
  });

  it("hold for the proofs", async () => {
    setConstants(receiverLimits, { proofs: 1 });
    await opened();
    const add = async (proof: string) => (await api("/proofs", "POST", { proof })).status;
    expect(await add("https://agents.example")).toBe(204);
    expect(await add("https://agents.example")).toBe(204);
    expect(await add(secret)).toBe(429);
  });
});

describe("guardedFetch()", () => {
  it("reaches the addresses that the guard permits only", async () => {
    const url = await listen((_request, response) => void response.end('{"keys":[]}'));
    const permitted = guardedFetch(new TargetGuard({ allow: ["127.0.0.1"] }));
    expect(await (await permitted(url)).json()).toEqual({ keys: [] });
    await expect(guardedFetch(new TargetGuard({}))(url)).rejects.toMatchObject({ code: "ERR_FORBIDDEN_TARGET" });
    const named = url.replace("127.0.0.1", "inner.example");
    const lookup = async () => [{ address: "127.0.0.1", family: 4 as const }];
    const guard = new TargetGuard({ lookup });
    await expect(guardedFetch(guard)(named)).rejects.toMatchObject({ code: "ERR_FORBIDDEN_TARGET" });
  });

  it("does not follow redirects, and ends with its signal", async () => {
    const url = await listen((request, response) => {
      if (request.url === "/moved") response.writeHead(302, { location: "/" }).end();
    });
    const permitted = guardedFetch(new TargetGuard({ allow: ["127.0.0.1"] }));
    expect((await permitted(`${url}/moved`)).status).toBe(302);
    const signal = AbortSignal.abort();
    await expect(permitted(url, { signal })).rejects.toMatchObject({ name: "AbortError" });
  });
});
