import { Role, type StreamResponse, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { ClientFold } from "../../client/follow/fold.js";
import { pause } from "../../core/async.js";
import { endsBlockingSend, isTerminal } from "../../task/state.js";
import { stateName } from "../../task/state-name.js";
import { type Check, callError, expectError, type Finding, firstOf, type Probe, request, unknownId } from "../check.js";
import { END_MS, FIRST_MS, recordStream, type StreamRecord, stateIn } from "../stream-record.js";
import { faultOfTask } from "./operations.js";

const undeclared: Finding = { skipped: "the agent declares no streaming" };
const noStream: Finding = { skipped: "no task was streamed" };

/** The watched stream of a probe. */
const records = new WeakMap<Probe, StreamRecord>();

/** Judges the watched stream of a task. */
const ofTask =
  (judge: (record: StreamRecord, probe: Probe) => Finding): Check["run"] =>
  async (probe) => {
    const record = records.get(probe);
    return record === undefined || record.events[0]?.payload.case !== "task" ? noStream : judge(record, probe);
  };

/** Checks of streams, the first of which watches the stream for the others. */
export const streamChecks: readonly Check[] = [
  {
    name: "stream",
    section: "3.1.2",
    requirement:
      "SendStreamingMessage begins with a task or a message; undeclared, it fails with UnsupportedOperationError",
    mend: "declare capabilities.streaming only with streams that work, and send the task before its updates",
    run: async (probe) => {
      const { client, card, signal } = probe;
      if (card.capabilities?.streaming !== true) {
        const first = firstOf(client.sendStreamingMessage(request(probe), { signal }));
        return expectError(first, "UNSUPPORTED_OPERATION");
      }
      const record = await recordStream(probe);
      records.set(probe, record);
      const [first] = record.events;
      if (first === undefined && record.error !== undefined) throw record.error;
      if (first === undefined && record.isSilent)
        return { fault: `nothing came within ${FIRST_MS / 1000} s: a proxy may hold events back` };
      if (first?.payload.case === "task") return faultOfTask(first.payload.value);
      if (first?.payload.case !== "message") return { fault: `the first event is ${first?.payload.case ?? "missing"}` };
      if (record.events.length > 1) return { fault: "more events follow a message" };
      return first.payload.value.role === Role.AGENT
        ? undefined
        : { fault: "the role of the message is not ROLE_AGENT" };
    },
  },
  {
    name: "stream-ids",
    section: "4.2.1",
    requirement: "all events of a stream name its task and context",
    mend: "set taskId and contextId of each event to those of the task",
    run: ofTask(({ events }) => {
      const place = describedIds(events[0]);
      const other = events.findIndex((event) => describedIds(event) !== place);
      return other < 0 ? undefined : { fault: `event ${other + 1} names ${describedIds(events[other])}, not ${place}` };
    }),
  },
  {
    name: "stream-order",
    section: "3.1.2",
    requirement: "no update follows the terminal state of a task",
    mend: "send artifacts before the terminal state, which is the last event",
    run: ofTask(({ events }) => {
      const end = events.findIndex((event) => isTerminal(stateIn(event) ?? TaskState.UNSPECIFIED));
      const late = end < 0 ? undefined : events.slice(end + 1).find(({ payload }) => payload.case !== "task");
      return late === undefined ? undefined : { fault: `${late.payload.case} follows the terminal state` };
    }),
  },
  {
    name: "stream-end",
    section: "3.1.2",
    requirement: "the stream ends without an error when its task is over",
    mend: "close the stream after the event of the terminal or interrupted state; check that no proxy cuts it",
    run: ofTask(({ error, staysOpen, state }) => {
      if (error !== undefined) return { fault: `it ended with ${error.reason}: ${error.message}` };
      if (staysOpen) return { fault: `it was still open ${END_MS / 1000} s after ${stateName(state)}` };
      return endsBlockingSend(state) ? undefined : { fault: `it ended in the state ${stateName(state)}` };
    }),
  },
  {
    name: "stream-whole",
    section: "3.5.2",
    requirement: "a stream has all that GetTask shows afterwards",
    mend: "store and stream the same events, in the same order",
    run: ofTask(({ events, task, state }) => {
      if (task === undefined) return { fault: "the task cannot be read afterwards" };
      if (task.status?.state !== state) {
        return { fault: `the stream ended with ${stateName(state)}, GetTask shows ${stateName(task.status?.state)}` };
      }
      return differenceOf(events, task);
    }),
  },
  {
    name: "resume",
    section: "3.1.6",
    requirement: "SubscribeToTask of a running task begins with the task",
    mend: "answer SubscribeToTask with the task as it stands, then with its further events",
    run: ofTask(({ resumed }) => {
      if (resumed === undefined)
        return { skipped: "the task finished at once; --message begins one that takes longer" };
      const { first, error } = resumed;
      if (error !== undefined) return { fault: `got ${error.reason}: ${error.message}` };
      return first?.payload.case === "task"
        ? undefined
        : { fault: `the first event is ${first?.payload.case ?? "missing"}` };
    }),
  },
  {
    name: "left-stream",
    section: "3.5.2",
    requirement: "a task continues after a client leaves its stream",
    mend: "run tasks apart from the connection that began them",
    run: async (probe) => {
      const { client, signal } = probe;
      const record = records.get(probe);
      if (record === undefined || record.events[0]?.payload.case !== "task") return noStream;
      if (record.state !== TaskState.COMPLETED) return { skipped: "the task does not complete by itself" };
      const first = await firstOf(client.sendStreamingMessage(request(probe), { signal }));
      if (first?.payload.case !== "task") return { skipped: "the stream does not begin with a task" };
      const { id } = first.payload.value;
      const state = await laterState(probe, id);
      if (state === TaskState.COMPLETED) return undefined;
      await callError(client.cancelTask({ id }, { signal }));
      return { fault: `the task is ${stateName(state)}; a stream that is read to its end completes it` };
    },
  },
  {
    name: "subscribe-unknown",
    section: "3.1.6",
    requirement: "SubscribeToTask of an unknown task fails with TaskNotFoundError",
    mend: "look up the task before the stream is opened",
    run: async ({ client, card, signal }) => {
      if (card.capabilities?.streaming !== true) return undeclared;
      return expectError(firstOf(client.subscribeToTask({ id: unknownId() }, { signal })), "TASK_NOT_FOUND");
    },
  },
  {
    name: "subscribe-finished",
    isNew: true,
    section: "3.1.6",
    requirement: "SubscribeToTask of a finished task fails with UnsupportedOperationError",
    mend: "refuse subscriptions to tasks in a terminal state, whose callers would wait for ever",
    run: async ({ client, card, task, signal }) => {
      if (card.capabilities?.streaming !== true) return undeclared;
      if (task === undefined || !isTerminal(task.status?.state ?? TaskState.UNSPECIFIED))
        return { skipped: "no task has finished" };
      return expectError(firstOf(client.subscribeToTask({ id: task.id }, { signal })), "UNSUPPORTED_OPERATION");
    },
  },
];

/** Returns the ids of the task and context that an event names. */
function describedIds(event: StreamResponse | undefined): string {
  const { payload } = event ?? { payload: { case: undefined } };
  if (payload.case === undefined) return "nothing";
  const taskId = payload.case === "task" ? payload.value.id : payload.value.taskId;
  return `task ${JSON.stringify(taskId)} of context ${JSON.stringify(payload.value.contextId)}`;
}

/** Compares the artifacts of a stream with those of the task that is stored. */
function differenceOf(events: readonly StreamResponse[], stored: Task): Finding {
  const fold = new ClientFold();
  for (const event of events) fold.take(event);
  const streamed = contentsOf(fold.task);
  for (const [id, content] of contentsOf(stored)) {
    const other = streamed.get(id);
    if (other === undefined) return { fault: `GetTask shows the artifact ${id}, which was not streamed` };
    if (other !== content) return { fault: `the artifact ${id} differs from that of GetTask` };
    streamed.delete(id);
  }
  const [lost] = streamed.keys();
  return lost === undefined ? undefined : { fault: `the artifact ${lost} was streamed, GetTask does not show it` };
}

/** Returns the content of a task's artifacts by id: the whole text, and the number of other parts. */
function contentsOf(task: Pick<Task, "artifacts"> | undefined): Map<string, string> {
  return new Map(
    task?.artifacts.map(({ artifactId, parts }) => {
      const texts = parts.map(({ content }) => (content.case === "text" ? content.value : undefined));
      const others = texts.filter((text) => text === undefined).length;
      return [artifactId, JSON.stringify([texts.join(""), others])];
    }),
  );
}

/** Times at which a task is read until it is over, in milliseconds. */
const READ_EVERY_MS = 250;
const READS = 12;

async function laterState({ client, signal }: Probe, id: string): Promise<TaskState | undefined> {
  for (let reads = 1; ; reads++) {
    const { status } = await client.getTask({ id }, { signal });
    if (endsBlockingSend(status?.state ?? TaskState.UNSPECIFIED) || reads === READS) return status?.state;
    await pause(READ_EVERY_MS, signal);
  }
}
