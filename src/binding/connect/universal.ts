import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { boundedCall, ignore } from "../../core/async.js";
import { A2AError, StatusCode, type StatusName } from "../../core/error.js";
import { defer } from "../../core/event-loop.js";
import { lazy } from "../../core/lazy.js";
import { requestFacts } from "../../core/log.js";
import { parseUrl } from "../../core/net.js";
import type { InboundBudget } from "../../http/inbound-budget.js";
import type { HttpRequest } from "../../http/request.js";
import {
  type BodySource,
  type BodyWriter,
  type HeaderPairs,
  type HttpResponse,
  isSource,
  type Rejection,
} from "../../http/response.js";
import { PREFIX_BYTES } from "../../wire/binary-output.js";
import { connectTimeoutMs, grpcTimeoutMs } from "../../wire/service-params.js";
import type { BindingOptions } from "../binding.js";
import { type DeadlineFault, deadlineFault } from "../deadline.js";
import { contextValues, hasCalled } from "./call.js";
import { forConnect } from "./error.js";
import { explained } from "./own-errors.js";
import { isGrpc, needsTrailers } from "./protocol.js";
import { refuse } from "./rejection.js";

/** The answer to a client that has left; it is never read. */
const CLIENT_GONE: HttpResponse = { status: 499 };

/** Name of the binding, for logs. */
const BINDING = "connect";

/**
 * Answers a request by one of Connect's handlers; never rejects. It replaces the library's own adapters, which match
 * the whole URL instead of the path below the mount point, print errors, and throw for a request without a valid Host.
 */
export async function answer(
  handler: UniversalHandler,
  request: HttpRequest,
  options: BindingOptions,
): Promise<HttpResponse> {
  const method = handler.method.name;
  if (!handler.allowedMethods.includes(request.method)) {
    const headers = [["allow", handler.allowedMethods.join(", ")]] as const;
    return { status: 405, headers, rejections: [{ binding: BINDING, method, reason: "METHOD_NOT_ALLOWED" }] };
  }
  if (!request.hasTrailers && needsTrailers(request)) return refuse(request, noTrailers(), method);
  const fault = timeoutFault(request);
  if (fault !== undefined && fault !== "endless") return refuse(request, fault, method);
  if (request.httpVersion !== "1.1") {
    // By then a stream that the client reset immediately is closed. Opening and resetting streams costs a client
    // nothing.
    await new Promise<void>((resolve) => defer({ run: resolve, failed: ignore }));
    if (request.canceled) return CLIENT_GONE;
  }
  const values = contextValues(request.peer, request.target.mount, request.requestId);
  const universal = universalRequestOf(handler, request, { ...options, values });
  if (universal === undefined) return refuse(request, noHost(), method);
  if (fault === "endless") for (const name of [GRPC_TIMEOUT, CONNECT_TIMEOUT]) universal.header.delete(name);
  const failed = (error: unknown): void => {
    if (isClientGone(error)) return;
    options.logger.error(
      { err: error, path: handler.requestPath, ...requestFacts(request) },
      "a response could not be written",
    );
  };
  try {
    const answering = { request, failed };
    const universalAnswer = await handler(universal);
    const [response, first] = await httpResponse(universalAnswer, answering);
    if (hasCalled(values)) return response;
    const reason = rejectionReason(universalAnswer, first);
    const own = explained(universalAnswer, first);
    if (own?.body !== undefined && isSource(response.body)) response.body.cancel();
    const rejections = [{ binding: needsTrailers(request) ? "grpc" : BINDING, method, reason }];
    return { ...response, ...own, rejections };
  } catch (error) {
    failed(error);
    return { status: 500 };
  }
}

/**
 * Returns the reason of a rejection by Connect itself: from the HTTP status, gRPC's trailers, or the only chunk of the
 * body.
 */
function rejectionReason(
  { status, header, trailer }: UniversalServerResponse,
  body: Uint8Array | undefined,
): Rejection["reason"] {
  if (status === 415) return "MEDIA_TYPE_NOT_SUPPORTED";
  const text = new TextDecoder().decode(body?.subarray(0, 1024));
  const code = /"code":"([a-z_]+)"/.exec(text)?.[1]?.toUpperCase();
  const inHead = new Headers(trailer).get(GRPC_STATUS) ?? new Headers(header).get(GRPC_STATUS);
  const number = Number(inHead ?? /grpc-status: *(\d+)/i.exec(text)?.[1]);
  const names = Object.keys(StatusCode) as StatusName[];
  return names.find((name) => name === code || StatusCode[name] === number);
}

