import {
  type ContextKey,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect";
import type { Call, CallStart, Peer } from "../../core/call.js";

/** What a call needs of its request besides the headers. */
interface Origin {
  readonly peer: Peer;
  readonly mount: string | undefined;
}

const originKey: ContextKey<Origin | undefined> = createContextKey<Origin | undefined>(undefined);

const hasCalledKey: ContextKey<boolean> = createContextKey(false);

/** Whether Connect has made a call with its request by now. */
export function hasCalled(values: ContextValues): boolean {
  return values.get(hasCalledKey);
}

/**
 * Carries the connection of a request to its call, for the option of the same name of Connect's adapters: they give a
 * handler everything but the socket. Without it a call's peer has no address.
 *
 * @param mount path that the handler is mounted below, where that is known.
 */
export function contextValues(peer: Peer, mount?: string): ContextValues {
  return createContextValues().set(originKey, { peer, mount });
}

/**
 * What Connect tells about a call.
 *
 * @param impliedVersion what the package of the service, which the path begins with, stands for (specification 3.6.2).
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
    ...(timeoutMs !== undefined && { deadline: Date.now() + timeoutMs }),
    signal: context.signal,
    impliedVersion,
  };
}

/** HTTP/2's name for the host is no header to the Fetch API, which Connect's headers come from. */
function headerOf(context: HandlerContext, name: string): string | undefined {
  if (name === ":authority") return new URL(context.url).host;
  return context.requestHeader.get(name) ?? undefined;
}

/** What may stand in a header of any of the protocols: gRPC allows printable ASCII alone. */
const legalValue = /^[ -~]*$/;

export function isLegalValue(value: string): boolean {
  return legalValue.test(value);
}

/** Puts the response's headers where Connect takes them from before the first byte leaves, also of an error. */
export function copyHeaders(call: Call, context: HandlerContext): void {
  for (const [name, value] of call.answerHeaders) {
    if (isLegalValue(value)) context.responseHeader.set(name, value);
  }
}
