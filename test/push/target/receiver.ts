import { createServer, type Server as HttpServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";
import { defaultLimits, type Limits } from "../../../src/core/limits.js";
import type { TargetOptions } from "../../../src/push/options.js";
import { createPoster, type Poster, type PostOutcome, type PostRequest } from "../../../src/push/target/post.js";
import { targetOf } from "../../../src/push/target/target-url.js";

/** Resources of a test, closed at its end. */
export class World {
  readonly #ends: (() => unknown)[] = [];

  onEnd(end: () => unknown): void {
    this.#ends.push(end);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }

  /** A receiver of HTTP, or of TLS where it gets a certificate; its port. */
  async http(answer: RequestListener, tls?: object): Promise<number> {
    const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
    return this.#listen(server);
  }

  /** A receiver that does what it likes with its sockets; its port. */
  async tcp(onSocket: (socket: Socket) => void): Promise<number> {
    const sockets = new Set<Socket>();
    const server = createNetServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      onSocket(socket);
      // A paused socket would not notice its end.
      socket.resume();
    });
    const port = await this.#listen(server);
    this.onEnd(() => {
      for (const socket of sockets) socket.destroy();
    });
    return port;
  }

  async #listen(server: Server | HttpServer): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    this.onEnd(() => {
      if ("closeAllConnections" in server) server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    return (server.address() as AddressInfo).port;
  }

  /** A poster, with options of its own and those of the test. */
  poster(options: TargetOptions, limits: Partial<Limits> = {}): Poster {
    const poster = createPoster({ ...options, limits: { ...defaultLimits, ...limits } });
    this.onEnd(() => poster.close());
    return poster;
  }
}

/** Options that let a poster reach a port of this machine. */
export const here = (port: number): TargetOptions => ({
  allowHttp: true,
  ports: [port],
  allow: ["127.0.0.1", "localhost"],
});

/** Sends one POST to a URL, which only the poster's own guard checks. */
export async function post(poster: Poster, url: string, request: Partial<PostRequest> = {}): Promise<PostOutcome> {
  const target = targetOf(new URL(url));
  const headers = { "content-type": "application/a2a+json" };
  const outcome = await poster.post({ target, headers, body: "{}", timeoutMs: 10_000, ...request });
  // Answers are checked in test/push/attempt-history.test.ts.
  const { answer: _, ...rest } = outcome;
  if (rest.kind !== "failed") return rest;
  const { status: __, ...failed } = rest;
  return failed;
}
