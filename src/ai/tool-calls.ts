import type { ModelMessage, ToolCallPart, ToolResultPart, ToolSet } from "ai";
import { AgentError, StepError } from "../agent/errors.js";
import { type AgentEvent, artifact, isEvent } from "../agent/event.js";
import { orAborted, Waiters } from "../core/async.js";
import { isRecord } from "../core/members.js";
import { isInterrupted } from "../task/state.js";
import { splitFiles } from "./result-files.js";

/** The result of a tool, for the model. */
export type ToolOutput = ToolResultPart["output"];

type ModelPart = Exclude<ModelMessage["content"], string>[number];

/** Maximum size of a tool's result, in characters of JSON. At three bytes each they still fit into a step. */
const MAX_RESULT = 262_144;

/** Returns the calls in a response of the model that have no result yet. */
export function openCalls(response: readonly ModelMessage[]): ToolCallPart[] {
  const parts = response.flatMap(({ content }): readonly ModelPart[] => (typeof content === "string" ? [] : content));
  const results = new Set(parts.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : [])));
  return parts.filter(
    (part): part is ToolCallPart =>
      part.type === "tool-call" && part.providerExecuted !== true && !results.has(part.toolCallId),
  );
}

export interface NamedCall {
  readonly call: ToolCallPart;
  readonly tool: ToolSet[string];
  /** Name of the step, unique in the task. */
  readonly name: string;
}

/** Runs a step of the task, as `turn.step` does. The signal of its work also fires at the end of the turn. */
export type RunStep = <T>(name: string, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export interface ToolRun extends NamedCall {
  readonly step: RunStep;
  readonly messages: ModelMessage[];
  readonly emit: (event: AgentEvent) => Promise<void>;
}

/** Tells whether the user has to allow a call. */
export async function needsApproval(
  tool: ToolSet[string],
  call: ToolCallPart,
  messages: ModelMessage[],
): Promise<boolean> {
  const { toolCallId, input } = call;
  const { needsApproval: needs = false } = tool;
  return typeof needs === "function" ? needs(input, { toolCallId, messages }) : needs;
}

/** Returns the part of a message with the output of a call. */
export function toolResult({ toolCallId, toolName }: ToolCallPart, output: ToolOutput | undefined): ToolResultPart {
  return { type: "tool-result", toolCallId, toolName, output: output ?? { type: "json", value: null } };
}

/** Calls a tool in a step of the task. Its error is a result for the model. Its files become an artifact. */
export async function runTool(run: ToolRun): Promise<ToolOutput> {
  try {
    return await run.step(run.name, (signal) => outputOf(run, signal));
  } catch (error) {
    if (!(error instanceof StepError || error instanceof AgentError)) throw error;
    return { type: "error-text", value: error.message };
  }
}

async function outputOf(run: ToolRun, signal: AbortSignal): Promise<ToolOutput> {
  const { call, tool, name, emit } = run;
  const { toolCallId, input, toolName } = call;
  const result = await execute(run, signal);
  const { files, rest } = splitFiles(result);
  if (files.length > 0) {
    const parts = files.map((file) => ({ file }));
    await emit(artifact({ id: name.replace(" ", "-"), name: files[0]?.name ?? toolName, parts }));
  }
  const output: ToolOutput =
    (await tool.toModelOutput?.({ toolCallId, input, output: result })) ??
    (typeof rest === "string" ? { type: "text", value: rest } : { type: "json", value: rest });
  const json = JSON.stringify(output);
  if (json.length <= MAX_RESULT) return JSON.parse(json) as ToolOutput;
  return { type: "error-text", value: `The result is too large: ${json.length} characters of ${MAX_RESULT}.` };
}

/**
 * Calls `execute`. The events of a generator are emitted; its result is its return value, or else the last value other
 * than an event that it yields.
 */
async function execute({ tool, call, messages, emit }: ToolRun, signal: AbortSignal): Promise<unknown> {
  const { toolCallId, input } = call;
  const running: unknown = tool.execute?.(input, { toolCallId, messages, abortSignal: signal });
  if (!isRecord(running) || !(Symbol.asyncIterator in running)) return running;
  const iterator = (running as AsyncIterable<unknown, unknown>)[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return value ?? last;
    // A tool may not answer for the agent: a reply is a value like others.
    if (!isEvent(value) || value.kind === "reply") last = value;
    else {
      try {
        await emit(value);
      } catch (error) {
        // The turn has ended at this event.
        await iterator.return?.();
        throw error;
      }
    }
  }
}

/**
 * Tools that run at the same time. A question ends the turn, and with it the tools that run: they would run again in the
 * next turn. It is therefore held back until the others have ended or ask as well.
 */
export class ToolGroup {
  /** Number of tools that run and have no question. */
  #busy: number;
  /** Tools that wait. */
  readonly #waiting = new Waiters();
  readonly #over: AbortSignal;

  /** @param over fires when the turn has ended */
  constructor(tools: number, over: AbortSignal) {
    this.#busy = tools;
    this.#over = over;
  }

  /** Returns the function by which one of the tools emits events. */
  emitter(emit: (event: AgentEvent) => Promise<void>): (event: AgentEvent) => Promise<void> {
    return async (event) => {
      if (event.kind === "status" && isInterrupted(event.state)) await this.mayAsk();
      await emit(event);
    };
  }

  /** Holds the question of one of the tools. @throws TurnPaused if the turn ends meanwhile */
  async mayAsk(): Promise<void> {
    // A tool may leave a delegation behind that asks later.
    if (this.#busy === 0) return;
    const others = this.#waiting.wait();
    this.ended();
    await orAborted(others, this.#over);
    this.#busy++;
  }

  ended(): void {
    if (--this.#busy === 0) this.#waiting.release();
  }
}
