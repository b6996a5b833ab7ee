import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * An agent of A2A 0.1, as in spring 2025. It is written from the specification of that version alone and uses no code
 * of Parley. The first word of a message selects its action: `echo`, `count` (in pieces), `ask`, `wait`, `fail`. Like
 * early servers, it writes `null` for missing values and timestamps without a zone.
 */

type State = "submitted" | "working" | "input-required" | "completed" | "canceled" | "failed";

interface Message {
  role?: string;
  parts: { type: string; text?: string }[];
}

interface Artifact {
  name: string | null;
  parts: unknown[];
  index: number;
  append?: boolean;
  lastChunk?: boolean;
}

interface Task {
  id: string;
  sessionId: string;
  status: { state: State; message: Message | null; timestamp: string };
  artifacts: Artifact[] | null;
  history: Message[];
  metadata: null;
}

interface Request {
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: Params;
}

interface Params {
  readonly id?: string;
  readonly sessionId?: string;
  readonly message?: Message;
  readonly historyLength?: number | null;
  readonly pushNotification?: PushConfig | null;
  readonly pushNotificationConfig?: PushConfig | null;
}

interface PushConfig {
  readonly url: string;
  readonly token?: string;
}

/** An error with its code in the text of 0.1.0. */
class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** A JSON-RPC request that the server received. */
export interface Got {
  readonly method: string;
  readonly params: Params;
  readonly headers: IncomingMessage["headers"];
}

/** Capabilities and other options of the server. */
export interface V01Options {
  readonly streaming?: boolean;
  readonly push?: boolean;
  /** The required token. Calls without it get HTTP 401. */
  readonly token?: string;
  readonly card?: object;
}

