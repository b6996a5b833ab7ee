import { FirstJavaScriptClient } from "./first-clients.js";
import { readAs } from "./first-types.js";

type Json = Record<string, unknown>;

/** An answer of JSON-RPC that is an error, as the first Python library gives it to its callers. */
export class PythonRpcError extends Error {
  readonly code: number;

  constructor({ code, message }: { code: number; message: string }) {
    super(message);
    this.code = code;
  }
}

/** The first Python client: it reads the card at the old path, sends null for absent members, and checks the types of answers. */
export class FirstPythonClient {
  readonly card: Json;
  readonly #url: string;

  private constructor(card: Json) {
    this.card = card;
    this.#url = card.url as string;
  }

  static async resolve(baseUrl: string): Promise<FirstPythonClient> {
    const response = await fetch(`${baseUrl.replace(/\/+$/, "")}/.well-known/agent.json`);
    if (!response.ok) throw new Error(`HTTP Error ${response.status}`);
    return new FirstPythonClient(readAs("card", (await response.json()) as Json));
  }

  get streams(): boolean {
    return (this.card.capabilities as Json).streaming === true;
  }

  async sendTask(params: Json): Promise<Json> {
    return readAs("task", await this.#send("tasks/send", sendParams(params)));
  }

  async *sendTaskStreaming(params: Json): AsyncGenerator<Json> {
    const response = await this.#post("tasks/sendSubscribe", sendParams(params));
    const type = response.headers.get("content-type") ?? "";
    if (!type.includes("text/event-stream")) throw new Error(`Expected response header Content-Type, got '${type}'`);
    let buffer = "";
    for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const events = (buffer + chunk).split(/\r?\n\r?\n/);
      buffer = events.pop() ?? "";
      for (const event of events) {
        const data = event
          .split(/\r?\n/)
          .flatMap((line) => (line.startsWith("data:") ? line.slice(5).trimStart() : []));
        if (data.length > 0) yield readAs("update", resultOf(JSON.parse(data.join("\n")) as Json));
      }
    }
  }

  async getTask(params: Json): Promise<Json> {
    return readAs("task", await this.#send("tasks/get", { metadata: null, historyLength: null, ...params }));
  }

  async cancelTask(params: Json): Promise<Json> {
    return readAs("task", await this.#send("tasks/cancel", { metadata: null, ...params }));
  }

  async setTaskCallback(params: Json): Promise<Json> {
    return readAs("config", await this.#send("tasks/pushNotification/set", params));
  }

  async getTaskCallback(params: Json): Promise<Json> {
    return readAs("config", await this.#send("tasks/pushNotification/get", { metadata: null, ...params }));
  }

  async #send(method: string, params: Json): Promise<Json> {
    const response = await this.#post(method, params);
    // It raises for the status before it looks at the answer.
    if (!response.ok) throw new Error(`HTTP Error ${response.status}`);
    return resultOf((await response.json()) as Json);
  }

  #post(method: string, params: Json): Promise<Response> {
    const id = crypto.randomUUID().replaceAll("-", "");
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    // Its HTTP library accepts anything and follows no redirect.
    const headers = { accept: "*/*", "content-type": "application/json" };
    return fetch(this.#url, { method: "POST", redirect: "manual", headers, body });
  }
}

function resultOf({ result, error }: Json): Json {
  if (error !== undefined && error !== null) throw new PythonRpcError(error as { code: number; message: string });
  return result as Json;
}

/** The params of a send as the library's types serialize them: every member is present. */
function sendParams({ message, ...params }: Json): Json {
  const { role, parts } = message as { role: string; parts: Json[] };
  return {
    ...{ acceptedOutputModes: null, pushNotification: null, historyLength: null, metadata: null, ...params },
    message: { role, parts: parts.map((part) => ({ name: null, metadata: null, ...part })), metadata: null },
  };
}

/** Input at the Python host: a prompt, and a file to attach. */
export type Typed =
  | string
  | { readonly prompt: string; readonly attach: { readonly name: string; readonly bytes: Uint8Array } };

/** The output of the Python host for a task. */
export interface Printed {
  readonly id: string;
  readonly events: readonly Json[];
  readonly task: Json;
}

/**
 * The first Python host at a terminal: each prompt begins a task of the same session, except that a task which needs
 * input gets the next one.
 */
export async function pythonHost(
  client: FirstPythonClient,
  typed: readonly Typed[],
  { session = crypto.randomUUID().replaceAll("-", ""), receiver }: { session?: string; receiver?: string } = {},
): Promise<Printed[]> {
  const printed: Printed[] = [];
  let id: string | undefined;
  for (const each of typed) {
    id ??= crypto.randomUUID().replaceAll("-", "");
    const { prompt, attach } = typeof each === "string" ? { prompt: each, attach: undefined } : each;
    const parts: Json[] = [{ type: "text", text: prompt }];
    if (attach !== undefined) {
      const bytes = Buffer.from(attach.bytes).toString("base64");
      parts.push({ type: "file", file: { name: attach.name, mimeType: null, bytes, uri: null } });
    }
    const authentication = { schemes: ["bearer"], credentials: null };
    const pushNotification = receiver === undefined ? null : { url: receiver, token: null, authentication };
    const message = { role: "user", parts };
    const payload = { id, sessionId: session, acceptedOutputModes: ["text"], message, pushNotification };
    const events: Json[] = [];
    if (client.streams) for await (const event of client.sendTaskStreaming(payload)) events.push(event);
    const task = client.streams ? await client.getTask({ id }) : await client.sendTask(payload);
    printed.push({ id, events, task });
    if ((task.status as Json).state !== "input-required") id = undefined;
  }
  return printed;
}

/** The first JavaScript host at a terminal: every line goes to the same task, until `/new` begins another one. */
export async function javaScriptHost(url: string, lines: readonly string[]): Promise<Json[][]> {
  const client = new FirstJavaScriptClient(url);
  const answers: Json[][] = [];
  let id = crypto.randomUUID();
  for (const line of lines) {
    if (line === "/new") {
      id = crypto.randomUUID();
      continue;
    }
    const message = { role: "user", parts: [{ type: "text", text: line }] };
    const events: Json[] = [];
    for await (const event of client.stream("tasks/sendSubscribe", { id, message })) events.push(event);
    answers.push(events);
  }
  return answers;
}
