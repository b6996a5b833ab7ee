import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sessionIdle } from "../../src/console/sessions.js";
import { completed, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { operators, tokens } from "../admin/world.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";
import { ask, type ConsoleWorld, logIn, open, openConsole, own, sessionOf, tokenIn } from "./world.js";

/** A foreign agent. `/stream` answers with an endless stream, and other paths never answer. */
const called: string[] = [];
const left: string[] = [];
const agent = http.createServer((request, response) => {
  const name = request.url ?? "";
  called.push(name);
  response.on("close", () => left.push(name));
  if (!name.startsWith("/stream")) return;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: 1\n\n");
});
let at: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => agent.listen(0, "127.0.0.1", resolve));
  at = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
});
afterAll(() => {
  agent.close();
  agent.closeAllConnections();
});

type Headers = Readonly<Record<string, string>>;

/** The end of a call's answer: complete, broken off, or closed without one. */
const endOf = (answer: Promise<http.IncomingMessage>): Promise<unknown> =>
  answer.then(
    async (stream) => {
      try {
        for await (const _ of stream);
        return "whole";
      } catch {
        return "broken off";
      }
    },
    () => "closed",
  );

/** Opens a stream and a pending call over the relay, and a stream of the operator's service. */
async function openAll({ base }: ConsoleWorld, session: Headers, name: string) {
  const relayed = (path: string) => ({
    ...{ method: "POST", body: "{}" },
    headers: { ...session, "parley-relay-url": `${at}${path}` },
  });
  const stream = await open(`${base}/api/relay`, relayed(`/stream/${name}`));
  const pending = open(`${base}/api/relay`, relayed(`/pending/${name}`));
  const body = new Uint8Array([0, 0, 0, 0, 2, ...Buffer.from("{}")]);
  const operator = open(`${base}/api/admin/parley.admin.v1.AdminService/FollowTasks`, {
    ...{ method: "POST", body },
    headers: { ...session, "content-type": "application/connect+json" },
  });
  const ends = [endOf(Promise.resolve(stream)), endOf(pending), endOf(operator)];
  await vi.waitFor(() => expect(called).toEqual(expect.arrayContaining([`/stream/${name}`, `/pending/${name}`])));
  return { ends, upstream: [`/stream/${name}`, `/pending/${name}`] };
}

async function expectEnded({ ends, upstream }: Awaited<ReturnType<typeof openAll>>): Promise<void> {
  expect(await Promise.all(ends)).not.toContain("whole");
  await vi.waitFor(() => expect(left).toEqual(expect.arrayContaining(upstream)));
}

const linkOf = ({ server }: ConsoleWorld) => ({ token: tokenIn(server.consoleUrl) });

describe("the end of a session", () => {
  it("ends its streams and pending calls, and only those, when the browser logs out", async () => {
    const world = await openConsole();
    try {
      const [mine, other] = [await sessionOf(world.base, linkOf(world)), await sessionOf(world.base, linkOf(world))];
      const ended = await openAll(world, mine, "mine");
      const kept = await openAll(world, other, "other");
      expect((await ask(`${world.base}/api/session`, { method: "DELETE", headers: mine })).status).toBe(204);
      await expectEnded(ended);
      expect(left).not.toEqual(expect.arrayContaining([expect.stringContaining("other")]));
      expect((await ask(`${world.base}/api/session`, { method: "DELETE", headers: other })).status).toBe(204);
      await expectEnded(kept);
    } finally {
      await world.server.close();
    }
  });

  it("ends them when its time is over, without a further request", async () => {
    setConstants(sessionIdle, { timeoutMs: 1_500 });
    const world = await openConsole();
    try {
      await expectEnded(await openAll(world, await sessionOf(world.base, linkOf(world)), "expired"));
    } finally {
      await world.server.close();
    }
  });

  it("ends them when 64 newer sessions have begun", async () => {
    const world = await openConsole({ admin: { listen: "127.0.0.1:0", tokens: operators } });
    try {
      const all = await openAll(world, await sessionOf(world.base, linkOf(world)), "oldest");
      for (let i = 0; i < 64; i++) await logIn(world.base, { authorization: `Bearer ${tokens.read}` });
      await expectEnded(all);
    } finally {
      await world.server.close();
    }
  });
});

describe("the end of a server with a console", () => {
  it("ends relayed streams and calls before its own work has ended", async () => {
    let finish = (): void => {};
    const waits = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const world = await openConsole({
      agent: {
        card: { name: "slow", description: "Waits.", version: "1.0.0", skills: [] },
        async *execute() {
          called.push("execute");
          await waits;
          yield completed();
        },
      },
      limits: { shutdownGraceMs: 60_000 },
    });
    const session = await sessionOf(world.base, linkOf(world));
    const all = await openAll(world, session, "closed");
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "wait" }] };
    const sent = ask(`${world.server.url}/message:send`, {
      ...{ method: "POST", body: JSON.stringify({ message }) },
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
    });
    await vi.waitFor(() => expect(called).toContain("execute"));
    const closed = world.server.close();
    await expectEnded({ ...all, ends: all.ends.slice(0, 2) });
    finish();
    await Promise.all([sent, closed]);
  });
});

describe("a2a.console.fetch", () => {
  it("ends the stream of a session that logs out", async () => {
    const a2a = createA2A({
      ...{ agent: obedient("mounted"), store: memoryStore(), audit: false },
      ...{ console: { local: true }, admin: { tokens: operators } },
    });
    const fetch = (path: string, init: RequestInit): Promise<Response> =>
      a2a.console?.fetch(new Request(`http://localhost/console/api/${path}`, init)) as Promise<Response>;
    const begun = await fetch("session", {
      ...{ method: "POST", headers: { ...own, authorization: `Bearer ${tokens.write}` } },
    });
    const session = { ...own, cookie: begun.headers.get("set-cookie")?.split(";", 1)[0] ?? "" };
    const stream = await fetch("relay", {
      ...{ method: "POST", body: "{}", headers: { ...session, "parley-relay-url": `${at}/stream/fetch` } },
    });
    const read = stream.text().then(
      () => "whole",
      () => "broken off",
    );
    expect((await fetch("session", { method: "DELETE", headers: session })).status).toBe(204);
    expect(await read).toBe("broken off");
    await vi.waitFor(() => expect(left).toContain("/stream/fetch"));
    await a2a.close();
  });
});
