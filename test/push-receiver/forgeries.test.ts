import { createHmac, sign } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { type PushReceiverOptions, pushMemory } from "../../src/push-receiver/index.js";
import { keyPair } from "../card/signing/keys.js";
import { newSecret, newWebhookKeys } from "../push/signature/keys.js";
import { held } from "../support/held.js";
import {
  audience,
  bodyOf,
  claimsOf,
  idOf,
  issuer,
  jwtBy,
  type Kind,
  kinds,
  notification,
  post,
  type Sent,
  signing,
  trust,
  trusting,
  webhook,
} from "./world.js";

/** A change to a notification, or a replacement for it, and the receiver's refusal. */
type Forgery = readonly [what: string, forge: (sent: Sent) => Sent | Promise<Sent>, status: number, says: string];

const withHeaders = (headers: Record<string, string | undefined>): Forgery[1] => {
  return (sent) => {
    const all = Object.entries({ ...sent.headers, ...headers }).filter(([, value]) => value !== undefined);
    return { headers: Object.fromEntries(all) as Record<string, string>, body: sent.body };
  };
};
const withBody = (change: (body: string) => string): Forgery[1] => {
  return ({ headers, body }) => ({ headers, body: change(body) });
};
const other = keyPair("ES256");
const header = { alg: "ES256", typ: "a2a-push+jwt", kid: "k1" };
const now = (): number => Math.floor(Date.now() / 1_000);

/** A JWT with changed claims, by the right key: what a server that is trusted might say of something else. */
const claiming = (
  claims: Record<string, unknown>,
  head: object = header,
  key: object = trusting.key.jwk,
): Forgery[1] => {
  return async (sent) => {
    const changed = Object.fromEntries(
      Object.entries({ ...claimsOf(sent), ...claims }).filter(([, value]) => value !== undefined),
    );
    return withHeaders({ "Parley-Signature": await jwtBy(key, head, changed) })(sent);
  };
};
/** A JWT whose parts are written by hand. */
const written = (head: object, signature: (text: string) => string): Forgery[1] => {
  return (sent) => {
    const parts = [head, claimsOf(sent)].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
    const text = parts.join(".");
    return withHeaders({ "Parley-Signature": `${text}.${signature(text)}` })(sent);
  };
};
const byHmac = (key: string | Buffer) => (text: string) => createHmac("sha256", key).update(text).digest("base64url");

