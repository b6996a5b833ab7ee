import type { JsonObject } from "@bufbuild/protobuf";
import type { Driver } from "../../support/driver.js";
import { generationIn, resuming, say, stateOf, Story } from "./story.js";

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
  /** The task as the server said that it came to rest. */
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

async function fulfil(order: Order, driver: Driver): Promise<void> {
  const request = say(order.text, { contextId: order.key });
  const options = resuming({ "Idempotency-Key": order.key });
  if (order.streaming) await stream(order, driver, request, options);
  else await send(order, driver, request, options);
}

type Options = ReturnType<typeof resuming>;

async function send(order: Order, driver: Driver, request: JsonObject, options: Options): Promise<void> {
  const { message, error } = await driver.call("SendMessage", request, options).catch((cause: unknown) => {
    throw new Gone("The connection broke.", { cause });
  });
  if (error !== undefined) throw refusal(order, error.status ?? `${error.native}`, error.message);
  order.acknowledged = message?.["task"] as JsonObject;
}

async function stream(order: Order, driver: Driver, request: JsonObject, options: Options): Promise<void> {
  const story = new Story();
  order.stories.push(story);
  const ending = await story.follow(driver.stream("SendStreamingMessage", request, options));
  if ("broken" in ending) throw new Gone("The connection broke.", { cause: ending.broken });
  if ("status" in ending) throw refusal(order, ending.status, "a stream ended");
  // What a stream shows is as good as an answer. The task itself is not in it; reading it is one more call.
  const { message, error } = await driver.call("GetTask", { id: story.taskId }, options).catch((cause: unknown) => {
    throw new Gone("The connection broke.", { cause });
  });
  if (error !== undefined) throw refusal(order, error.status ?? `${error.native}`, error.message);
  if (generationIn(message as JsonObject) !== story.generation) {
    throw new Error(`The stream of ${order.key} ended at ${story.generation}: ${JSON.stringify(message)}`);
  }
  order.acknowledged = message as JsonObject;
}

/** gRPC, Connect and gRPC-Web clients call a broken connection by one of these names. */
function refusal(order: Order, status: string, message: string): Error {
  const gone = ["UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN", "CANCELLED"].includes(status);
  return gone ? new Gone(message) : new Error(`${order.key} (${order.text}) was refused: ${status} ${message}`);
}

/** The state that an order has to end in, killed server or not. */
export function mayEndIn(order: Order, task: JsonObject): boolean {
  const state = stateOf(task).replace("TASK_STATE_", "");
  if (order.text.startsWith("ask")) return state === "INPUT_REQUIRED" || state === "FAILED";
  if (order.text.startsWith("fail")) return state === "FAILED";
  if (order.text.startsWith("wait")) return state === "COMPLETED";
  return state === "COMPLETED" || state === "FAILED";
}
