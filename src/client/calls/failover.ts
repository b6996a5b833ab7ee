import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { type AgentCard, SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { backoffMs } from "../../core/async.js";
import { A2AError } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { begunStream, prepend } from "../../core/map-stream.js";
import { isSideEffectFree } from "../../wire/field-rules.js";
import { IDEMPOTENCY_KEY, MAX_TIMEOUT_MS } from "../../wire/service-params.js";
import { type Candidate, isSameInterface } from "../discovery/interfaces.js";
import { clientError, isUnserved, neverArrived, saysNothing, unknownArrival } from "../errors/errors.js";
import type { ClientLimits } from "../limits.js";
import { ownHeader } from "../transport/request-headers.js";
import { CallScope } from "./call-scope.js";
import { givenUp, isPassing, pause, waitMs } from "./retry-delay.js";

/** Maximum rest of a failing interface, as a multiple of its first rest. */
const MAX_REST_FACTOR = 32;

/** Time without another read of a card that still names an interface that does not serve a method, in milliseconds. */
const CONFIRMED_MS = 60_000;

/** One interface of an agent and its health. */
class Route {
  readonly candidate: Candidate;
  readonly #open: (candidate: Candidate) => Transport;
  #transport: Transport | undefined;
  #failures = 0;
  #restsUntil = 0;
  /** Methods that it does not serve although the card names it, with the time of the card's last read. */
  readonly #confirmed = new Map<DescMethod, number>();

  constructor(candidate: Candidate, open: (candidate: Candidate) => Transport) {
    this.candidate = candidate;
    this.#open = open;
  }

  get transport(): Transport {
    this.#transport ??= this.#open(this.candidate);
    return this.#transport;
  }

  /** Time of its next attempt, by `performance.now()`; 0 if it is healthy. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  worked(): void {
    this.#failures = 0;
    this.#restsUntil = 0;
  }

  failed(restMs: number): void {
    this.#failures += 1;
    const bounds = { firstMs: restMs, maxMs: MAX_REST_FACTOR * restMs, jitter: 0 };
    this.#restsUntil = performance.now() + backoffMs(this.#failures, bounds);
  }

  /** Notes that it does not serve a method, although a card that was just read names it. */
  confirm(method: DescMethod): void {
    this.#confirmed.set(method, performance.now());
  }

  /** True if the card need not be read again because it does not serve a method. */
  isConfirmed(method: DescMethod): boolean {
    return performance.now() - (this.#confirmed.get(method) ?? -Infinity) < CONFIRMED_MS;
  }
}

/** Reads the agent's card again, unless the caller gave it. Returns the card that new calls follow. */
export type PresentCard = (signal: AbortSignal) => Promise<AgentCard>;

/** Rules for calls. */
export interface Rules {
  readonly limits: ClientLimits;
  /** True if sends with a key may be retried, as the agent declares. */
  readonly idempotent: boolean;
}

/**
 * Combines an agent's interfaces into one transport: a call uses the first healthy one. If that is unreachable it uses
 * the next, and safe calls are retried with backoff. Every error is an A2AError. A call's timeout defaults to that of
 * the limits and covers all its attempts.
 */
export class Routes implements Transport {
  #routes: readonly Route[] = [];
  #rules: Rules;
  readonly #open: (candidate: Candidate) => Transport;
  readonly #present: PresentCard;
  #closed = false;

  /**
   * @param candidates in order of preference; at least one
   * @param present reads the agent's card again and replaces the interfaces by those of a changed card
   */
  constructor(
    candidates: readonly Candidate[],
    open: (candidate: Candidate) => Transport,
    rules: Rules,
    present: PresentCard,
  ) {
    this.#rules = rules;
    this.#open = open;
    this.#present = present;
    this.replace(candidates, rules);
  }

  /** Replaces the interfaces for new calls; at least one. Open calls continue, and their retries use the new ones. */
  replace(candidates: readonly Candidate[], rules: Rules): void {
    this.#routes = candidates.map((candidate) => new Route(candidate, this.#open));
    this.#rules = rules;
  }

  /** The interface that the next call uses. */
  get current(): Candidate {
    return this.best(none).candidate;
  }

  /** Rejects new calls and stops retries. */
  close(): void {
    this.#closed = true;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeaderFields | undefined,
    input: MessageInitShape<I>,
    contextValues?: ContextValues,
  ): Promise<UnaryResponse<I, O>> {
    const { limits } = this.#rules;
    const endMs = endOf(timeoutMs ?? (isSend(method) ? limits.sendTimeoutMs : limits.timeoutMs));
    const headers = this.#keyed(method, header);
    const startedAt = performance.now();
    let attempts: CallAttempts | undefined;
    let leftMs = endMs;
    let route = this.#first();
    for (;;) {
      try {
        const response = await route.transport.unary(method, signal, leftMs, headers, input, contextValues);
        route.worked();
        return response;
      } catch (thrown) {
        const endsAt = startedAt + (endMs ?? Infinity);
        attempts ??= new CallAttempts(this, { method, key: keyIn(method, headers), waits: true, signal, endsAt });
        route = await attempts.next(route, clientError(thrown));
        if (endMs !== undefined) leftMs = Math.max(1, Math.ceil(startedAt + endMs - performance.now()));
      }
    }
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeaderFields | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const messages = await gathered(input);
    const headers = this.#keyed(method, header);
    const endMs = endOf(timeoutMs ?? 0);
    let attempts: CallAttempts | undefined;
    const failed = (): CallAttempts => {
      if (attempts === undefined) {
        const key = keyIn(method, headers);
        attempts = new CallAttempts(this, { method, key, waits: false, signal, endsAt: Infinity });
      }
      return attempts;
    };
    let route = this.#first();
    const open = async (): Promise<StreamResponse<I, O>> => {
      for (;;) {
        try {
          const asked = requestMessages(messages);
          const response = await route.transport.stream(method, signal, endMs, headers, asked, contextValues);
          route.worked();
          return response;
        } catch (thrown) {
          route = await failed().next(route, clientError(thrown));
        }
      }
    };
    const response = await open();
    // Some servers report only in an opened stream that they do not serve the call.
    const message = begunStream(response.message, (inner) =>
      inner.next().then(
        (first) => prepend(first, inner),
        async (thrown) => {
          const other = await failed().replacement(route, clientError(thrown));
          if (other === undefined) throw thrown;
          route = other;
          return (await open()).message;
        },
      ),
    );
    return { ...response, message };
  }

  /**
   * Reads the card again and returns the interface that replaces one that the server does not serve. Undefined if the
   * card still names that one, now or when this method failed a short time ago, or cannot be read.
   */
  async replacementOf(lost: Route, { method, signal, endsAt }: Failing): Promise<Route | undefined> {
    let isRead = true;
    // Another call may have read the card meanwhile.
    if (this.#routes.includes(lost)) {
      if (lost.isConfirmed(method)) return undefined;
      const scope = new CallScope(signal, Math.max(1, endsAt - performance.now()));
      await this.#present(scope.signal).catch(() => {
        isRead = false;
      });
      scope.end();
    }
    const route = this.#routes.includes(lost) ? lost : this.best(none);
    if (!isSameInterface(route.candidate, lost.candidate)) return route;
    // Every agent serves sends, so the card will soon name another interface.
    if (isRead && !isSend(method)) route.confirm(method);
    return undefined;
  }

  get limits(): ClientLimits {
    return this.#rules.limits;
  }

  /** Returns the first healthy interface, else the one that is retried next. Untried ones come first. */
  best(tried: ReadonlySet<Route>): Route {
    const [only] = this.#routes;
    if (this.#routes.length === 1 && only !== undefined) return only;
    const now = performance.now();
    const rank = (route: Route): number => (route.restsUntil <= now ? 0 : route.restsUntil);
    const open = this.#routes.filter((route) => !tried.has(route));
    const [first, ...others] = open.length > 0 ? open : this.#routes;
    return others.reduce((best, route) => (rank(route) < rank(best) ? route : best), first as Route);
  }

  hasOther(tried: ReadonlySet<Route>): boolean {
    return this.#routes.some((route) => !tried.has(route));
  }

  /** True if a call may be retried although it may have arrived: the present card decides. */
  isSafe({ method, key }: Failing): boolean {
    if (isSend(method)) return this.#rules.idempotent && key !== undefined;
    return method.methodKind === "server_streaming" || isSideEffectFree(method);
  }

  #first(): Route {
    if (this.#closed) throw new A2AError("INVALID_REQUEST", "The client is closed.");
    return this.best(none);
  }

  /** Adds an idempotency key to sends if that makes them safe to retry. */
  #keyed(method: DescMethod, header: HeaderFields | undefined): HeaderFields | undefined {
    if (!this.#rules.idempotent || !isSend(method)) return header;
    if (header === undefined) return ownHeader(IDEMPOTENCY_KEY, newId());
    if ((header instanceof Headers || header instanceof Map) && header.has(IDEMPOTENCY_KEY)) return header;
    const headers = new Headers(header);
    if (!headers.has(IDEMPOTENCY_KEY)) headers.set(IDEMPOTENCY_KEY, newId());
    return headers;
  }
}

/** Headers in Connect's form. */
type HeaderFields = NonNullable<Parameters<Transport["unary"]>[3]>;

const none: ReadonlySet<Route> = new Set();

/** True if a method sends a message. */
export const isSend = ({ input }: DescMethod): boolean => input.typeName === SendMessageRequestSchema.typeName;

/** Returns the idempotency key of a send. */
function keyIn(method: DescMethod, header: HeaderFields | undefined): string | undefined {
  return isSend(method) ? (new Headers(header).get(IDEMPOTENCY_KEY) ?? undefined) : undefined;
}

/** Returns no deadline for 0, as Connect's transports do; bindings transmit whole milliseconds. */
const endOf = (timeoutMs: number): number | undefined =>
  timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS ? Math.ceil(timeoutMs) : undefined;

/** A call whose first attempt failed. */
interface Failing {
  readonly method: DescMethod;
  /** The idempotency key of a send. */
  readonly key: string | undefined;
  /** True if it waits for an unreachable interface. A stream's reader schedules its own reconnects. */
  readonly waits: boolean;
  readonly signal: AbortSignal | undefined;
  /** By `performance.now()`. */
  readonly endsAt: number;
}

/** Decides about retries of a failed call. */
class CallAttempts {
  readonly #routes: Routes;
  readonly #call: Failing;
  readonly #tried = new Set<Route>();
  /** Number of attempts that were sent, over any interface, plus rounds in which no interface was reachable. */
  #failures = 0;
  /** True if one of the attempts may have delivered the message. */
  #mayHaveArrived = false;
  #hasReadCard = false;

  constructor(routes: Routes, call: Failing) {
    this.#routes = routes;
    this.#call = call;
  }

  /**
   * Returns the interface for an attempt in place of one that was not served, or undefined.
   * @throws the error of a call that was aborted meanwhile
   */
  async replacement(failed: Route, error: A2AError): Promise<Route | undefined> {
    const { signal } = this.#call;
    if (!this.#hasReadCard && !this.#mayHaveArrived && isUnserved(error)) {
      this.#hasReadCard = true;
      const other = await this.#routes.replacementOf(failed, this.#call);
      if (other !== undefined && this.#routes.limits.maxAttempts > 1) return other;
    }
    if (signal?.aborted === true) throw this.#withArrival(error.reason === "CANCELLED" ? error : givenUp(signal));
    return undefined;
  }

  /** Returns the interface of the next attempt after its delay. @throws the error if no attempt is left */
  async next(failed: Route, error: A2AError): Promise<Route> {
    const { waits, signal, method, endsAt } = this.#call;
    const { limits } = this.#routes;
    const other = await this.replacement(failed, error);
    if (other !== undefined) return other;
    const isUnreached = neverArrived(error);
    if (!isUnreached && isSend(method) && saysNothing(error)) this.#mayHaveArrived = true;
    if (this.#routes.isClosed) throw this.#withArrival(closed(error));
    const isAway = isUnreached || (error.reason === "UNAVAILABLE" && error.retryAfterMs === undefined);
    if (isAway) failed.failed(limits.interfaceRestMs);
    if (!isUnreached && !(isPassing(error) && this.#routes.isSafe(this.#call))) throw this.#withArrival(error);
    this.#tried.add(failed);
    if (!isUnreached) this.#failures += 1;
    // Looking for a reachable interface does not count as an attempt, since nothing was sent.
    const isLast = !isUnreached && this.#failures >= limits.maxAttempts;
    if (isAway && !isLast && this.#routes.hasOther(this.#tried)) return this.#routes.best(this.#tried);
    if (isUnreached) this.#failures += 1;
    const ms = waits && this.#failures < limits.maxAttempts ? waitMs(this.#failures, error, limits) : undefined;
    if (ms === undefined || performance.now() + ms >= endsAt) throw this.#withArrival(error);
    await pause(ms, signal).catch((thrown: unknown) => {
      throw this.#withArrival(clientError(thrown));
    });
    this.#tried.clear();
    return this.#routes.best(this.#tried);
  }

  /** Returns the error for the caller: if any attempt may have delivered the message, it says so. */
  #withArrival(error: A2AError): A2AError {
    if (!this.#mayHaveArrived) return error;
    return unknownArrival(error, { key: this.#call.key, isRepeatable: this.#routes.isSafe(this.#call) });
  }
}

/** Returns the error of a call that was open when its client was closed. */
function closed(cause: A2AError): A2AError {
  return new A2AError("UNAVAILABLE", "The client was closed.", { cause });
}

/** Reads the messages of a stream's request, a single one in this protocol, so that they can be sent again. */
export async function gathered<M>(input: AsyncIterable<M>): Promise<M[]> {
  const messages: M[] = [];
  for await (const message of input) messages.push(message);
  return messages;
}

/**
 * Yields a request's messages in the form that streaming calls take. Connect's own helper would pull all of its stream
 * code into a browser bundle.
 */
export async function* requestMessages<M>(messages: readonly M[]): AsyncGenerator<M, void, undefined> {
  yield* messages;
}
