import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { TaskState as State, type TaskState, type TaskStatus } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { Turn } from "../../agent/agent.js";
import { checkValues, InvalidAgentEvent } from "../../agent/checked-copies.js";
import { type RelayCheckpoint, type RelayedTask, relayCheckpoint } from "../../agent/delegation.js";
import {
  type AgentEvent,
  type ArtifactEvent,
  type Content,
  completed,
  endsTurn,
  isEvent,
  type MetadataEvent,
  type StatusEvent,
} from "../../agent/event.js";
import type { MessageContext } from "../../agent/message.js";
import { traceOf } from "../../agent/turn.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import type { Limits } from "../../core/limits.js";
import type { Draft } from "../../task/entry.js";
import { isInterrupted, isTerminal } from "../../task/state.js";
import type { Metrics } from "../../telemetry/metrics.js";
import { ArtifactIds, metadataDraft, statusDraft } from "../log/draft.js";
import type { TaskLog } from "../log/task-log.js";
import { notAnEvent } from "./agent-end.js";
import type { Fenced } from "./execution-lease.js";
import { storedCheckpoint } from "./relayed.js";

/** Maximum bytes of events, as JSON, accepted from an agent per event-loop turn. */
const MAX_ROUND_BYTES = 256 * 1024;

/** Events of one task, and their bytes (4 MiB), that wait to be stored before the agent is slowed down. */
export const unstored = { maxEvents: 256, maxBytes: 4_194_304 } as const;

/** An event with this many JSON values is accepted one event-loop turn after the agent yields it. */
const HEAVY_VALUES = 10_000;

/** An event that becomes an entry of a task. */
export type TaskEvent = StatusEvent | ArtifactEvent | MetadataEvent;

interface TaskOutputSource {
  readonly limits: Limits;
  readonly now: () => number;
  readonly metrics?: Metrics | undefined;
}

/** Writes the events of one execution's agent to its task's log. */
export class TaskOutput {
  readonly #source: TaskOutputSource;
  readonly #log: TaskLog;
  readonly #ids: ArtifactIds;
  readonly #context: MessageContext;
  /** The last status that asked the client, if any. */
  #question: TaskStatus | undefined;
  /** Bytes of events accepted in this event-loop turn. */
  #acceptedBytes = 0;
  /** W3C `traceparent` of the running turn, or empty. */
  #traceParent = "";
  /** Start of a turn whose first event has not come, by `performance.now()`. */
  #turnBegan: number | undefined;

  constructor(source: TaskOutputSource, log: TaskLog) {
    this.#source = source;
    this.#log = log;
    this.#ids = new ArtifactIds(log.fold);
    this.#context = log.messageContext;
  }

  /** Begins a turn, whose events carry its trace. */
  beginTurn(turn: Turn): void {
    this.#traceParent = traceOf(turn).traceParent;
  }

