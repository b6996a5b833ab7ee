import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions, Driver } from "../../support/driver.js";
import { type Ending, generationIn, isFinal, resuming, Story, say, stateOf, statusText } from "./story.js";

/** Short tasks of every kind that a kill can interrupt. */
const texts = [
  "echo hello",
  "count 25 4",
  "stream 20 16 2",
  "wait 40",
  "ask Which colour?",
  "fail As told.",
  "count 8 1",
  "stream 3",
];

/** Number of interruptions after which a restartable turn fails: its first run and three more. */
const cutsToFail = 4;

/** The way in which a server recognizes a repeated message. */
export type Sameness = "idempotency key" | "message id";

/** A task that a client completes in spite of kills. */
export interface Order {
  /** Idempotency key and context. The context reveals a second task for the order. */
  readonly key: string;
  readonly text: string;
  /** True if it is sent as a stream. */
  readonly streaming: boolean;
  /** The client's streams, one story for each message. A story is missing if its stream broke before it began. */
  readonly stories: Story[];
  /** Number of servers that ended since the first send. */
  cuts: number;
  /** Number of streams that resumed a broken one. */
  resumed: number;
  /** The task in the answer that it waits for the client. */
  asked?: JsonObject;
  /** The task in the answer that it has ended. */
  acknowledged?: JsonObject;
}

/** Sends orders over a binding one after the other, until the server is gone. */
export class LoadClient {
  readonly orders: Order[] = [];
  readonly #name: string;
  readonly #sameness: Sameness;
  #left: AbortSignal | undefined;

  constructor(name: string, sameness: Sameness) {
    this.#name = name;
    this.#sameness = sameness;
  }

  /** Continues unanswered orders and then makes new ones, until a call breaks or is aborted. */
  async run(driver: Driver, left: AbortSignal): Promise<void> {
    this.#left = left;
    try {
      await this.finish(driver);
      for (;;) await this.#fulfil(this.order(), driver);
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    } finally {
      this.#left = undefined;
    }
  }

  /** Continues unanswered orders. */
  async finish(driver: Driver): Promise<void> {
    for (const order of this.orders) if (order.acknowledged === undefined) await this.#fulfil(order, driver);
  }

  /** Adds an order, with the given text or the next usual one. */
  order(text?: string): Order {
    const number = this.orders.length;
    const usual = texts[number % texts.length] as string;
    const streaming = text !== undefined || Math.floor(number / texts.length) % 2 === 0;
    const key = `${this.#name} ${number}`;
    const order: Order = { key, text: text ?? usual, streaming, stories: [], cuts: 0, resumed: 0 };
    this.orders.push(order);
    return order;
  }

  /** Records that a server ended, which interrupted all open orders. */
  cut(): void {
    for (const order of this.orders) if (order.acknowledged === undefined) order.cuts++;
  }

