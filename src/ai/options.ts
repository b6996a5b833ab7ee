import type { LanguageModel, streamText, ToolSet } from "ai";
import type { Agent, Turn } from "../agent/agent.js";
import type { Content } from "../agent/event.js";
import type { ToolCall } from "../agent/model-pieces.js";
import {
  aFunction,
  anObject,
  anObjectOf,
  anything,
  assertOptions,
  aText,
  aWholeNumber,
  type OptionChecks,
  unless,
} from "../core/options.js";
import { type TalkOptions, talkChecks } from "./talk.js";

/** A value for all turns, or a function that returns the one of a turn. */
export type PerTurn<T> = T | ((turn: Turn) => T | Promise<T>);

/** Settings of the model's calls, as in the AI SDK. */
export type ModelSettings = Pick<
  Parameters<typeof streamText>[0],
  | "frequencyPenalty"
  | "headers"
  | "maxOutputTokens"
  | "maxRetries"
  | "presencePenalty"
  | "providerOptions"
  | "seed"
  | "stopSequences"
  | "temperature"
  | "toolChoice"
  | "topK"
  | "topP"
>;

/** Options of `aiAgent`, which has those of any agent but `execute` and `responds` too. */
export interface AIAgentOptions extends Omit<Agent, "accept" | "execute" | "responds"> {
  /** Checks a message before anything of it is stored, as `Agent.accept` does. */
  readonly accept?: NonNullable<Agent["accept"]>;
  /** A model of the AI SDK. */
  readonly model: PerTurn<LanguageModel>;
  /** The system prompt. */
  readonly system?: PerTurn<string>;
  /**
   * Tools of the AI SDK. One without `execute`, such as `askUser()`, asks the user. `execute` may be a generator: the
   * agent emits the events that it yields, and its return value is the result. Files in a result (`bytes` with
   * `name` and `mediaType`, or those that the AI SDK generates) become an artifact.
   */
  readonly tools?: PerTurn<ToolSet>;
  /** Maximum number of calls of the model until it answers, for each message of the user. Default 20. */
  readonly maxSteps?: number;
  /** The part of the conversation before the task that the model gets. False: nothing. */
  readonly memory?: TalkOptions | false;
  readonly settings?: ModelSettings;
  /** Name of the artifact with the model's text. Default `answer`. */
  readonly artifactName?: string;
  /** Status content shown to the client when the model calls a tool. Default: none. True names the tool. */
  readonly toolCalls?: true | ((call: ToolCall) => Content | undefined);
}

const isFunction = (value: unknown): boolean => typeof value === "function";

const any = anything();

/** Checks of the options that only `aiAgent` has. The server checks those that every agent has. */
const checks: OptionChecks<AIAgentOptions> = {
  card: any,
  security: any,
  extendedCard: any,
  remembers: any,
  accept: any,
  recover: any,
  checkOutputModes: any,
  model: unless((value) => typeof value === "string", unless(isFunction, anObject())),
  system: unless(isFunction, aText()),
  tools: unless(isFunction, anObject()),
  maxSteps: aWholeNumber(1, 1_000),
  memory: unless((value) => value === false, anObjectOf(talkChecks)),
  settings: anObject(),
  artifactName: aText("a non-empty text", (name) => name !== ""),
  toolCalls: unless((value) => value === true, aFunction()),
};

/** Checks the options. @throws TypeError */
export function checkAgentOptions(options: AIAgentOptions): void {
  assertOptions("aiAgent(options)", options, checks, ["model"]);
}
