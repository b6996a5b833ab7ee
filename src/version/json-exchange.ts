import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { AgentCard, SendMessageResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { answerReader } from "../wire/json-reader.js";
import { isJsonObject } from "../wire/json-struct.js";
import type { CardJson } from "./card-json.js";
import type { OlderExchange } from "./client-versions.js";

/** One call in JSON, whose answers are read one after the other. */
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

/** An event that says that it is the last one: bare, or in the wrapper that says which event it is. */
function saysFinal(json: unknown): boolean {
  if (!isJsonObject(json)) return false;
  if (json.final === true) return true;
  const wrapped = json.statusUpdate ?? json.status_update;
  return isJsonObject(wrapped) && wrapped.final === true;
}

/** A request without a history length gets the whole history: some servers before 1.0 return none then. */
export const ALL_HISTORY = 1_000;

/** A request for a task that asks for them, where it says nothing of them. */
export function withAllHistory(request: Message): Message {
  if (request.$typeName !== "lf.a2a.v1.GetTaskRequest" || wantedHistory(request) !== undefined) return request;
  return { ...request, historyLength: ALL_HISTORY } as Message;
}

/** The number of messages that a request wants of a task's history, undefined where it does not say. */
function wantedHistory(request: Message): number | undefined {
  const { historyLength, configuration } = request as {
    historyLength?: number;
    configuration?: { historyLength?: number };
  };
  return historyLength ?? configuration?.historyLength;
}

/**
 * Truncates the history of a response to the requested length: servers of older versions disagree on the meaning of the
 * number and of its absence.
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
  if (answer.$typeName === "lf.a2a.v1.Task") return answer as Task;
  if (answer.$typeName !== "lf.a2a.v1.SendMessageResponse") return undefined;
  const { payload } = answer as SendMessageResponse;
  return payload.case === "task" ? payload.value : undefined;
}

/** Reads cards of an older shape. @param convert makes one of 1.0 of it */
export function cardReader(convert: (card: CardJson) => CardJson | undefined): (json: unknown) => AgentCard {
  const read = answerReader(AgentCardSchema);
  return (json) => {
    const card = isJsonObject(json) ? (Array.isArray(json.supportedInterfaces) ? json : convert(json)) : undefined;
    if (card === undefined) throw new A2AError("INVALID_AGENT_RESPONSE", "The answer is no agent card.");
    return read(card);
  };
}

/** True for a method that returns a card. */
export const givesCard = ({ output }: { readonly output: DescMessage }): boolean =>
  output.typeName === AgentCardSchema.typeName;
