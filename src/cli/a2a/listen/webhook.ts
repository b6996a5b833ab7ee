import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Logger } from "../../../core/log.js";
import { ownHeaders } from "../../../push-receiver/arrival.js";
import {
  createPushReceiver,
  type PushEvent,
  type PushReceiverOptions,
  PushRefusal,
} from "../../../push-receiver/index.js";
import { collect } from "../../../push-receiver/request.js";

/** Largest notification, in bytes. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Maximum number of concurrent connections. */
const MAX_CONNECTIONS = 128;

/** Time for a notification to arrive, in milliseconds. */
const ARRIVAL_MS = 30_000;

export interface Arrival {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Handles a verified notification. An error makes the sender try again. */
export type Handle = (event: PushEvent, arrival: Arrival) => Promise<void>;

interface WebhookOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Public URL, if it differs. */
  readonly url: string | undefined;
  readonly trust: Omit<PushReceiverOptions, "audience" | "logger" | "limits">;
  readonly handle: Handle;
  /** Called with the reason of each refused notification. */
  readonly refused: (why: string) => void;
}

export interface Webhook {
  /** URL that agents send notifications to. */
  readonly url: string;
  close(): Promise<void>;
}

/** Opens a webhook that verifies notifications. */
export async function openWebhook(options: WebhookOptions): Promise<Webhook> {
  const { host, port, path, trust, handle, refused } = options;
  let answer: (request: IncomingMessage, response: ServerResponse) => Promise<void> = async () => {};
  const server = createServer({ requestTimeout: ARRIVAL_MS, headersTimeout: 10_000 }, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, host);
  await once(server, "listening");
  server.on("error", () => {});
  const { port: bound } = server.address() as AddressInfo;
  const name = host.includes(":") ? `[${host}]` : host;
  const url = options.url ?? `http://${name}:${bound}${path}`;
  const receiver = createPushReceiver({ ...trust, audience: url.replace(/[?#].*$/, ""), logger: refusalLog(refused) });
  answer = async (request, response) => {
    if (new URL(request.url ?? "/", "http://a").pathname !== path) return end(response, 404);
    const bytes = await collect(request, MAX_BYTES).catch((error: unknown) => {
      if (error instanceof PushRefusal) return undefined;
      throw error;
    });
    if (bytes === undefined) return end(response, 413);
    const body = Buffer.from(bytes.buffer);
    const arrival = { headers: ownHeaders(request.headers), body };
    await receiver.handler((event) => handle(event, arrival))(Object.assign(request, { body }), response);
  };
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  response.end();
}

function refusalLog(refused: (why: string) => void): Logger {
  const tell = (facts: object): void => {
    const { err } = facts as { readonly err?: unknown };
    if (err instanceof Error) refused(err.message);
  };
  return { debug: () => {}, info: tell, warn: tell, error: tell };
}
