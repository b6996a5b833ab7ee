import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions, Driver } from "../../support/driver.js";
import { generationIn, resuming, Story, say, stateOf } from "./story.js";

/** Short tasks of every kind that a server can be cut off in the middle of. */
const texts = ["echo hello", "stream 20 16 2", "wait 40", "ask Which colour?", "fail As told.", "stream 3", "echo bye"];

/** One task that a client wants done, whatever becomes of the server meanwhile. */
export interface Order {
  /** Idempotency key and context, so that a second task for it would be found. */
  readonly key: string;
  readonly text: string;
  /** Whether it is sent as a stream. */
  readonly streaming: boolean;
  /** What the client has seen of it on streams; every try begins a new one. */
  readonly stories: Story[];
  /** The task as the server said that it waits for an answer. */
  asked?: JsonObject;
  /** The task as the server said that it is over. */
  acknowledged?: JsonObject;
}

/** Sends orders over a binding, one after the other, until the server is gone. */
export class LoadClient {
  readonly orders: Order[] = [];
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** Tries again what no answer came for, then makes new orders, until a call breaks. */
  async run(driver: Driver): Promise<void> {
    try {
      for (const order of this.orders) if (order.acknowledged === undefined) await fulfil(order, driver);
      for (;;) {
        const number = this.orders.length;
        const text = texts[number % texts.length] as string;
        const streaming = Math.floor(number / texts.length) % 2 === 1;
        const order: Order = { key: `${this.#name} ${number}`, text, streaming, stories: [] };
        this.orders.push(order);
        await fulfil(order, driver);
      }
    } catch (error) {
      if (!(error instanceof Gone)) throw error;
    }
  }

  /** Tries again what no answer came for. */
  async finish(driver: Driver): Promise<void> {
    for (const order of this.orders) if (order.acknowledged === undefined) await fulfil(order, driver);
  }
}

/** The connection broke, or the server said that it is not there. */
class Gone extends Error {
  override name = "Gone";
}

/** Sends what an order says until its task is done; a question on the way is answered. */
async function fulfil(order: Order, driver: Driver): Promise<void> {
  const { key, text } = order;
  const asked = order.asked ?? (await perform(order, driver, key, say(text, { contextId: key })));
  if (stateOf(asked) !== "TASK_STATE_INPUT_REQUIRED") {
    order.acknowledged = asked;
    return;
  }
  order.asked = asked;
  const answer = say("Blue.", { contextId: key, taskId: String(asked.id) });
  order.acknowledged = await perform(order, driver, `${key} answer`, answer);
}

/** Sends a message under a key, and returns the task as it is when it has come to rest. */
async function perform(order: Order, driver: Driver, key: string, request: JsonObject): Promise<JsonObject> {
  const options = resuming({ "Idempotency-Key": key });
  if (!order.streaming) return (await call(order, driver, "SendMessage", request, options)).task as JsonObject;
  const story = new Story();
  order.stories.push(story);
  const ending = await story.follow(driver.stream("SendStreamingMessage", request, options));
  if ("broken" in ending) throw new Gone("The connection broke.", { cause: ending.broken });
  if ("status" in ending) throw refusal(order, ending.status, "a stream ended");
  const task = await call(order, driver, "GetTask", { id: story.taskId }, options);
  if (generationIn(task) === story.generation) return task;
  throw new Error(`The stream of ${key} ended at ${story.generation}: ${JSON.stringify(task)}`);
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
  throw refusal(order, error?.status ?? `${error?.native}`, error?.message ?? "");
}

/** gRPC, Connect and gRPC-Web clients call a broken connection by one of these names. */
function refusal(order: Order, status: string, message: string): Error {
  const gone = ["UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"].includes(status);
  return gone ? new Gone(message) : new Error(`${order.key} (${order.text}) was refused: ${status} ${message}`);
}

/** The state that an order has to end in, killed server or not. */
export function mayEndIn(order: Order, task: JsonObject): boolean {
  const state = stateOf(task).replace("TASK_STATE_", "");
  if (order.text.startsWith("fail")) return state === "FAILED";
  if (order.text.startsWith("wait")) return state === "COMPLETED";
  return state === "COMPLETED" || state === "FAILED";
}
