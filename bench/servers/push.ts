/**
 * Parley with push notifications. Arguments: the path of a SQLite file, the port of the receiver, and what it does: `idle` serves an agent
 * that says one thing at each sign of the bench, `deliver` begins to serve at the first sign, `fill` fills the file with so many
 * tasks, of so many events each, that go to so many hosts (127.0.0.1 and on), of which the first one `answers` or `stalls`.
 */
import { create } from "@bufbuild/protobuf";
import { TaskPushNotificationConfigSchema, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { artifact } from "../../src/agent/event.js";
import { newId } from "../../src/core/ids.js";
import { ConfigVault } from "../../src/push/secrets.js";
import { createServer } from "../../src/server/create-server.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { encodeEntry, timestampOf } from "../../src/task/entry.js";
import { chunkText } from "./answers.js";
import { serve } from "./child.js";

const [, , path = "", port = "", mode = "idle", tasks = "0", events = "1", hosts = "1", first = "answers"] =
  process.argv;
const vault = new ConfigVault([]);
const time = timestampOf(Date.now());

/** Appends under way at once while the file is filled. */
const AT_ONCE = 512;

async function fill(): Promise<void> {
  const store = sqliteStore(path);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < Number(tasks)) await store.append(taskOf(next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  await store.close();
}

/** A task with one configuration, that gets each of its events. */
function taskOf(index: number): Parameters<ReturnType<typeof sqliteStore>["append"]>[0] {
  const [taskId, contextId] = [newId(), newId()];
  const host = index % Number(hosts);
  const target = `http://127.0.0.${host + 1}:${port}`;
  const url = `${target}/${host === 0 && first === "stalls" ? "dead" : "hook"}`;
  const status = { state: TaskState.SUBMITTED, timestamp: time };
  const place = { taskId, contextId };
  const count = Number(events);
  const entries = Array.from({ length: count }, (_, i) => {
    const parts = [{ content: { case: "text" as const, value: chunkText(i, 40) } }];
    const piece = { ...place, artifact: { artifactId: "result", name: "result", parts }, append: true };
    const event =
      i === 0
        ? ({ case: "created", value: { id: taskId, contextId, status } } as const)
        : ({ case: "artifact", value: piece } as const);
    return encodeEntry(create(LogEntrySchema, { position: i + 1, generation: i + 1, time, event }));
  });
  const bytes = vault.seal(
    { taskId, configId: "c" },
    create(TaskPushNotificationConfigSchema, { taskId, id: "c", url, token: "token" }),
  );
  const row = { ...place, tenant: "", owner: "", state: TaskState.SUBMITTED, statusTime: Date.now() };
  return {
    head: { ...row, position: count, generation: count },
    expected: 0,
    creates: true,
    entries,
    pushConfig: { configId: "c", bytes, target, maxPerTask: 1, maxPerOwner: 1e9 },
  };
}

let sign: () => void = () => {};
const agent: Agent = {
  card: { name: "Bench", description: "Says when it said it.", version: "1.0.0", skills: [] },
  async *execute() {
    for (;;) {
      await new Promise<void>((resolve) => {
        sign = resolve;
      });
      yield artifact({ name: "result", text: `sent:${process.hrtime.bigint()}`, append: true });
    }
  },
};

const begin = (): ReturnType<typeof createServer> =>
  createServer({
    agent,
    store: sqliteStore(path),
    host: "127.0.0.1",
    port: 0,
    grpcPort: 0,
    push: { allowHttp: true, ports: [Number(port)], allow: ["127.0.0.0/8"] },
    limits: { maxDeliveriesPerHost: 50, maxDeliveriesPerHostPerSecond: 1_000_000, shutdownGraceMs: 0 },
  });

if (mode === "fill") {
  await fill();
  serve({ http: 0, rpcPath: "/", restPath: "" });
} else if (mode === "deliver") {
  serve({ http: 0, rpcPath: "/", restPath: "" }, () => void begin());
} else {
  const server = await begin();
  serve({ http: server.port, rpcPath: "/", restPath: "" }, () => sign());
}
