import { once } from "node:events";
import { request as httpRequest } from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import express from "express";
import { SignJWT } from "jose";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { issuerBounds } from "../../src/jwt/issuer.js";
import {
  createPushReceiver,
  type PushEvent,
  PushRefusal,
  pushMemory,
  pushSecretOf,
} from "../../src/push-receiver/index.js";
import { keyPair } from "../card/signing/keys.js";
import { newSecret } from "../push/signature/keys.js";
import { setConstants } from "../support/constants.js";
import {
  audience,
  bodyOf,
  idOf,
  issuer,
  jwksOf,
  type Kind,
  kinds,
  listen,
  notification,
  post,
  postRaw,
  signing,
  trust,
  trusting,
  webhook,
} from "./world.js";

const everything = { ...trust.jwt, ...trust.v1, ...trust.v1a };
const vouching: Record<Kind, object> = { jwt: { kind: "jwt", issuer }, v1: { kind: "v1" }, v1a: { kind: "v1a" } };

describe("a receiver", () => {
  it.each(kinds)("gives its handler what it verified by %s", async (kind) => {
    const { events, post } = await webhook(trust[kind]);
    const sent = await notification(signing, { configId: "ä/1", generation: 7 });
    expect(await post(sent)).toMatchObject({ status: 204, text: "" });
    expect(events).toEqual([
      {
        response: expect.objectContaining({ payload: expect.objectContaining({ case: "statusUpdate" }) }),
        taskId: "task-1",
        contextId: "context-1",
        eventId: idOf("task-1", "ä/1", 7),
        configId: "ä/1",
        generation: 7,
        isTest: false,
        order: "new",
        isRepeat: false,
        sentAt: new Date(Number(sent.headers["webhook-timestamp"]) * 1_000),
        signatures: [vouching[kind]],
      },
    ]);
    const { payload } = (events[0] as PushEvent).response;
    expect(payload.case === "statusUpdate" && payload.value.status?.message?.parts[0]?.content).toEqual({
      case: "text",
      value: "ünïcode",
    });
  });

  it("reads what servers of 0.3 and 0.2 send: the bare task, and of some a bare event", async () => {
    const { events, post } = await webhook(everything);
    const status = { state: "input-required", message: { kind: "message", role: "agent", messageId: "m", parts: [] } };
    const parts = [{ kind: "text", text: "hi" }];
    const task = { kind: "task", id: "task-1", contextId: "c", status, artifacts: [{ artifactId: "a", parts }] };
    const update = { kind: "status-update", taskId: "task-1", contextId: "c", status, final: true };
    for (const [i, body] of [task, update].entries()) {
      const sent = await notification(signing, { body: JSON.stringify(body), generation: i + 1 });
      const headers = { ...sent.headers, "content-type": "application/json" };
      expect(await post({ ...sent, headers })).toMatchObject({ status: 204 });
    }
    expect(events.map(({ response }) => response.payload)).toMatchObject([
      {
        case: "task",
        value: {
          status: { state: TaskState.INPUT_REQUIRED },
          artifacts: [{ parts: [{ content: { case: "text", value: "hi" } }] }],
        },
      },
      { case: "statusUpdate", value: { status: { state: TaskState.INPUT_REQUIRED } } },
    ]);
    expect(events.map(({ taskId }) => taskId)).toEqual(["task-1", "task-1"]);
  });

  it("verifies every kind that it trusts", async () => {
    const { events, post } = await webhook(everything);
    expect((await post(await notification(signing))).status).toBe(204);
    expect(events[0]?.signatures).toEqual([vouching.jwt, vouching.v1]);
  });

  it("verifies what the library of Standard Webhooks signs, which knows neither configuration nor generation", async () => {
    const { events, post } = await webhook(trust.v1);
    const body = bodyOf("task-9", "hi");
    const at = new Date();
    const headers = {
      "content-type": "application/json; charset=utf-8",
      "webhook-id": "msg_1",
      "webhook-timestamp": `${Math.floor(at.getTime() / 1_000)}`,
      "webhook-signature": `v2,AAAA v1,bm90IHRoaXM= ${new Webhook(trusting.secret).sign("msg_1", at, body)}`,
    };
    expect((await post({ headers, body })).status).toBe(204);
    expect(events).toMatchObject([{ eventId: "msg_1", taskId: "task-9", order: "new", generation: undefined }]);
  });

  it("verifies what jose signs", async () => {
    const sent = await notification(signing);
    const { headers, body } = sent;
    const claims = JSON.parse(Buffer.from(headers["Parley-Signature"]?.split(".")[1] ?? "", "base64url").toString());
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", typ: "a2a-push+jwt", kid: "k1" })
      .sign(trusting.key.privateKey);
    const { post } = await webhook(trust.jwt);
    expect((await post({ headers: { ...headers, "Parley-Signature": token }, body })).status).toBe(204);
  });

  it("verifies by the secret of a token, which pushSecretOf derives like the server", async () => {
    const secret = newSecret();
    const by = { webhookSecrets: [secret] };
    const sent = await notification(by, { token: "acme" });
    const own = { secrets: [await pushSecretOf(secret, "acme")], tokens: ["acme"] };
    expect((await (await webhook(own)).post(sent)).status).toBe(204);
    const ofAll = { secrets: async (token: string) => [await pushSecretOf(secret, token)] };
    expect((await (await webhook(ofAll)).post(sent)).status).toBe(204);
    const other = { secrets: [await pushSecretOf(secret, "other")] };
    expect((await (await webhook(other)).post(sent)).status).toBe(403);
    await expect(pushSecretOf(secret, "")).rejects.toThrow("The token is empty");
    await expect(pushSecretOf("whsec_AAAA", "acme")).rejects.toThrow("must have 24 to 64 bytes");
  });

  it("takes notifications of servers that sign nothing where it is told to, by their token", async () => {
    const sent = await notification(undefined, { token: "secret token" });
    const bare = {
      headers: { "content-type": "application/json", "x-a2a-notification-token": "secret token" },
      body: sent.body,
    };
    const trusting = await webhook({ acceptUnsigned: true, tokens: ["another", "secret token"] });
    expect((await trusting.post(bare)).status).toBe(204);
    expect((await trusting.post(bare)).status).toBe(204);
    expect(trusting.events).toMatchObject([
      { eventId: undefined, generation: undefined, order: "new", signatures: [] },
      { order: "new" },
    ]);
    expect((await trusting.post({ ...bare, headers: { "content-type": "application/json" } })).status).toBe(403);
    // It still checks the signatures that it can check.
    const checking = await webhook({ ...trust.jwt, acceptUnsigned: true, tokens: ["secret token"] });
    const forged = {
      "Parley-Signature":
        (await notification({ keys: [{ key: keyPair().pem, kid: "k1" }] })).headers["Parley-Signature"] ?? "",
    };
    expect((await checking.post({ ...bare, headers: { ...bare.headers, ...forged } })).status).toBe(403);
    expect((await checking.post(bare)).status).toBe(204);
  });

  it("asks for the Authorization that was configured", async () => {
    const { post } = await webhook({ ...trust.jwt, authorization: ["Bearer a", "Basic b"] });
    const { headers, body } = await notification(signing);
    const status = async (authorization?: string) =>
      (await post({ headers: { ...headers, ...(authorization && { authorization }) }, body })).status;
    expect([await status(), await status("Bearer b"), await status("Basic b"), await status("Bearer a")]).toEqual([
      401, 401, 204, 204,
    ]);
  });

  it("asks its owner which tasks are expected", async () => {
    const asked: unknown[] = [];
    const expects = (task: { taskId: string }) => asked.push(task) > 0 && task.taskId === "mine";
    const { events, post } = await webhook({ ...trust.jwt, expects });
    expect(await post(await notification(signing, { taskId: "yours" }))).toMatchObject({ status: 403 });
    expect(await post(await notification(signing, { taskId: "mine", token: "t" }))).toMatchObject({ status: 204 });
    expect(events).toHaveLength(1);
    expect(asked[1]).toMatchObject({
      taskId: "mine",
      contextId: "context-1",
      configId: "config-1",
      server: issuer,
      token: "t",
    });
  });

  it("refuses tasks of which its owner says nothing, as a function of JavaScript may", async () => {
    const waiting = new Map([["mine", true]]);
    const { post } = await webhook({ ...trust.jwt, expects: ({ taskId }) => waiting.get(taskId) as boolean });
    expect(await post(await notification(signing, { taskId: "yours" }))).toMatchObject({ status: 403 });
    expect(await post(await notification(signing, { taskId: "mine" }))).toMatchObject({ status: 204 });
  });

  it("knows a server by its URL, with a slash at its end or without", async () => {
    const servers = [{ url: `${issuer}/`, jwks: jwksOf(["k1", trusting.key]) }];
    expect((await (await webhook({ servers, audience })).post(await notification(signing))).status).toBe(204);
  });

  it("says what it needs when it is made", () => {
    const make = (options: object) => () => createPushReceiver(options as never);
    expect(make({})).toThrow("nothing would be accepted");
    expect(make({ servers: [issuer] })).toThrow("servers needs audience");
    expect(make({ servers: ["http://agents.example"], audience })).toThrow(
      "the jwks of http://agents.example is not https",
    );
    expect(make({ servers: ["agents.example"], audience })).toThrow(
      'servers[0].url is "agents.example", not an absolute URL',
    );
    expect(make({ servers: ["https://user:pw@agents.example/?key=pw"], audience })).toThrow(
      "the jwks of https://…@agents.example/?… has credentials in it",
    );
    expect(make({ ...trust.jwt, audience: `${audience}?a=1` })).toThrow(
      "audience is a text, not an absolute URL without query",
    );
    expect(make({ acceptUnsigned: true })).toThrow("acceptUnsigned needs tokens or authorization");
    expect(make({ secrets: ["whsec_c2hvcnQ="] })).toThrow("secrets[0] must have 24 to 64 bytes");
    expect(make({ publicKeys: [trusting.webhookKeys.whsk] })).toThrow("publicKeys[0] is a text, not whpk_");
    expect(make({ ...trust.v1, tokens: [""] })).toThrow("tokens[0] is an empty text, not a non-empty text");
    expect(make({ ...trust.v1, token: "a" })).toThrow("did you mean tokens?");
    expect(make({ ...trust.v1, toleranceMs: 0 })).toThrow("toleranceMs is 0, not a whole number from 1 to 2147483647");
    expect(make({ ...trust.v1, limits: { maxBodyByte: 1 } })).toThrow("did you mean maxBodyBytes?");
    expect(make({ ...trust.v1, logger: {} })).toThrow("logger has no function debug, info, warn, error");
    expect(make({ servers: [{ url: issuer, jwk: "" }], audience })).toThrow("servers[0].jwk is not known");
    expect(make({ ...trust.v1, memory: {} })).toThrow("memory has no function order, remember");
    expect(make({ ...trust.v1, secret: trusting.secret })).not.toThrow(trusting.secret);
  });
});

