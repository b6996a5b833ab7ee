import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { generationIn, isFinal, resuming, stateOf } from "../e2e/support/story.js";
import type { CallOptions, Driver, OpenStream, Reply, StreamItem } from "../support/driver.js";
import type { Binding } from "../support/drivers.js";
import type { Hooks } from "./hooks.js";
import { type Order, orderOf } from "./orders.js";
import { type Notebook, now } from "./records.js";
import type { Replica } from "./replica.js";
import type { Chance } from "./schedule.js";

/** Time after which a client gives up an unanswered call and calls another server. */
const CALL_MS = 6_000;

/** Time after which a client leaves a silent stream and continues on another server. */
const IDLE_MS = 4_000;

/** Errors that every server would give for the call. */
const FINAL_ANSWER =
  /FAILED_PRECONDITION|INVALID_ARGUMENT|ALREADY_EXISTS|UNSUPPORTED_OPERATION|NOT_CANCELABLE|KEY_REUSED/;
const NOT_FOUND = /NOT_FOUND/;

interface ClientTools {
  readonly chance: Chance;
  readonly book: Notebook;
  /** Fires when the time is up. */
  readonly over: AbortSignal;
  /** Receiver of notifications. Undefined to ask for none. */
  readonly hooks?: Hooks | undefined;
}

/** The position of a reader in a task. */
interface Place {
  generation: number;
  state: string;
}

/** A client that sends one task after the other and records everything that it receives. */
export class Client {
  readonly #name: string;
  readonly #binding: Binding;
  readonly #replicas: readonly Replica[];
  readonly #chance: Chance;
  readonly #book: Notebook;
  readonly #drivers: Map<Replica, Driver> = new Map();
  /** Aborts when the time is up. All calls then end. */
  readonly #over: AbortSignal;
  readonly #hooks: Hooks | undefined;
  /** Tasks that a server reported as unknown. */
  readonly #gone: Set<string> = new Set();
  #orders = 0;
  #readers = 0;
  /** Number of consecutive failed calls. */
  #failures = 0;

  constructor(binding: Binding, replicas: readonly Replica[], { chance, book, over, hooks }: ClientTools) {
    this.#name = book.client;
    this.#binding = binding;
    this.#replicas = replicas;
    this.#chance = chance;
    this.#book = book;
    this.#over = over;
    this.#hooks = hooks;
  }

  /** Sends one task after the other until `isLast`, then closes the client. */
  async run(isLast: () => boolean): Promise<void> {
    while (!isLast()) await this.#fulfil(this.#order());
    await this.close();
  }

