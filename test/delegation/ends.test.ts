import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { artifact, completed, inputRequired, reply, working } from "../../src/agent/event.js";
import { apiKeyScheme } from "../../src/auth/api-key.js";
import { httpBearerScheme } from "../../src/auth/http-bearer.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { apiKey as clientApiKey } from "../../src/client/credentials/api-key.js";
import { bearer } from "../../src/client/credentials/bearer.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import type { Server } from "../../src/index.js";
import { setConstants } from "../support/constants.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

async function clientOf(url: string, options: Parameters<typeof connect>[1] = {}): Promise<A2AClient> {
  const client = await connect(url, options);
  clients.push(client);
  return client;
}

/** An agent that works until it is stopped. Records the stopped tasks. */
function endless(): { agent: Agent; stopped: string[] } {
  const stopped: string[] = [];
  const agent = agentOf("Endless", async function* ({ signal, taskId }: Turn) {
    yield artifact({ id: "a", text: "begun" });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    stopped.push(`${taskId} ${(signal.reason as { cause: string }).cause}`);
  });
  return { agent, stopped };
}

const passOn = (name: string, to: string): Agent =>
  agentOf(name, async function* (turn) {
    yield* turn.delegate(to);
  });

async function tasksOf(server: Server): Promise<readonly Task[]> {
  return (await (await clientOf(server.url)).listTasks({})).tasks;
}

describe("a cancel", () => {
  it("reaches the last of a row of agents, and every task of them is canceled", async () => {
    const { agent, stopped } = endless();
    const last = await servers.serve(agent);
    const middle = await servers.serve(passOn("Middle", last.url));
    const front = await servers.serve(passOn("Front", middle.url));
    const client = await clientOf(front.url);
    for await (const { kind, task } of client.stream("go")) {
      if (kind !== "artifact" || task === undefined) continue;
      const canceled = await client.cancelTask({ id: task.id });
      expect(canceled.status?.state).toBe(TaskState.CANCELED);
      break;
    }
    await expect.poll(() => stopped.length).toBe(1);
    expect(stopped[0]).toMatch(/ canceled$/);
    for (const server of [last, middle, front]) {
      const state = async (): Promise<unknown> => (await tasksOf(server)).map(({ status }) => status?.state);
      await expect.poll(state).toEqual([TaskState.CANCELED]);
    }
  });

  it("of a task that waits with another agent's question cancels that agent's task", async () => {
    const asks = await servers.serve(
      agentOf("Asks", async function* () {
        yield inputRequired("which?");
      }),
    );
    const middle = await servers.serve(passOn("Middle", asks.url));
    const front = await servers.serve(passOn("Front", middle.url));
    const client = await clientOf(front.url);
    const { taskId } = await client.send("go");
    expect((await client.cancelTask({ id: taskId as string })).status?.state).toBe(TaskState.CANCELED);
    for (const server of [middle, asks]) {
      const state = async (): Promise<unknown> => (await tasksOf(server)).map(({ status }) => status?.state);
      await expect.poll(state).toEqual([TaskState.CANCELED]);
    }
  });

  it("follows when an agent stops in the middle of a delegation", async () => {
    const { agent, stopped } = endless();
    const last = await servers.serve(agent);
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        for await (const event of turn.delegate(last.url)) {
          yield event;
          if (event.kind === "artifact") break;
        }
        yield completed("enough");
      }),
    );
    const answer = await (await clientOf(front.url)).send("go");
    expect(answer.state).toBe(TaskState.COMPLETED);
    await expect.poll(() => stopped.length).toBe(1);
  });
});

describe("agents that call each other in a circle", () => {
  it("come to an end", async () => {
    const urls: Record<string, string> = {};
    let began = 0;
    const circle = (name: string, other: string): Agent =>
      agentOf(name, async function* (turn) {
        began++;
        const { state, text } = yield* turn.delegate(urls[other] as string);
        if (state === TaskState.FAILED) throw new Error(text);
      });
    setConstants(remoteBounds, { maxDepth: 3 });
    urls.a = (await servers.serve(circle("A", "b"))).url;
    urls.b = (await servers.serve(circle("B", "a"))).url;
    const answer = await (await clientOf(urls.a)).send("go");
    expect(answer.state).toBe(TaskState.FAILED);
    // The first turn and three delegated ones.
    expect(began).toBe(4);
  });
});