describe("what is sent more than once", () => {
  it.each(kinds)("is handled once, and answered each time: %s", async (kind) => {
    const { events, post } = await webhook(trust[kind]);
    const first = await notification(signing, { time: Date.now() - 60_000 });
    const again = await notification(signing);
    expect(again.headers["webhook-id"]).toBe(first.headers["webhook-id"]);
    const answers = await Promise.all([post(first), post(again)]);
    answers.push(await post(first), await post(again));
    expect(events).toHaveLength(1);
    // A repeat that arrives while the first is being handled is asked to come again.
    for (const { status, headers } of answers) {
      if (status === 503) expect(headers.get("retry-after")).toBe("1");
      else expect(status).toBe(204);
    }
    expect(answers.slice(2).map(({ status }) => status)).toEqual([204, 204]);
  });

  it("is refused with what was expected in the log, and not in the answer, where it is for another webhook or of another server", async () => {
    const reasons: string[] = [];
    const info = ({ err }: { err?: Error }) => void reasons.push(String((err?.cause as Error | undefined)?.message));
    const logger = { debug() {}, info, warn() {}, error() {} };
    const keys = jwksOf(["k1", trusting.key]);
    const other = { servers: [{ url: "https://other.example", jwks: keys }], audience, logger };
    const elsewhere = { servers: [{ url: issuer, jwks: keys }], audience: "https://hooks.example/b2b", logger };
    for (const options of [other, elsewhere]) {
      const { post } = await webhook(options);
      const { status, text } = await post(await notification({ keys: signing.keys ?? [] }));
      expect([status, text]).toEqual([403, expect.not.stringContaining("example")]);
    }
    expect(reasons).toEqual([
      `servers of this receiver: https://other.example; the notification says "${issuer}"`,
      `audience of this receiver: https://hooks.example/b2b; the notification says "${audience}"`,
    ]);
  });

  it("is handled again where the handler failed", async () => {
    let fails = true;
    const logged: [object, string][] = [];
    const error = (facts: object, message: string) => void logged.push([facts, message]);
    const logger = { debug() {}, info() {}, warn() {}, error };
    const { events, post } = await webhook({ ...trust.jwt, logger }, () => {
      if (fails) throw new Error("the database is down: password");
    });
    const sent = await notification(signing);
    expect(await post(sent)).toMatchObject({ status: 500, text: "The notification could not be handled.\n" });
    expect(logged).toMatchObject([[{ err: { message: "the database is down: password" } }, expect.any(String)]]);
    fails = false;
    expect((await post(sent)).status).toBe(204);
    expect((await post(sent)).status).toBe(204);
    expect(events).toMatchObject([{ order: "new" }]);
  });

  it("is not handled twice at once", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const handle = vi.fn(() => held);
    const { post } = await webhook(trust.jwt, handle);
    const sent = await notification(signing);
    const first = post(sent);
    await expect.poll(() => handle.mock.calls.length).toBe(1);
    const meanwhile = await post(await notification(signing, { generation: 2 }));
    expect([meanwhile.status, meanwhile.headers.get("retry-after")]).toEqual([503, "1"]);
    // Another task does not wait.
    const other = post(await notification(signing, { taskId: "task-2" }));
    await expect.poll(() => handle.mock.calls.length).toBe(2);
    release();
    expect([(await first).status, (await other).status]).toEqual([204, 204]);
    expect((await post(await notification(signing, { generation: 2 }))).status).toBe(204);
    expect(handle).toHaveBeenCalledTimes(3);
  });

  it("tells a handler of its own when it may stop", async () => {
    const { post } = await webhook(trust.jwt, () => {
      throw new PushRefusal("gone", "Nobody waits for this task any more.");
    });
    expect(await post(await notification(signing))).toMatchObject({ status: 410 });
  });
});

