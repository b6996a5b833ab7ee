import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { chatOfCompletion, completionChunks, completionOf } from "./chat-completions.js";
import { chatOfResponse, responseEvents, responseOf } from "./responses.js";
import { type Answer, answerOf, type Chat, type Rule } from "./rules.js";

/** A request that the model has received. */
export interface ModelRequest {
  readonly path: string;
  readonly body: unknown;
}

/** A running offline model. */
export interface OfflineModel {
  /** Base URL for clients of OpenAI's API, which ends in `/v1`. */
  readonly baseURL: string;
  /** Requests since the start, oldest first. */
  readonly requests: readonly ModelRequest[];
  close(): Promise<void>;
}

/** Options of an offline model. */
export interface OfflineModelOptions {
  readonly rules: readonly Rule[];
  /** Default: any free one. */
  readonly port?: number;
  /** Pause before each piece of a streamed text, in milliseconds. Default 0. */
  readonly pieceMs?: number;
}

/** Serves rules as a model, over OpenAI's chat completions and responses APIs, on the loopback interface. */
export async function startOfflineModel({ rules, port = 0, pieceMs = 0 }: OfflineModelOptions): Promise<OfflineModel> {
  const requests: ModelRequest[] = [];
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => refuse(response, 500, String(error)));
  });
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = new URL(request.url ?? "/", "http://model").pathname.replace(/^\/v1(?=\/)/, "");
    if (request.method === "GET" && path === "/models") {
      return json(response, 200, { object: "list", data: [{ id: "offline", object: "model", owned_by: "offline" }] });
    }
    const api = request.method === "POST" ? apis.get(path) : undefined;
    if (api === undefined) return refuse(response, 404, `The offline model does not serve ${request.method} ${path}.`);
    const text = await bodyOf(request);
    const body = JSON.parse(text) as { readonly stream?: boolean };
    requests.push({ path, body });
    const chat = api.chatOf(body);
    const reply = answerOf(rules, chat);
    if (reply.error !== undefined) return refuse(response, reply.error.status, reply.error.message);
    const answer = written(reply, { chat, text });
    if (body.stream !== true) return json(response, 200, api.whole(answer));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    for (const line of api.stream(answer, body)) {
      if (pieceMs > 0) await sleep(pieceMs);
      if (response.destroyed) return;
      if (!response.write(line)) await Promise.race([once(response, "drain"), once(response, "close")]);
    }
    response.end();
  };
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  // The server does not keep the agent's process running.
  server.unref();
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** One of the two APIs. */
interface Api {
  chatOf(body: unknown): Chat;
  whole(answer: Answer): object;
  /** Returns the lines of an event stream. */
  stream(answer: Answer, body: unknown): Iterable<string>;
}

const apis: ReadonlyMap<string, Api> = new Map<string, Api>([
  [
    "/chat/completions",
    {
      chatOf: chatOfCompletion,
      whole: completionOf,
      *stream(answer, body) {
        for (const chunk of completionChunks(answer, body)) yield `data: ${JSON.stringify(chunk)}\n\n`;
        yield "data: [DONE]\n\n";
      },
    },
  ],
  [
    "/responses",
    {
      chatOf: chatOfResponse,
      whole: responseOf,
      *stream(answer) {
        for (const event of responseEvents(answer)) yield `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
      },
    },
  ],
]);

/** Writes a reply out. Ids are made of the request, so that the same request has the same answer. */
function written(reply: ReturnType<typeof answerOf>, { chat, text }: { chat: Chat; text: string }): Answer {
  const id = createHash("sha256").update(text).digest("hex").slice(0, 24);
  const said = reply.text ?? (reply.data === undefined ? "" : JSON.stringify(reply.data));
  const pieces = said.match(/\s*\S+\s*/g) ?? (said === "" ? [] : [said]);
  const calls = (reply.calls ?? []).map(({ name, input }, index) => ({
    id: `call_${id.slice(0, 20)}${index}`,
    name,
    input: JSON.stringify(input),
  }));
  const words = chat.messages.reduce((sum, message) => sum + message.text.split(/\s+/).length, 0);
  return { id, model: chat.model, text: said, pieces, calls, usage: { input: words, output: pieces.length } };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function json(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Answers with an error in the form of the API. */
function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  json(response, status, { error: { message, type: "invalid_request_error", param: null, code: null } });
}
