import { createPrivateKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TestIssuer } from "../auth/issuer.js";
import { run } from "../cli/cli.js";
import { Receiver } from "../push/receiver.js";
import type { CallOptions, Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { Home, type ServerProcess } from "./support/server-process.js";
import { say } from "./support/story.js";

/**
 * Sends secrets of each kind through a server, valid and invalid, over every binding. Then searches its answers, logs
 * and stored files.
 */

const canary = (): string => `Ck${randomBytes(16).toString("hex")}`;

const keys = { header: canary(), query: canary(), cookie: canary() };
const bearer = canary();
const password = canary();
/** Invalid credentials. */
const wrong = {
  key: canary(),
  query: canary(),
  cookie: canary(),
  password: canary(),
  bearer: canary(),
  hawk: canary(),
};
const opaque = canary();
const claim = canary();
/** Secrets of webhooks. */
const hooks = {
  token: canary(),
  credentials: canary(),
  path: canary(),
  query: canary(),
  password: canary(),
  odd: canary(),
};
/** A text of clients and agents. Only answers to its owner and the store may contain it. */
const said = canary();
const encryptionKey = randomBytes(32).toString("base64");
const webhookSecret = randomBytes(32).toString("base64");
const cookieless = canary();
const privateKey = (): string =>
  generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const [signingKey, cardKey] = [privateKey(), privateKey()];
/** Parts of a private key that must not appear: its lines, and the secret number of its JWK. */
const linesOf = (name: string, pem: string): Record<string, string> => ({
  ...Object.fromEntries(
    pem
      .split("\n")
      .slice(1, 3)
      .map((line, i) => [`${name} ${i}`, line]),
  ),
  [`${name} d`]: String(createPrivateKey(pem).export({ format: "jwk" }).d),
});

const basic = (name: string, secret: string): string => `Basic ${Buffer.from(`${name}:${secret}`).toString("base64")}`;

const agent = fileURLToPath(new URL("../fixtures/agents/canaries.mjs", import.meta.url));
const files = mkdtempSync(join(tmpdir(), "parley-secrets-"));
const file = (name: string, content: string): string => {
  writeFileSync(join(files, name), content, { mode: 0o600 });
  return join(files, name);
};

let issuer: TestIssuer;
let receiver: Receiver;
let home: Home;
let server: ServerProcess;
/** Answers to callers. The owner's own text is removed, except from errors. */
const answers: string[] = [];
const refusals: string[] = [];
const logs: string[] = [];
/** Names and bytes of the store's files. */
const stored: [string, string][] = [];
const tokens: string[] = [];

const versioned = (headers: Record<string, string>): CallOptions => ({ headers: { "A2A-Version": "1.0", ...headers } });

async function call(
  driver: Driver,
  rpc: string,
  request: JsonObject,
  options: CallOptions,
): Promise<JsonObject | undefined> {
  const reply = await driver.call(rpc, request, options);
  answers.push(JSON.stringify([reply.error ?? null, reply.headers]));
  if (reply.error === undefined) answers.push(JSON.stringify(reply.message).replaceAll(said, ""));
  else refusals.push(JSON.stringify([reply.error, reply.headers]));
  return reply.message;
}

/** Makes calls with valid and invalid credentials of every kind. Its webhooks accept, refuse or are forbidden. */
async function everything(driver: Driver, index: number): Promise<void> {
  const right = versioned({ "X-Key": keys.header });
  const hook = (path: string, more: JsonObject = {}): JsonObject => ({
    url: receiver.url(`/${path}/${hooks.path}?secret=${hooks.query}`),
    token: hooks.token,
    authentication: { scheme: "Bearer", credentials: hooks.credentials },
    ...more,
  });
  const message = (text: string, more: JsonObject = {}): JsonObject => ({
    ...say(`${text} ${said}`, {}),
    ...(Object.keys(more).length > 0 && { configuration: { taskPushNotificationConfig: more } }),
  });
  const sent = await call(driver, "SendMessage", message("hello", hook(`good${index}`)), right);
  const { id } = (sent as { task: { id: string } }).task;
  for (const text of ["fail", "broken", "odd", "not accepted"]) {
    await call(driver, "SendMessage", message(text, hook(`bad${index}`)), right);
  }
  for (const one of [
    hook("x", { url: `https://user:${hooks.password}@receiver.example/${hooks.path}?${hooks.query}` }),
    hook("x", { url: `https://127.0.0.9/${hooks.path}?secret=${hooks.query}` }),
    hook("x", { url: `no url at all ${hooks.odd}` }),
    hook("x", { token: `${hooks.odd}\nwith: a line` }),
    hook("x", { token: hooks.odd.repeat(200) }),
    hook("x", { authentication: { scheme: `Odd ${hooks.odd}\n`, credentials: `${hooks.credentials}\u0000` } }),
  ]) {
    await call(driver, "CreateTaskPushNotificationConfig", { taskId: id, ...one }, right);
    await call(driver, "SendMessage", message("hello", one), right);
  }
  await call(driver, "CreateTaskPushNotificationConfig", { taskId: id, id: "mine", ...hook(`mine${index}`) }, right);
  await call(driver, "GetTaskPushNotificationConfig", { taskId: id, id: "mine" }, right);
  await call(driver, "ListTaskPushNotificationConfigs", { taskId: id }, right);
  await call(driver, "GetExtendedAgentCard", {}, right);
  await call(
    driver,
    "SendMessage",
    { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: said }], taskId: id } },
    right,
  );
  const others: CallOptions[] = [
    versioned({ "X-Key": wrong.key }),
    { ...versioned({}), query: { key: keys.query } },
    { ...versioned({}), query: { key: wrong.query } },
    versioned({ cookie: `session=${keys.cookie}; more=${cookieless}` }),
    versioned({ cookie: `session=${wrong.cookie}` }),
    versioned({ authorization: basic("basic", password) }),
    versioned({ authorization: basic("basic", wrong.password) }),
    versioned({ authorization: `Bearer ${bearer}` }),
    versioned({ authorization: `Bearer ${wrong.bearer}` }),
    versioned({ authorization: `Bearer ${opaque}` }),
    versioned({ authorization: `Hawk ${wrong.hawk}` }),
    versioned({ authorization: `Hawk throw ${wrong.hawk}` }),
    ...tokens.map((token) => versioned({ authorization: `Bearer ${token}` })),
  ];
  for (const options of others) {
    await call(driver, "GetTask", { id }, options);
    await call(driver, "SendMessage", { ...say(said), configuration: { historyLength: -1 } }, options);
    await call(driver, "GetExtendedAgentCard", {}, options);
    await call(driver, "GetTaskPushNotificationConfig", { taskId: id, id: "mine" }, options);
  }
}