describe("receive()", () => {
  const receiver = createPushReceiver(everything);
  const receive = async (facts: object) => receiver.receive(await notification(signing, facts));

  it("tells new notifications from repeats and older ones, by task and configuration", async () => {
    const order = async (generation: number, taskId = "task-1", configId = "config-1") => {
      const event = await receive({ generation, taskId, configId });
      expect(event.isRepeat).toBe(event.order !== "new");
      return event.order;
    };
    await receiver.handled(await receive({ generation: 3 }));
    expect(await order(3)).toBe("repeat");
    expect(await order(2)).toBe("older");
    expect(await order(4)).toBe("new");
    expect(await order(4)).toBe("new");
    expect([await order(1, "task-2"), await order(1, "task-1", "config-2")]).toEqual(["new", "new"]);
    await receiver.handled(await receive({ generation: 5 }));
    await receiver.handled(await receive({ generation: 4 }));
    expect([await order(5), await order(4), await order(3), await order(6)]).toEqual([
      "repeat",
      "repeat",
      "repeat",
      "new",
    ]);
  });

  it("forgets the oldest beyond a bound, and still knows what is newest of a task", async () => {
    const memory = pushMemory(2);
    const mark = (generation: number, line = "a") => ({ id: `${line}${generation}`, line, generation, keepUntil: 0 });
    for (const generation of [1, 2, 3]) memory.remember(mark(generation));
    expect([1, 2, 3, 4].map((generation) => memory.order(mark(generation)))).toEqual([
      "older",
      "repeat",
      "repeat",
      "new",
    ]);
    memory.remember(mark(1, "b"));
    memory.remember(mark(1, "c"));
    expect(memory.order(mark(2))).toBe("new");
    expect(memory.order(mark(1, "c"))).toBe("repeat");
  });

  it("asks a memory of somebody else's", async () => {
    const marks: object[] = [];
    const memory = { order: async () => "older" as const, remember: async (mark: object) => void marks.push(mark) };
    const other = createPushReceiver({ ...trust.jwt, memory });
    const event = await other.receive(await notification(signing, { generation: 5 }));
    expect(event.order).toBe("older");
    await other.handled(event);
    expect(marks).toEqual([
      {
        id: event.eventId,
        line: JSON.stringify(["task-1", "config-1"]),
        generation: 5,
        keepUntil: (event.sentAt?.getTime() ?? 0) + 300_000,
      },
    ]);
  });

  it("takes a Request, and headers in whatever form with the body as text or bytes", async () => {
    const { headers, body } = await notification(signing);
    const bytes = Buffer.from(body);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]]));
    for (const request of [
      new Request(audience, { method: "POST", headers, body }),
      { headers: new Headers(headers), body },
      { headers: upper, body: bytes },
      { method: "POST", headers, body: new Uint8Array(bytes) },
    ]) {
      expect(await receiver.receive(request)).toMatchObject({ taskId: "task-1" });
    }
    const parsed = { headers, body: JSON.parse(body) };
    await expect(receiver.receive(parsed)).rejects.toThrow("before anything parses it");
    const used = new Request(audience, { method: "POST", headers, body });
    await used.text();
    await expect(receiver.receive(used)).rejects.toThrow("was read before");
  });

  it("refuses by an error with a code and a status", async () => {
    const { headers, body } = await notification(signing);
    const refusal = await receiver.receive({ headers, body: `${body} ` }).catch((error) => error);
    expect(refusal).toBeInstanceOf(PushRefusal);
    expect(refusal).toMatchObject({ name: "PushRefusal", code: "signature", status: 403 });
  });
});

