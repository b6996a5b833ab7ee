import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions, Driver } from "../../support/driver.js";
import { type Ending, generationIn, isFinal, resuming, Story, say, stateOf, statusText } from "./story.js";

/** Short tasks of every kind that a server can be cut off in the middle of. */
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

/** How often a turn that is to be run again is cut off before its task fails: at its first run, and three times again. */
const cutsToFail = 4;

/** By what a server knows that a message comes again. */
export type Sameness = "idempotency key" | "message id";

/** One task that a client wants done, whatever becomes of the server meanwhile. */
export interface Order {
  /** Idempotency key and context, so that a second task for it would be found. */
  readonly key: string;
  readonly text: string;
  /** Whether it is sent as a stream. */
  readonly streaming: boolean;
  /** What the client has seen of it on streams: one story for each message, unless it broke before it began. */
  readonly stories: Story[];
  /** Servers that ended since it was sent for the first time. */
  cuts: number;
  /** Streams that went on where another one had broken. */
  resumed: number;
  /** The task as the server said that it waits for an answer. */
  asked?: JsonObject;
  /** The task as the server said that it is over. */
  acknowledged?: JsonObject;
}

/** Sends orders over a binding, one after the other, until the server is gone. */
export class LoadClient {
  readonly orders: Order[] = [];
  readonly #name: string;
  readonly #sameness: Sameness;
  #left: AbortSignal | undefined;

  constructor(name: string, sameness: Sameness) {
    this.#name = name;
    this.#sameness = sameness;
  }

  /** Goes on with what no answer came for, then makes new orders, until a call breaks or is left. */
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

  /** Goes on with what no answer came for. */
  async finish(driver: Driver): Promise<void> {
    for (const order of this.orders) if (order.acknowledged === undefined) await this.#fulfil(order, driver);
  }

  /** One more order, of a text that is not among the usual ones where that is said. */
  order(text?: string): Order {
    const number = this.orders.length;
    const usual = texts[number % texts.length] as string;
    const streaming = text !== undefined || Math.floor(number / texts.length) % 2 === 0;
    const key = `${this.#name} ${number}`;
    const order: Order = { key, text: text ?? usual, streaming, stories: [], cuts: 0, resumed: 0 };
    this.orders.push(order);
    return order;
  }

  /** Notes that a server ended: it has cut off what is not done. */
  cut(): void {
    for (const order of this.orders) if (order.acknowledged === undefined) order.cuts++;
  }

  /** Sends the message of an order that is done once more, and gives the task that it was for. */
  async repeat(order: Order, driver: Driver): Promise<JsonObject> {
    const request = say(order.text, { contextId: order.key });
    return (await call(order, driver, "SendMessage", request, this.#options(order.key))).task as JsonObject;
  }

  /** Does what an order says until its task is over; a question on the way is answered. */
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

  /** Sends a message, and returns the task as it is when it has come to rest. */
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

/** By turns both parameters that say where to go on, where a binding has both. */
function parameter({ name }: Driver, turn: number, generation: number): Record<string, string> {
  const both = name === "rest" || name === "jsonrpc";
  return { [both && turn % 2 === 0 ? "Last-Event-ID" : "Parley-After-Generation"]: `${generation}` };
}

/** The connection broke, or the server said that it is not there. */
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

/** gRPC, Connect and gRPC-Web clients call a broken connection by one of these names. */
function refusal(order: Order, status: string, message: string): Error {
  const gone = ["UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"].includes(status);
  return gone ? new Gone(message) : new Error(`${order.key} (${order.text}) was refused: ${status} ${message}`);
}

/** What is wrong with how an order ended and with what its task has; undefined when all of it is as it has to be. */
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