  /** Begins to measure the time to the first event of an agent, if that is counted. */
  begun<T>(agent: T): T {
    if (this.#source.metrics !== undefined) this.#turnBegan = performance.now();
    return agent;
  }

  /**
   * Returns an event of a task. A client that names the task of a new message always gets a task, so a direct reply
   * completes it.
   * @throws InvalidAgentEvent
   */
  eventOf(event: AgentEvent): TaskEvent {
    if (!isEvent(event)) throw notAnEvent(event);
    if (event.kind !== "reply") return event;
    if (this.#log.isNamed) return completed(event.content);
    throw new InvalidAgentEvent(
      'a task is answered by status and artifact events; reply() takes `responds: "message"` or "either" of the agent',
    );
  }

  /**
   * Accepts an event into the log; resolves when it is stored. `last` is the state that the turn has yielded last.
   *
   * The first artifact of a turn, or its metadata, ends the pause of an earlier one. Otherwise a reader of the task, or
   * of its stream after a crash, would find a question that was answered.
   * @throws A2AError TASK_TOO_LARGE
   */
  accept(event: TaskEvent, last: TaskState | undefined, fenced: Fenced): Promise<LogEntry> {
    const now = this.#source.now();
    if (this.#turnBegan !== undefined) this.#noteFirst(this.#turnBegan);
    if (event.kind === "artifact" && last === undefined && isInterrupted(this.#log.plannedState)) {
      // If it cannot be stored, what follows cannot either.
      this.#log.append(this.status(State.WORKING), { fence: fenced.fence }).catch(() => {});
    }
    const plain = this.#traced(this.#draftOf(event, last, now));
    const checkpoint = (event as RelayedTask)[relayCheckpoint];
    const draft = checkpoint === undefined ? plain : relayedDraft(plain, checkpoint);
    this.#log.checkSize(draft, this.#source.limits);
    this.#acceptedBytes += draft.size;
    return this.#log.append(draft, fenced);
  }

  #noteFirst(began: number): void {
    this.#turnBegan = undefined;
    this.#source.metrics?.firstEvent.observe((performance.now() - began) / 1_000);
  }

  /** True if the agent has to wait before its next event. */
  get isAhead(): boolean {
    return this.#acceptedBytes >= MAX_ROUND_BYTES || this.#log.isBehind(unstored.maxEvents, unstored.maxBytes);
  }

  /** Waits until the agent may continue: for other work of the event loop after large events, and for the store. */
  async slowDown(): Promise<void> {
    if (this.#acceptedBytes >= MAX_ROUND_BYTES) {
      this.#acceptedBytes = 0;
      await yieldToEventLoop();
    }
    await this.#log.waitForDrain(unstored.maxEvents, unstored.maxBytes);
  }

  /** Returns the draft of a status of the server itself. */
  status(state: TaskState, content?: Content): Draft {
    return this.#traced(statusDraft(this.#context, state, content, this.#source.now()));
  }

  /** Returns the draft of a status that records the checkpoint of a sub-task. */
  withCheckpoint(state: TaskState, checkpoint: RelayCheckpoint): Draft {
    return relayedDraft(this.status(state), checkpoint);
  }

  /** Returns the draft of an entry that only carries changes of the conversation's state. */
  note(): Draft {
    return { event: { case: "note", value: create(EmptySchema) }, time: this.#source.now(), size: 0 };
  }

  #traced(draft: Draft): Draft {
    // Changes the draft, which is new. A copy would cost more than the rest of the tracing.
    if (this.#traceParent !== "") draft.traceParent = this.#traceParent;
    return draft;
  }

  #draftOf(event: TaskEvent, last: TaskState | undefined, now: number): Draft {
    if (event.kind === "artifact") return this.#ids.draft(event, this.#context, now);
    if (event.kind === "status") return this.#statusDraft(statusDraft(this.#context, event.state, event.content, now));
    // After a question the task continues to wait for its answer.
    const question = last !== undefined && isInterrupted(last) ? this.#question : undefined;
    const status = question ?? { state: State.WORKING };
    return this.#statusDraft(metadataDraft(this.#context, event.metadata, status, now));
  }

  /** A pause names the message that it answers, since messages of later turns may precede it in the log. */
  #statusDraft(draft: Draft): Draft {
    const { event } = draft;
    const status = event.case === "status" ? event.value.status : undefined;
    if (status === undefined || !isInterrupted(status.state)) return draft;
    this.#question = status;
    return { ...draft, answers: this.#log.turns.current };
  }
}

/** Returns the draft of an event that relays another agent's task, with its checkpoint: both are stored, or neither. */
function relayedDraft(draft: Draft, checkpoint: RelayCheckpoint): Draft {
  return { ...draft, relay: storedCheckpoint(checkpoint) };
}

/** Validates an event. True if it has so many values that others run before it is accepted. @throws InvalidAgentEvent */
export function isHeavy(event: TaskEvent): boolean {
  return checkValues(event.kind === "status" ? event.content : event) >= HEAVY_VALUES;
}

/** True if the task continues after an event. */
export function isProgress(event: AgentEvent): event is ArtifactEvent | StatusEvent {
  return event.kind === "artifact" || (event.kind === "status" && event.state === State.WORKING);
}

export function isEnd(event: TaskEvent): boolean {
  return event.kind === "status" && isTerminal(event.state);
}

/** True if an event is a form, or relays another agent's question. It ends the turn; the answer arrives as a new turn. */
export function isLastOfTurn(event: TaskEvent & RelayedTask): boolean {
  if (event.kind !== "status" || !isInterrupted(event.state)) return false;
  return event[relayCheckpoint] !== undefined || event[endsTurn] === true;
}
