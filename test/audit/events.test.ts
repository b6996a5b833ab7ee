import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import { failedAttempts } from "../../src/auth/throttle.js";
import { type AuditEvent, type AuditRecord, auditEvents, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { hook, toHook } from "../conformance/hook.js";
import { setConstantsOfFile } from "../support/constants.js";

/** Every event of the audit log, each caused on a real server or tested in the file named below. */

const records: AuditRecord[] = [];
let server: Server;
let second: Server;

const keys = [
  { owner: "alice", key: "key-of-alice-4711", scopes: ["read"] },
  { owner: "bob", key: "key-of-bob-4712" },
];

const signing = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

beforeAll(async () => {
  setConstantsOfFile(failedAttempts, { intervalMs: 600_000 });
  const options = {
    agent: {
      ...obedient("audited"),
      security: { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys }) }, require: [{ key: ["read"] }] },
    },
    audit: { write: (record: AuditRecord) => void records.push(record) },
    push: { ...toHook, signing: { keys: [{ key: signing, kid: "push-1" }] } },
    cardSigning: { keys: [{ key: signing, kid: "card-1" }] },
    port: 0,
    grpcPort: 0,
    limits: { shutdownGraceMs: 50, maxFailedAttempts: 3 },
  };
  server = await createServer({ ...options, store: memoryStore() });
  second = await createServer({ ...options, store: memoryStore() });
});
afterAll(async () => {
  await server.close();
  await second.close();
});

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, { headers: { "a2a-version": "1.0", ...headers } });

const alice = { "x-key": "key-of-alice-4711" };
const question = { messageId: "m", role: "ROLE_USER", parts: [{ text: "ask Which one?" }] };
const withHook = (id: string) => ({ taskPushNotificationConfig: { id, url: hook } });

/** Posts as Alice, or deletes without a body. Uses the server that does not limit Alice's address. */
async function post(path: string, body?: object): Promise<{ task: { id: string } }> {
  const headers = { "a2a-version": "1.0", "content-type": "application/json", ...alice };
  const method = body === undefined ? "DELETE" : "POST";
  const answer = await fetch(`${second.url}${path}`, { method, headers, body: JSON.stringify(body) ?? null });
  return (await answer.json()) as { task: { id: string } };
}

/** The records that an action causes, without earlier ones. */
async function recordsOf(cause: () => Promise<unknown>): Promise<Partial<AuditRecord>[]> {
  const before = records.length;
  await cause();
  // `test/server/request-ids.test.ts` tests the facts that name the call and its agent.
  return records.slice(before).map(({ at, requestId, agent: _, ...record }) => {
    expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    return record;
  });
}

const call = { address: "127.0.0.1", method: "ListTasks", binding: "rest" };

