import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A notification as it arrived. */
export interface Hit {
  /** Path of the webhook, which tests give each configuration of its own. */
  readonly path: string;
  readonly id: string;
  readonly generation: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** `performance.now()` when the whole request had arrived. */
  readonly at: number;
}

/** Answers a notification; the default is 204. */
export type Answer = (hit: Hit, response: ServerResponse, request: IncomingMessage) => unknown;

/** Starts a receiver that stops with the test. */
export async function receive(answer?: Answer, port?: number): Promise<Receiver> {
  const made = await Receiver.start(answer, port);
  onTestFinished(() => made.stop());
  return made;
}

/** A webhook on loopback: it keeps what it gets, and notices when one configuration gets two at the same time. */
export class Receiver {
  readonly hits: Hit[] = [];
  /** Requests for a path while another one for it was not answered. */
  overlaps = 0;
  /** The most requests at once. */
  peak = 0;
  answer: Answer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #open = new Map<string, number>();
  #busy = 0;

  private constructor(server: Server, answer: Answer) {
    this.#server = server;
    this.answer = answer;
  }

  static async start(answer: Answer = accept, port = 0): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server, answer);
    server.on("request", (request, response) => receiver.#take(request, response));
    server.on("connection", (socket) => {
      receiver.#sockets.add(socket);
      socket.on("close", () => receiver.#sockets.delete(socket));
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Requests for a path, in order of arrival. */
  of(path: string): Hit[] {
    return this.hits.filter((hit) => hit.path === path);
  }

  /** The generations that came for a path, repeats by their id left out, in the order of their first arrival. */
  generationsOf(path: string): number[] {
    const seen = new Set<string>();
    return this.of(path).flatMap(({ id, generation }) => {
      if (seen.has(id)) return [];
      seen.add(id);
      return [generation];
    });
  }

  /** Closes all connections that are there. */
  dropAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.dropAll();
    await closed;
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "";
    const open = (this.#open.get(path) ?? 0) + 1;
    this.#open.set(path, open);
    if (open > 1) this.overlaps++;
    this.#busy++;
    this.peak = Math.max(this.peak, this.#busy);
    response.once("close", () => {
      this.#busy--;
      this.#open.set(path, (this.#open.get(path) ?? 1) - 1);
    });
    response.on("error", () => {});
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => {
      body += text;
    });
    request.on("error", () => {});
    request.on("end", () => {
      const hit: Hit = {
        path,
        id: String(request.headers["webhook-id"]),
        generation: Number(request.headers["parley-generation"]),
        headers: request.headers,
        body,
        at: performance.now(),
      };
      this.hits.push(hit);
      this.answer(hit, response, request);
    });
  }
}

/** Takes a notification. */
export const accept: Answer = (_, response) => void response.writeHead(204).end();

/** Answers with a status. */
export const refuse =
  (status: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, response) =>
    void response.writeHead(status, headers).end("no");