describe("an agent that cannot be asked", () => {
  it("fails the task with a reason, unless its author goes on without it", async () => {
    setConstants(remoteBounds, { maxOutageMs: 200 });
    const front = await servers.serve(passOn("Front", "http://127.0.0.1:1"));
    const answer = await (await clientOf(front.url)).send("go");
    expect(answer).toMatchObject({
      state: TaskState.FAILED,
      text: "The agent http://127.0.0.1:1 could not do its part: UNAVAILABLE.",
    });
  });

  it("is named when it is none", async () => {
    const front = await servers.serve(passOn("Front", "nobody"));
    expect((await (await clientOf(front.url)).send("go")).state).toBe(TaskState.FAILED);
  });
});

describe("turn.call()", () => {
  it("gives a client whose calls carry the trace and the depth, and end with the turn", async () => {
    const seen: unknown[] = [];
    const { agent, stopped } = endless();
    const other = await servers.serve(agent, {
      interceptors: [
        (next) => (invocation) => {
          const { call } = invocation;
          seen.push([call.traceParent, call.header("parley-delegation-depth")]);
          return next(invocation);
        },
      ],
    });
    let ended: unknown;
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        const client = await turn.call("other");
        yield working(client.card.name);
        const message = { ...turn.message, taskId: "", contextId: "" };
        try {
          for await (const { payload } of client.sendStreamingMessage({ message })) {
            if (payload.case === "artifactUpdate") yield artifact({ text: "heard" });
          }
        } catch (error) {
          ended = error;
          throw error;
        }
      }),
      { remoteAgents: { other: other.url } },
    );
    const client = await clientOf(front.url);
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for await (const { kind, task } of client.stream("go", { headers: { traceparent } })) {
      if (kind === "artifact") await client.cancelTask({ id: task?.id as string });
    }
    expect(seen).toEqual([[traceparent, "1"]]);
    expect(ended).toMatchObject({ reason: "CANCELLED" });
    // The turn called the other agent without delegating, so its end does not end the other task.
    expect(stopped).toEqual([]);
  });
});

describe.each(["GRPC", "CONNECT", "GRPC-WEB"] as const)("the deadline of a caller over %s", (binding) => {
  it("goes with the calls of an agent that answers it directly, and ends them", async () => {
    const left: number[] = [];
    let stopped: unknown;
    const silent = agentOf(
      "Silent",
      async function* ({ signal }) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        stopped = (signal.reason as Error).cause;
        yield reply("too late");
      },
      { responds: "message" },
    );
    const other = await servers.serve(silent, {
      interceptors: [
        (next) => (invocation) => {
          left.push(invocation.call.deadline - Date.now());
          return next(invocation);
        },
      ],
    });
    const passing = agentOf(
      "Passing",
      async function* (turn) {
        const remote = await turn.call("other");
        yield reply((await remote.send(turn.text)).text);
      },
      { responds: "message" },
    );
    const front = await servers.serve(passing, { remoteAgents: { other: other.url } });
    const client = await clientOf(front.url, { bindings: [binding] });
    const sent = client.send("go", { timeoutMs: 2_000 });
    await expect(sent).rejects.toMatchObject({ reason: "DEADLINE_EXCEEDED", metadata: { arrival: "unknown" } });
    await expect.poll(() => stopped).toBe("disconnected");
    expect(left).toHaveLength(1);
    expect(left[0]).toBeLessThanOrEqual(2_000);
    expect(left[0]).toBeGreaterThan(0);
  }, 30_000);
});

describe("the client of turn.call()", () => {
  it("sends, streams and follows", async () => {
    const other = await servers.serve(
      agentOf("Other", async function* (turn) {
        yield artifact({ text: `${turn.text} done` });
      }),
    );
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        const client = await turn.call(other.url);
        const { text, taskId = "" } = await client.send("one");
        const texts = [text];
        for await (const update of client.stream({ parts: "two" })) texts.push(update.text);
        for await (const update of client.follow(taskId)) texts.push(update.text);
        yield completed(texts.join(","));
      }),
    );
    expect((await (await clientOf(front.url)).send("go")).text).toBe("one done,,two done,,one done");
  });
});

