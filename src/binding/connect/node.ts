import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import { A2AError } from "../../core/error.js";
import { connectTimeoutMs, grpcTimeoutMs } from "../../wire/timeout.js";
import type { Arrivals } from "../arrivals.js";
import type { BindingOptions, NodeServerRequest, NodeServerResponse } from "../binding.js";
import { type DeadlineFault, deadlineFault } from "../deadline.js";
import { discard, type Exchange, readBody } from "../http-body.js";
import { breakOff, type PieceTarget, STALLED } from "../piecewise.js";
import { contextValues } from "./call.js";
import { ENVELOPE_BYTES } from "./incoming.js";
import { LargeBody } from "./large.js";
import { isGrpc, refuse as refuseAs } from "./refusal.js";

/**
 * Answers a request of node:http or node:http2 by one of Connect's handlers; never rejects. What connectNodeAdapter()
 * does, in its parts, for three reasons: the adapter looks at the whole URL and not at the path below the mount point,
 * it prints what goes wrong, and a request without a usable Host throws in the server's event handler.
 */
export async function answer(
  handler: UniversalHandler | undefined,
  exchange: Exchange,
  mount: string | undefined,
  options: BindingOptions,
): Promise<void> {
  const { request, response } = exchange;
  if (handler === undefined) return refuse(response, 404);
  if (!handler.allowedMethods.includes(request.method ?? "")) {
    return refuse(response, 405, { allow: handler.allowedMethods.join(", ") });
  }
  const fault = faultOf(request);
  if (fault !== undefined && fault !== "endless") return refuseAs(request, response, fault);
  const universal = universalRequestOf(handler, exchange, mount, options);
  if (universal === undefined) return refuseAs(request, response, noHost);
  if (fault === "endless") for (const name of [GRPC_TIMEOUT, CONNECT_TIMEOUT]) universal.header.delete(name);
  const closed = new Promise<void>((resolve) => response.once("close", resolve));
  try {
    const answered = handler(universal).then((result) => {
      const { body } = result;
      if (body instanceof LargeBody)
        body.whenStalled(options.limits.stalledReaderMs, () => breakOff(response as PieceTarget, STALLED));
      return universalResponseToNodeResponse(result, response);
    });
    // Writing does not settle while a client that is gone does not take what was written.
    await Promise.race([answered, closed]);
  } catch (error) {
    if (!isClientGone(error)) {
      options.logger.error({ err: error, path: handler.requestPath }, "a response could not be written");
    }
    if (response.headersSent) response.destroy();
    else refuse(response, 500);
  } finally {
    // A body that was refused half-way must not hold up the next request on the connection.
    if (!request.readableEnded && !request.destroyed) {
      request.removeAllListeners("readable");
      discard({ request, response });
      request.resume();
    }
  }
}

const GRPC_TIMEOUT = "grpc-timeout";
const CONNECT_TIMEOUT = "connect-timeout-ms";

/** What the time that a client gives its call means for it. */
function faultOf(request: NodeServerRequest): DeadlineFault {
  const grpc = isGrpc(request);
  const value = request.headers[grpc ? GRPC_TIMEOUT : CONNECT_TIMEOUT];
  if (value === undefined) return undefined;
  return deadlineFault(grpc ? grpcTimeoutMs(`${value}`) : connectTimeoutMs(`${value}`));
}

function universalRequestOf(
  handler: UniversalHandler,
  exchange: Exchange,
  mount: string | undefined,
  { limits, arrivals }: BindingOptions,
): ReturnType<typeof universalRequestFromNodeRequest> | undefined {
  const { request, response } = exchange;
  try {
    const universal = universalRequestFromNodeRequest(request, response, undefined, contextValues(request, mount));
    // A conversation goes on while it is read. Whoever stops half-way must leave the rest to be discarded.
    if (handler.method.methodKind === "bidi_streaming")
      return { ...universal, body: request.iterator({ destroyOnReturn: false }) };
    return { ...universal, body: bodyOf(exchange, limits.maxRequestBytes, arrivals) };
  } catch {
    // Neither Host nor :authority, or one that is no host.
    return undefined;
  }
}

/** The body as one piece, read when somebody asks for it, with the limits of every other binding. */
async function* bodyOf(exchange: Exchange, max: number, arrivals: Arrivals): AsyncGenerator<Uint8Array> {
  yield await readBody(exchange, { max, framing: ENVELOPE_BYTES }, arrivals);
}

const noHost = new A2AError("INVALID_REQUEST", "The request does not name one host that is well formed.");

function refuse(response: NodeServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, headers);
  response.end();
}

function isClientGone(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.Aborted || code === Code.Canceled;
}
