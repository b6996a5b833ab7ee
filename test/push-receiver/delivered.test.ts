import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeProtectedHeader } from "jose";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Agent, artifact, completed, createServer, type PushOptions } from "../../src/index.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import { hostRest } from "../../src/push/host-limiter.js";
import { pushRetry } from "../../src/push/outcome.js";
import { createPushReceiver, type PushEvent, pushSecretOf } from "../../src/push-receiver/index.js";
import type { Server } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { keyPair } from "../card/signing/keys.js";
import { newSecret, newWebhookKeys } from "../push/signature/keys.js";
import { setConstants } from "../support/constants.js";
import { freePort } from "../support/free-port.js";
import { scaled } from "../support/soak.js";
import { listen } from "./world.js";

const PIECES = 30;

/** Notifications of a task: as it was created, its pieces, and its end. */
const EACH = PIECES + 2;

/** Tasks under way at once while the keys change. */
const TASKS = scaled(12, 40);

const agent: Agent = {
  card: { name: "Pieces", description: "Says many things.", version: "1.0.0" },
  async *execute({ text }) {
    for (let i = 0; i < PIECES; i++) yield artifact({ name: "pieces", text: `${text} ${i}`, append: true });
    yield completed();
  },
};

const folder = mkdtempSync(join(tmpdir(), "parley-push-"));
const running: Server[] = [];
afterEach(async () => {
  for (const server of running.splice(0)) await server.close({ graceMs: 0 });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("notifications of a server", () => {
  it("are verified by both kinds of signature, each once and in order, through restarts that change all keys", async () => {
    const [oldKey, newKey] = [keyPair("ES256"), keyPair("EdDSA")];
    const [oldSecret, newSecretOf] = [newSecret(), newSecret()];
    const [oldPair, newPair] = [newWebhookKeys(), newWebhookKeys()];
    const old = { key: oldKey.pem, kid: "old" };
    const next = { key: newKey.pem, kid: "next" };
    const token = "a token that nobody guesses";
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;

    /** Ids of the keys that signed deliveries. */
    const kids = new Set<unknown>();
    const events: PushEvent[] = [];
    let failures = 0;
    let most = (TASKS * EACH) / 4;
    const hook = `${await listen((request, response) => {
      kids.add(decodeProtectedHeader(String(request.headers["parley-signature"])).kid);
      void webhook(request, response);
    })}/a2a`;
    const receiver = createPushReceiver({
      // The receiver finds the keys where the server publishes them.
      servers: [url],
      audience: hook,
      secrets: [await pushSecretOf(oldSecret, token), await pushSecretOf(newSecretOf, token)],
      publicKeys: [oldPair.whpk, newPair.whpk],
      tokens: [token],
    });
    const webhook = receiver.handler(async (event) => {
      // Each server delivers a part of them, and is closed while others are on their way.
      while (events.length >= most) await new Promise((resolve) => setTimeout(resolve, 5));
      if (event.generation === 10 && failures++ % 2 === 0) throw new Error("not now");
      events.push(event);
    });
    setConstants(issuerBounds, { cooldownMs: 1 });
    setConstants(pushRetry, { firstMs: 20 });
    setConstants(hostRest, { maxMs: 100 });
    const serve = async (signing: PushOptions["signing"]): Promise<Server> => {
      const server = await createServer({
        agent,
        store: sqliteStore(join(folder, "tasks.db")),
        port,
        grpcPort: false,
        publicUrl: url,
        limits: { maxPushRetryMs: 100, maxDeliveriesPerHostPerSecond: 10_000 },
        push: {
          allowHttp: true,
          ports: [Number(new URL(hook).port)],
          allow: ["127.0.0.1"],
          ...(signing && { signing }),
        },
      });
      running.push(server);
      return server;
    };

    const first = await serve({ keys: [old], webhookSecrets: [oldSecret, oldPair.whsk] });
    const tasks = await Promise.all(
      Array.from({ length: TASKS }, (_, at) => `t${at}`).map(async (text) => {
        const message = { messageId: text, role: "ROLE_USER", parts: [{ text }] };
        const configuration = { taskPushNotificationConfig: { url: `${hook}?secret=1`, token } };
        const answer = await fetch(`${url}/message:send`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ message, configuration }),
        });
        return ((await answer.json()) as { task: { id: string } }).task.id;
      }),
    );
    await expect.poll(() => events.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(most);
    await first.close({ graceMs: 0 });
    most = (TASKS * EACH) / 2;
    const second = await serve({
      keys: [next, old],
      webhookSecrets: [newSecretOf, oldSecret, newPair.whsk, oldPair.whsk],
    });
    await expect.poll(() => events.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(most);
    await second.close({ graceMs: 0 });
    most = Number.POSITIVE_INFINITY;
    await serve({ keys: [next], webhookSecrets: [newSecretOf, newPair.whsk] });
    await expect.poll(() => events.length, { timeout: 60_000 }).toBe(TASKS * EACH);

    for (const task of tasks) {
      const own = events.filter(({ taskId }) => taskId === task);
      expect(own.map(({ generation }) => generation)).toEqual(Array.from({ length: EACH }, (_, i) => i + 1));
      expect(own.at(-1)?.response.payload.case).toBe("statusUpdate");
    }
    expect(new Set(events.map(({ signatures }) => signatures.map(({ kind }) => kind).join()))).toEqual(
      new Set(["jwt,v1"]),
    );
    expect(kids).toEqual(new Set(["old", "next"]));
    expect(failures).toBeGreaterThan(0);
  }, 120_000);

  it("are verified by the library of Standard Webhooks alone", async () => {
    const secret = newSecret();
    const token = "another token";
    const seen: unknown[] = [];
    const hook = await listen(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const own = new Webhook(await pushSecretOf(secret, token));
      seen.push(own.verify(Buffer.concat(parts), request.headers as Record<string, string>));
      response.end();
    });
    const server = await createServer({
      agent,
      store: memoryStore(),
      port: 0,
      grpcPort: false,
      push: {
        allowHttp: true,
        ports: [Number(new URL(hook).port)],
        allow: ["127.0.0.1"],
        signing: { webhookSecrets: [secret] },
        events: ["task", "completed"],
      },
    });
    running.push(server);
    await fetch(`${server.url}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        message: { messageId: "1", role: "ROLE_USER", parts: [{ text: "hi" }] },
        configuration: { taskPushNotificationConfig: { url: hook, token } },
      }),
    });
    await expect.poll(() => seen.length, { timeout: 30_000 }).toBe(2);
    expect(seen).toMatchObject([{ task: {} }, { statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } } }]);
  }, 60_000);
});
