import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { Call, CallStart, Peer } from "../../core/call.js";

/** Facts about a call that its request does not contain. */
interface Origin {
  readonly peer: Peer;
  readonly mount: string | undefined;
  readonly requestId: string | undefined;
}

const originKey: ContextKey<Origin | undefined> = createContextKey<Origin | undefined>(undefined);

const hasCalledKey: ContextKey<boolean> = createContextKey(false);

/** Returns true if Connect has created a call from the request. */
export function hasCalled(values: ContextValues): boolean {
  return values.get(hasCalledKey);
}

/**
 * Passes the connection of a request to its call, for the option of the same name of Connect's adapters, which give a
 * handler everything except the socket. Without it a call's peer has no address.
 *
 * @param mount path prefix under which the handler is mounted, if known
 * @param requestId id of the request, if the adapter writes it to the answer
 */
export function contextValues(peer: Peer, mount?: string, requestId?: string): ContextValues {
  return createContextValues().set(originKey, { peer, mount, requestId });
}

/**
 * Returns the facts that Connect provides about a call.
 *
 * @param impliedVersion version implied by the service's package at the beginning of the path (specification 3.6.2)
 */
export function startOf(context: HandlerContext, impliedVersion: string): CallStart {
  const origin = context.values.get(originKey);
  context.values.set(hasCalledKey, true);
  const timeoutMs = context.timeoutMs();
  return {
    binding: context.protocolName,
    header: (name) => headerOf(context, name),
    query: (name) => new URL(context.url).searchParams.get(name) ?? undefined,
    peer: origin?.peer ?? { address: "", encrypted: context.url.startsWith("https:") },
    mount: origin?.mount,
    requestId: origin?.requestId,
    ...(timeoutMs !== undefined && { deadline: Date.now() + timeoutMs }),
    signal: context.signal,
    impliedVersion,
  };
}

/** Returns a header. HTTP/2's `:authority` is not a header in the Fetch API, which Connect uses. */
function headerOf(context: HandlerContext, name: string): string | undefined {
  if (name === ":authority") return new URL(context.url).host;
  return context.requestHeader.get(name) ?? undefined;
}

/** Values that are valid headers in each of the protocols: gRPC allows only printable ASCII. */
const legalValue = /^[ -~]*$/;

export function isLegalValue(value: string): boolean {
  return legalValue.test(value);
}

/** Copies the response's headers to Connect's context, which sends them before the first byte, also for an error. */
export function copyHeaders(call: Call, context: HandlerContext): void {
  for (const [name, value] of call.answerHeaders) {
    if (isLegalValue(value)) context.responseHeader.set(name, value);
  }
}