/** Makes the corresponding calls of 0.3 and 0.1: sets secrets, reads configurations and causes refusals. */
async function older(index: number): Promise<void> {
  const ask = async (method: string, params: object, key = keys.header): Promise<{ id?: string }> => {
    const headers = { "content-type": "application/json", "x-key": key };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const answer = await fetch(server.url, { method: "POST", headers, body });
    const text = await answer.text();
    const { result, error } = JSON.parse(text) as { result?: { id?: string }; error?: object };
    // Clients of these versions expect their token in the answer that sets it.
    const told = /pushNotification(Config)?\/set$/.test(method) ? text.replaceAll(hooks.token, "") : text;
    answers.push(JSON.stringify([...answer.headers]) + told.replaceAll(said, ""));
    if (error !== undefined) refusals.push(JSON.stringify(error));
    return result ?? {};
  };
  const url = (path: string): string => receiver.url(`/${path}${index}/${hooks.path}?secret=${hooks.query}`);
  const config = (path: string): object => ({
    url: url(path),
    token: hooks.token,
    authentication: { schemes: ["Bearer"], credentials: hooks.credentials },
  });
  const parts = [{ kind: "text", type: "text", text: `hello ${said}` }];
  const message = { kind: "message", messageId: canary(), role: "user", parts };
  for (const path of ["good-older", "bad-older"]) {
    const configuration = { pushNotificationConfig: config(path) };
    const { id = "" } = await ask("message/send", { message, configuration });
    for (const given of [config(path), { ...(config(path) as object), url: `https://127.0.0.9/${hooks.path}` }]) {
      await ask("tasks/pushNotificationConfig/set", { taskId: id, pushNotificationConfig: given });
    }
    for (const key of [keys.header, wrong.key]) {
      await ask("tasks/pushNotificationConfig/get", { id }, key);
      await ask("tasks/pushNotificationConfig/list", { id }, key);
    }
    const named = canary();
    await ask("tasks/send", { id: named, message: { role: "user", parts }, pushNotification: config(path) });
    await ask("tasks/pushNotification/set", { id: named, pushNotificationConfig: config(path) });
    for (const key of [keys.header, wrong.key]) await ask("tasks/pushNotification/get", { id: named }, key);
  }
}

