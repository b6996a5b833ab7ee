import { type Artifact, type Message, type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { ConversationMessage, ConversationPageOptions, ConversationTask } from "../../agent/conversation.js";
import { copyMessage } from "../../agent/copy-message.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { base64Of, fromBase64, utf8Of } from "../../core/bytes.js";
import type { LogCause } from "../../core/log.js";
import type { ListRequest, TaskHead, TaskScope } from "../../store/task-store.js";
import { copyArtifact } from "../../task/event-fold.js";
import { type TaskFold, viewTask } from "../../task/fold.js";
import { type PlainPart, partsOf, readableTask, textOf } from "../../task/plain.js";
import { comparePlaces, type Talk, type Utterance } from "../../task/talk.js";
import { type ReadTask, type TaskReader, taskPage } from "./task-reader.js";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

/** Bounds of the number of tasks that one read of messages fetches. */
const MIN_BATCH = 8;
const MAX_BATCH = 200;

interface ConversationSource {
  readonly reader: TaskReader;
  /** Folds a task from its first entry. Undefined if it does not exist. */
  readonly refold: (head: TaskHead) => Promise<{ readonly fold: TaskFold } | undefined>;
  /** Cause of the log lines: the execution of the turn. */
  readonly cause: LogCause;
  /** Maps a failure of the store to an error for callers. */
  readonly toError: (error: unknown) => unknown;
}

type Placed = Utterance & TalkPlace;

/** A task whose utterances were read. */
interface TaskRead extends ListPlace {
  /** Place of the oldest utterance in this task and the tasks before it in the list. */
  readonly oldest: TalkPlace | undefined;
}

export class ConversationReader {
  readonly #source: ConversationSource;
  readonly #turn: TurnRequest;
  readonly #scope: TaskScope & Pick<ListRequest, "contextId">;

  constructor(source: ConversationSource, turn: TurnRequest) {
    this.#source = source;
    this.#turn = turn;
    this.#scope = { tenant: turn.tenant, owner: turn.caller.owner, contextId: turn.message.contextId };
  }

  /** See `TurnConversation.messages`. */
  messages(options: ConversationPageOptions = {}): Promise<ConversationMessage[]> {
    return this.#messages(options).catch(this.#fail);
  }

  /** See `TurnConversation.tasks`. */
  tasks(options: ConversationPageOptions = {}): Promise<ConversationTask[]> {
    return this.#tasks(options).catch(this.#fail);
  }

  readonly #fail = (error: unknown): never => {
    throw this.#source.toError(error);
  };

  async #messages(options: ConversationPageOptions): Promise<ConversationMessage[]> {
    const limit = limitOf(options);
    const before = options.before === undefined ? undefined : talkCursorOf(options.before);
    const own = await this.#own();
    const present = before === undefined ? [this.#present(own)] : [];
    const page = new TalkPage(before, limit - present.length);
    page.add(own.earlier);
    if (page.limit > 0) await this.#read(page);
    return [...page.messages(), ...present];
  }

  async #tasks(options: ConversationPageOptions): Promise<ConversationTask[]> {
    const limit = limitOf(options);
    let after = options.before === undefined ? undefined : listCursorOf(options.before);
    const tasks: ConversationTask[] = [];
    let bytes = 0;
    do {
      const request = { ...this.#scope, limit: limit - tasks.length, ...(after && { after }) };
      const add = ({ head, fold }: ReadTask): void => {
        bytes += fold.size;
        tasks.push(conversationTask(head, viewTask(fold.task)));
      };
      const { next } = await this.#source.reader.read(request, add, this.#source.cause);
      after = next;
    } while (after !== undefined && tasks.length < limit && (tasks.length === 0 || bytes < taskPage.maxBytes));
    return tasks;
  }

  /** Reads tasks, newest status first, until the remaining ones cannot have an utterance for the page. */
  async #read(page: TalkPage): Promise<void> {
    const limit = Math.min(Math.max(Math.ceil(page.limit / 2), MIN_BATCH), MAX_BATCH);
    for (let after = page.skip; ; ) {
      const unmarked: TaskHead[] = [];
      const request = { ...this.#scope, limit, ...(after && { after }) };
      const add = ({ head, fold }: ReadTask): void => {
        if (head.taskId === this.#turn.taskId) return;
        if (fold.talk === undefined) unmarked.push(head);
        else page.addTask(head, fold.talk, fold);
      };
      const { next, following } = await this.#source.reader.read(request, add, this.#source.cause);
      // The snapshots of older versions have no marks.
      for (const head of unmarked) {
        const fold = (await this.#source.refold(head))?.fold;
        if (fold?.talk !== undefined) page.addTask(head, fold.talk, fold);
      }
      if (next === undefined || following === undefined) return page.end();
      if (page.isFull(following)) return;
      after = next;
    }
  }

  /** Returns the utterances of this turn's task before its message, and the message if it is stored. */
  async #own(): Promise<{ readonly earlier: Placed[]; readonly present: Placed | undefined }> {
    const { taskId, position } = this.#turn;
    const found: ReadTask | undefined = taskId === "" ? undefined : await this.#source.reader.get(taskId, this.#scope);
    if (found === undefined) return { earlier: [], present: undefined };
    const { fold } = found.fold.talk === undefined ? ((await this.#source.refold(found.head)) ?? found) : found;
    if (fold.talk === undefined) return { earlier: [], present: undefined };
    const talk = placed(taskId, fold.talk.of(fold.task));
    const index = talk.findIndex((each) => each.position === position);
    return index < 0 ? { earlier: talk, present: undefined } : { earlier: talk.slice(0, index), present: talk[index] };
  }

  #present({ present }: { readonly present: Placed | undefined }): ConversationMessage {
    const { message, taskId } = this.#turn;
    const ms = present?.ms ?? Date.now();
    // The message counts as newer than all other utterances, whenever they were stored.
    const place = { ms: Number.MAX_SAFE_INTEGER, taskId: "", position: 0, after: 0 };
    return toMessage({ taskId, ms, state: TaskState.UNSPECIFIED, content: message }, { place, skip: undefined });
  }
}

/** Collects the newest utterances before a cursor. */
class TalkPage {
  readonly limit: number;
  readonly #before: TalkPlace | undefined;
  /** Tasks that need not be read. */
  readonly skip: ListPlace | undefined;
  readonly #found: Placed[] = [];
  readonly #tasks: TaskRead[] = [];
  #bytes = 0;
  /** Utterances up to this time may be incomplete. */
  #completeAfter = Number.POSITIVE_INFINITY;

  constructor(before: TalkCursor | undefined, limit: number) {
    this.limit = limit;
    this.#before = before?.place;
    this.skip = before?.skip;
  }

  add(utterances: readonly Placed[]): void {
    const before = this.#before;
    for (const each of utterances) {
      if (before !== undefined && compareTalk(each, before) >= 0) continue;
      // The artifacts of a task in memory change later.
      const content = "artifactId" in each.content ? copyArtifact(each.content) : each.content;
      this.#found.push({ ...each, content });
    }
  }

  addTask({ taskId, statusTime }: TaskHead, talk: Talk, fold: TaskFold): void {
    const utterances = placed(taskId, talk.of(fold.task));
    this.#bytes += fold.size;
    this.add(utterances);
    const others = this.#tasks.at(-1)?.oldest;
    const [own] = utterances;
    const oldest = own !== undefined && (others === undefined || compareTalk(own, others) < 0) ? own : others;
    this.#tasks.push({ taskId, statusTime, oldest });
  }

  /**
   * Notes that the remaining tasks have no utterance after a time. Returns true if the page does not need them, or if
   * its tasks are large and it ends early.
   */
  isFull(following: number): boolean {
    this.#completeAfter = following;
    const complete = this.#found.filter(({ ms }) => ms > following).length;
    return complete >= this.limit || (complete > 0 && this.#bytes >= taskPage.maxBytes);
  }

  /** Notes that the list of tasks has ended. */
  end(): void {
    this.#completeAfter = Number.NEGATIVE_INFINITY;
  }

  /** Returns the page, oldest first. */
  messages(): ConversationMessage[] {
    const complete = this.#found.filter(({ ms }) => ms > this.#completeAfter).sort(compareTalk);
    const newest = this.limit === 0 ? [] : complete.slice(-this.limit);
    return newest.map((each) => toMessage(each, { place: each, skip: this.#skipFor(each) }));
  }

  /**
   * Returns the last of the leading tasks that have no utterance older than a place. The next page skips these tasks.
   */
  #skipFor(place: TalkPlace): ListPlace | undefined {
    const end = this.#tasks.findIndex(({ oldest }) => oldest !== undefined && compareTalk(oldest, place) < 0);
    const last = end < 0 ? this.#tasks.at(-1) : this.#tasks[end - 1];
    return last ?? this.skip;
  }
}

function placed(taskId: string, utterances: readonly Utterance[]): Placed[] {
  return utterances.map((each) => ({ ...each, taskId }));
}

function toMessage(of: Pick<Placed, "taskId" | "ms" | "state" | "content">, cursor: TalkCursor): ConversationMessage {
  const { taskId, ms, state, content } = of;
  const isUser = state === TaskState.UNSPECIFIED && !isArtifact(content);
  return {
    role: isUser ? "user" : "agent",
    parts: partsOf(content).map(ownPart),
    text: textOf(content),
    taskId,
    time: new Date(ms),
    cursor: talkCursor(cursor),
    ...(isArtifact(content)
      ? { artifactId: content.artifactId, ...(content.name !== "" && { name: content.name }) }
      : { messageId: content.messageId }),
    ...(state === TaskState.UNSPECIFIED ? {} : { state }),
  };
}

function conversationTask({ taskId, state, statusTime }: TaskHead, task: Task): ConversationTask {
  const cursor = encodeCursor([statusTime, taskId]);
  return { taskId, state, time: new Date(statusTime), task: readableTask(copyMessage(task)), cursor };
}

function isArtifact(content: Message | Artifact): content is Artifact {
  return "artifactId" in content;
}

/** A copy that shares nothing with the log. */
function ownPart(part: PlainPart): PlainPart {
  const { metadata } = part;
  const copy = metadata === undefined ? part : { ...part, metadata: structuredClone(metadata) };
  const bytes = copy.file?.bytes;
  return copy.file === undefined || bytes === undefined
    ? copy
    : { ...copy, file: { ...copy.file, bytes: new Uint8Array(bytes) } };
}

function limitOf({ limit = DEFAULT_LIMIT }: ConversationPageOptions): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new RangeError(`limit must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** The place of an utterance in its conversation: they are ordered by time, then task, then place in the task. */
interface TalkPlace extends Pick<Utterance, "ms" | "position" | "after"> {
  readonly taskId: string;
}

/** The place of a task in the list of its context. */
interface ListPlace {
  readonly statusTime: number;
  readonly taskId: string;
}

/** The decoded cursor of an utterance. */
interface TalkCursor {
  readonly place: TalkPlace;
  /** Last of the leading tasks in the list that have no older utterances. Undefined if the first task may have some. */
  readonly skip: ListPlace | undefined;
}

/** Compares two places in the conversation. */
function compareTalk(a: TalkPlace, b: TalkPlace): number {
  if (a.ms !== b.ms) return a.ms - b.ms;
  if (a.taskId !== b.taskId) return a.taskId < b.taskId ? -1 : 1;
  return comparePlaces(a, b);
}

function encodeCursor(values: readonly (string | number)[]): string {
  return base64Of(utf8Of(JSON.stringify(values)));
}

/** Encodes the cursor of an utterance. */
function talkCursor({ place, skip }: TalkCursor): string {
  const { ms, taskId, position, after } = place;
  return encodeCursor([ms, taskId, position, after, ...(skip === undefined ? [] : [skip.statusTime, skip.taskId])]);
}

/** Decodes the cursor of an utterance. @throws TypeError */
function talkCursorOf(text: string): TalkCursor {
  const [ms, taskId, position, after, statusTime, head] = cursorValues(text);
  if (typeof ms !== "number" || typeof taskId !== "string") throw notACursor();
  if (typeof position !== "number" || typeof after !== "number") throw notACursor();
  const skip = typeof statusTime === "number" && typeof head === "string" ? { statusTime, taskId: head } : undefined;
  return { place: { ms, taskId, position, after }, skip };
}

/** Decodes the cursor of a task. @throws TypeError */
function listCursorOf(text: string): ListPlace {
  const [statusTime, taskId] = cursorValues(text);
  if (typeof statusTime !== "number" || typeof taskId !== "string") throw notACursor();
  return { statusTime, taskId };
}

function cursorValues(text: string): unknown[] {
  try {
    const values: unknown = JSON.parse(new TextDecoder().decode(fromBase64(text)));
    if (Array.isArray(values)) return values;
  } catch {
    // Reported below.
  }
  throw notACursor();
}

function notACursor(): TypeError {
  return new TypeError("`before` is not the cursor of an item of a conversation.");
}