/** Checks of the records of each event that this file causes. */
const cases: { readonly [E in AuditEvent]?: () => Promise<void> } = {
  "authentication.failed": async () => {
    const denied = { event: "authentication.failed", outcome: "denied", ...call };
    expect(await recordsOf(() => get("/tasks"))).toEqual([{ ...denied, reason: "missing" }]);
    const wrong = { "x-key": "a-wrong-key-0815" };
    expect(await recordsOf(() => get("/tasks", wrong))).toEqual([{ ...denied, reason: "refused", scheme: "key" }]);
  },
  "access.denied": async () => {
    const denied = { event: "access.denied", outcome: "denied" };
    expect(await recordsOf(() => get("/tasks", { "x-key": "key-of-bob-4712" }))).toEqual([
      { ...denied, ...call, reason: "PERMISSION_DENIED", scheme: "key", owner: "bob" },
    ]);
    // The record does not tell an unknown task from one of another owner either.
    expect(await recordsOf(() => get("/tasks/some-task", { "x-key": "key-of-alice-4711" }))).toEqual([
      { ...denied, ...call, method: "GetTask", reason: "TASK_NOT_FOUND", owner: "alice" },
    ]);
  },
  "limit.hit": async () => {
    const wrong = { "x-key": "a-wrong-key-0815" };
    while ((await get("/tasks", wrong)).status === 401);
    expect(await recordsOf(() => get("/tasks", wrong))).toEqual([
      { event: "limit.hit", outcome: "denied", ...call, reason: "TOO_MANY_REQUESTS", limit: "maxFailedAttempts" },
    ]);
  },
  "push.config-stored": async () => {
    const { task } = await post("/message:send", { message: question, configuration: withHook("first") });
    const stored = {
      event: "push.config-stored",
      outcome: "success",
      address: "127.0.0.1",
      binding: "rest",
      owner: "alice",
    };
    expect(records.at(-1)).toMatchObject({ ...stored, target: `${task.id}/first`, taskId: task.id });
    const path = `/tasks/${task.id}/pushNotificationConfigs`;
    expect(await recordsOf(() => post(path, { id: "second", url: hook, token: "secret-4713" }))).toEqual([
      { ...stored, target: `${task.id}/second`, taskId: task.id },
    ]);
    expect(JSON.stringify(records)).not.toContain("secret-4713");
  },
  "push.config-deleted": async () => {
    const { task } = await post("/message:send", { message: question, configuration: withHook("first") });
    const path = `/tasks/${task.id}/pushNotificationConfigs/first`;
    expect(await recordsOf(() => post(path))).toEqual([
      {
        event: "push.config-deleted",
        outcome: "success",
        address: "127.0.0.1",
        binding: "rest",
        owner: "alice",
        target: `${task.id}/first`,
        taskId: task.id,
      },
    ]);
  },
  "push.target-refused": async () => {
    const { task } = await post("/message:send", { message: question });
    const url = "https://127.0.0.2:9/path?secret=4714";
    const path = `/tasks/${task.id}/pushNotificationConfigs`;
    expect(await recordsOf(() => post(path, { url }))).toEqual([
      {
        event: "push.target-refused",
        outcome: "denied",
        ...call,
        method: "CreateTaskPushNotificationConfig",
        owner: "alice",
        target: "https://127.0.0.2:9",
        reason: "create",
      },
    ]);
  },
  "key.used": async () => {
    const used = records.filter(({ event }) => event === "key.used");
    const facts = used.map(({ at, ...record }) => record);
    const [card, push] = [
      { event: "key.used", outcome: "success", use: "card", key: "card-1", target: "audited" },
      { event: "key.used", outcome: "success", use: "push", key: "push-1" },
    ];
    // Each server signs its card once, when it starts.
    expect(facts).toEqual([card, push, card, push]);
  },
  "server.started": async () => {
    expect(records.filter(({ event }) => event === "server.started")).toHaveLength(2);
  },
  "server.stopped": async () => {
    expect(await recordsOf(() => second.close())).toContainEqual({ event: "server.stopped", outcome: "success" });
  },
};

/** Events that other files test. */
const elsewhere: { readonly [E in AuditEvent]?: string } = {
  "admin.login": "test/console/sessions.test.ts",
  "admin.write": "test/admin/audit.test.ts",
  "audit.lost": "test/cli/audit-file.test.ts",
  "key.rotated": "test/push/at-rest.test.ts",
  "authentication.expired": "test/auth/stream-expiry.test.ts",
  "push.circuit-opened": "test/push/audit.test.ts",
  "push.dead-lettered": "test/push/audit.test.ts",
  "push.redriven": "test/push/audit.test.ts",
  "tls.reloaded": "test/server/tls-reload.test.ts",
  "tls.reload-failed": "test/server/tls-reload.test.ts",
  "tls.expiring": "test/server/tls-reload.test.ts",
};

const names = Object.keys(auditEvents) as AuditEvent[];

describe("the audit log", () => {
  it("has a test for each of its events", () => {
    const tested = [...Object.keys(cases), ...Object.keys(elsewhere)];
    expect(tested.sort()).toEqual([...names].sort());
  });

  it.each(names.filter((name) => cases[name] !== undefined))("has a record of %s", async (name) => {
    await cases[name]?.();
  });

  it.each(Object.entries(elsewhere))("has a record of %s, as %s shows", (name, file) => {
    expect(readFileSync(file, "utf8")).toContain(`"${name}"`);
  });
});

describe("docs/audit-log.md", () => {
  it("has every event of the audit log, as the table of events says it", () => {
    const page = readFileSync("docs/audit-log.md", "utf8");
    const rows = [...page.matchAll(/^\| `([a-z.-]+)` +\| (success|denied|failure) +\| (.*?) +\|$/gm)];
    const said = Object.fromEntries(rows.map(([, name, outcome, meaning]) => [name, { outcome, meaning }]));
    const known = Object.entries(auditEvents).map(([name, { outcome, meaning }]) => [name, { outcome, meaning }]);
    expect(said).toEqual(Object.fromEntries(known));
  });
});
