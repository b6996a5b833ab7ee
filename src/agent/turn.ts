import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Message, Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../core/call.js";
import {
  dataOf,
  filesOf,
  type PlainFile,
  type PlainPart,
  partsOf,
  type ReadableMessage,
  type ReadableTask,
  textOf,
} from "../task/plain.js";
import type { TracedSpan } from "../telemetry/tracer.js";
import type { Tracing } from "../telemetry/tracing.js";
import { isSameSpan, type TraceHeaders } from "../telemetry/w3c.js";
import type { TurnAborter } from "./abort.js";
import type { Agent, Turn } from "./agent.js";
import { AgentEvents, type LateEvents } from "./agent-events.js";
import type { TurnConversation } from "./conversation.js";
import { copyMessage } from "./copy-message.js";
import type { OutgoingCalls, RelayCheckpoint, RelayedEvent, TurnCalls } from "./delegation.js";
import { askForm, type FormTurn, type StoredAnswer } from "./form.js";
import { formIdOf, namedForm } from "./form-part.js";
import { type StepJournal, TurnSteps } from "./steps.js";
import type { TurnRequest } from "./turn-request.js";
import { beginTurnSpan, endTurnSpan } from "./turn-span.js";

/** Dependencies of turns. */
export interface TurnSource extends LateEvents {
  /** Returns the tasks that a turn's message references, as far as its caller may see them. */
  referencedTasks(turn: TurnRequest): Promise<Task[]>;
  /** Calls of agents to other agents. Undefined if disabled. */
  readonly outgoing?: OutgoingCalls | undefined;
  /** See `CallingTurn.relayed`. */
  relayed(turn: TurnRequest, signal: () => AbortSignal): Promise<readonly RelayedEvent[]>;
  /** See `CallingTurn.contextBefore`. */
  contextBefore(
    turn: TurnRequest,
    of: { readonly agent: string; readonly delegation: string; readonly signal: () => AbortSignal },
  ): Promise<string | undefined>;
  /** See `CallingTurn.isOutage`. */
  isOutage(error: unknown): boolean;
  /** See `CallingTurn.sending`. */
  sending(turn: TurnRequest, checkpoint: RelayCheckpoint): Promise<void>;
  /** See `CallingTurn.messageAt`. */
  messageAt(turn: TurnRequest, position: number, signal: () => AbortSignal): Promise<Message>;
  /** Returns the agent's own question that a turn's message answers: the task's status right before the message. */
  question(turn: TurnRequest): Promise<Message | undefined>;
  /** Creates spans. Undefined to create none. */
  readonly tracing?: Tracing | undefined;
  /** Returns the conversation of a turn, once for each turn. */
  conversation(turn: TurnRequest, progress: TurnProgress): TurnConversation;
}

/** The progress of a turn. */
export interface TurnProgress {
  isOver(): boolean;
  /** Returns the signal of the turn, which is created when it is needed. */
  readonly signal: () => AbortSignal;
  /** See `StepJournal.reusedChanges`. */
  reusedChanges(): number;
}

/** Context of a turn at its start. */
interface TurnContext {
  /** The current task, including the message of this turn; undefined if it does not exist yet. */
  readonly task: Task | undefined;
  /** Request metadata of the task's first message; undefined if this is the first one. */
  readonly initialMetadata?: JsonObject | undefined;
  readonly aborter: TurnAborter;
  readonly source: TurnSource;
  /** Keeps the turn's steps. Undefined before a task exists. */
  journal?: StepJournal;
  /** Created when the agent is started. */
  events?: AgentEvents;
  /** See `holdQuestions`. */
  mayAsk?: () => Promise<void>;
  /** Begun when the agent is started, if spans are created. */
  span?: TracedSpan;
  /** Created at the first step. */
  steps?: TurnSteps;
  /** Created when the agent first calls another one. */
  calls?: TurnCalls;
  /** Number of forms asked for so far, by their names. */
  forms?: Map<string, number>;
  /** The forms asked for so far, by their ids: each resolves when its answer is taken. */
  taking?: Map<string, Promise<unknown>>;
  /** Created when the agent first uses it. */
  conversation?: TurnConversation;
  /** True after the turn has ended. */
  isOver?: boolean;
}

/** Creates the turn for the agent. */
export function makeTurn(request: TurnRequest, around: TurnContext): Turn {
  return new AgentTurn(request, around);
}

/** Ends a turn, with its streams and sub-tasks elsewhere. @param failure class of the error that ended it */
export function endCalls(turn: Turn, isPaused = false, failure?: string): void {
  const around = (turn as AgentTurn)[aroundKey];
  around.isOver = true;
  around.calls?.end(isPaused);
  endSpan(turn, undefined, failure);
}

/** Begins the events of a turn whose agent is started, and its span if spans are created. */
export function beginAgent(turn: Turn, agent: Agent): { events: AgentEvents; span: TracedSpan | undefined } {
  const { [requestKey]: request, [aroundKey]: around } = turn as AgentTurn;
  const tracer = around.source.tracing?.tracer;
  const events = new AgentEvents(around.source, request);
  around.events = events;
  if (tracer !== undefined) around.span = beginTurnSpan(tracer, agent.card, request);
  return { events, span: around.span };
}

