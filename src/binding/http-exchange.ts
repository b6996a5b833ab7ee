import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Call, type CallStart, type Peer } from "../core/call.js";
import type { Departure } from "../core/departure.js";
import { VERSION_PARAMETER, versionFromQuery } from "../wire/service-params.js";
import type { NodeServerRequest, NodeServerResponse, Target } from "./binding.js";

/** Header names and values, in the order in which they win over each other: the last one does. */
export type Headers = Iterable<readonly [name: string, value: string]>;

/** An answer that is known as a whole. */
export interface WholeReply {
  readonly status: number;
  /** Media type of the body. Undefined: there is no body. */
  readonly type?: string | undefined;
  readonly body?: string;
  readonly headers?: Headers;
}

/** What may stand in a header; Node throws at anything else. */
const legalName = /^[\w!#$%&'*+.^`|~-]+$/;
const legalValue = /^[\t -~\x80-\xff]*$/;

/** One HTTP request and the one answer to it, over HTTP/1.1 or HTTP/2. */
export class HttpExchange implements Departure {
  readonly request: NodeServerRequest;
  readonly response: NodeServerResponse;
  readonly #query: string;
  #controller: AbortController | undefined;
  #ended = false;
  #gone = false;
  readonly #callbacks = new Set<() => void>();

  constructor(request: NodeServerRequest, response: NodeServerResponse, target: Target) {
    this.request = request;
    this.response = response;
    this.#query = target.query;
    response.once("close", () => {
      if (this.#ended) return;
      this.#gone = true;
      this.#controller?.abort();
      for (const callback of this.#callbacks) callback();
    });
    // A connection that breaks ends in "close" as well, and an error without a listener would end the process.
    response.on("error", () => {});
  }

  /** Fires when the client goes away before the answer is finished. Made when it is asked for: many calls never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#gone) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** Whether the client went away before the answer was finished. */
  get gone(): boolean {
    return this.#gone;
  }

  onGone(callback: () => void): () => void {
    if (this.#gone) callback();
    else this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  /**
   * A header by its lower-case name, repeated ones joined by commas. The protocol version may come as a request
   * parameter instead (specification 3.6.1); the header wins.
   */
  readonly header = (name: string): string | undefined => {
    const value = this.request.headers[name];
    if (typeof value === "string") return value;
    if (Array.isArray(value)) return value.join(", ");
    return name === VERSION_PARAMETER ? versionFromQuery(this.#query) : undefined;
  };

  /** A call that arrived with this request. */
  call(binding: string, impliedVersion?: string): Call {
    return new Call(new HttpCallStart(this, binding, impliedVersion));
  }

  /** Sends the whole answer; does nothing for a client that is gone. */
  reply({ status, type, body = "", headers = [] }: WholeReply): void {
    if (this.gone || this.response.headersSent) return;
    const head = headersOf(headers);
    if (type !== undefined) {
      head["content-type"] = type;
      head["content-length"] = Buffer.byteLength(body);
    }
    this.#ended = true;
    this.response.writeHead(status, head);
    this.response.end(body);
  }

  /** Begins an answer whose body comes piece by piece. */
  begin(status: number, headers: Headers): void {
    this.response.writeHead(status, headersOf(headers));
  }

  /** Writes a piece of an answer that was begun; false when the connection takes no more for the moment. */
  write(piece: string): boolean {
    // Both classes have this form of write(), among overloads that the type checker cannot unite.
    return (this.response as ServerResponse).write(piece);
  }

  /** Ends an answer that was begun. */
  end(): void {
    this.#ended = true;
    this.response.end();
  }
}

/** What HTTP tells about a call; the signal costs something only when it is asked for. */
class HttpCallStart implements CallStart {
  readonly binding: string;
  readonly header: (name: string) => string | undefined;
  readonly peer: Peer;
  readonly impliedVersion?: string;
  readonly #exchange: HttpExchange;

  constructor(exchange: HttpExchange, binding: string, impliedVersion: string | undefined) {
    this.#exchange = exchange;
    this.binding = binding;
    this.header = exchange.header;
    this.peer = peerOf(exchange.request);
    if (impliedVersion !== undefined) this.impliedVersion = impliedVersion;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get departure(): Departure {
    return this.#exchange;
  }
}

/** Headers as Node takes them, without those that it would throw at. */
function headersOf(headers: Headers): OutgoingHttpHeaders {
  const result: OutgoingHttpHeaders = {};
  for (const [name, value] of headers) {
    if (legalName.test(name) && legalValue.test(value)) result[name] = value;
  }
  return result;
}

/** The other end of the connection. An IPv4 address in IPv6 dress is given as IPv4. */
function peerOf({ socket }: NodeServerRequest): Peer {
  const address = socket.remoteAddress ?? "";
  return {
    address: address.startsWith("::ffff:") ? address.slice(7) : address,
    encrypted: "encrypted" in socket && socket.encrypted === true,
  };
}
