import { afterEach, describe, expect, it, vi } from "vitest";
import { A2AService, type Message, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, connect } from "../../src/client/index.js";
import { artifact, inputRequired, type Server } from "../../src/index.js";
import type { ServiceInterceptor } from "../../src/service/invoke.js";
import { fixture } from "../cli/cli.js";
import { agentOf, Servers } from "../delegation/servers.js";
import { Home } from "./support/server-process.js";

vi.setConfig({ testTimeout: 120_000 });

const patience = { timeout: 30_000, interval: 20 };
const { sendStreamingMessage, cancelTask } = A2AService.method;

/**
 * Holds the answers of one method of the other agent. A held send has reached the agent; a held cancel has had no
 * effect.
 */
class Line {
  held: typeof sendStreamingMessage | typeof cancelTask | undefined;
  arrived = 0;

  readonly interceptor: ServiceInterceptor = (next) => async (invocation) => {
    if (invocation.method !== this.held) return next(invocation);
    const left = new Promise<never>(() => {});
    if (this.held === cancelTask) {
      this.arrived++;
      return left;
    }
    return this.#mute((await next(invocation)) as AsyncIterable<Message>, left);
  };

  async *#mute(answer: AsyncIterable<Message>, left: Promise<never>): AsyncIterable<Message> {
    for await (const message of answer) {
      this.arrived++;
      await left;
      yield message;
    }
  }
}

const other = agentOf("Other", async function* ({ text, signal }) {
  if (text === "ask") return yield inputRequired("Which?");
  yield artifact({ id: "a", text: "begun" });
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
});

let home: Home;
let line: Line;
let served: Server;
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  delete process.env.TEST_OTHER_AGENT;
  await home.leave();
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

async function clientOf(url: string): Promise<A2AClient> {
  const client = await connect(url);
  clients.push(client);
  return client;
}

/** Moments of the kill: a message to the process, and the held method of the other agent. */
const moments = [
  ["sends a sub-task", "wait", sendStreamingMessage],
  ["ends a task that leaves its sub-task", "leave", cancelTask],
  ["gives up a task that waits with the question of its sub-task", "ask", cancelTask],
] as const;

describe("a process that is killed while it", () => {
  it.each(moments)("%s leaves no sub-task open", async (_moment, text, held) => {
    line = new Line();
    served = await servers.serve(other, { interceptors: [line.interceptor] });
    process.env.TEST_OTHER_AGENT = served.url;
    home = new Home();
    home.agent = fixture("leaving");
    line.held = held;
    const first = await home.start();
    const client = await clientOf(first.url);
    const { taskId = "" } = await client.send(text, { returnImmediately: true });
    await expect.poll(() => line.arrived, patience).toBeGreaterThan(0);
    // These calls give concurrent writes time to be stored.
    for (let call = 0; call < 20; call++) await client.getTask({ id: taskId });
    expect(await first.kill()).toMatchObject({ signal: "SIGKILL" });
    line.held = undefined;
    const second = await clientOf((await home.start()).url);
    const isOver = async (): Promise<boolean> => {
      const { status } = await second.getTask({ id: taskId });
      return status?.state === TaskState.FAILED || status?.state === TaskState.CANCELED;
    };
    await expect.poll(isOver, patience).toBe(true);
    const { tasks } = await (await clientOf(served.url)).listTasks({});
    expect(tasks.map(({ status }) => status?.state)).toEqual([TaskState.CANCELED]);
  });
});
