import { create } from "@bufbuild/protobuf";
import { Role, SendMessageRequestSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import { buildCard } from "../../src/card/build.js";
import { anonymous } from "../../src/core/call.js";
import { createEngine } from "../../src/engine/engine.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { withMethods } from "./wrapped-stores.js";

/**
 * A process whose tasks change the state of one conversation: `conversation-child.ts <file> <tasks> <append> <before or
 * after>`. It kills itself before or after that append, or never for 0. It prints the final states when all tasks have
 * ended.
 */
const [path = "", tasks = "0", fatal = "0", side = "after"] = process.argv.slice(2);

const place = { tenant: "", owner: "" };
const contextId = "conversation";
const changesOfTask = 5;

const agent: Agent = {
  card: { name: "Test", description: "Counts.", version: "1.0.0", skills: [] },
  recover: "restart",
  async *execute(turn) {
    const { state } = turn.conversation;
    for (let change = 0; change < changesOfTask; change++) {
      await state.update<string[]>((before = []) => [...before, `${turn.text}.${change}`]);
      // Some events carry two changes, and the last change goes with the end of the task.
      if (change % 2 === 1) yield artifact({ name: "counted", text: `${change}`, append: true });
    }
  },
};

/** A store that kills its process at one of its appends. */
function mortal(store: TaskStore): TaskStore {
  let appends = 0;
  const die = (): void => void process.kill(process.pid, "SIGKILL");
  return withMethods(store, {
    append: async (request) => {
      const isLast = ++appends === Number(fatal);
      if (isLast && side === "before") die();
      const result = await store.append(request);
      if (isLast) die();
      return result;
    },
  });
}

const store = mortal(sqliteStore({ path, synchronous: "NORMAL" }));
const wired = { pushNotifications: false, extendedAgentCard: false, extensions: [] };
const served = { tenant: "", agent, card: buildCard(agent.card, wired) };
const engine = createEngine({ store, agentOf: () => served, maxRestarts: 1_000 });
await engine.start();

const send = (index: number): Promise<unknown> =>
  engine.send({
    served,
    request: create(SendMessageRequestSchema, {
      message: {
        messageId: `m${index}`,
        contextId,
        role: Role.USER,
        parts: [{ content: { case: "text", value: String(index) } }],
      },
    }),
    caller: anonymous,
    ...place,
    extensions: new Set(),
    traceParent: "",
    traceState: "",
    client: new AbortController(),
    idempotency: { key: `m${index}`, fingerprint: "f" },
  });

await Promise.all(Array.from({ length: Number(tasks) }, (_, index) => send(index)));
for (;;) {
  const { heads } = await store.list({ ...place, contextId, limit: 1_000 });
  const open = heads.filter(({ state }) => state === TaskState.SUBMITTED || state === TaskState.WORKING);
  if (open.length === 0) {
    process.stdout.write(`${JSON.stringify(heads.map(({ state }) => TaskState[state]))}\n`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 10));
}
await engine.drain(1_000);
await store.close();