/** A server on loopback. */
export class V01Server {
  url = "";
  readonly got: Got[] = [];
  readonly #options: V01Options;
  readonly #tasks = new Map<string, Task>();
  readonly #pushes = new Map<string, PushConfig>();
  readonly #watchers = new Map<string, Set<(event: object) => void>>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor(options: V01Options) {
    this.#options = options;
  }

  static async start(options: V01Options = {}): Promise<V01Server> {
    const server = new V01Server({ streaming: true, push: true, ...options });
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    server.url = `http://127.0.0.1:${(server.#server.address() as AddressInfo).port}`;
    return server;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** The card at `/.well-known/agent.json`. @param url that of the agent */
  card(url = this.url): object {
    const { streaming, push, token, card } = this.#options;
    return {
      name: "Old agent",
      url,
      version: "0.0.1",
      provider: { organization: "Example" },
      documentationUrl: null,
      capabilities: { streaming, pushNotifications: push, stateTransitionHistory: false },
      authentication: token === undefined ? null : { schemes: ["Bearer"], credentials: null },
      defaultInputModes: ["text"],
      defaultOutputModes: ["text"],
      skills: [{ id: "words", name: "Words" }],
      ...card,
    };
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    if (request.method === "GET" && request.url === "/.well-known/agent.json") {
      return json(200, this.card(`http://${request.headers.host}`));
    }
    if (request.method !== "POST" || request.url !== "/") return void response.writeHead(404).end("Not Found");
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { token } = this.#options;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      return void response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    }
    let call: Request;
    try {
      call = JSON.parse(text) as Request;
    } catch {
      return json(400, {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: "Invalid JSON payload", data: null },
      });
    }
    const { id = null, method = "", params = {} } = call;
    this.got.push({ method, params, headers: request.headers });
    try {
      if (method === "tasks/sendSubscribe" || method === "tasks/resubscribe") {
        return this.#stream(id, method, params, response);
      }
      json(200, { jsonrpc: "2.0", id, result: await this.#call(method, params), error: null });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      json(200, { jsonrpc: "2.0", id, error: { code: error.code, message: error.message, data: null } });
    }
  }

  async #call(method: string, params: Params): Promise<object> {
    switch (method) {
      case "tasks/send": {
        const task = this.#begin(params);
        await this.#work(task, params.message as Message);
        return shown(task, params.historyLength);
      }
      case "tasks/get":
        return shown(this.#task(params), params.historyLength);
      case "tasks/cancel": {
        const task = this.#task(params);
        if (isOver(task)) throw new RpcError(-32002, "Task cannot be canceled");
        this.#status(task, "canceled");
        return shown(task);
      }
      case "tasks/pushNotification/set": {
        const { id } = this.#task(params);
        this.#push();
        if (params.pushNotificationConfig) this.#pushes.set(id, params.pushNotificationConfig);
        else this.#pushes.delete(id);
        return { id, pushNotificationConfig: this.#pushes.get(id) ?? null };
      }
      case "tasks/pushNotification/get": {
        const { id } = this.#task(params);
        this.#push();
        return { id, pushNotificationConfig: this.#pushes.get(id) ?? null };
      }
      default:
        throw new RpcError(-32601, "Method not found");
    }
  }

  #push(): void {
    if (this.#options.push !== true) throw new RpcError(-32003, "Push Notification is not supported");
  }

  #task({ id }: Params): Task {
    const task = this.#tasks.get(id ?? "");
    if (task === undefined) throw new RpcError(-32001, "Task not found");
    return task;
  }

  /** Returns the task of a message. An unknown id starts a new task. */
  #begin({ id, sessionId, message, pushNotification }: Params): Task {
    if (typeof id !== "string" || id === "" || !Array.isArray(message?.parts)) {
      throw new RpcError(-32602, "Invalid parameters");
    }
    if (pushNotification) this.#push();
    let task = this.#tasks.get(id);
    if (task !== undefined && isOver(task)) throw new RpcError(-32009, "Task is in a state that takes no message");
    if (task === undefined) {
      const status = { state: "submitted" as const, message: null, timestamp: now() };
      task = { id, sessionId: sessionId ?? `session-of-${id}`, status, artifacts: null, history: [], metadata: null };
      this.#tasks.set(id, task);
    }
    if (pushNotification) this.#pushes.set(id, pushNotification);
    task.history.push(message);
    return task;
  }

  async #work(task: Task, message: Message): Promise<void> {
    const text = message.parts[0]?.text ?? "";
    const [word, ...rest] = text.split(" ");
    if (task.status.state === "input-required") {
      this.#artifact(task, { name: "answer", parts: [{ type: "text", text }], index: 0 });
      return this.#status(task, "completed");
    }
    this.#status(task, "working");
    if (word === "ask") return this.#status(task, "input-required", { parts: [{ type: "text", text: "What?" }] });
    if (word === "fail") return this.#status(task, "failed", says("It did not work."));
    if (word === "wait") {
      for (let i = 0; i < 2_000 && !isOver(task); i++) await sleep(10);
      if (isOver(task)) return;
    } else if (word === "count") {
      const pieces = ["one ", "two ", "three"];
      for (const [i, piece] of pieces.entries()) {
        await sleep(Number(rest[0] ?? 1));
        const chunk = { append: i > 0, lastChunk: i === pieces.length - 1 };
        this.#artifact(task, { name: "n", parts: [{ type: "text", text: piece }], index: 0, ...chunk });
      }
    } else {
      const parts = [{ type: "text", text: rest.join(" ") }];
      this.#artifact(task, { name: "first", parts, index: 0 });
      this.#artifact(task, { name: "second", parts: [{ type: "data", data: [1, 2] }], index: 1 });
    }
    this.#status(task, "completed");
  }

  #status(task: Task, state: State, message: Message | null = null): void {
    if (isOver(task)) return;
    if (task.status.message !== null) task.history.push(task.status.message);
    task.status = { state, message, timestamp: now() };
    const final = isOver(task) || state === "input-required";
    this.#tell(task, { id: task.id, status: task.status, final, metadata: null });
    const push = this.#pushes.get(task.id);
    if (push === undefined) return;
    const token = push.token === undefined ? {} : { "x-a2a-notification-token": push.token };
    const headers = { "content-type": "application/json", ...token };
    fetch(push.url, { method: "POST", headers, body: JSON.stringify(shown(task)) }).catch(() => {});
  }

  #artifact(task: Task, artifact: Artifact): void {
    task.artifacts ??= [];
    const { append, lastChunk, ...kept } = artifact;
    const known = task.artifacts.find(({ index }) => index === artifact.index);
    if (append === true && known !== undefined) known.parts.push(...kept.parts);
    else if (known !== undefined) Object.assign(known, kept);
    else task.artifacts.push({ ...kept, parts: [...kept.parts] });
    this.#tell(task, { id: task.id, artifact, metadata: null });
  }

  #tell({ id }: Task, event: object): void {
    for (const watcher of this.#watchers.get(id) ?? []) watcher(event);
  }

  #stream(id: Request["id"], method: string, params: Params, response: ServerResponse): void {
    if (this.#options.streaming !== true) throw new RpcError(-32006, "Streaming is not supported");
    const task = method === "tasks/resubscribe" ? this.#task(params) : this.#begin(params);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const watchers = this.#watchers.get(task.id) ?? new Set();
    this.#watchers.set(task.id, watchers);
    const watcher = (event: object): void => {
      response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: event })}\n\n`);
      if (!("final" in event) || event.final !== true) return;
      watchers.delete(watcher);
      response.end();
    };
    response.flushHeaders();
    if (method === "tasks/resubscribe" && isOver(task))
      return watcher({ id: task.id, status: task.status, final: true });
    watchers.add(watcher);
    response.once("close", () => watchers.delete(watcher));
    if (method === "tasks/sendSubscribe") void this.#work(task, params.message as Message);
  }
}

function shown({ history, ...task }: Task, historyLength?: number | null): object {
  return { ...task, history: historyLength ? history.slice(-historyLength) : null };
}

const isOver = ({ status: { state } }: Task): boolean => ["completed", "canceled", "failed"].includes(state);

const says = (text: string): Message => ({ role: "agent", parts: [{ type: "text", text }] });

/** The time without a zone, as Python's `isoformat()` writes it. */
const now = (): string => new Date().toISOString().replace("Z", "000");
