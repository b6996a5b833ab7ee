import type { Message } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ReadableMessage, ReadableTask, TaskState } from "../../../src/client/web.js";
import type { Connected } from "./connection.js";
import type { KeptTurn, Phase } from "./kept.js";

/** A message of this page. */
export interface Turn extends Pick<KeptTurn, "answer" | "tookMs" | "isCut"> {
  readonly id: string;
  readonly message: Message;
  readonly at: number;
  readonly phase: Phase;
  readonly taskId: string | undefined;
  readonly reply: ReadableMessage | undefined;
  readonly error: unknown;
}

/** A connection that was cut or left, and how it went on. */
export interface Cut {
  readonly why: "purpose" | "reload";
  /** Generation of the task when it happened, if the agent counts them. */
  readonly before: number | undefined;
  /** Events that had come over the connection. */
  readonly eventsBefore: number;
  /** Continuation; undefined until the next event. */
  readonly resumed: "after" | "snapshot" | undefined;
  readonly eventsSince: number;
  readonly now: number | undefined;
}

/** A task of the conversation. Replaced by a new object when it changes; the task in it is the same object. */
export interface TaskView {
  readonly id: string;
  readonly task: ReadableTask | undefined;
  readonly state: TaskState | undefined;
  readonly messages: readonly Message[];
  readonly generation: number | undefined;
  /** True while this page receives its events. */
  readonly isFollowed: boolean;
  readonly error: unknown;
  readonly cuts: readonly Cut[];
  /** Counts its changes, because the task is changed in place. */
  readonly revision: number;
}

/** Items of a conversation, in order: tasks, and messages without a task. */
export type Block =
  | { readonly kind: "task"; readonly view: TaskView; readonly turns: readonly Turn[] }
  | { readonly kind: "turn"; readonly turn: Turn };

export interface TalkView {
  readonly blocks: readonly Block[];
  readonly contextId: string | undefined;
  /** The tasks that wait for a message, the newest last. */
  readonly waiting: readonly string[];
  /** True while a message is on its way whose answer names the context. */
  readonly isFirst: boolean;
  readonly isRunning: boolean;
  readonly connected: Connected | undefined;
  readonly error: unknown;
}

/** Returns the blocks in the order of the messages. Tasks that were opened without one come first. */
export function blocksOf(turns: readonly Turn[], views: readonly TaskView[]): readonly Block[] {
  const sent = new Map<string, Turn[]>();
  for (const turn of turns) {
    if (turn.taskId !== undefined) sent.set(turn.taskId, [...(sent.get(turn.taskId) ?? []), turn]);
  }
  const byId = new Map(views.map((view) => [view.id, view]));
  const opened = views.filter(({ id }) => !sent.has(id)).map((view): Block => ({ kind: "task", view, turns: [] }));
  const begun = turns.flatMap((turn): Block[] => {
    const { taskId } = turn;
    if (taskId === undefined) return [{ kind: "turn", turn }];
    const [view, own = []] = [byId.get(taskId), sent.get(taskId)];
    return view === undefined || own[0] !== turn ? [] : [{ kind: "task", view, turns: own }];
  });
  return [...opened, ...begun];
}