  /** Completes a short task on one server, and repeats the call until that works. */
  async probe(replica: Replica): Promise<void> {
    const work = { pieces: 1, pause: 0, stubborn: false, delegates: false };
    await this.#send(this.#order({ asks: false, mode: "wait", work, isHooked: false }), undefined, () => replica);
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers.values()) driver.close();
    await this.#book.close();
  }

  #order(fixed: Partial<Order> = {}): Order {
    return { ...orderOf(this.#chance, `${this.#name}/${++this.#orders}`, this.#hooks !== undefined), ...fixed };
  }

  async #fulfil(order: Order): Promise<void> {
    const task = await this.#send(order, undefined);
    if (task === undefined) return;
    const beside: Promise<unknown>[] = [];
    if (this.#chance.is(0.4)) beside.push(this.#follow(task, { generation: 1, state: "" }));
    if (this.#chance.is(0.15)) beside.push(this.#cancel(task, this.#chance.between(0, 1_500)));
    if (this.#chance.is(0.2)) beside.push(this.#list(order, task));
    if (this.#chance.is(0.2)) beside.push(this.#send({ ...order, mode: "return" }, undefined));
    const others = Promise.allSettled(beside);
    // A failover may undo events and the answer. The client then reads the task from its beginning again.
    for (let state = ""; !isFinal(state) && !this.#gone.has(task); ) {
      const place: Place = { generation: 1, state: "" };
      await (this.#chance.is(0.7) ? this.#follow(task, place) : this.#poll(task, place));
      // Only this reader answers a question. All readers follow the task after the answer.
      if (/INPUT_REQUIRED/.test(place.state)) await this.#answer(order, task, place);
      state = place.state;
    }
    for (const each of await others) if (each.status === "rejected") throw each.reason;
  }

  async #answer(order: Order, task: string, place: Place): Promise<void> {
    await this.#send({ ...order, name: `${order.name}/answer`, asks: false }, task);
    await this.#follow(task, place);
  }

  /** Sends a message until a server acknowledges it. Returns its task, or undefined if the server refused it. */
  async #send(order: Order, task: string | undefined, where = this.#somewhere): Promise<string | undefined> {
    const { name, work, asks, mode } = order;
    const book = this.#book;
    book.note({ kind: "sent", message: name, ...(task === undefined ? {} : { task }) });
    const message: JsonObject = {
      messageId: name,
      role: "ROLE_USER",
      parts: [{ text: JSON.stringify({ ...work, asks }) }],
      ...(task === undefined ? { contextId: name } : { taskId: task }),
    };
    const hook = order.isHooked && task === undefined ? this.#hooks : undefined;
    const configuration = hook && { taskPushNotificationConfig: { url: hook.urlOf(name) } };
    const acknowledged = (found: JsonObject, asked: number): string => {
      const id = String(found.id);
      book.note({ kind: "acknowledged", message: name, task: id });
      hook?.expect(name, id);
      this.#saw(found, asked);
      return id;
    };
    for (;;) {
      const replica = where();
      const asked = now();
      if (mode === "stream") {
        const place: Place = { generation: 0, state: "" };
        const request = { message, ...(configuration && { configuration }) };
        const id = await this.#read("SendStreamingMessage", request, { replica, place, key: name, acknowledged });
        if (id === "refused") return undefined;
        if (id !== undefined) return id;
      } else {
        const how = { ...configuration, returnImmediately: mode === "return", historyLength: 0 };
        const request = { message, configuration: how };
        const reply = await this.#call(replica, "SendMessage", request, { "Idempotency-Key": name });
        const found = reply?.message?.task as JsonObject | undefined;
        if (found !== undefined) return acknowledged(found, asked);
        if (reply?.error !== undefined && this.#isRefused(reply, name, task)) return undefined;
      }
      await this.#rest();
    }
  }

  #isRefused({ error }: Reply, message: string, task: string | undefined): boolean {
    const why = `${error?.status} ${error?.reason} ${error?.message}`;
    if (!FINAL_ANSWER.test(why) && !NOT_FOUND.test(why)) return false;
    if (task !== undefined && NOT_FOUND.test(why)) this.#missing(task, `the answer to ${message}`);
    else if (/KEY_REUSED|INVALID_ARGUMENT|NOT_FOUND/.test(why))
      this.#book.note({ kind: "wrong", why: `${message}: ${why}` });
    this.#book.note({ kind: "refused", message, why });
    return true;
  }

  /** Follows a task from a position until it rests, over as many streams as necessary. */
  async #follow(task: string, place: Place): Promise<void> {
    const reader = `${this.#name}#${++this.#readers}`;
    const begun = place.generation;
    for (let streams = 0; !this.#rests(place, begun) && !this.#gone.has(task); streams++) {
      if (streams > 0) this.#book.note({ kind: "resumed", reader });
      const outcome = await this.#read("SubscribeToTask", { id: task }, { replica: this.#somewhere(), place, reader });
      if (this.#rests(place, begun)) return;
      // A stream that resumes at the end of a task brings no event.
      if (outcome === "refused" || streams % 4 === 3) {
        const now = await this.#get(task);
        if (now !== undefined && isFinal(stateOf(now)) && generationIn(now) === place.generation) {
          place.state = stateOf(now);
          return;
        }
        if (now !== undefined && generationIn(now) < place.generation) return;
      }
      await this.#rest();
    }
  }

  #rests({ generation, state }: Place, begun: number): boolean {
    return isFinal(state) || (/INPUT_REQUIRED/.test(state) && generation > begun);
  }

  /**
   * Reads one stream until its task rests, or until the stream ends or stays silent. Returns the result of
   * `acknowledged`, or "refused".
   */
  async #read(
    rpc: string,
    request: JsonObject,
    around: {
      readonly replica: Replica;
      readonly place: Place;
      readonly reader?: string;
      readonly key?: string;
      readonly acknowledged?: (task: JsonObject, asked: number) => string;
    },
  ): Promise<string | "refused" | undefined> {
    const { replica, place, key, acknowledged } = around;
    const reader = around.reader ?? `${this.#name}#${++this.#readers}`;
    const begun = place.generation;
    const asked = now();
    const after: Record<string, string> =
      key === undefined ? { "Parley-After-Generation": `${begun}` } : { "Idempotency-Key": key };
    const stream = this.#driver(replica).stream(rpc, request, this.#options(after));
    let task: string | undefined;
    for (;;) {
      const item = await this.#next(stream);
      if ("message" in item) {
        const { message } = item;
        this.#failures = 0;
        const found = message.task as JsonObject | undefined;
        if (found !== undefined) {
          task = acknowledged?.(found, asked);
          this.#book.note({ ...placeOf(found), kind: "task", asked, reader });
          place.generation = generationIn(found);
          // A resumed stream begins with the current state at the generation where it resumes.
          if (acknowledged !== undefined) place.state = stateOf(found);
        } else this.#event(message, place, reader);
        if (!this.#rests(place, acknowledged === undefined ? begun : 0)) continue;
        stream.hangUp();
        return task;
      }
      stream.hangUp();
      if ("end" in item) return task;
      const why = "error" in item ? `${item.error.status} ${item.error.reason} ${item.error.message}` : item.broken;
      const isRefusal = "error" in item && (FINAL_ANSWER.test(why) || NOT_FOUND.test(why));
      if (!isRefusal) this.#failed(rpc, why, replica);
      if (!isRefusal || task !== undefined) return task;
      if (key !== undefined) {
        const { taskId } = request.message as { taskId?: string };
        return this.#isRefused({ error: item.error, headers: {} }, key, taskId) ? "refused" : undefined;
      }
      if (NOT_FOUND.test(why)) this.#missing(String(request.id), replica.name);
      return "refused";
    }
  }

  #event(message: JsonObject, place: Place, reader: string): void {
    const [event] = Object.values(message) as JsonObject[];
    const generation = generationIn(event ?? {});
    this.#book.note({ kind: "event", task: String(event?.taskId), generation, reader, event: message });
    place.generation = generation;
    if (message.statusUpdate !== undefined) place.state = stateOf(event ?? {});
  }

  async #next(stream: OpenStream): Promise<StreamItem | { readonly broken: string }> {
    const late = setTimeout(() => stream.hangUp(), IDLE_MS);
    const gone = sleep(IDLE_MS + 2_000, { broken: "does not end when it is left" }, { ref: false });
    const item = stream.next().catch((error: unknown) => ({ broken: String(error) }));
    const first = await Promise.race([item, gone]);
    clearTimeout(late);
    return first;
  }

  /** Polls a task until it rests. */
  async #poll(task: string, place: Place): Promise<void> {
    const begun = place.generation;
    while (!this.#rests(place, begun) && !this.#gone.has(task)) {
      const waiting = { "Parley-After-Generation": `${place.generation}`, "Parley-Wait": "3" };
      const found = (await this.#get(task, waiting)) ?? (await this.#get(task));
      if (found === undefined) await this.#rest();
      else [place.generation, place.state] = [generationIn(found), stateOf(found)];
    }
  }

  async #get(id: string, headers: Readonly<Record<string, string>> = {}): Promise<JsonObject | undefined> {
    const replica = this.#somewhere();
    const asked = now();
    const reply = await this.#call(replica, "GetTask", { id, historyLength: 0 }, headers);
    if (reply?.message !== undefined) this.#saw(reply.message, asked);
    else if (NOT_FOUND.test(`${reply?.error?.status} ${reply?.error?.reason}`)) this.#missing(id, replica.name);
    return reply?.message;
  }

  #missing(task: string, where: string): void {
    this.#book.note({ kind: "missing", task, where });
    this.#gone.add(task);
  }

  async #cancel(id: string, afterMs: number): Promise<void> {
    await sleep(afterMs);
    while (!this.#gone.has(id)) {
      const asked = now();
      const reply = await this.#call(this.#somewhere(), "CancelTask", { id });
      const why = `${reply?.error?.status} ${reply?.error?.reason}`;
      if (reply?.message !== undefined) this.#saw(reply.message, asked);
      if (NOT_FOUND.test(why)) this.#missing(id, "the answer to a cancel");
      if (reply?.message !== undefined || FINAL_ANSWER.test(why)) {
        this.#book.note({ kind: "canceled", task: id, done: reply?.message !== undefined });
        return;
      }
      await this.#rest();
    }
  }

  /** Checks that the list of an order's context contains its acknowledged task. */
  async #list({ name }: Order, task: string): Promise<void> {
    for (;;) {
      const replica = this.#somewhere();
      const reply = await this.#call(replica, "ListTasks", { contextId: name, pageSize: 10 });
      const tasks = reply?.message && ((reply.message.tasks ?? []) as JsonObject[]);
      if (tasks !== undefined) {
        if (tasks.length > 1) this.#book.note({ kind: "wrong", why: `${name} has ${tasks.length} tasks` });
        if (tasks[0]?.id !== task) this.#missing(task, `the list of ${replica.name}`);
        return;
      }
      await this.#rest();
    }
  }

  #saw(task: JsonObject, asked: number): void {
    this.#book.note({ ...placeOf(task), kind: "task", asked });
  }

  /** Makes a call. Returns undefined if its outcome is unknown. */
  async #call(
    replica: Replica,
    rpc: string,
    request: JsonObject,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply | undefined> {
    const options = this.#options(headers, AbortSignal.timeout(CALL_MS));
    const broken = (error: unknown): undefined => this.#failed(rpc, String(error), replica);
    const call = this.#driver(replica).call(rpc, request, options).catch(broken);
    const reply = await Promise.race([call, sleep(CALL_MS + 2_000, undefined, { ref: false })]);
    const { error } = reply ?? {};
    if (reply !== undefined && error === undefined) this.#failures = 0;
    if (error === undefined) return reply;
    const why = `${error.status} ${error.reason} ${error.message}`;
    if (FINAL_ANSWER.test(why) || NOT_FOUND.test(why)) return reply;
    return this.#failed(rpc, why, replica);
  }

  /** Records a failed call. The next call uses a new connection. */
  #failed(call: string, why: string, replica: Replica): undefined {
    this.#failures++;
    this.#book.note({ kind: "failed", call: `${call} over ${this.#binding.name}`, why, where: replica.name });
    // A server that temporarily cannot do something has to answer "unavailable".
    if (why.includes("Internal error.")) this.#book.note({ kind: "wrong", why: `${call} at ${replica.name}: ${why}` });
    this.#drivers.get(replica)?.close();
    this.#drivers.delete(replica);
    return undefined;
  }

  #driver(replica: Replica): Driver {
    const known = this.#drivers.get(replica);
    if (known !== undefined) return known;
    const made = this.#binding.connect(replica);
    this.#drivers.set(replica, made);
    return made;
  }

  #options(headers: Readonly<Record<string, string>>, signal?: AbortSignal): CallOptions {
    const signals = signal === undefined ? this.#over : AbortSignal.any([this.#over, signal]);
    return { ...resuming(headers), signal: signals };
  }

  readonly #somewhere = (): Replica => this.#chance.pick(this.#replicas);

  async #rest(): Promise<void> {
    if (this.#over.aborted) throw new OutOfTime();
    await sleep(this.#chance.between(30, 200) * Math.min(5, 1 + this.#failures / 4));
  }
}

/** Thrown when the time is up. */
export class OutOfTime extends Error {
  override name = "OutOfTime";
}

function placeOf(task: JsonObject): { readonly task: string; readonly generation: number; readonly state: string } {
  return { task: String(task.id), generation: generationIn(task), state: stateOf(task) };
}