describe("the caller's token", () => {
  const security = { schemes: { token: httpBearerScheme({ tokens: [{ token: "of-ada", owner: "ada" }] }) } };

  it("goes to the other agent where the server's options say so, and to no other origin", async () => {
    const owners: string[] = [];
    const other = await servers.serve({
      ...agentOf("Other", async function* ({ caller }) {
        owners.push(caller.owner);
        yield completed(`for ${caller.owner}`);
      }),
      security,
    });
    const front = await servers.serve(
      {
        ...agentOf("Front", async function* (turn) {
          const { text } = yield* turn.delegate("other");
          yield completed(text);
        }),
        security,
      },
      { remoteAgents: { other: { url: other.url, passCaller: true } } },
    );
    const client = await clientOf(front.url, { credentials: bearer("of-ada") });
    expect((await client.send("go")).text).toBe("for ada");
    expect(owners).toEqual(["ada"]);
    // The card names interfaces of another origin than its URL, like that of a server behind another address.
    const elsewhere = await servers.serve(
      {
        ...agentOf("Elsewhere", async function* () {
          owners.push("leaked");
          yield completed();
        }),
        security,
      },
      { publicUrl: other.url, cardGrpc: "omit" },
    );
    const trap = await servers.serve(
      { ...passOn("Trap", "elsewhere"), security },
      { remoteAgents: { elsewhere: { url: elsewhere.url, passCaller: true } } },
    );
    const asked = await (await clientOf(trap.url, { credentials: bearer("of-ada") })).send("go");
    // The caller has no other credentials that could be used.
    expect(asked.state).toBe(TaskState.FAILED);
    expect(asked.text).toContain("UNSUPPORTED_OPERATION");
    expect(owners).toEqual(["ada"]);
  });

  it("goes with the server's own key where the other agent begins to ask for both", async () => {
    const does = agentOf("Other", async function* (turn) {
      yield completed(`did ${turn.text}`);
    });
    const open = await servers.serve(does);
    const { port, grpcPort = 0 } = open;
    const remoteAgents = { other: { url: open.url, passCaller: true, credentials: clientApiKey("front") } };
    const passes = agentOf("Front", async function* (turn) {
      const { text } = yield* turn.delegate("other");
      yield completed(text);
    });
    const front = { ...passes, security };
    const [first, second] = [
      await servers.serve(front, { remoteAgents }),
      await servers.serve(front, { remoteAgents }),
    ];
    const send = async ({ url }: Server) =>
      (await (await clientOf(url, { credentials: bearer("of-ada") })).send("work")).text;
    // The first server has called the agent before. The second one gets the agent's card from the cache.
    expect(await send(first)).toBe("did work");
    await open.close({ graceMs: 0 });
    const key = apiKeyScheme({ in: "header", name: "x-key", check: (owner: string) => ({ owner }) });
    const both = { schemes: { ...security.schemes, key }, require: [{ token: [], key: [] }] };
    await servers.serve({ ...does, security: both }, { port, grpcPort });
    for (const server of [second, first]) expect(await send(server)).toBe("did work");
  });

  it("is not asked for again where the client itself refuses to send it", async () => {
    const keys = [{ owner: "front", sha256: "0".repeat(64) }];
    const keyed = await servers.serve({
      ...passOn("Keyed", "x"),
      security: { schemes: { key: apiKeyScheme({ in: "header", name: "x-key", keys }) } },
    });
    const both = await servers.serve({
      ...passOn("Both", "x"),
      security: {
        schemes: { ...security.schemes, key: apiKeyScheme({ in: "header", name: "x-key", keys }) },
        require: [{ token: [], key: [] }],
      },
    });
    const failing = clientApiKey(async () => Promise.reject(new Error("the vault is closed")));
    const hidden = createHttpServer((_request, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => hidden.listen(0, "127.0.0.1", resolve));
    const hiddenUrl = `http://127.0.0.1:${(hidden.address() as AddressInfo).port}`;
    const remoteAgents = {
      keyed: { url: keyed.url, passCaller: true },
      both: { url: both.url, passCaller: true, credentials: failing },
      hidden: { url: hiddenUrl, passCaller: true },
    };
    for (const name of Object.keys(remoteAgents)) {
      const front = await servers.serve({ ...passOn("Front", name), security }, { remoteAgents });
      const client = await clientOf(front.url, { credentials: bearer("of-ada") });
      const { state, text } = await client.send("go");
      expect([name, state, text]).toEqual([
        name,
        TaskState.FAILED,
        `The agent ${name} could not do its part: UNAUTHENTICATED.`,
      ]);
    }
    hidden.close();
  });

  it("is asked for where there is none, and the work goes on with it", async () => {
    const other = await servers.serve({
      ...agentOf("Other", async function* (turn) {
        yield completed(`did ${turn.text}`);
      }),
      security,
    });
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        const { text } = yield* turn.delegate("other");
        yield completed(text);
      }),
      {
        remoteAgents: { other: { url: other.url, passCaller: true } },
        authenticator: {
          authenticate: (call) =>
            call.header("authorization") === undefined ? { owner: "x", authenticated: false } : { owner: "x" },
        },
      },
    );
    const without = await (await clientOf(front.url)).send("the work");
    expect(without.state).toBe(TaskState.AUTH_REQUIRED);
    const client = await clientOf(front.url, {
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", "Bearer of-ada");
          return next(request);
        },
      ],
    });
    const answer = await client.send({ parts: "here", taskId: without.taskId as string });
    expect([answer.state, answer.text]).toEqual([TaskState.COMPLETED, "did the work"]);
  });
});
