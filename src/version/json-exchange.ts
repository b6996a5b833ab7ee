import type { DescMessage, Message } from "@bufbuild/protobuf";
import {
  type AgentCard,
  AgentCardSchema,
  SendMessageResponseSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { expectMessage } from "../wire/expect-message.js";
import { answerReader } from "../wire/json-reader.js";
import { isJsonObject } from "../wire/json-struct.js";
import type { CardJson } from "./card-json.js";
import type { OlderExchange } from "./older-calls.js";

/** One call in JSON, whose answers are read in sequence. */
export class JsonExchange implements OlderExchange {
  readonly json: string | undefined;
  readonly place?: string;
  readonly beside?: string;
  readonly #read: (json: unknown) => Message;
  #isOver = false;

  constructor(
    { json, place, beside }: Pick<OlderExchange, "json" | "place" | "beside">,
    read: (json: unknown) => Message,
  ) {
    this.json = json;
    if (place !== undefined) this.place = place;
    if (beside !== undefined) this.beside = beside;
    this.#read = read;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  read(json: unknown): Message {
    this.#isOver = saysFinal(json);
    return this.#read(json);
  }
}

/** Returns true for the last event of a stream, bare or in a wrapper. */
function saysFinal(json: unknown): boolean {
  if (!isJsonObject(json)) return false;
  if (json.final === true) return true;
  const wrapped = json.statusUpdate ?? json.status_update;
  return isJsonObject(wrapped) && wrapped.final === true;
}

/** History length for requests without one, because some servers before 1.0 then return no history. */
export const ALL_HISTORY = 1_000;

/** Adds the history length to a request for a task that has none. */
export function withAllHistory(request: Message): Message {
  if (request.$typeName !== "lf.a2a.v1.GetTaskRequest" || wantedHistory(request) !== undefined) return request;
  return { ...request, historyLength: ALL_HISTORY } as Message;
}

/** Returns the history length that a request names, or undefined. */
function wantedHistory(request: Message): number | undefined {
  const { historyLength, configuration } = request as {
    historyLength?: number;
    configuration?: { historyLength?: number };
  };
  return historyLength ?? configuration?.historyLength;
}

/**
 * Truncates the history of a response to the requested length, because servers of older versions disagree on the
 * meaning of the number and of its absence.
 */
export function withHistoryOf<M extends Message>(request: Message, answer: M): M {
  const wanted = wantedHistory(request);
  const task = wanted === undefined ? undefined : taskIn(answer);
  if (task !== undefined && wanted !== undefined && wanted >= 0 && task.history.length > wanted) {
    task.history = wanted === 0 ? [] : task.history.slice(-wanted);
  }
  return answer;
}

function taskIn(answer: Message): Task | undefined {
  if (answer.$typeName === "lf.a2a.v1.Task") return expectMessage(TaskSchema, answer);
  if (answer.$typeName !== "lf.a2a.v1.SendMessageResponse") return undefined;
  const { payload } = expectMessage(SendMessageResponseSchema, answer);
  return payload.case === "task" ? payload.value : undefined;
}

/** Returns the reader of cards in an older form. @param convert converts a card to 1.0 */
export function cardReader(convert: (card: CardJson) => CardJson | undefined): (json: unknown) => AgentCard {
  const read = answerReader(AgentCardSchema);
  return (json) => {
    const card = isJsonObject(json) ? (Array.isArray(json.supportedInterfaces) ? json : convert(json)) : undefined;
    if (card === undefined) throw new A2AError("INVALID_AGENT_RESPONSE", "The answer is not an agent card.");
    return read(card);
  };
}

/** True for a method that returns a card. */
export const givesCard = ({ output }: { readonly output: DescMessage }): boolean =>
  output.typeName === AgentCardSchema.typeName;
