import type { Message as AnyMessage } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isInterrupted } from "../../task/state.js";

/** One step of a stream: the event, and the task after it. */
export interface Update {
  /**
   * `task`: the first sight of the task; `status` and `artifact`: an event; `message`: the direct answer of an agent that made no
   * task; `snapshot`: the connection was cut, the server cannot say what was missed, and the task was read anew.
   */
  readonly kind: "task" | "status" | "artifact" | "message" | "snapshot";
  /** The folded task, history and artifacts included. It goes on changing with the next update: copy what is kept. Undefined with `message`. */
  readonly task: Task | undefined;
  /** With `message`, and with a status that has one. */
  readonly message: Message | undefined;
  /** With `artifact`: the artifact as it stands. */
  readonly artifact: Artifact | undefined;
  /** The text that this update adds to artifacts or says in a message; empty when none. */
  readonly text: string;
  /** What was received. Undefined with a `snapshot` that was put together. */
  readonly event: StreamResponse | undefined;
  /** The task's generation behind this update, where the server tells it (docs/extensions/resume.md). */
  readonly generation: number | undefined;
}

/** The text of a message: its text parts, joined by line feeds. */
export function messageText(message: Message): string {
  return joined(message.parts, "\n");
}

/** The text of an artifact or of a piece of one: its text parts as they were streamed, with nothing between them. */
export function artifactText(artifact: Artifact): string {
  return joined(artifact.parts, "");
}

/** What a task has to say: its artifacts, separated by line feeds; where they have no text, the message of its status. */
export function taskText(task: Task): string {
  const texts = task.artifacts.map(artifactText).filter((text) => text !== "");
  if (texts.length > 0) return texts.join("\n");
  const said = task.status?.message;
  return said === undefined || said.role === Role.USER ? "" : messageText(said);
}

function joined(parts: readonly Part[], separator: string): string {
  let text: string | undefined;
  for (const { content } of parts) {
    if (content.case === "text") text = text === undefined ? content.value : text + separator + content.value;
  }
  return text ?? "";
}

/**
 * The updates of a task whose answer a page shows further, until the answer is over: also where the task waited for its client
 * already. `follow` would wait for the next answer, which the client cannot ask for meanwhile.
 */
export async function* answerOf(updates: AsyncIterable<Update>): AsyncGenerator<Update, void, undefined> {
  let isFirst = true;
  for await (const update of updates) {
    const isOver = isFirst && update.task !== undefined && waits(update.task);
    isFirst = false;
    yield update;
    if (isOver) return;
  }
}

/** Whether a task waits for a message of its client. One that came behind its question is answered by events to come. */
export function waits({ status, history }: Task): boolean {
  if (status === undefined || !isInterrupted(status.state)) return false;
  const asked = history.findIndex(({ messageId }) => messageId === status.message?.messageId);
  return asked < 0 || history.findLastIndex(({ role }) => role === Role.USER) < asked;
}

/**
 * Whether two messages of one type of the contract say the same, as `equals` of protobuf-es has it: messages of proto3 are plain objects,
 * which can be compared as they are. What nobody knows of them (`$unknown`) does not count, nor does the order of members.
 */
export function isSameMessage<M extends AnyMessage>(one: M, other: M): boolean {
  return isSame(one, other);
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) return isList(one) && isList(other) && isSameList(one, other);
  const names = namesOf(one);
  return (
    names.length === namesOf(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(valueIn(one, name), valueIn(other, name)))
  );
}

type List = Uint8Array | readonly unknown[];

/** Of anything that has a length other than lists and bytes there is nothing in a message. */
function isList(value: object): value is List {
  return Array.isArray(value) || value instanceof Uint8Array;
}

function isSameList(one: List, other: List): boolean {
  return one.length === other.length && one.every((item: unknown, i: number) => isSame(item, other[i]));
}

function namesOf(value: object): string[] {
  return Object.keys(value).filter((name) => name !== "$unknown" && valueIn(value, name) !== undefined);
}

function valueIn(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}