describe("a webhook in frameworks", () => {
  /** A logger that keeps its lines. */
  function noting() {
    const logged: string[] = [];
    const note = (level: string) => (_facts: object, message: string) => void logged.push(`${level}: ${message}`);
    const logger = { debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
    return { logged, logger };
  }

  it("answers requests of the Fetch API", async () => {
    const { fetch: answer } = createPushReceiver(everything);
    const events: PushEvent[] = [];
    const serve = answer((event) => void events.push(event));
    const { headers, body } = await notification(signing);
    const ask = (init: RequestInit) => serve(new Request(audience, { method: "POST", headers, body, ...init }));
    const [first, refused, wrongMethod] = [await ask({}), await ask({ body: "{}" }), await ask({ method: "PUT" })];
    expect([first.status, refused.status, wrongMethod.status]).toEqual([204, 403, 405]);
    expect(wrongMethod.headers.get("allow")).toBe("POST");
    expect(refused.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(events).toHaveLength(1);
  });

  it("refuses requests of the Fetch API that are cut off, which is no failure of its own", async () => {
    const { logged, logger } = noting();
    const serve = createPushReceiver({ ...everything, logger }).fetch(() => {});
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from("{"));
      },
      pull(controller) {
        controller.error(new TypeError("the connection was lost"));
      },
    });
    const headers = { "content-type": "application/json" };
    const init: RequestInit & { duplex: "half" } = { method: "POST", headers, body, duplex: "half" };
    expect((await serve(new Request(audience, init))).status).toBe(400);
    expect(logged).toEqual(["info: a notification was refused"]);
  });

  it("is mounted in Express, before what parses bodies or behind express.raw()", async () => {
    const receiver = createPushReceiver(everything);
    const handled: string[] = [];
    const app = express();
    app.post(
      "/first",
      receiver.handler(({ taskId }) => void handled.push(taskId)),
    );
    app.post(
      "/raw",
      express.raw({ type: "*/*" }),
      receiver.handler(({ taskId }) => void handled.push(taskId)),
    );
    app.use(express.json({ type: "*/*" }));
    app.post(
      "/parsed",
      receiver.handler(({ taskId }) => void handled.push(taskId)),
    );
    const url = await listen(app);
    const status = async (path: string, taskId: string) =>
      (await post(url + path, await notification(signing, { taskId }))).status;
    expect([await status("/first", "a"), await status("/raw", "b"), await status("/parsed", "c")]).toEqual([
      204, 204, 500,
    ]);
    expect(handled).toEqual(["a", "b"]);
  });

  it.each(["HTTP/1.1", "HTTP/2"])(
    "refuses what is cut off over %s, which is no failure of its own",
    async (protocol) => {
      const { logged, logger } = noting();
      const handler = createPushReceiver({ ...everything, logger }).handler(() => {});
      const headers = { "content-type": "application/json" };
      if (protocol === "HTTP/1.1") {
        const request = httpRequest(await listen(handler), { method: "POST", headers }).on("error", () => {});
        request.write("{", () => request.destroy());
      } else {
        const server = http2.createServer(handler).listen(0, "127.0.0.1");
        onTestFinished(() => void server.close());
        await once(server, "listening");
        const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
        const stream = session.request({ ":method": "POST", ...headers });
        stream.write("{", () => session.destroy());
      }
      await expect.poll(() => logged).toEqual(["info: a notification was refused"]);
    },
  );

  it("sees headers that are there twice", async () => {
    const { url } = await webhook(everything);
    const { headers, body } = await notification(signing);
    const pairs = Object.entries(headers);
    expect(await postRaw(url, pairs, body)).toBe(204);
    for (const name of Object.keys(headers)) {
      const twice = [...pairs, [name, headers[name] as string] as const];
      expect([name, await postRaw(url, twice, body)]).toEqual([name, 400]);
    }
  });
});