const byKey = (text: string): string =>
  sign("sha256", Buffer.from(text), { key: trusting.key.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url");

const flipped = (text: string): string => {
  const at = Math.floor(text.length / 2);
  return text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1);
};

const jwt: readonly Forgery[] = [
  ["another body", withBody((body) => body.replace("task-1", "task-2")), 403, "of another body"],
  ["one byte more", withBody((body) => `${body}\n`), 403, "of another body"],
  ["no body", withBody(() => ""), 403, "of another body"],
  ["another issuer", claiming({ iss: "https://agents.example.evil" }), 403, "of another server"],
  ["no issuer", claiming({ iss: undefined }), 403, "is not a JWT"],
  ["an issuer that is a list", claiming({ iss: [issuer] }), 403, "is not a JWT"],
  ["another audience", claiming({ aud: "https://hooks.example/b2b" }), 403, "for another audience"],
  ["an audience below this one", claiming({ aud: `${audience}/below` }), 403, "for another audience"],
  ["no audience", claiming({ aud: undefined }), 403, "lacks aud"],
  ["another task", claiming({ task: "task-2" }), 403, "of another task"],
  ["no task", claiming({ task: undefined }), 403, "lacks a claim"],
  ["another configuration", claiming({ config: "config-2" }), 403, "says something else"],
  ["no configuration", claiming({ config: 7 }), 403, "lacks a claim"],
  ["another generation", claiming({ generation: 2 }), 403, "says something else"],
  ["a generation that is none", claiming({ generation: 1.5 }), 403, "lacks a claim"],
  ["a generation before the first", claiming({ generation: -1 }), 403, "lacks a claim"],
  ["another id", claiming({ jti: "evt_other" }), 403, "says something else"],
  ["no id", claiming({ jti: undefined }), 403, "lacks a claim"],
  ["a huge id", claiming({ jti: "x".repeat(300) }), 403, "lacks a claim"],
  ["another digest", claiming({ digest: "x" }), 403, "of another body"],
  ["no digest", claiming({ digest: undefined }), 403, "lacks a claim"],
  ["no time", claiming({ iat: undefined }), 403, "lacks a claim"],
  ["no end", claiming({ exp: undefined }), 403, "lacks exp"],
  ["an end that has come", claiming({ exp: now() - 1 }), 403, "has expired"],
  ["an end that is a text", claiming({ exp: "never" }), 403, "malformed"],
  ["a time long ago", claiming({ iat: now() - 400, exp: now() + 400 }), 403, "too old"],
  ["a time far ahead", claiming({ iat: now() + 400, exp: now() + 800 }), 403, "has not come"],
  ["a beginning that has not come", claiming({ nbf: now() + 100 }), 403, "not valid yet"],
  ["another type", claiming({}, { ...header, typ: "at+jwt" }), 403, "of another type"],
  ["no type", claiming({}, { alg: "ES256", kid: "k1" }), 403, "of another type"],
  ["a key that nobody knows", claiming({}, { ...header, kid: "k2" }, other.jwk), 403, "unknown key"],
  ["another key by the known name", claiming({}, header, other.jwk), 403, "signature is wrong"],
  ["no name of a key", claiming({}, { ...header, kid: undefined }, other.jwk), 403, "signature is wrong"],
  ["another algorithm", claiming({}, { ...header, alg: "EdDSA" }, keyPair("EdDSA").jwk), 403, "unknown key"],
  [
    "a key that it brings along",
    claiming({}, { ...header, jwk: other.publicJwk }, other.jwk),
    403,
    "signature is wrong",
  ],
  [
    "a key that it names",
    claiming({}, { ...header, jku: "https://evil.example" }, other.jwk),
    403,
    "signature is wrong",
  ],
  ["a critical extension", written({ ...header, crit: ["x"], x: 1 }, byKey), 403, "malformed"],
  [
    "parts by hand that are right but for an unknown member",
    written({ ...header, crit: [], x: 1 }, byKey),
    403,
    "malformed",
  ],
  ["no algorithm", written({ ...header, alg: "none" }, () => ""), 403, ""],
  ["the algorithm none with a signature", written({ ...header, alg: "none" }, () => "AAAA"), 403, "not allowed"],
  [
    "HMAC with the public key in PEM",
    written({ ...header, alg: "HS256" }, byHmac(trusting.key.publicPem)),
    403,
    "not allowed",
  ],
  [
    "HMAC with the public key as JWK",
    written({ ...header, alg: "HS256" }, byHmac(JSON.stringify(trusting.key.publicJwk))),
    403,
    "not allowed",
  ],
  ["a signature of nothing", written(header, () => ""), 403, ""],
  ["a signature of zeros", written(header, () => Buffer.alloc(64).toString("base64url")), 403, "signature is wrong"],
  ["two parts", withHeaders({ "Parley-Signature": "a.b" }), 403, "is not a JWT"],
  ["four parts", withHeaders({ "Parley-Signature": "a.b.c.d" }), 403, "is not a JWT"],
  ["no base64", withHeaders({ "Parley-Signature": "ü.{}.?" }), 403, "is not a JWT"],
  ["no text", withHeaders({ "Parley-Signature": "" }), 403, ""],
  ["ten thousand characters", withHeaders({ "Parley-Signature": "a".repeat(10_000) }), 403, "is not a JWT"],
  ["none", withHeaders({ "Parley-Signature": undefined }), 403, "no signature that can be verified"],
  ["another webhook-id", withHeaders({ "webhook-id": "evt_other" }), 403, "says something else"],
  ["another time", withHeaders({ "webhook-timestamp": String(now() - 1) }), 403, "says something else"],
  ["another generation beside it", withHeaders({ "Parley-Generation": "2" }), 403, "says something else"],
  ["another configuration beside it", withHeaders({ "Parley-Config": "config-2" }), 403, "says something else"],
];

const webhooks = (kind: "v1" | "v1a"): readonly Forgery[] => {
  const signature = (text: (given: string) => string): Forgery[1] => {
    return (sent) => withHeaders({ "webhook-signature": text(sent.headers["webhook-signature"] ?? "") })(sent);
  };
  const signed = async (sent: Sent, change: Record<string, string>): Promise<Sent> => withHeaders(change)(sent);
  return [
    ["another body", withBody((body) => body.replace("task-1", "task-2")), 403, "No signature"],
    ["one byte more", withBody((body) => `${body} `), 403, "No signature"],
    ["another id", withHeaders({ "webhook-id": idOf("task-1", "config-1", 2) }), 403, "No signature"],
    ["no id", withHeaders({ "webhook-id": undefined }), 403, "webhook-id is missing"],
    ["a huge id", withHeaders({ "webhook-id": "x".repeat(300) }), 403, "is not an id"],
    ["two ids in one", withHeaders({ "webhook-id": "evt_1, evt_2" }), 403, "is not an id"],
    ["another time", withHeaders({ "webhook-timestamp": String(now() - 2) }), 403, "No signature"],
    ["no time", withHeaders({ "webhook-timestamp": undefined }), 403, "webhook-timestamp is missing"],
    ["a time that is no number", withHeaders({ "webhook-timestamp": "1e9" }), 403, "is not a number of seconds"],
    [
      "another spelling of the time",
      (s) => signed(s, { "webhook-timestamp": `0${s.headers["webhook-timestamp"]}` }),
      403,
      "is not a number",
    ],
    ["no signature", withHeaders({ "webhook-signature": undefined }), 403, "no signature that can be verified"],
    [
      "a signature of another version",
      signature((text) => text.replaceAll(/v1a?,/g, "v2,")),
      403,
      "no signature that can",
    ],
    [
      "the signature of the other kind",
      signature((text) => text.replace(/v1,/, "v1x,").replace("v1a,", "v1,").replace("v1x,", "v1a,")),
      403,
      "No signature",
    ],
    ["a changed signature", signature((text) => text.split(" ").map(flipped).join(" ")), 403, "No signature"],
    [
      "half a signature",
      signature((text) =>
        text
          .split(" ")
          .map((each) => each.slice(0, 20))
          .join(" "),
      ),
      403,
      "No signature",
    ],
    ["a signature that is empty", signature(() => `${kind},`), 403, "No signature"],
    [
      "many signatures before the right one",
      signature((text) => `${`${kind},${"A".repeat(kind === "v1" ? 43 : 86)}= `.repeat(50)}${text}`),
      403,
      "No signature",
    ],
    ["another configuration", withHeaders({ "Parley-Config": "config-2" }), 403, "event's id is not that"],
    ["a configuration that cannot be decoded", withHeaders({ "Parley-Config": "%E0%A4%A" }), 400, "cannot be decoded"],
    ["another generation", withHeaders({ "Parley-Generation": "2" }), 403, "event's id is not that"],
    ["another spelling of the generation", withHeaders({ "Parley-Generation": "1.0" }), 403, "event's id is not that"],
  ];
};

const byOthers: Record<"v1" | "v1a", readonly Forgery[]> = {
  v1: [
    ["another secret", () => notification({ webhookSecrets: [newSecret()], secretPer: "server" }), 403, "No signature"],
    [
      "what is derived of the secret",
      () => notification({ webhookSecrets: [trusting.secret] }, { token: "a" }),
      403,
      "No",
    ],
    [
      "HMAC with the public key",
      (sent) => {
        const secret = trusting.webhookKeys.whpk.slice(5);
        const at = new Date(Number(sent.headers["webhook-timestamp"]) * 1_000);
        const forged = new Webhook(secret).sign(sent.headers["webhook-id"] ?? "", at, sent.body);
        return withHeaders({ "webhook-signature": forged })(sent);
      },
      403,
      "No signature",
    ],
  ],
  v1a: [
    ["another key", () => notification({ webhookSecrets: [newWebhookKeys().whsk] }), 403, "No signature"],
    [
      "a secret's signature alone",
      () => notification({ webhookSecrets: [trusting.secret], secretPer: "server" }),
      403,
      "no signature that can",
    ],
  ],
};

/** The same of all kinds. */
const common: readonly Forgery[] = [
  ["that is old", () => notification(signing, { time: Date.now() - 301_000 }), 403, ""],
  ["that comes before its time", () => notification(signing, { time: Date.now() + 302_000 }), 403, "has not come"],
  ["of plain text", withHeaders({ "content-type": "text/plain" }), 415, "application/a2a+json"],
  ["of a form", withHeaders({ "content-type": "application/x-www-form-urlencoded" }), 415, "application/a2a+json"],
  ["of another charset", withHeaders({ "content-type": "application/json; charset=utf-16" }), 415, "application/"],
  ["of JSON that is compressed", withHeaders({ "content-encoding": "gzip" }), 415, "no content encoding"],
];

const tables: Record<Kind, readonly Forgery[]> = {
  jwt: [...jwt, ...common],
  v1: [...webhooks("v1"), ...byOthers.v1, ...common],
  v1a: [...webhooks("v1a"), ...byOthers.v1a, ...common],
};

describe.each(kinds)("a notification with a signature by %s", (kind) => {
  it("is accepted as it was sent, at both ends of the tolerance", async () => {
    const { post, events } = await webhook(trust[kind]);
    expect((await post(await notification(signing))).status).toBe(204);
    for (const [taskId, time] of [
      ["late", -290_000],
      ["early", 295_000],
    ] as const) {
      expect([taskId, (await post(await notification(signing, { taskId, time: Date.now() + time }))).status]).toEqual([
        taskId,
        204,
      ]);
    }
    expect(events).toHaveLength(3);
  });

  it.each(tables[kind])("is refused with %s", async (_what, forge, status, says) => {
    const { post, events } = await webhook(trust[kind] as PushReceiverOptions);
    const answer = await post(await forge(await notification(signing)));
    expect(answer).toMatchObject({ status, text: expect.stringContaining(says) });
    expect(events).toEqual([]);
    // Refusals do not reveal the expected values.
    expect(answer.text).not.toContain(trusting.secret);
  });

  it("is refused for a token that is wrong, without a look at the rest", async () => {
    const { post } = await webhook({ ...trust[kind], tokens: ["right"] });
    const status = async (token: string) => (await post(await notification(signing, { token }))).status;
    expect([await status("right"), await status("righ"), await status("right2"), await status("")]).toEqual([
      204, 403, 403, 403,
    ]);
  });
});

describe("a notification whose body is no notification", () => {
  const send = async (body: string | Uint8Array): Promise<number> => {
    const { url } = await webhook({
      acceptUnsigned: true,
      tokens: ["t"],
      limits: { maxBodyBytes: 100_000, maxBodyValues: 50_000 },
    });
    const headers = { "content-type": "application/json", "x-a2a-notification-token": "t" };
    return (await post(url, { headers, body: body as string })).status;
  };

  it.each<[string, string | Uint8Array, number]>([
    ["nothing", "", 400],
    ["no JSON", "{", 400],
    ["no UTF-8", Buffer.from([0x22, 0xff, 0x22]), 400],
    ["a list", "[]", 400],
    ["null", "null", 400],
    ["an object without a payload", "{}", 400],
    ["a payload of an unknown kind", '{"taskUpdate":{}}', 400],
    ["a payload of another form", '{"task":[]}', 400],
    ["two payloads", '{"task":{"id":"a"},"statusUpdate":{"taskId":"a"}}', 400],
    ["JSON that is nested too deep", `{"task":{"metadata":${'{"a":'.repeat(500)}1${"}".repeat(500)}}}`, 400],
    ["JSON that is nested very deep", `{"task":{"metadata":{"a":${"[".repeat(45_000)}${"]".repeat(45_000)}}}}`, 400],
    ["JSON that ends nowhere", `{"task":${"[".repeat(49_999)}`, 400],
    ["too many values", `{"task":{"metadata":{"a":[${"0,".repeat(49_999)}0]}}}`, 413],
    ["too many bytes", `{"task":{"id":"${"x".repeat(100_000)}"}}`, 413],
  ])("is refused: %s", async (_name, body, status) => {
    expect(await send(body)).toBe(status);
  });

  it("is refused before it is all here", async () => {
    const { receiver } = await webhook(trust.v1);
    let read = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        read++;
        controller.enqueue(new Uint8Array(1024 * 1024));
      },
    });
    const { headers } = await notification(signing);
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    await expect(receiver.receive(new Request(audience, init))).rejects.toMatchObject({ code: "too-large" });
    expect(read).toBeLessThan(12);
  });

  it.each(["node:http", "the Fetch API"])("costs no more than its size in pieces of one byte, by %s", async (api) => {
    const { receiver } = await webhook(trust.v1);
    const bytes = 256 * 1024;
    const before = held();
    let grown = Number.NaN;
    const pieces = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      for (let i = 0; i < bytes; i++) yield Uint8Array.of(0x20);
      grown = held() - before;
    };
    const headers = { "content-type": "application/json" };
    if (api === "node:http") {
      const response = { statusCode: 0, setHeader: () => {}, end: () => {} };
      await receiver.handler(() => {})({ method: "POST", headers, [Symbol.asyncIterator]: pieces }, response);
      expect(response.statusCode).toBe(403);
    } else {
      const init = { method: "POST", headers, body: ReadableStream.from(pieces()), duplex: "half" } as RequestInit;
      await expect(receiver.receive(new Request(audience, init))).rejects.toMatchObject({ status: 403 });
    }
    expect(grown).toBeLessThan(16 * bytes);
  });
});