/** Has questions of the turn's delegations wait until they may end the turn. */
export function holdQuestions(turn: Turn, mayAsk: () => Promise<void>): void {
  (turn as AgentTurn)[aroundKey].mayAsk = mayAsk;
}

/** Ends the span of a turn, if it has one that is open. @param state the task's, if there is a task */
export function endSpan(turn: Turn, state: TaskState | undefined, failure?: string): void {
  const { [requestKey]: request, [aroundKey]: around } = turn as AgentTurn;
  const { span } = around;
  if (span !== undefined && span !== request.span) endTurnSpan(span, state, failure);
}

/** Returns the W3C headers for entries and calls of a turn: those of its span, or else of its message. */
export function traceOf(turn: Turn): TraceHeaders {
  const { [requestKey]: request, [aroundKey]: around } = turn as AgentTurn;
  const { span } = around;
  if (span === undefined || span.traceParent === "") return request;
  // Without an SDK the span is the caller's own, whose header is passed on as it is.
  return isSameSpan(span.traceParent, request.traceParent) ? request : span;
}

/** Keeps the turn's steps in the journal of its task, which its first event has created. */
export function storeSteps(turn: Turn, journal: StepJournal): void {
  const around = (turn as AgentTurn)[aroundKey];
  around.journal = journal;
  around.steps?.storeIn(journal);
}

/** Returns the turn's calls of other agents; undefined if it has made none. */
export function turnCalls(turn: Turn): TurnCalls | undefined {
  return (turn as AgentTurn)[aroundKey].calls;
}

/** Returns the turn's conversation; undefined if the agent did not use it. */
export function turnConversation(turn: Turn): TurnConversation | undefined {
  return (turn as AgentTurn)[aroundKey].conversation;
}

const requestKey: unique symbol = Symbol("request");
const aroundKey: unique symbol = Symbol("around");
const copiesKey: unique symbol = Symbol("copies");

/** Copies made so far. */
interface Copies {
  message?: ReadableMessage;
  parts?: PlainPart[];
  data?: JsonValue[];
  files?: PlainFile[];
  task?: ReadableTask | undefined;
  metadata?: JsonObject;
  initialMetadata?: JsonObject;
  extensions?: ReadonlySet<string>;
  caller?: Caller;
}

/**
 * A turn shares nothing with the log or with another call: everything mutable is a copy, made on first access, since
 * most agents read little. It also works through `Object.create(turn)` and proxies.
 */
class AgentTurn implements Turn {
  readonly text: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly tenant: string;
  readonly attempt: number;
  readonly [requestKey]: TurnRequest;
  readonly [aroundKey]: TurnContext;
  [copiesKey]: Copies | undefined;

  constructor(request: TurnRequest, around: TurnContext) {
    const { message } = request;
    this[requestKey] = request;
    this[aroundKey] = around;
    this[copiesKey] = undefined;
    this.text = textOf(message);
    this.taskId = request.taskId;
    this.contextId = message.contextId;
    this.tenant = request.tenant;
    this.attempt = request.attempt;
  }

  get message(): ReadableMessage {
    return copiedMessage(this);
  }

  get parts(): PlainPart[] {
    const copies = copiesOf(this);
    copies.parts ??= partsOf(copiedMessage(this));
    return copies.parts;
  }

  get data(): JsonValue[] {
    const copies = copiesOf(this);
    copies.data ??= dataOf(this[requestKey].message);
    return copies.data;
  }

  get files(): PlainFile[] {
    const copies = copiesOf(this);
    copies.files ??= filesOf(copiedMessage(this));
    return copies.files;
  }

  get task(): ReadableTask | undefined {
    const { task } = this[aroundKey];
    const copies = copiesOf(this);
    copies.task ??= task && copyMessage(task);
    return copies.task;
  }

  get history(): readonly ReadableMessage[] {
    const { messageId } = this[requestKey].message;
    const history = this.task?.history ?? this[requestKey].earlier?.messages.map((each) => copyMessage(each)) ?? [];
    return history.filter((earlier) => earlier.messageId !== messageId);
  }

  get caller(): Caller {
    const { caller } = this[requestKey];
    const copies = copiesOf(this);
    copies.caller ??= { ...caller, scopes: [...caller.scopes], claims: { ...caller.claims } };
    return copies.caller;
  }

  get extensions(): ReadonlySet<string> {
    const copies = copiesOf(this);
    copies.extensions ??= new Set(this[requestKey].extensions);
    return copies.extensions;
  }

  get acceptedOutputModes(): readonly string[] {
    return [...this[requestKey].acceptedOutputModes];
  }

  get metadata(): JsonObject {
    const copies = copiesOf(this);
    copies.metadata ??= structuredClone(this[requestKey].metadata);
    return copies.metadata;
  }

