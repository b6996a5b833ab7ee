import { clone, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { type Message, MessageSchema, type Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller } from "../core/caller.js";
import type { Turn } from "./agent.js";
import type { Interruptible } from "./interruption.js";
import { dataOf, textOf } from "./message.js";

/** One accepted message with everything its execution needs. */
export interface TurnRequest {
  readonly message: Message;
  /** Position of the entry that accepted it; 0 while there is no task. */
  readonly position: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  readonly traceParent: string;
}

/** What turns need of the engine. */
export interface TurnSource {
  /** The tasks that a turn's message refers to, as far as its caller may see them. */
  referencedTasks(turn: TurnRequest): Promise<Task[]>;
}

/** What surrounds a turn when it begins. */
export interface TurnSurroundings {
  /** The task as it stands, the message of this turn included; undefined when there is none yet. */
  readonly task: Task | undefined;
  readonly interruptible: Interruptible;
  readonly source: TurnSource;
}

/** The turn as the agent sees it. */
export function makeTurn(request: TurnRequest, around: TurnSurroundings): Turn {
  return new OwnTurn(request, around);
}

/** Makes what is dear when the agent asks for it: most agents look at little of their turn. */
class OwnTurn implements Turn {
  readonly text: string;
  readonly taskId: string;
  readonly contextId: string;
  readonly task: Task | undefined;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  readonly attempt: number;
  /** Its message is part of the log, where there is a task: nobody may change it. */
  readonly #request: TurnRequest;
  readonly #source: TurnSource;
  readonly #interruptible: Interruptible;
  #message: Message | undefined;
  #data: JsonValue[] | undefined;
  #history: Message[] | undefined;

  constructor(request: TurnRequest, { task, interruptible, source }: TurnSurroundings) {
    const { message } = request;
    this.#request = request;
    this.#source = source;
    this.#interruptible = interruptible;
    this.text = textOf(message);
    this.taskId = message.taskId;
    this.contextId = message.contextId;
    this.task = task;
    this.caller = request.caller;
    this.tenant = request.tenant;
    this.extensions = request.extensions;
    this.acceptedOutputModes = request.acceptedOutputModes;
    this.metadata = request.metadata;
    this.attempt = request.attempt;
  }

  get message(): Message {
    this.#message ??= clone(MessageSchema, this.#request.message);
    return this.#message;
  }

  get data(): JsonValue[] {
    this.#data ??= dataOf(this.#request.message);
    return this.#data;
  }

  get history(): readonly Message[] {
    const own = this.#request.message.messageId;
    this.#history ??= this.task?.history.filter(({ messageId }) => messageId !== own) ?? [];
    return this.#history;
  }

  get signal(): AbortSignal {
    return this.#interruptible.signal;
  }

  referencedTasks(): Promise<Task[]> {
    return this.#source.referencedTasks(this.#request);
  }
}
