import type { JsonValue } from "@bufbuild/protobuf";
import type { LanguageModel, ModelMessage, ToolCallPart, ToolSet } from "ai";
import { type Message, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Turn } from "../agent/agent.js";
import { AgentError, TurnPaused } from "../agent/errors.js";
import { type AgentEvent, working } from "../agent/event.js";
import { holdQuestions } from "../agent/turn.js";
import { orAborted, share, Waiters } from "../core/async.js";
import { textOf } from "../task/plain.js";
import { GrowingText } from "./growing-text.js";
import { generate, type ModelResponse } from "./model-call.js";
import { modelMessage } from "./model-messages.js";
import type { AIAgentOptions, PerTurn } from "./options.js";
import { mergeMessages, type TalkMessage, talkOf } from "./talk.js";
import {
  type NamedCall,
  needsApproval,
  openCalls,
  type RunStep,
  runTool,
  ToolGroup,
  type ToolOutput,
  toolResult,
} from "./tool-calls.js";
import { UserReplies } from "./user-replies.js";

/** Default of `maxSteps`. */
const MAX_STEPS = 20;

/** Default of `artifactName`. */
const NAME = "answer";

/** The options of an agent that may differ from turn to turn. */
interface Resolved {
  readonly model: LanguageModel;
  readonly system: string | undefined;
  readonly tools: ToolSet;
}

/**
 * One turn of an agent of a model. Each turn runs the task's loop of model and tools from its start. Calls that are
 * stored return their results, so that it continues where the last turn or a crashed attempt ended.
 */
export class ModelTurn {
  readonly #turn: Turn;
  readonly #options: AIAgentOptions;
  /** Fires at the end of the turn, or when the engine stops reading its events. */
  readonly #over = new AbortController();
  readonly #events = new EventQueue(this.#over.signal);
  readonly #stored: StoredOutput;
  readonly #replies: UserReplies;
  readonly #messages: ModelMessage[] = [];
  #text: GrowingText;
  /** Number of texts so far. Each answer of the user begins a new one. */
  #texts = 0;
  readonly #maxSteps: number;
  /** Number of calls of the model that are left. Each message of the user allows all of them again. */
  #left: number;
  /** Number of calls of the model in the task so far. */
  #calls = 0;

  /** Emits an event of a tool, unless it is a status that an interrupted attempt has stored. */
  readonly #emitOnce = async (event: AgentEvent): Promise<void> => {
    if (!this.#stored.takes(event)) await this.#events.emit(event);
  };

  readonly #step: RunStep = (name, work) =>
    this.#turn.step(name, (signal) => unlessOver(work, signal, this.#over.signal), { per: "task" });

  constructor(turn: Turn, options: AIAgentOptions) {
    this.#turn = turn;
    this.#options = options;
    this.#maxSteps = options.maxSteps ?? MAX_STEPS;
    this.#left = this.#maxSteps;
    this.#stored = new StoredOutput(turn);
    this.#replies = new UserReplies(turn);
    this.#text = this.#nextText();
    share(this.#over.signal);
  }

  /** Runs the turn. Calls of the model and of tools end with it, and when the engine stops reading its events. */
  run(): AsyncGenerator<AgentEvent, void, undefined> {
    const events = this.#run();
    const close = events.return.bind(events);
    // A generator that waits for such a call would return only after it.
    events.return = (value) => {
      this.#end();
      return close(value);
    };
    return events;
  }

  #end(): void {
    this.#over.abort(new TurnPaused());
  }

