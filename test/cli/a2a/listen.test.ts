import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createServer as createParley } from "../../../src/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { keyPair } from "../../card/signing/keys.js";
import { freePort } from "../../support/free-port.js";
import { Gate, gates, openWorld, runIn } from "./world.js";

describe.each([
  ["jsonrpc", "1.0"],
  ["rest", "1.0"],
  ["grpc", "1.0"],
  ["jsonrpc", "0.3"],
])("send --push-listen over %s %s", (transport, version) => {
  const more = ["--transport", transport, ...(version === "1.0" ? [] : ["--a2a-version", version])];

  it("A2ACLI_PUSH_002 waits for the task by notifications", async () => {
    const port = await freePort();
    const world = await openWorld({ push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] } });
    try {
      const argv = ["send", "wait 300", "-a", "AGENT", "--push-listen", "--push-url", `http://127.0.0.1:${port}/hook`];
      // The poll interval is longer than the test may take.
      const { exit, out, err } = await world.run([...argv, ...more, "--poll-interval", "30s"]);
      expect(exit, err).toBe(0);
      expect(out).toContain("State: COMPLETED");
      const [sent] = world.seen.filter(({ method }) => method === "SendMessage");
      expect(sent?.request.configuration.taskPushNotificationConfig.url).toBe(`http://127.0.0.1:${port}/hook`);
    } finally {
      await world.close();
    }
  });
});

describe("send --push-listen", () => {
  it("A2ACLI_PUSH_002 polls when a notification is lost", async () => {
    const port = await freePort();
    // The server accepts the webhook, but delivers to a port that does not listen.
    const lookup = async () => [{ address: "127.0.0.9", family: 4 as const }];
    const world = await openWorld({ push: { allowHttp: true, ports: [port], allow: ["hooks.example.org"], lookup } });
    try {
      const argv = [
        "send",
        "wait 100",
        "-a",
        "AGENT",
        "--push-listen",
        "--push-url",
        `http://hooks.example.org:${port}/`,
      ];
      const { exit, out, err } = await world.run([...argv, "--poll-interval", "50ms"]);
      expect(exit, err).toBe(0);
      expect(out).toContain("State: COMPLETED");
    } finally {
      await world.close();
    }
  });

  it("waits for the next notification if the task runs again after one", async () => {
    const gate = new Gate();
    gates.set("again", gate);
    const port = await freePort();
    const hook = `http://127.0.0.1:${port}/hook`;
    const world = await openWorld({ push: { allowHttp: true, ports: [port], allow: ["127.0.0.1"] } });
    const gets = () => world.seen.filter(({ method }) => method === "GetTask").length;
    let told = "";
    try {
      const argv = ["send", "gate again", "-a", "AGENT", "--push-listen", "--push-url", hook, "--poll-interval", "30s"];
      const ended = world.run(argv, {
        onOutput: (_, text) => {
          told += text;
        },
      });
      await expect.poll(() => told).toMatch(/Task ID: \S+\n/);
      const taskId = /Task ID: (\S+)/.exec(told)?.[1] ?? "";
      const [sent] = world.seen.filter(({ method }) => method === "SendMessage");
      const token = sent?.request.configuration.taskPushNotificationConfig.token;
      // This notification looks as if another client had already answered.
      const status = { state: "TASK_STATE_INPUT_REQUIRED" };
      const { status: answer } = await fetch(hook, {
        method: "POST",
        headers: { "content-type": "application/json", "x-a2a-notification-token": token },
        body: JSON.stringify({ statusUpdate: { taskId, contextId: "c", status } }),
      });
      expect(answer).toBe(204);
      await expect.poll(gets).toBe(1);
      await setTimeout(200);
      expect(gets()).toBe(1);
      gate.open();
      const { exit, out, err } = await ended;
      expect(exit, err).toBe(0);
      expect(out).toContain("State: COMPLETED");
      expect(gets()).toBe(2);
    } finally {
      gate.open();
      await world.close();
    }
  });

  it("A2ACLI_VER_003 sends nothing to an agent without push notifications", async () => {
    const world = await openWorld();
    try {
      const { exit, err } = await world.run(["send", "hi", "-a", "AGENT", "--push-listen"]);
      expect([exit, err]).toEqual([1, expect.stringContaining("PushNotificationNotSupportedError")]);
      expect(world.seen).toEqual([]);
    } finally {
      await world.close();
    }
  });
});

