import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, type Binding, connect } from "../../src/client/index.js";
import { fixture } from "../cli/cli.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { Middle } from "./support/middle.js";
import { servers as foreign, type Started } from "./support/servers.js";

/* A Parley process that is killed and restarted while it delegates to an agent served with another library. */

const patience = { timeout: 30_000, interval: 100 };

/** A slow stream of the other agent. */
const PIECES = 40;
const SLOWLY = `stream ${PIECES} 40 40`;

const textsOf = ({ artifacts }: Task): string[] =>
  artifacts.map(({ parts }) => parts.map(({ content }) => content.value).join(""));

const piecesOf = ({ artifacts }: Task): number => artifacts[0]?.parts.length ?? 0;

/**
 * Checks that the task has the whole text of the one sub-task. Some servers add a piece twice when a client subscribes
 * at that moment, so the sub-task's own text is expected.
 */
function expectWhole(task: Task, begun: readonly Task[]): void {
  expect(begun).toHaveLength(1);
  const [whole = ""] = textsOf(begun[0] as Task);
  expect(textsOf(task)).toEqual([whole, `Added to: ${whole}`]);
  expect(new Set(whole.match(/\d+/g)).size).toBe(PIECES);
}

describe.each(Object.keys(foreign))(
  "a process that is killed while it delegates to an agent served with %s",
  (name) => {
    let started: Started;
    let other: A2AClient;

    beforeAll(async () => {
      started = await (foreign[name] as (typeof foreign)[string])();
      // An earlier server may have used the same port.
      other = await connect(started.url, { card: { cache: false } });
    }, 300_000);

    afterAll(async () => {
      await other?.close();
      await started?.stop();
    });

    describe.each<Binding>(["JSONRPC", "GRPC", "HTTP+JSON"])("over %s", (binding) => {
      /** True for the binding that runs the tests which are independent of the binding. */
      const isFirst = binding === "JSONRPC";
      let middle: Middle;
      let home: Home;
      let server: ServerProcess;
      let client: A2AClient;
      /** Ids of the other agent's tasks before this test. */
      let before: ReadonlySet<string>;

      // Tests share a process: the next one uses that which the previous one left.
      beforeAll(async () => {
        middle = await Middle.open(other, binding);
        home = new Home();
        home.agent = fixture("handing-on");
        await start();
      });

      beforeEach(async () => {
        before = new Set((await all()).map(({ id }) => id));
      });

      afterAll(async () => {
        await client?.close();
        await home?.leave();
        await middle?.close();
      });

      async function start(): Promise<void> {
        process.env.TEST_OTHER_AGENT = middle.url;
        try {
          server = await home.start();
        } finally {
          delete process.env.TEST_OTHER_AGENT;
        }
        client = await connect(server.url);
      }

      async function crash(): Promise<void> {
        expect(await server.kill()).toMatchObject({ signal: "SIGKILL" });
        await client.close();
      }

      async function all(): Promise<Task[]> {
        return (await other.listTasks({ pageSize: 100, includeArtifacts: true })).tasks;
      }

      /** The other agent's tasks of this test. */
      async function begun(): Promise<Task[]> {
        return (await all()).filter(({ id }) => !before.has(id));
      }

      async function begin(text: string): Promise<string> {
        const { taskId = "" } = await client.send(text, { returnImmediately: true });
        return taskId;
      }

      async function becomes(id: string, state: TaskState): Promise<Task> {
        await expect.poll(async () => (await client.getTask({ id })).status?.state, patience).toBe(state);
        return client.getTask({ id });
      }

      it("goes on with the sub-task, each time", async () => {
        const id = await begin(SLOWLY);
        for (const pieces of [2, 12]) {
          const enough = async () => piecesOf(await client.getTask({ id })) >= pieces;
          await expect.poll(enough, patience).toBe(true);
          await crash();
          await start();
        }
        expectWhole(await becomes(id, TaskState.COMPLETED), await begun());
      });

      it.runIf(isFirst)("has the whole result of a sub-task that ended meanwhile", async () => {
        const id = await begin(SLOWLY);
        await expect.poll(async () => piecesOf(await client.getTask({ id })) > 2, patience).toBe(true);
        await crash();
        const ended = async () => (await begun()).map(({ status }) => status?.state);
        await expect.poll(ended, patience).toEqual([TaskState.COMPLETED]);
        await start();
        expectWhole(await becomes(id, TaskState.COMPLETED), await begun());
      });

      it.runIf(isFirst)("hands the answer to the sub-task that had asked", async () => {
        const id = await begin("ask");
        await becomes(id, TaskState.INPUT_REQUIRED);
        await crash();
        await start();
        expect((await client.getTask({ id })).status?.state).toBe(TaskState.INPUT_REQUIRED);
        await client.sendMessage({
          message: { messageId: "answer", role: 1, taskId: id, parts: [{ content: { case: "text", value: "This." } }] },
        });
        const task = await becomes(id, TaskState.COMPLETED);
        expect(textsOf(task)).toEqual(["This.", "Added to: This."]);
        expect(await begun()).toHaveLength(1);
      });

      it("finds a sub-task of which it had no answer yet", async () => {
        middle.proxy.isMute = true;
        const id = await begin(SLOWLY);
        const atWork = async () => (await begun()).map(({ status }) => status?.state);
        await expect.poll(atWork, patience).toEqual([TaskState.WORKING]);
        await crash();
        middle.proxy.isMute = false;
        await start();
        expectWhole(await becomes(id, TaskState.COMPLETED), await begun());
      });
    });
  },
);