  async *#run(): AsyncGenerator<AgentEvent, void, undefined> {
    try {
      const resolved = await this.#resolve();
      this.#stored.beginAt(await this.#replies.firstId());
      this.#messages.push(...(await this.#firstMessages()));
      for (; this.#left > 0; this.#left--) {
        const response = yield* this.#events.until(this.#callModel(resolved));
        this.#messages.push(...response);
        const calls = openCalls(response);
        if (calls.length > 0) {
          if (!(yield* this.#useTools(resolved.tools, calls))) return;
        } else if (response.at(-1)?.role !== "tool") {
          yield* this.#endText();
          const message = await this.#replies.next();
          if (message === undefined) return;
          this.#text = this.#nextText();
          this.#messages.push(modelMessage(message));
          this.#left = this.#maxSteps + 1;
        }
      }
      throw new AgentError(`The model did not finish within ${this.#maxSteps} steps.`);
    } finally {
      this.#end();
    }
  }

  async #resolve(): Promise<Resolved> {
    const { model, system, tools } = this.#options;
    return {
      model: await valueFor(this.#turn, model),
      system: await valueFor(this.#turn, system),
      tools: (await valueFor(this.#turn, tools)) ?? {},
    };
  }

  /** Returns the conversation before the task, and the message that began it. */
  async #firstMessages(): Promise<ModelMessage[]> {
    const { memory = {} } = this.#options;
    const own = [this.#turn.taskId, this.#turn.message.taskId];
    const before = memory === false ? [] : await talkOf(this.#turn, memory, ({ taskId }) => !own.includes(taskId));
    return mergeMessages([...before, await this.#replies.first()]).map(modelMessage);
  }

  async #callModel(resolved: Resolved): Promise<ModelMessage[]> {
    const { settings, artifactName = NAME } = this.#options;
    this.#text.next();
    this.#calls++;
    let isNew = false;
    const call = (signal: AbortSignal): Promise<ModelResponse> => {
      isNew = true;
      return generate({
        ...resolved,
        settings,
        messages: this.#messages,
        signal,
        write: (text, isLast) => this.#write(text, isLast),
        emit: (event) => this.#events.emit(event),
        fileId: `${artifactName}-file-${this.#calls}`,
      });
    };
    const { messages, text } = await this.#step("model", call);
    if (!isNew) await this.#write(text);
    return messages;
  }

  /** Calls the tools. Returns false if the turn ends, because the user has to answer first. */
  async *#useTools(tools: ToolSet, calls: readonly ToolCallPart[]): AsyncGenerator<AgentEvent, boolean, undefined> {
    const outputs = new Map<ToolCallPart, ToolOutput>();
    const runs: NamedCall[] = [];
    for (const [index, call] of calls.entries()) {
      const tool = tools[call.toolName];
      if (tool?.execute === undefined) continue;
      const named = { call, tool, name: `${call.toolName} ${this.#calls}.${index + 1}` };
      const denial = yield* this.#denial(named);
      if (denial === undefined) runs.push(named);
      else outputs.set(call, denial);
    }
    for (const { call } of runs) yield* this.#announce(call);
    const group = new ToolGroup(runs.length, this.#over.signal);
    holdQuestions(this.#turn, () => group.mayAsk());
    const run = async (each: NamedCall): Promise<void> => {
      const around = { messages: [...this.#messages], emit: group.emitter(this.#emitOnce), step: this.#step };
      outputs.set(each.call, await runTool({ ...each, ...around }));
      group.ended();
    };
    yield* this.#events.until(Promise.all(runs.map(run)));
    const more: TalkMessage[] = [];
    for (const call of calls.filter((each) => !outputs.has(each))) {
      const reply = yield* this.#asking(this.#replies.result(call, tools[call.toolName]));
      if (reply === undefined) return false;
      outputs.set(call, reply.output);
      more.push(...reply.more);
    }
    const content = calls.map((call) => toolResult(call, outputs.get(call)));
    this.#messages.push({ role: "tool", content }, ...mergeMessages(more).map(modelMessage));
    return true;
  }

  /** Asks the user about a call that needs an approval. Returns its result if the user denies it. */
  async *#denial({ call, tool, name }: NamedCall): AsyncGenerator<AgentEvent, ToolOutput | undefined, undefined> {
    if (tool.needsApproval === undefined || tool.needsApproval === false) return undefined;
    const judge = (): Promise<boolean> => needsApproval(tool, call, this.#messages);
    const isNeeded = await this.#turn.step(`approval of ${name}`, judge, { per: "task" });
    if (!isNeeded) return undefined;
    const { allowed, reason } = yield* this.#asking(this.#replies.approval(call));
    if (allowed) return undefined;
    return { type: "execution-denied", ...(reason === undefined ? {} : { reason }) };
  }

  /** Yields the status with a call, if the options want one. */
  *#announce({ toolCallId: id, toolName: name, input }: ToolCallPart): Generator<AgentEvent, void, undefined> {
    const { toolCalls } = this.#options;
    const call = { id, name, input: input as JsonValue };
    const content = toolCalls === true ? `Calling ${name}.` : toolCalls?.(call);
    if (content === undefined) return;
    const event = working(content);
    if (!this.#stored.takes(event)) yield event;
  }

  async #write(text: string, isLast = false): Promise<void> {
    const event = this.#text.add(text, isLast);
    if (event !== undefined) await this.#events.emit(event);
  }

  /** Ends the text before a question, and begins another one after its answer. */
  async *#asking<T>(question: AsyncGenerator<AgentEvent, T, undefined>): AsyncGenerator<AgentEvent, T, undefined> {
    yield* this.#endText();
    const answer = yield* question;
    this.#left = this.#maxSteps + 1;
    this.#text = this.#nextText();
    return answer;
  }

  *#endText(): Generator<AgentEvent, void, undefined> {
    const rest = this.#text.end();
    if (rest !== undefined) yield rest;
  }

  #nextText(): GrowingText {
    const { artifactName: name = NAME } = this.#options;
    this.#texts++;
    const id = this.#texts === 1 ? name : `${name}-${this.#texts}`;
    return new GrowingText({ id, name }, this.#stored.storedText(id));
  }
}

async function valueFor<T>(turn: Turn, value: PerTurn<T>): Promise<T> {
  return typeof value === "function" ? (value as (turn: Turn) => T | Promise<T>)(turn) : value;
}

/**
 * Does the work of a step. Its signal also fires if the turn ends meanwhile. The next turn then does the work again, so
 * the error of this attempt is not stored.
 */
async function unlessOver<T>(
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<T> {
  over.throwIfAborted();
  const own = new AbortController();
  const stop = (): void => own.abort(over.reason);
  over.addEventListener("abort", stop);
  try {
    return await work(AbortSignal.any([signal, own.signal]));
  } catch (error) {
    over.throwIfAborted();
    throw error;
  } finally {
    // The end of the turn must not stop what a tool has begun and returned from.
    over.removeEventListener("abort", stop);
  }
}

/**
 * Events of callbacks, such as those of a running tool, for the agent's generator to yield. `turn.emit` also resolves
 * when the turn ends; here a tool does not continue after its question has ended the turn.
 */
class EventQueue {
  readonly #events: { readonly event: AgentEvent; readonly taken: () => void }[] = [];
  readonly #reader = new Waiters();
  readonly #over: AbortSignal;

  /** @param over fires when the turn has ended */
  constructor(over: AbortSignal) {
    this.#over = over;
  }

  /** Resolves when the event is accepted. @throws TurnPaused if the turn has ended, at this event or before it */
  emit(event: AgentEvent): Promise<void> {
    const accepted = new Promise<void>((taken) => {
      this.#events.push({ event, taken });
      this.#reader.release();
    });
    return orAborted(accepted, this.#over);
  }

  /** Yields the events until the work is done, and returns its result. @throws TurnPaused if the turn ends before it */
  async *until<T>(begun: Promise<T>): AsyncGenerator<AgentEvent, T, undefined> {
    const work = orAborted(begun, this.#over);
    let isDone = false;
    const done = (): void => {
      isDone = true;
      this.#reader.release();
    };
    work.then(done, done);
    for (;;) {
      const next = this.#events.shift();
      if (next !== undefined) {
        yield next.event;
        next.taken();
      } else if (isDone) return work;
      else await this.#reader.wait();
    }
  }
}

/**
 * Output that earlier attempts and turns have stored. The agent runs from the start each time, without
 * yielding output that clients have already seen.
 */
class StoredOutput {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #messages: readonly Message[];
  /** Texts of the agent's statuses. */
  #statuses: string[] = [];

  constructor({ task }: Turn) {
    this.#messages = [...(task?.history ?? []), ...(task?.status?.message === undefined ? [] : [task.status.message])];
    this.#texts = new Map(task?.artifacts.map((artifact) => [artifact.artifactId, textOf(artifact)]));
  }

  /** Takes the statuses after a message: those before it are of ended tasks that this one continues (A2A 0.1). */
  beginAt(messageId: string): void {
    const begin = this.#messages.findIndex((message) => message.messageId === messageId);
    const own = this.#messages.slice(Math.max(0, begin));
    this.#statuses = own.filter(({ role }) => role === Role.AGENT).map(textOf);
  }

  /** Returns the text of an artifact, or an empty one. */
  storedText(artifactId: string): string {
    return this.#texts.get(artifactId) ?? "";
  }

  /** Tells whether a status is stored. Each stored one counts once. Events relayed from other agents never count. */
  takes(event: AgentEvent): boolean {
    if (event.kind !== "status" || typeof event.content !== "string") return false;
    if (Object.getOwnPropertySymbols(event).length > 0) return false;
    const at = this.#statuses.indexOf(event.content);
    if (at >= 0) this.#statuses.splice(at, 1);
    return at >= 0;
  }
}
