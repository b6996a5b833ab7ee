import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "./world.js";

/** A request that the proxy forwards to the agent. */
export interface Asked {
  readonly method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body as JSON, or an empty object if the body is not JSON. */
  readonly json: Json;
  /** Name of the method of JSON-RPC or REST, such as `GetTask`. */
  readonly operation: string;
}

/** An answer that the proxy forwards to the client. */
export interface Answered {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** True to keep the connection open after the body. */
  staysOpen: boolean;
}

/** Faults of an agent. */
export interface Planted {
  readonly card?: (card: Json) => void;
  /** Changes a request, or answers it. */
  readonly request?: (asked: Asked) => Partial<Answered> | undefined;
  readonly response?: (answered: Answered, asked: Asked) => void;
}

/** A proxy for JSON-RPC and HTTP+JSON that adds faults to the answers of a correct agent. */
export class FaultyProxy {
  readonly #server: Server;
  readonly #target: string;
  planted: Planted = {};

  constructor(port: number | undefined) {
    this.#target = `http://127.0.0.1:${port}`;
    this.#server = createServer(async (incoming, outgoing) => {
      const pieces: Buffer[] = [];
      for await (const piece of incoming) pieces.push(piece as Buffer);
      const { method = "", url = "", headers } = incoming;
      const asked = askedOf(method, url, headers, Buffer.concat(pieces).toString());
      const answered = await this.#answered(asked).catch((error: unknown) => ({
        ...{
          status: 500,
          headers: { "content-type": "text/plain" },
          body: `The proxy failed: ${error}`,
          staysOpen: false,
        },
      }));
      const body = answered.status === 304 ? "" : answered.body;
      outgoing.writeHead(answered.status, answered.headers);
      if (answered.staysOpen) outgoing.write(body);
      else outgoing.end(body);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answered(asked: Asked): Promise<Answered> {
    const { card, request, response } = this.planted;
    const own = request?.(asked);
    const answered: Answered =
      own === undefined
        ? await this.#forwarded(asked)
        : { status: 200, headers: { "content-type": "application/json" }, body: "", staysOpen: false, ...own };
    if (asked.path.startsWith("/.well-known/") && answered.status === 200) {
      const json = JSON.parse(answered.body);
      const { host } = asked.headers;
      json.supportedInterfaces = json.supportedInterfaces
        .filter(
          (each: Json) => ["JSONRPC", "HTTP+JSON"].includes(each.protocolBinding) && each.protocolVersion === "1.0",
        )
        .map((each: Json) => ({ ...each, url: `http://${host}` }));
      card?.(json);
      answered.body = JSON.stringify(json);
    }
    response?.(answered, asked);
    return answered;
  }

  async #forwarded({ method, path, headers, body }: Asked): Promise<Answered> {
    const sent = new Headers(headers as Record<string, string>);
    for (const name of ["host", "connection", "content-length", "transfer-encoding"]) sent.delete(name);
    const hasBody = method !== "GET" && method !== "HEAD";
    const answer = await fetch(this.#target + path, {
      method,
      headers: sent,
      redirect: "manual",
      ...(hasBody && { body }),
    });
    const given = Object.fromEntries(answer.headers);
    for (const name of ["content-length", "content-encoding", "transfer-encoding", "connection"]) delete given[name];
    return { status: answer.status, headers: given, body: await answer.text(), staysOpen: false };
  }
}

const operations: readonly (readonly [RegExp, string])[] = [
  [/\/message:send$/, "SendMessage"],
  [/\/message:stream$/, "SendStreamingMessage"],
  [/\/tasks\/[^/]+:cancel$/, "CancelTask"],
  [/\/tasks\/[^/]+:subscribe$/, "SubscribeToTask"],
  [/\/tasks\/[^/]+$/, "GetTask"],
  [/\/tasks$/, "ListTasks"],
];

function askedOf(method: string, path: string, headers: IncomingHttpHeaders, body: string): Asked {
  let json: Json = {};
  try {
    json = JSON.parse(body);
  } catch {
    // The body is not JSON.
  }
  const [place = ""] = path.split("?");
  const rest = operations.find(([pattern]) => pattern.test(place))?.[1];
  return { method, path, headers, body, json, operation: json.method ?? rest ?? "" };
}

/**
 * Changes the JSON of an answer, or of each event of a stream. The JSON is the result of JSON-RPC or the body of REST.
 */
export function changing(operation: string, change: (value: Json, asked: Asked) => void): Planted {
  return {
    response: (answered, asked) => {
      if (asked.operation !== operation) return;
      answered.body = answered.body.replace(/^(data: )?(\{.*\})$/gm, (_, prefix = "", text: string) => {
        const json = JSON.parse(text);
        change(json.result ?? json, asked);
        return prefix + JSON.stringify(json);
      });
    },
  };
}