  get initialMetadata(): JsonObject {
    const copies = copiesOf(this);
    copies.initialMetadata ??= structuredClone(this[aroundKey].initialMetadata ?? this[requestKey].metadata);
    return copies.initialMetadata;
  }

  get signal(): AbortSignal {
    return this[aroundKey].aborter.signal;
  }

  /** Returns a function without `this`, which can be taken from the turn. */
  get referencedTasks(): () => Promise<ReadableTask[]> {
    const { [requestKey]: request, [aroundKey]: around } = this;
    return async () => (await around.source.referencedTasks(request)).map((each) => copyMessage(each));
  }

  get step(): Turn["step"] {
    return (name, work, options) => stepsOf(this).run(name, work, options);
  }

  get emit(): Turn["emit"] {
    const { events } = this[aroundKey];
    if (events === undefined) throw new TypeError("Only execute() can emit events.");
    return (event) => events.emit(event);
  }

  get remoteAgents(): readonly string[] {
    return this[aroundKey].source.outgoing?.names ?? [];
  }

  get conversation(): TurnConversation {
    const around = this[aroundKey];
    around.conversation ??= around.source.conversation(this[requestKey], {
      isOver: () => around.isOver === true,
      reusedChanges: () => around.journal?.reusedChanges() ?? 0,
      signal: () => around.aborter.signal,
    });
    return around.conversation;
  }

  get call(): Turn["call"] {
    return async (agent, options) => callsOf(this).call(agent, options);
  }

  get delegate(): Turn["delegate"] {
    // A message replaced by `turnWith` is passed on.
    const replaced = Object.hasOwn(this, "message") ? this.message : undefined;
    return (agent, message, options) => callsOf(this).delegate(agent, message ?? replaced, options);
  }

  get form(): Turn["form"] {
    return (schema, options) => askForm(formTurnOf(this), schema, options);
  }
}

/** Name of the step that stores a form's answer. */
function stepOf(formId: string): string {
  return `form:${formId}`;
}

/** Returns the turn's part that forms need. Ids are shared with all turns derived from it. */
function formTurnOf(turn: AgentTurn): FormTurn {
  const { text, data } = turn;
  const around = turn[aroundKey];
  const request = turn[requestKey];
  return {
    text,
    data,
    nextId(name) {
      around.forms ??= new Map();
      const number = (around.forms.get(name) ?? 0) + 1;
      around.forms.set(name, number);
      return number === 1 ? name : `${name} ${number}`;
    },
    taking(id, take) {
      around.taking ??= new Map();
      const taking = take();
      around.taking.set(id, taking);
      return taking;
    },
    async taken(id) {
      if (id !== undefined) await around.taking?.get(id)?.catch(() => {});
    },
    async answered() {
      const named = namedForm(request.message);
      const question = await around.source.question(request);
      const id = formIdOf(dataOf(question));
      return named === undefined || named === id ? id : undefined;
    },
    isStored: (id) => stepsOf(turn).has(stepOf(id), "task"),
    // A stored step returns its result and runs nothing.
    store: (id, answer) => turn.step(stepOf(id), () => answer as StoredAnswer, { per: "task" }),
  };
}

/** Returns the steps of a turn. Shared with all turns derived from it, because steps are counted. */
function stepsOf(turn: AgentTurn): TurnSteps {
  const { [aroundKey]: around, [requestKey]: request } = turn;
  const { aborter, span, journal } = around;
  around.steps ??= new TurnSteps({ position: request.position, aborter, span }, journal);
  return around.steps;
}

/** Returns the calls of a turn. Shared with all turns derived from it, because delegations are numbered. */
function callsOf(turn: AgentTurn): TurnCalls {
  const { [aroundKey]: around, [requestKey]: request } = turn;
  const { source, aborter, task, events } = around;
  if (source.outgoing === undefined) throw new TypeError("This server calls no agents.");
  if (around.calls !== undefined) return around.calls;
  const { traceParent, traceState } = traceOf(turn);
  const signal = (): AbortSignal => aborter.signal;
  around.calls = source.outgoing.of({
    request: { ...request, traceParent, traceState },
    span: around.span,
    task,
    get signal() {
      return aborter.signal;
    },
    get deadline() {
      return aborter.deadline;
    },
    mayAsk: async () => around.mayAsk?.(),
    ask: async (question) => events?.emit(question),
    relayed: () => source.relayed(request, signal),
    contextBefore: (agent, delegation) => source.contextBefore(request, { agent, delegation, signal }),
    isOutage: (error) => source.isOutage(error),
    sending: (checkpoint) => source.sending(request, checkpoint),
    messageAt: (position) => source.messageAt(request, position, signal),
  });
  if (around.isOver === true) around.calls.end(false);
  return around.calls;
}

function copiesOf(turn: AgentTurn): Copies {
  turn[copiesKey] ??= {};
  return turn[copiesKey];
}

/** Returns the copy of the message, whose files may be large, for `message`, `parts` and `files` together. */
function copiedMessage(turn: AgentTurn): ReadableMessage {
  const copies = copiesOf(turn);
  copies.message ??= copyMessage(turn[requestKey].message);
  return copies.message;
}
