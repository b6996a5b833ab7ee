import type {
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  JsonObject,
  MessageShape,
} from "@bufbuild/protobuf";
import { orAborted } from "../core/async.js";
import { anonymous, Call, type CallerInput } from "../core/call.js";
import { A2AError } from "../core/error.js";
import { composeNode, type NodeComponents } from "../server/compose-node.js";
import type { A2AOptions } from "../server/options.js";
import { resolveOptions } from "../server/resolve-options.js";
import { type InvocationResult, isStream } from "../service/invoke.js";
import { NO_HOLDER, type TaskStore } from "../store/task-store.js";
import { PROTOCOL_VERSION } from "../version/v1.js";

/** Options of a call in a test. */
export interface TestCallOptions {
  /** The caller. Default: the one in the options of the test. */
  readonly caller?: CallerInput;
  /** Default: the empty one. */
  readonly tenant?: string;
  /** Metadata of the request. */
  readonly metadata?: JsonObject;
  /** URIs of the extensions that the client activates (specification 3.2.6). */
  readonly extensions?: readonly string[];
  /** Headers as a binding would pass them, by lower-case names, such as `idempotency-key`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When it fires, the client goes away. */
  readonly signal?: AbortSignal;
}

/** A simulated process that serves an agent. Several may use the same store, one after the other. */
export class SimulatedProcess {
  readonly #store: KillableStore;
  readonly #parts: NodeComponents;
  readonly #callers = new WeakMap<Call, CallerInput>();
  readonly #died = new AbortController();

  constructor(options: Omit<A2AOptions, "store">, store: TaskStore, now: (() => number) | undefined) {
    this.#store = killableStore(store);
    const authenticator = { authenticate: (call: Call): CallerInput | undefined => this.#callers.get(call) };
    const settings = resolveOptions({ ...options, store: this.#store.store, authenticator }, false);
    const engine = now === undefined ? settings.engine : { ...settings.engine, now };
    const service = { ...settings.service, ignoresSecurity: true };
    this.#parts = composeNode({ ...settings, engine, service });
  }

  async unary<M extends DescMethodUnary>(
    method: M,
    request: MessageShape<M["input"]>,
    calling: TestCallOptions,
  ): Promise<MessageShape<M["output"]>> {
    return (await this.#invoke(method, request, calling)) as MessageShape<M["output"]>;
  }

  /** Makes a call that a stream answers. */
  async *stream<M extends DescMethodServerStreaming>(
    method: M,
    request: MessageShape<M["input"]>,
    calling: TestCallOptions,
  ): AsyncGenerator<MessageShape<M["output"]>, void, undefined> {
    const answer = await this.#invoke(method, request, calling);
    if (!isStream(answer)) throw new Error("The answer is not a stream.");
    const events = answer[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await orAborted(events.next(), this.#died.signal);
        if (next.done) return;
        yield next.value as MessageShape<M["output"]>;
      }
    } finally {
      // The stream of a dead process reports nothing more.
      void events.return?.()?.catch(() => {});
    }
  }

  /** Starts without waiting for a call, so that interrupted tasks continue. */
  start(): Promise<void> {
    return this.#parts.lifecycle.start();
  }

  async end(): Promise<void> {
    await this.#parts.lifecycle.close(0);
  }

  /** Ends like a killed process. */
  async kill(): Promise<void> {
    this.#died.abort(new A2AError("UNAVAILABLE", "The process died."));
    await this.#store.kill();
    this.#parts.lifecycle.abandon();
  }

  #invoke(method: DescMethod, request: object, calling: TestCallOptions): Promise<InvocationResult> {
    const { caller = anonymous, tenant = "", extensions = [], headers = {}, signal } = calling;
    const all: Readonly<Record<string, string>> = {
      "a2a-version": PROTOCOL_VERSION,
      ...(extensions.length === 0 ? {} : { "a2a-extensions": extensions.join(",") }),
      ...headers,
    };
    const call = new Call({
      binding: "test",
      header: (name) => all[name],
      peer: { address: "127.0.0.1", encrypted: false },
      signal: signal ?? new AbortController().signal,
    });
    this.#callers.set(call, caller);
    const message = { ...request, tenant } as never;
    return orAborted(this.#parts.invoke({ method, request: message, call }), this.#died.signal);
  }
}

/** The access of one process to a store that outlives it. */
interface KillableStore {
  readonly store: TaskStore;
  /** Cuts the process off: no further call reaches the store, and no answer returns. Its leases can then be claimed. */
  kill(): Promise<void>;
}

/** Leases that are released at a time. */
const PAGE = 1_000;

/** Gives one process access to a store; closing it does not close the store. */
function killableStore(store: TaskStore): KillableStore {
  const holders = new Set<string>();
  const never = new Promise<never>(() => {});
  let isKilled = false;
  const through = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name === "close") return async () => {};
      if (typeof value !== "function") return value;
      return (request: { readonly holder?: string } | undefined, ...more: unknown[]): unknown => {
        if (isKilled) return never;
        if (name === "heartbeat" && request?.holder !== undefined) holders.add(request.holder);
        const answer: unknown = value.call(target, request, ...more);
        return answer instanceof Promise ? answer.then((given: unknown) => (isKilled ? never : given)) : answer;
      };
    },
  });
  return {
    store: through,
    async kill() {
      isKilled = true;
      for (const holder of holders) await releaseLeases(store, holder);
    },
  };
}

/** Releases the leases of a dead process. For a file, its lock shows the next process that the holder is dead. */
async function releaseLeases(store: TaskStore, holder: string): Promise<void> {
  for (let after = ""; ; ) {
    const held = await store.leasesOf({ holder, after, limit: PAGE });
    for (const { taskId, ...lease } of held) {
      await store.setLease({ taskId, fence: lease, lease: { ...lease, holder: NO_HOLDER } });
    }
    if (held.length < PAGE) return;
    after = held.at(-1)?.taskId ?? "";
  }
}