const noTrailers = lazy(
  () => new A2AError("METHOD_NOT_FOUND", "gRPC is not served here, which needs trailers; gRPC-Web is."),
);

const GRPC_STATUS = "grpc-status";
const GRPC_MESSAGE = "grpc-message";
const GRPC_TIMEOUT = "grpc-timeout";
const CONNECT_TIMEOUT = "connect-timeout-ms";

/** Checks the timeout that the client has set. */
function timeoutFault(request: HttpRequest): DeadlineFault {
  const grpc = isGrpc(request);
  const value = request.header(grpc ? GRPC_TIMEOUT : CONNECT_TIMEOUT);
  if (value === undefined) return undefined;
  return deadlineFault(grpc ? grpcTimeoutMs(value) : connectTimeoutMs(value));
}

function universalRequestOf(
  handler: UniversalHandler,
  request: HttpRequest,
  { limits, inboundBudget, values }: BindingOptions & { readonly values: ContextValues },
): UniversalServerRequest | undefined {
  const { peer } = request;
  const base = `${peer.encrypted ? "https" : "http"}://${request.header(":authority")}`;
  // Without Host or :authority, or with an invalid host.
  if (request.header(":authority") === undefined || parseUrl(request.url, base) === undefined) return undefined;
  return {
    httpVersion: request.httpVersion,
    method: request.method,
    url: new URL(request.url, base).toString(),
    header: request.headers,
    // A bidirectional stream is answered while its request is read.
    body:
      handler.method.methodKind === "bidi_streaming"
        ? request.chunks()
        : limitedBody(request, limits.maxRequestBytes, inboundBudget),
    signal: request.signal,
    contextValues: values,
  };
}

/** Yields the body as one chunk, read on demand, with the limits of every other binding. */
async function* limitedBody(
  request: HttpRequest,
  max: number,
  inboundBudget: InboundBudget,
): AsyncGenerator<Uint8Array> {
  try {
    yield await request.readBody({ max, framing: PREFIX_BYTES }, inboundBudget);
  } catch (error) {
    throw forConnect(error);
  }
}

const noHost = lazy(() => new A2AError("INVALID_REQUEST", "The request must name exactly one valid host."));

interface Answering {
  readonly request: HttpRequest;
  readonly failed: (error: unknown) => void;
}

/**
 * Returns the response once its first chunk exists. Headers are final only then, because implementations may set some
 * until that point.
 */
async function httpResponse(
  { status, header, body, trailer }: UniversalServerResponse,
  answering: Answering,
): Promise<[response: HttpResponse, first: Uint8Array | undefined]> {
  const head = { status, headers: header ?? [], trailers: trailer && decodable(trailer) };
  if (body === undefined) return [head, undefined];
  const iterator = body[Symbol.asyncIterator]();
  const first = await iterator.next();
  return [{ ...head, body: new IterableBody(iterator, first, answering) }, first.done ? undefined : first.value];
}

/** Yields gRPC's trailers. Connect encodes characters of the message that grpc-js does not decode, such as ";". */
function* decodable(trailers: Headers): HeaderPairs {
  for (const [name, value] of trailers) {
    yield [name, name === GRPC_MESSAGE ? encodeURI(decodeURIComponent(value)) : value];
  }
}

/** The answer of one of Connect's handlers, chunk by chunk. */
class IterableBody implements BodySource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  readonly #first: IteratorResult<Uint8Array>;
  readonly #answering: Answering;

  constructor(iterator: AsyncIterator<Uint8Array>, first: IteratorResult<Uint8Array>, answering: Answering) {
    this.#iterator = iterator;
    this.#first = first;
    this.#answering = answering;
  }

  async writeTo(writer: BodyWriter): Promise<boolean> {
    const { request } = this.#answering;
    try {
      // The source of the next chunk may never end after the client has left.
      await boundedCall<void>((resolve, reject) => {
        this.#pump(writer).then(resolve, reject);
        return request.onCancel(resolve);
      });
      return !writer.isOver && !request.canceled;
    } catch (error) {
      this.#answering.failed(error);
      writer.breakOff("failed");
      return false;
    } finally {
      this.cancel();
    }
  }

  cancel(): void {
    this.#iterator.return?.().catch(() => {});
  }

  async #pump(writer: BodyWriter): Promise<void> {
    for (let next = this.#first; next.done !== true; next = await this.#iterator.next()) {
      if (writer.isOver) return;
      if (!writer.write(next.value)) await writer.waitForDrain();
    }
  }
}

function isClientGone(error: unknown): boolean {
  const { code } = ConnectError.from(forConnect(error));
  return code === Code.Aborted || code === Code.Canceled;
}