describe("the keys of a server", () => {
  const [old, next] = [keyPair("ES256"), keyPair("EdDSA")];
  const byOld = { keys: [{ key: old.pem, kid: "old" }] };
  const byNext = { keys: [{ key: next.pem, kid: "next" }, ...byOld.keys] };

  async function keyServer() {
    const shown = { keys: jwksOf(["old", old]), status: 200, asked: 0 };
    const url = await listen((_request, response) => {
      shown.asked++;
      response.writeHead(shown.status, { "content-type": "application/jwk-set+json" }).end(JSON.stringify(shown.keys));
    });
    return { shown, url };
  }

  it("are fetched once, and again for a key that is new, but not for each that nobody knows", async () => {
    const { shown, url } = await keyServer();
    const servers = [{ url: issuer, jwks: `${url}/.well-known/jwks.json` }];
    setConstants(issuerBounds, { cooldownMs: 1 });
    const { post } = await webhook({ servers, audience });
    const status = async (by: object, taskId: string) => (await post(await notification(by, { taskId }))).status;
    expect(await Promise.all(["a", "b", "c"].map((task) => status(byOld, task)))).toEqual([204, 204, 204]);
    expect(shown.asked).toBe(1);
    shown.keys = jwksOf(["next", next], ["old", old]);
    expect([await status(byNext, "d"), await status(byOld, "e")]).toEqual([204, 204]);
    expect(shown.asked).toBe(2);
    setConstants(issuerBounds, { cooldownMs: 10_000 });
    const patient = await webhook({ servers, audience });
    const forged = { keys: [{ key: keyPair().pem, kid: "unknown" }] };
    for (let i = 0; i < 20; i++) expect((await patient.post(await notification(forged))).status).toBe(403);
    expect(shown.asked).toBe(3);
  });

  it("are asked for again later where they cannot be had: the sender tries again", async () => {
    const { shown, url } = await keyServer();
    shown.status = 500;
    const servers = [{ url: issuer, jwks: url }];
    setConstants(issuerBounds, { cooldownMs: 1 });
    const { post } = await webhook({ servers, audience });
    const sent = await notification(byOld);
    expect(await post(sent)).toMatchObject({ status: 503 });
    shown.status = 200;
    await expect.poll(async () => (await post(sent)).status).toBe(204);
  });

  it("are not taken from a server that stalls, sends megabytes, or leads elsewhere", async () => {
    const elsewhere = await keyServer();
    const listeners: Parameters<typeof listen>[0][] = [
      () => {},
      (_request, response) => void response.end(`{"keys":[],"x":"${"x".repeat(300_000)}"}`),
      (_request, response) => void response.writeHead(302, { location: elsewhere.url }).end(),
      (_request, response) => void response.end("{"),
    ];
    for (const listener of listeners) {
      const servers = [{ url: issuer, jwks: await listen(listener) }];
      setConstants(issuerBounds, { timeoutMs: 200 });
      const { post } = await webhook({ servers, audience });
      expect(await post(await notification(byOld))).toMatchObject({ status: 503 });
    }
    expect(elsewhere.shown.asked).toBe(0);
  });

  it("are those of the server that the JWT names, of several", async () => {
    const other = keyPair("EdDSA");
    const servers = [trust.jwt.servers[0], { url: "https://other.example", jwks: jwksOf(["k1", other]) }];
    const { post, events } = await webhook({ servers, audience });
    expect((await post(await notification(signing))).status).toBe(204);
    // One server cannot speak for the other.
    const forged = await notification({ keys: [{ key: other.pem, kid: "k1" }] }, { generation: 2 });
    expect((await post(forged)).status).toBe(403);
    expect(events).toHaveLength(1);
  });
});