describe("listen", () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const body = (id: string, state = "TASK_STATE_COMPLETED") =>
    JSON.stringify({ statusUpdate: { taskId: id, contextId: "c", status: { state } } });
  let folder = "";
  let stop: AbortController;
  let ended: Promise<unknown> | undefined;
  let out = "";
  let err = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-listen-"));
    stop = new AbortController();
    [out, err] = ["", ""];
  });
  afterEach(async () => {
    stop.abort("SIGINT");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts the command. @returns the URL of its webhook */
  async function listening(...argv: readonly string[]): Promise<string> {
    ended = runIn(["listen", ...argv], {
      interrupted: stop.signal,
      onOutput: (stream, text) => {
        if (stream === "out") out += text;
        else err += text;
      },
    });
    await expect.poll(() => err, { timeout: 20_000 }).toMatch(/Listening at \S+\n/);
    return /Listening at (\S+)/.exec(err)?.[1] ?? "";
  }

  async function post(url: string, text: string, headers: Record<string, string> = {}) {
    const answer = await fetch(url, {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json", ...headers },
    });
    return answer.status;
  }

  it("prints what has its token, refuses the rest, and ends by Ctrl-C with 0", async () => {
    const file = join(folder, "got.jsonl");
    const url = await listening("--record", file);
    const token = /Token: (\S+)/.exec(err)?.[1] ?? "";
    expect(await post(url, body("t-0"), { "a2a-notification-token": token })).toBe(204);
    expect(out).toContain("t-0");
    out = "";
    expect(await post(url, body("t-1"), { "x-a2a-notification-token": token })).toBe(204);
    expect(out).toMatch(/^Received: \S+ \(token\)\nTask ID: t-1\nContext ID: c\nState: COMPLETED\n\n$/);
    expect(await post(url, body("t-2"), { "x-a2a-notification-token": "wrong-token" })).toBe(403);
    expect(await post(url, body("t-3"))).toBe(403);
    expect(await post(`${url}other`, body("t-4"))).toBe(404);
    expect(out).not.toMatch(/t-[234]/);
    expect(err).toContain("warning: refused: ");
    expect(err).not.toContain("wrong-token");
    stop.abort("SIGINT");
    expect(await ended).toMatchObject({ exit: 0 });
    const recorded = readFileSync(file, "utf8");
    expect(recorded.trim().split("\n")).toHaveLength(2);
    expect(recorded).not.toContain(token);
  });

  it("verifies Standard Webhooks, forwards and records them, each once", async () => {
    const got: { readonly headers: object; readonly body: string }[] = [];
    let status = 503;
    const target = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      got.push({ headers: request.headers, body: text });
      response.statusCode = status;
      response.end();
    });
    await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
    const to = `http://127.0.0.1:${(target.address() as AddressInfo).port}/in`;
    try {
      writeFileSync(join(folder, "secret"), secret);
      const file = join(folder, "got.jsonl");
      const url = await listening(
        ...["--secret-file", join(folder, "secret"), "--forward", to, "--record", file, "-o", "json"],
      );
      const sign = (id: string, text: string, at = new Date()) => ({
        "webhook-id": id,
        "webhook-timestamp": `${Math.floor(at.getTime() / 1_000)}`,
        "webhook-signature": new Webhook(secret).sign(id, at, text),
      });
      const first = body("t-1");
      // The target fails, so the sender has to retry.
      expect(await post(url, first, sign("m-1", first))).toBe(500);
      status = 200;
      expect(await post(url, first, sign("m-1", first))).toBe(204);
      expect(await post(url, first, sign("m-1", first))).toBe(204);
      expect(got.map(({ body: text }) => text)).toEqual([first, first]);
      expect(got[1]?.headers).toMatchObject({ "webhook-id": "m-1" });
      expect(await post(url, body("t-2"), sign("m-2", first))).toBe(403);
      expect(await post(url, first, sign("m-3", first, new Date(Date.now() - 3_600_000)))).toBe(403);
      const lines = out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      expect(lines.at(-1)).toMatchObject({
        taskId: "t-1",
        proof: "v1",
        notification: { statusUpdate: { taskId: "t-1" } },
      });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(file, "utf8")).not.toContain(secret);
      got.length = 0;
      const again = await runIn(["listen", "--replay", file, "--forward", to]);
      expect([again.exit, again.out]).toEqual([0, "Notification 1: 200\nNotification 2: 200\n"]);
      expect(got.map(({ body: text }) => text)).toEqual([first, first]);
      status = 500;
      expect((await runIn(["listen", "--replay", file, "--forward", to])).exit).toBe(1);
    } finally {
      target.close();
    }
  });

  it("ends a replay at Ctrl-C, and counts no notification that it did not send", async () => {
    const file = join(folder, "three.jsonl");
    const line = JSON.stringify({ at: "", headers: {}, body: Buffer.from(body("t-1")).toString("base64") });
    writeFileSync(file, `${line}\n`.repeat(3));
    const target = createServer(() => stop.abort("SIGINT")).listen(0, "127.0.0.1");
    await new Promise((resolve) => target.once("listening", resolve));
    const to = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
    try {
      const replayed = await runIn(["listen", "--replay", file, "--forward", to], { interrupted: stop.signal });
      expect([replayed.exit, replayed.out]).toEqual([130, ""]);
    } finally {
      target.close();
      target.closeAllConnections();
    }
  });

  it("verifies what a Parley server signs by its key, and refuses what another one signs", async () => {
    const [own, others] = [keyPair("ES256"), keyPair("ES256")];
    const [port, otherPort, hookPort] = [await freePort(), await freePort(), await freePort()];
    const hook = `http://127.0.0.1:${hookPort}/`;
    const serve = (at: number, { pem }: { readonly pem: string }) =>
      createParley({
        agent: { card: { name: "Signs", description: "d", version: "1" }, execute: async function* () {} },
        store: memoryStore(),
        port: at,
        grpcPort: false,
        publicUrl: `http://127.0.0.1:${at}`,
        push: { allowHttp: true, ports: [hookPort], allow: ["127.0.0.1"], signing: { keys: [{ key: pem, kid: "k" }] } },
      });
    const servers = [await serve(otherPort, others), await serve(port, own)];
    try {
      const from = `http://127.0.0.1:${port}`;
      await listening("--server", from, "--port", `${hookPort}`, "-o", "json");
      for (const [at, messageId] of [
        [otherPort, "refused"],
        [port, "accepted"],
      ]) {
        const sent = await fetch(`http://127.0.0.1:${at}/message:send`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            message: { messageId, contextId: messageId, role: "ROLE_USER", parts: [{ text: "hi" }] },
            configuration: { taskPushNotificationConfig: { url: hook } },
          }),
        });
        expect(sent.status).toBe(200);
        if (at === otherPort) await expect.poll(() => err, { timeout: 20_000 }).toContain("warning: refused: ");
      }
      await expect.poll(() => out, { timeout: 20_000 }).toContain("TASK_STATE_COMPLETED");
      const proofs = out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).proof);
      expect(new Set(proofs)).toEqual(new Set([`jwt of ${from}`]));
      expect(out).not.toContain('"refused"');
    } finally {
      for (const server of servers) await server.close({ graceMs: 0 });
    }
  });

  it.each([
    [["--port", "70000"], "--port"],
    [["--path", "hook"], "is not a path such as /hook"],
    [["--forward", "ftp://x"], "is not a URL of http or https"],
    [["--replay", "x"], "--replay needs the URL to send to"],
    [["--secret-file", "missing"], "--secret-file"],
    [["--replay", "missing", "--forward", "http://127.0.0.1:9"], "--replay"],
  ])("rejects %j in one line", async (argv, text) => {
    const { exit, err: told } = await runIn(["listen", ...argv]);
    expect([exit, told]).toEqual([2, expect.stringContaining(text)]);
  });
});
