import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
} from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport, UnaryResponse } from "@connectrpc/connect";
import { SendMessageRequestSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { newId } from "../../core/ids.js";
import { isSideEffectFree } from "../../wire/field-rules.js";
import { IDEMPOTENCY_KEY, MAX_TIMEOUT_MS } from "../../wire/service-params.js";
import type { Candidate } from "../discovery/interfaces.js";
import { clientError, neverArrived, saysNothing, unknownArrival } from "../errors/errors.js";
import type { ClientLimits } from "../limits.js";
import { ownHeader } from "../transport/request-headers.js";
import { givenUp, isPassing, pause, waitMs } from "./retry.js";

/** An interface whose calls fail rests for at most so many times its first rest. */
const MAX_REST_FACTOR = 32;

/** One interface of an agent, and how it does. */
class Route {
  readonly candidate: Candidate;
  readonly #open: (candidate: Candidate) => Transport;
  #transport: Transport | undefined;
  #failures = 0;
  #restsUntil = 0;

  constructor(candidate: Candidate, open: (candidate: Candidate) => Transport) {
    this.candidate = candidate;
    this.#open = open;
  }

  get transport(): Transport {
    this.#transport ??= this.#open(this.candidate);
    return this.#transport;
  }

  /** When it is tried again, by `performance.now()`; 0: it does well. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  worked(): void {
    this.#failures = 0;
    this.#restsUntil = 0;
  }

  failed(restMs: number): void {
    const factor = Math.min(MAX_REST_FACTOR, 2 ** this.#failures);
    this.#failures += 1;
    this.#restsUntil = performance.now() + restMs * factor;
  }
}

/** How calls go. */
export interface Rules {
  readonly limits: ClientLimits;
  /** A send under a key may be repeated: the agent declares it. */
  readonly idempotent: boolean;
}

/**
 * The interfaces of an agent as one transport: a call goes by the first one that does well. Where that cannot be reached it goes by
 * the next, and what is safe to repeat is repeated, with backoff. Each error is an A2AError. Deadlines are those of the limits
 * unless a call has its own, and cover all of its attempts.
 */
export class Routes implements Transport {
  #routes: readonly Route[];
  #rules: Rules;
  readonly #open: (candidate: Candidate) => Transport;
  #closed = false;

  /** @param candidates in the order of preference; one at least */
  constructor(candidates: readonly Candidate[], open: (candidate: Candidate) => Transport, rules: Rules) {
    this.#routes = candidates.map((candidate) => new Route(candidate, open));
    this.#rules = rules;
    this.#open = open;
  }

  /** Lets new calls go by other interfaces; one at least. Calls that have begun go on, their next attempts by these. */
  replace(candidates: readonly Candidate[], rules: Rules): void {
    this.#routes = candidates.map((candidate) => new Route(candidate, this.#open));
    this.#rules = rules;
  }

  /** The interface that the next call goes by. */
  get current(): Candidate {
    return this.best(new Set()).candidate;
  }

  /** Lets no new call begin, and no call be repeated. */
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
    let attempts: Attempts | undefined;
    let leftMs = endMs;
    let route = this.#first();
    for (;;) {
      try {
        const response = await route.transport.unary(method, signal, leftMs, headers, input, contextValues);
        route.worked();
        return response;
      } catch (thrown) {
        const endsAt = startedAt + (endMs ?? Infinity);
        attempts ??= new Attempts(this, { ...this.#repeating(method, headers), method, waits: true, signal, endsAt });
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
    const messages: MessageInitShape<I>[] = [];
    for await (const message of input) messages.push(message);
    const headers = this.#keyed(method, header);
    const endMs = endOf(timeoutMs ?? 0);
    let attempts: Attempts | undefined;
    let route = this.#first();
    for (;;) {
      try {
        const asked = requestMessages(messages);
        const response = await route.transport.stream(method, signal, endMs, headers, asked, contextValues);
        route.worked();
        return { ...response, message: withErrors(response.message) };
      } catch (thrown) {
        const rules = this.#repeating(method, headers);
        attempts ??= new Attempts(this, { ...rules, method, waits: false, signal, endsAt: Infinity });
        route = await attempts.next(route, clientError(thrown));
      }
    }
  }

  get limits(): ClientLimits {
    return this.#rules.limits;
  }

  /** The first interface that does well, else the one that is to be tried next; of those that were not tried, where there is one. */
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
    return tried.size < this.#routes.length;
  }

  #first(): Route {
    if (this.#closed) throw new A2AError("INVALID_REQUEST", "The client is closed.");
    return this.best(none);
  }

  /** Sends get a key of their own where that makes them safe to repeat. */
  #keyed(method: DescMethod, header: HeaderFields | undefined): HeaderFields | undefined {
    if (!this.#rules.idempotent || !isSend(method)) return header;
    if (header === undefined) return ownHeader(IDEMPOTENCY_KEY, newId());
    if ((header instanceof Headers || header instanceof Map) && header.has(IDEMPOTENCY_KEY)) return header;
    const headers = new Headers(header);
    if (!headers.has(IDEMPOTENCY_KEY)) headers.set(IDEMPOTENCY_KEY, newId());
    return headers;
  }

  /** Whether a call may be repeated, and by which key. */
  #repeating(method: DescMethod, header: HeaderFields | undefined): Pick<Failing, "isSafe" | "key"> {
    if (isSend(method)) {
      const key = new Headers(header).get(IDEMPOTENCY_KEY) ?? undefined;
      return { isSafe: this.#rules.idempotent && key !== undefined, key };
    }
    return { isSafe: method.methodKind === "server_streaming" || isSideEffectFree(method), key: undefined };
  }
}

/** Headers as Connect takes them. */
type HeaderFields = NonNullable<Parameters<Transport["unary"]>[3]>;

const none: ReadonlySet<Route> = new Set();

/** Whether a method sends a message. */
export const isSend = ({ input }: DescMethod): boolean => input.typeName === SendMessageRequestSchema.typeName;

/** No deadline for 0, as in a transport of Connect; bindings name it in whole milliseconds. */
const endOf = (timeoutMs: number): number | undefined =>
  timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS ? Math.ceil(timeoutMs) : undefined;

/** One call whose first attempt failed. */
interface Failing {
  readonly method: DescMethod;
  /** It may be repeated although it may have arrived. */
  readonly isSafe: boolean;
  /** The key that a send is repeated by. */
  readonly key: string | undefined;
  /** It waits for an interface that is away; a stream's reader knows better when to come back. */
  readonly waits: boolean;
  readonly signal: AbortSignal | undefined;
  /** By `performance.now()`. */
  readonly endsAt: number;
}

/** What becomes of a call after an attempt that failed. */
class Attempts {
  readonly #routes: Routes;
  readonly #call: Failing;
  readonly #tried = new Set<Route>();
  /** Attempts that left this program, over whatever interface, and rounds of all interfaces of which none was reached. */
  #failures = 0;
  /** One of the attempts may have brought the message to the agent. */
  #mayHaveArrived = false;

  constructor(routes: Routes, call: Failing) {
    this.#routes = routes;
    this.#call = call;
  }

  /** The interface for the next attempt, when it is time for it. @throws the error where there is none */
  async next(failed: Route, error: A2AError): Promise<Route> {
    const { isSafe, waits, signal, method, endsAt } = this.#call;
    const { limits } = this.#routes;
    if (signal?.aborted === true) throw this.#told(error.reason === "CANCELLED" ? error : givenUp(signal));
    const isUnreached = neverArrived(error);
    if (!isUnreached && isSend(method) && saysNothing(error)) this.#mayHaveArrived = true;
    if (this.#routes.isClosed) throw this.#told(closed(error));
    const isAway = isUnreached || (error.reason === "UNAVAILABLE" && error.retryAfterMs === undefined);
    if (isAway) failed.failed(limits.interfaceRestMs);
    if (!isUnreached && !(isSafe && isPassing(error))) throw this.#told(error);
    this.#tried.add(failed);
    if (!isUnreached) this.#failures += 1;
    // To look for an interface that can be reached is no attempt: nothing has left.
    const isLast = !isUnreached && this.#failures >= limits.maxAttempts;
    if (isAway && !isLast && this.#routes.hasOther(this.#tried)) return this.#routes.best(this.#tried);
    if (isUnreached) this.#failures += 1;
    const ms = waits && this.#failures < limits.maxAttempts ? waitMs(this.#failures, error, limits) : undefined;
    if (ms === undefined || performance.now() + ms >= endsAt) throw this.#told(error);
    await pause(ms, signal).catch((thrown: unknown) => {
      throw this.#told(clientError(thrown));
    });
    this.#tried.clear();
    return this.#routes.best(this.#tried);
  }

  /** The error as its caller gets it: whichever attempt it is of, an earlier one may have arrived. */
  #told(error: A2AError): A2AError {
    const { key, isSafe } = this.#call;
    return this.#mayHaveArrived ? unknownArrival(error, { key, isRepeatable: isSafe }) : error;
  }
}

/** The error of a call that was under way when its client was closed. */
function closed(cause: A2AError): A2AError {
  return new A2AError("UNAVAILABLE", "The client was closed.", { cause });
}

/** Without an async generator, which would cost each message two more turns. */
function withErrors<M>(messages: AsyncIterable<M>): AsyncIterable<M> {
  return {
    [Symbol.asyncIterator]() {
      const inner = messages[Symbol.asyncIterator]();
      const fail = (thrown: unknown): never => {
        throw clientError(thrown);
      };
      return {
        next: () => inner.next().catch(fail),
        return: async (value?: unknown) => (await inner.return?.(value)) ?? { done: true as const, value: undefined },
      };
    },
  };
}

/** The messages of a request as calls of streams take them. What Connect has for this brings all of its streams into a page. */
export async function* requestMessages<M>(messages: readonly M[]): AsyncGenerator<M, void, undefined> {
  yield* messages;
}