beforeAll(async () => {
  issuer = await TestIssuer.start();
  issuer.opaque.set(opaque, { active: true, iss: issuer.url, aud: "agents", sub: "o", scope: "read", secret: claim });
  const now = Math.floor(Date.now() / 1000);
  tokens.push(
    await issuer.token({ secret: claim }),
    await issuer.token({ secret: claim, exp: now - 60 }),
    await issuer.token({ secret: claim, aud: "others" }),
    await issuer.forged({ secret: claim }),
    await issuer.token({ secret: claim, sub: undefined }),
    `${(await issuer.token()).slice(0, -4)}AAAA`,
  );
  receiver = await Receiver.start(({ path }, response) => {
    response.writeHead(path.startsWith("/bad") ? 500 : 204).end(hooks.token);
  });
  const push = ["--push", "--push-allow-http", "--push-ports", `${receiver.port}`, "--push-allow", "127.0.0.1"];
  const again = ["--max-push-retry", "50ms", "--max-push-age", "500ms"];
  const secrets = [
    "--push-encryption-key",
    file("enc", encryptionKey),
    "--push-webhook-secret",
    file("whsec", `whsec_${webhookSecret}`),
    "--push-signing-key",
    file("push.pem", signingKey),
    "--card-key",
    file("card.pem", cardKey),
  ];
  home = new Home(
    ...push,
    ...again,
    ...secrets,
    "--max-failed-attempts",
    "100000",
    "--audit",
    join(files, "audit.log"),
  );
  home.agent = agent;
  process.env.CANARIES = JSON.stringify({ issuer: issuer.url, keys, bearer, password });
  for (const [round, format] of ["json", "pretty"].entries()) {
    const operators = `unix:${join(files, "admin.sock")}`;
    server = await home.start("--log-level", "debug", "--log-format", format, "--access-log", "--admin", operators);
    issuer.mood = "well";
    const drivers = bindings.map((binding) => binding.connect(server));
    for (const [index, driver] of drivers.entries()) await everything(driver, 10 * round + index);
    await older(round);
    // The log reports an issuer that fails.
    issuer.mood = "lies";
    await issuer.rotate({ keepOld: false });
    const unknown = [await issuer.token({ secret: claim }), canary()];
    tokens.push(...unknown);
    for (const token of unknown) {
      for (const driver of drivers)
        await call(driver, "GetTask", { id: "x" }, versioned({ authorization: `Bearer ${token}` }));
    }
    for (const path of ["/", "/.well-known/agent-card.json", "/readyz", `/nowhere?key=${keys.query}`]) {
      const answer = await fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
      answers.push(JSON.stringify([...answer.headers]) + (await answer.text()));
    }
    const dead = async (): Promise<string> => {
      const list = run(["push", "list", "--json", "--state", "dead", "--admin", operators], files);
      await list.exited;
      return list.stdout() + list.stderr();
    };
    await vi.waitFor(async () => expect((await dead()).split("_DEAD").length).toBeGreaterThan(10), {
      timeout: 30_000,
      interval: 500,
    });
    logs.push(await dead());
    // Reads the files before the end of the server, which removes SQLite's log.
    const folder = dirname(home.store);
    for (const name of readdirSync(folder)) stored.push([name, readFileSync(join(folder, name), "latin1")]);
    for (const driver of drivers) driver.close();
    await server.stop();
    logs.push(server.log);
  }
  logs.push(readFileSync(join(files, "audit.log"), "utf8"));
}, 120_000);

afterAll(async () => {
  await home.leave();
  await issuer.close();
  await receiver.stop();
  rmSync(files, { recursive: true, force: true });
});

/** All secrets by name, including their other encodings. */
function secrets(): [string, string][] {
  const plain: Record<string, string> = {
    ...keys,
    ...Object.fromEntries(Object.entries(wrong).map(([name, value]) => [`wrong ${name}`, value])),
    ...linesOf("signing key", signingKey),
    ...linesOf("card key", cardKey),
    ...{ bearer, password, opaque, claim, encryptionKey, webhookSecret, cookieless, clientSecret: "client secret" },
    ...Object.fromEntries(Object.entries(hooks).map(([name, value]) => [`webhook ${name}`, value])),
    ...Object.fromEntries(tokens.map((token, i) => [`token ${i}`, token.slice(-30)])),
    basic: basic("basic", password).slice(6),
    wrongBasic: basic("basic", wrong.password).slice(6),
  };
  return Object.entries(plain).flatMap(([name, value]): [string, string][] => [
    [name, value],
    [`${name} in a URL`, encodeURIComponent(value)],
    [`${name} in base64`, Buffer.from(value).toString("base64").replace(/=+$/, "")],
    [`${name} in hexadecimal`, Buffer.from(value).toString("hex")],
  ]);
}

const foundIn = (text: string, more: [string, string][] = []): string[] =>
  [...secrets(), ...more].filter(([, value]) => text.includes(value)).map(([name]) => name);

describe("secrets of a server that was called in every way", () => {
  it("went through it", () => {
    expect(receiver.hits.some(({ headers }) => headers.authorization === `Bearer ${hooks.credentials}`)).toBe(true);
    expect(issuer.introspected).toBeGreaterThan(0);
    expect(receiver.hits.some(({ path }) => path.startsWith("/good-older"))).toBe(true);
    expect(refusals.length).toBeGreaterThan(300);
    expect(logs.join("")).toContain("push notifications were given up");
    expect(logs.join("")).toContain("authentication.failed");
  });

  it("are in no line of its log, nor of its audit log, nor of parley push list", () => {
    for (const log of logs) expect(foundIn(log, [["what was said", said]])).toEqual([]);
  });

  it("are in no answer", () => {
    // The owner of a configuration may read its URL.
    const known = (name: string): boolean => /^webhook (path|query)/.test(name);
    expect(foundIn(answers.join("\n")).filter((name) => !known(name))).toEqual([]);
    expect(foundIn(refusals.join("\n"), [["what was said", said]])).toEqual([]);
  });

  it("are in no file of the store, where there is a key for them", () => {
    expect(stored.map(([name]) => name)).toContain("tasks.db-wal");
    expect(stored.some(([, bytes]) => bytes.includes(said))).toBe(true);
    for (const [name, bytes] of stored) expect([name, foundIn(bytes)]).toEqual([name, []]);
  });
});