  /** Repeats the message of a completed order. Returns the task of the answer. */
  async repeat(order: Order, driver: Driver): Promise<JsonObject> {
    const request = say(order.text, { contextId: order.key });
    return (await call(order, driver, "SendMessage", request, this.#options(order.key))).task as JsonObject;
  }

  /** Works on an order until its task ends. Answers its question. */
  async #fulfil(order: Order, driver: Driver): Promise<void> {
    const { key, text } = order;
    if (order.asked === undefined) {
      const task = await this.#perform(order, driver, { key, request: say(text, { contextId: key }), number: 0 });
      if (isFinal(stateOf(task))) order.acknowledged = task;
      else order.asked = task;
    }
    if (order.asked === undefined) return;
    const request = say("Blue.", { contextId: key, taskId: String(order.asked.id) });
    order.acknowledged = await this.#perform(order, driver, { key: `${key} answer`, request, number: 1 });
  }

  /** Sends a message. Returns the task when it has ended or waits for its client. */
  async #perform(order: Order, driver: Driver, step: Step): Promise<JsonObject> {
    const options = this.#options(step.key);
    if (!order.streaming) return (await call(order, driver, "SendMessage", step.request, options)).task as JsonObject;
    const rests = ({ state }: Story): boolean =>
      isFinal(state) || (step.number === 0 && state === "TASK_STATE_INPUT_REQUIRED");
    const broken = order.stories[step.number];
    if (broken === undefined || broken.taskId === "") {
      const story = new Story();
      order.stories[step.number] = story;
      ended(order, await story.follow(driver.stream("SendStreamingMessage", step.request, options)));
    } else if (!rests(broken)) {
      order.resumed++;
      const after = parameter(driver, order.resumed, broken.generation);
      const stream = driver.stream("SubscribeToTask", { id: broken.taskId }, this.#with(after));
      // The stream of a task that waits for its client may stay open.
      ended(order, await broken.follow(stream, rests));
    }
    const story = order.stories[step.number] as Story;
    const task = await call(order, driver, "GetTask", { id: story.taskId }, this.#with({}));
    if (rests(story) && generationIn(task) === story.generation) return task;
    throw new Error(`The stream of ${step.key} ended at ${story.generation}: ${JSON.stringify(task)}`);
  }

  #options(key: string): CallOptions {
    return this.#with(this.#sameness === "idempotency key" ? { "Idempotency-Key": key } : {});
  }

  #with(headers: Readonly<Record<string, string>>): CallOptions {
    return { ...resuming(headers), ...(this.#left && { signal: this.#left }) };
  }
}

/** One message of an order, the first or the second. */
interface Step {
  readonly key: string;
  readonly request: JsonObject;
  readonly number: 0 | 1;
}

/** The header that resumes a stream. Alternates between both headers if the binding has two. */
function parameter({ name }: Driver, turn: number, generation: number): Record<string, string> {
  const both = name === "rest" || name === "jsonrpc";
  return { [both && turn % 2 === 0 ? "Last-Event-ID" : "Parley-After-Generation"]: `${generation}` };
}

/** The connection broke, or the server reported that it is unavailable. */
export class Gone extends Error {
  override name = "Gone";
}

function ended(order: Order, ending: Ending): void {
  if ("broken" in ending) throw new Gone("The connection broke.", { cause: ending.broken });
  if ("status" in ending) throw refusal(order, ending.status, "a stream ended");
}

async function call(
  order: Order,
  driver: Driver,
  rpc: string,
  request: JsonObject,
  options: CallOptions,
): Promise<JsonObject> {
  const { message, error } = await driver.call(rpc, request, options).catch((cause: unknown) => {
    throw new Gone("The connection broke.", { cause });
  });
  if (message !== undefined) return message;
  throw refusal(order, error?.status ?? error?.reason ?? `${error?.native}`, error?.message ?? "");
}

/** gRPC, Connect and gRPC-Web clients report a broken connection with one of these statuses. */
function refusal(order: Order, status: string, message: string): Error {
  const gone = ["UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"].includes(status);
  return gone ? new Gone(message) : new Error(`${order.key} (${order.text}) was refused: ${status} ${message}`);
}

/** Returns the fault in an order's result or in its task's content, or undefined. */
export function faultIn(order: Order): string | undefined {
  const { text, cuts, acknowledged: task = {} } = order;
  const state = stateOf(task).replace("TASK_STATE_", "");
  const usual = text.startsWith("fail") ? "FAILED" : "COMPLETED";
  const again = /^(wait|count)/.test(text);
  const cutOff = state === "FAILED" && /crash of the server|was shut down/.test(statusText(task));
  if (cutOff && cuts < (again ? cutsToFail : 1)) return `It was cut off ${cuts} times only.`;
  if (!cutOff && state !== usual) return `It ended as ${state}.`;
  const pieces = piecesOf(task);
  const wrong = pieces.findIndex((piece, i) => Number.parseInt(piece, 10) !== i + 1);
  const numbered = /^(count|stream) (\d+)/.exec(text);
  if (numbered === null) return undefined;
  if (wrong >= 0) return `Piece ${wrong + 1} is ${pieces[wrong]}.`;
  return cutOff || pieces.length === Number(numbered[2]) ? undefined : `It has ${pieces.length} pieces.`;
}

function piecesOf(task: JsonObject): string[] {
  const { artifacts = [] } = task as { artifacts?: { parts: { text: string }[] }[] };
  return artifacts.flatMap(({ parts }) => parts.map(({ text }) => text));
}
