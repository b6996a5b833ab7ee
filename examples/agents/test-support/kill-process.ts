import { writeSync } from "node:fs";
import { fromBinary } from "@bufbuild/protobuf";
import { type Agent, createServer, type RemoteAgents } from "parley-a2a";
import { sqliteStore } from "parley-a2a/store/sqlite";
import { LogEntrySchema } from "../../../gen/parley/log/v1/log_pb.js";

// Serves an agent and kills itself with SIGKILL, before or after its n-th write to the logs of tasks:
//
//   node kill-process.js MODULE FILE [before|after] [N]
//
// It prints what it has stored, so that the test knows which results must never be computed again.
const [module = "", file = "", when = "never", count = "0"] = process.argv.slice(2);
const { agent, remoteAgents } = (await import(module)) as {
  readonly agent: Agent;
  /** Other agents, which are not killed. */
  readonly remoteAgents?: RemoteAgents;
};

const say = (line: object): void => void writeSync(1, `${JSON.stringify(line)}\n`);

const store = sqliteStore({ path: file });
const append = store.append.bind(store);
let appends = 0;
const isMoment = (at: string): boolean => when === at && appends === Number(count);
store.append = async (request) => {
  appends++;
  if (isMoment("before")) process.kill(process.pid, "SIGKILL");
  const result = await append(request);
  const entries = request.entries.map((bytes) => fromBinary(LogEntrySchema, bytes).event);
  const steps = entries.flatMap(({ case: kind, value }) => (kind === "step" ? [value] : []));
  say({
    append: appends,
    taskId: request.head.taskId,
    steps: steps.map(({ name, turn, call }) => ({ name, turn, call })),
  });
  if (isMoment("after")) process.kill(process.pid, "SIGKILL");
  return result;
};

const server = await createServer({
  ...{ agent, store, host: "127.0.0.1", port: 0, grpcPort: false },
  ...(remoteAgents && { remoteAgents }),
});
say({ url: `http://127.0.0.1:${server.port}` });
