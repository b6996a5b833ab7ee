import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions, Driver, OpenStream } from "../../support/driver.js";

/** The extension for exact resume (docs/extensions/resume.md). */
const resume = "urn:parley:ext:resume:v1";

/** Asks for generations in the metadata, and for whatever else is given. */
export function resuming(more: Readonly<Record<string, string>> = {}): CallOptions {
  return { headers: { "A2A-Version": "1.0", "A2A-Extensions": resume, ...more } };
}

/** The generation that a task or an event carries. */
export function generationIn(value: JsonObject): number {
  const { metadata } = value as { metadata?: Record<string, { generation?: number }> };
  const generation = metadata?.[resume]?.generation;
  if (generation === undefined) throw new Error(`There is no generation in ${JSON.stringify(value)}.`);
  return generation;
}

/** A request to send a text. */
export function say(text: string, more: { taskId?: string; contextId?: string } = {}): JsonObject {
  return { message: { messageId: `${text} ${more.contextId ?? ""}`, role: "ROLE_USER", parts: [{ text }], ...more } };
}

/** What one client has seen of one task, over as many streams as it took. */
export class Story {
  taskId = "";
  /** The generation that the client stands at. */
  generation = 0;
  /** State of the task at that generation, in its name on the wire. */
  state = "";
  /** Events by their generation. */
  readonly events: Map<number, JsonObject> = new Map();
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  /** Takes the next message of a stream; throws when it is not the one that has to come next. */
  see(message: JsonObject): void {
    const { task } = message as { task?: JsonObject };
    if (task === undefined) this.#event(message);
    else this.#begin(task);
  }

  /** Resolves when so many events are there. */
  has(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ count, resolve });
      this.#tell();
    });
  }

  /** Reads a stream until it ends or breaks, and says how it ended; or leaves it when `enough` says so. */
  async follow(stream: OpenStream, enough: (story: Story) => boolean = () => false): Promise<Ending> {
    for (;;) {
      const item = await nextOf(stream);
      if (!("message" in item)) return item;
      this.see(item.message);
      if (!enough(this)) continue;
      stream.hangUp();
      return { end: true };
    }
  }

  #begin(task: JsonObject): void {
    const generation = generationIn(task);
    if (this.taskId !== "" && (this.taskId !== task.id || this.generation !== generation)) {
      throw new Error(`The stream goes on at generation ${generation} instead of ${this.generation}.`);
    }
    // Who resumes is told the state of now, not that of the place where it stands.
    if (this.taskId === "") this.state = stateOf(task);
    this.taskId = String(task.id);
    this.generation = generation;
  }

  #event(message: JsonObject): void {
    const [event] = Object.values(message) as JsonObject[];
    const generation = generationIn(event ?? {});
    if (generation !== this.generation + 1) {
      throw new Error(`Generation ${generation} comes after ${this.generation}: ${JSON.stringify(event)}`);
    }
    if (event?.taskId !== this.taskId) throw new Error(`An event of another task: ${JSON.stringify(event)}`);
    this.generation = generation;
    if (message.statusUpdate !== undefined) this.state = stateOf(event);
    this.events.set(generation, message);
    this.#tell();
  }

  #tell(): void {
    for (const { count, resolve } of this.#waiting) if (this.events.size >= count) resolve();
  }
}

/** How a stream ended: by itself, with an error of the server, or because the connection broke. */
export type Ending = { readonly end: true } | { readonly status: string } | { readonly broken: unknown };

async function nextOf(stream: OpenStream): Promise<{ readonly message: JsonObject } | Ending> {
  try {
    const item = await stream.next();
    if (!("error" in item)) return item;
    const { status, reason, native } = item.error;
    // JSON-RPC has no status, but a reason that is called like it where that matters.
    return { status: status ?? reason ?? `${native}` };
  } catch (broken) {
    return { broken };
  }
}

/** The task as it stands, with its generation in the metadata. */
export async function taskOf(
  driver: Driver,
  id: string,
  more: Readonly<Record<string, string>> = {},
): Promise<JsonObject> {
  const { message, error } = await driver.call("GetTask", { id }, resuming(more));
  if (message === undefined) throw new Error(`The task ${id} is not there: ${JSON.stringify(error)}`);
  return message;
}

/** The state of a task or of a status event, in its name on the wire. */
export function stateOf(task: JsonObject): string {
  return String((task.status as JsonObject | undefined)?.state);
}

/** Whether a state, in its name on the wire, is one that a task ends in. */
export function isFinal(state: string): boolean {
  return /COMPLETED|FAILED|CANCELED|REJECTED/.test(state);
}

/** The text of a task's status message. */
export function statusText(task: JsonObject): string {
  const { status } = task as { status?: { message?: { parts?: { text?: string }[] } } };
  return status?.message?.parts?.[0]?.text ?? "";
}

/** Waits until a task is over or waits for its client, by long polls, and returns it as it is then. */
export async function settled(driver: Driver, id: string): Promise<JsonObject> {
  for (let task = await taskOf(driver, id); ; ) {
    if (!/WORKING|SUBMITTED/.test(stateOf(task))) return task;
    task = await taskOf(driver, id, { "Parley-After-Generation": `${generationIn(task)}`, "Parley-Wait": "5" });
  }
}

/** All events that the server has of a task, in order: whoever subscribes after generation 1 is given every one. */
export async function logOf(driver: Driver, id: string): Promise<Story> {
  const task = await taskOf(driver, id);
  const story = new Story();
  const stream = driver.stream("SubscribeToTask", { id }, resuming({ "Parley-After-Generation": "1" }));
  const ended = story.follow(stream);
  await Promise.race([ended, story.has(generationIn(task) - 1)]);
  // The stream of a task that is over ends by itself, that of one that waits for its client does not.
  if (!isFinal(stateOf(task))) stream.hangUp();
  await ended;
  return story;
}