describe("what was overheard", () => {
  it("does nothing when it is sent again, to this webhook or to another one", async () => {
    const sent = await notification(signing);
    const here = await webhook(trust.jwt);
    const there = await webhook({ ...trust.jwt, audience: "https://hooks.example/other" });
    expect((await here.post(sent)).status).toBe(204);
    expect([(await here.post(sent)).status, (await there.post(sent)).status]).toEqual([204, 403]);
    expect([here.events.length, there.events.length]).toEqual([1, 0]);
  });

  it("of one task cannot be sent as that of another, by a server that signs for both", async () => {
    const sent = await notification(signing, { taskId: "task-1" });
    const body = bodyOf("task-2", "ünïcode");
    const { headers } = await notification(signing, { taskId: "task-2" });
    const { post, events } = await webhook(trust.jwt);
    const mixed = { ...headers, "Parley-Signature": sent.headers["Parley-Signature"] ?? "" };
    expect((await post({ headers: mixed, body })).status).toBe(403);
    expect(events).toEqual([]);
  });

  it("of a webhook without a JWT is of no use where one is trusted, nor the other way round", async () => {
    const by = { webhookSecrets: [trusting.secret], secretPer: "server" } as const;
    expect((await (await webhook(trust.jwt)).post(await notification(by))).status).toBe(403);
    const keys = { keys: [{ key: trusting.key.pem, kid: "k1" }] };
    expect((await (await webhook(trust.v1)).post(await notification(keys))).status).toBe(403);
    // If there are two, both have to be right.
    const both = await webhook({ ...trust.jwt, ...trust.v1 });
    const sent = await notification(signing);
    const half = { ...sent.headers, "webhook-signature": "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" };
    expect((await both.post({ headers: half, body: sent.body })).status).toBe(403);
    expect((await both.post(sent)).status).toBe(204);
  });

  it("of a kind that is configured is required, whatever else is signed", async () => {
    const sent = await notification(signing);
    const { post, events } = await webhook({ ...trust.jwt, ...trust.v1 });
    expect((await post(sent)).status).toBe(204);
    for (const name of ["Parley-Signature", "webhook-signature"]) {
      const { [name]: _, ...headers } = sent.headers;
      expect([name, (await post({ headers, body: sent.body })).status]).toEqual([name, 403]);
    }
    expect(events).toHaveLength(1);
  });

  it.each(kinds.flatMap((first) => kinds.map((second) => [first, second] as const)))(
    "of an event that was handled with %s makes a repeat of it with %s",
    async (first, second) => {
      const memory = pushMemory();
      const sent = await notification(signing);
      const before = await webhook({ ...trust[first], memory });
      const after = await webhook({ ...trust[second], memory });
      expect([(await before.post(sent)).status, (await after.post(sent)).status]).toEqual([204, 204]);
      expect([before.events.length, after.events.length]).toEqual([1, 0]);
    },
  );
});
