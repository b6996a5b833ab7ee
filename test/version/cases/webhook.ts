import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonValue } from "@bufbuild/protobuf";

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonValue | undefined;
}

/** Receives push notifications, and keeps them. */
export class Webhook {
  readonly port: number;
  readonly #server: http.Server;
  readonly #received: Received[];

  private constructor(server: http.Server, received: Received[]) {
    this.#server = server;
    this.#received = received;
    this.port = (server.address() as AddressInfo).port;
  }

  static async open(): Promise<Webhook> {
    const received: Received[] = [];
    const server = http.createServer(async (request, response) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk as Uint8Array);
      const { method = "", url = "", headers } = request;
      const [path = "", query] = url.split("?");
      const texts = Object.entries(headers).map(([name, value]) => [name, `${value}`] as const);
      received.push({ method, path, headers: Object.fromEntries(texts), body: jsonOf(Buffer.concat(chunks)) });
      // Servers of 0.1 validated a receiver before they accepted its URL.
      response.end(new URLSearchParams(query).get("validationToken") ?? "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Webhook(server, received);
  }

  urlOf(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Requests to a path, once one of them fits or after ten seconds. */
  async eventually(path: string, fits: (received: Received) => boolean): Promise<readonly Received[]> {
    for (let i = 0; ; i++) {
      const mine = this.#received.filter((each) => each.path === path);
      if (i === 200 || mine.some(fits)) return mine;
      await sleep(50);
    }
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}

function jsonOf(bytes: Uint8Array): JsonValue | undefined {
  try {
    return JSON.parse(bytes.toString()) as JsonValue;
  } catch {
    return undefined;
  }
}
