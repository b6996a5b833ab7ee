import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { stateIn, TERMINAL } from "./marks.js";
import { CLIENTS } from "./network.js";
import { type Notebook, now } from "./records.js";
import type { Chance } from "./schedule.js";

/** A receiver of notifications that is sometimes slow and sometimes fails. It records all requests. */
export class Hooks {
  readonly host: string;
  readonly port: number;
  readonly #server: Server;
  readonly #book: Notebook;
  readonly #chance: Chance;
  readonly #leaseMs: number;
  /** Webhooks that still expect the end of their task. */
  readonly #open: Set<string> = new Set();
  readonly #ended: Set<string> = new Set();
  /** Addresses of the senders, kept because a closed socket does not know its address. */
  readonly #senders: WeakMap<Socket, string> = new WeakMap();

  private constructor(server: Server, host: string, { chance, book, leaseMs }: Tools) {
    this.#server = server;
    this.host = host;
    this.#book = book;
    this.#chance = chance;
    this.#leaseMs = leaseMs;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#senders.set(socket, socket.remoteAddress ?? ""));
    server.on("request", (request, response) => void this.#take(request, response).catch(() => {}));
  }

  static async start(host: string, tools: Tools): Promise<Hooks> {
    const server = createServer();
    // The clients' address on the bridge does not exist yet.
    await new Promise<void>((resolve) => server.listen(0, host === CLIENTS ? "0.0.0.0" : host, resolve));
    return new Hooks(server, host, tools);
  }

  urlOf(hook: string): string {
    return `http://${this.host}:${this.port}/${encodeURIComponent(hook)}`;
  }

  /** Records that a server has acknowledged a webhook. */
  expect(hook: string, task: string): void {
    this.#book.note({ kind: "hooked", hook, task });
    if (!this.#ended.has(hook)) this.#open.add(hook);
  }

  /** Waits until every webhook has received the end of its task, or the limit has passed. */
  async settled(limitMs: number): Promise<void> {
    for (const begin = now(); this.#open.size > 0 && now() - begin < limitMs; ) await sleep(100);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
    await this.#book.close();
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const begun = now();
    const from = this.#senders.get(request.socket) ?? "";
    let text = "";
    request.setEncoding("utf8");
    let note: (status: number) => void = () => {};
    response.once("close", () => note(response.writableFinished ? response.statusCode : 0));
    response.on("error", () => {});
    for await (const some of request) text += some;
    const hook = decodeURIComponent((request.url ?? "").slice(1));
    const body = JSON.parse(text) as JsonObject;
    note = (status) => {
      const { headers } = request;
      const [id, generation] = [String(headers["webhook-id"]), Number(headers["parley-generation"])];
      this.#book.note({ kind: "notified", hook, id, generation, begun, status, from, body });
      if (status !== 204 || !TERMINAL.test(stateIn(body))) return;
      this.#ended.add(hook);
      this.#open.delete(hook);
    };
    // Some answers take longer than the sender's lease.
    const isSlow = this.#chance.is(0.01);
    await sleep(this.#chance.between(0, 30) + (isSlow ? 1.5 * this.#leaseMs : 0));
    response.writeHead(this.#chance.is(0.02) ? 500 : 204).end();
  }
}

interface Tools {
  readonly chance: Chance;
  readonly book: Notebook;
  readonly leaseMs: number;
}
