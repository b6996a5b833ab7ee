import * as http from "node:http";
import * as http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { BindingOptions, HttpBinding } from "../../../src/binding/binding.js";
import { defaultLimits, type Limits } from "../../../src/core/limits.js";
import type { Logger } from "../../../src/core/log.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import type { Invocation, InvocationResult, Invoke } from "../../../src/service/invoke.js";
import { servedVersions } from "../../../src/version/versions.js";
import { handlerOf } from "../../support/binding-handler.js";
import { afterEachTest } from "../../support/clean-up.js";

export type Protocol = "HTTP/1.1" | "HTTP/2";
export const protocols: readonly Protocol[] = ["HTTP/1.1", "HTTP/2"];

export interface Line {
  readonly level: string;
  readonly facts: Record<string, unknown>;
  readonly message: string;
}

/** A server of one binding, whose service answers as the test decides. */
export interface Served {
  readonly port: number;
  readonly protocol: Protocol;
  readonly lines: Line[];
  /** Calls that reached the service. */
  readonly calls: Invocation[];
  /** Rejections of `handle()`. They are always bugs. */
  readonly broken: unknown[];
  readonly binding: HttpBinding;
}

export interface Setup {
  readonly protocol?: Protocol;
  readonly limits?: Partial<Limits>;
  readonly invoke?: (invocation: Invocation) => Promise<InvocationResult> | InvocationResult;
}

const cleanups: (() => Promise<void> | void)[] = [];

afterEachTest(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

export const method = (localName: string): DescMethod =>
  A2AService.methods.find((each) => each.localName === localName) as DescMethod;

/** The default answer of methods: an empty message or an empty stream. */
export async function blank({ method }: Invocation): Promise<InvocationResult> {
  return method.methodKind === "unary" ? create(method.output) : (async function* () {})();
}

/** Starts a server on a free port. It closes when the test ends. */
export async function serve(make: (options: BindingOptions) => HttpBinding, setup: Setup = {}): Promise<Served> {
  const { protocol = "HTTP/1.1", invoke = blank } = setup;
  const [lines, calls, broken]: [Line[], Invocation[], unknown[]] = [[], [], []];
  const log = (level: string) => (facts: object, message: string) =>
    void lines.push({ level, facts: facts as Line["facts"], message });
  const logger: Logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
  const noted: Invoke = async (invocation) => {
    calls.push(invocation);
    return invoke(invocation);
  };
  const limits = { ...defaultLimits, ...setup.limits };
  const binding = make({
    // Other protocol versions are tested in `test/version`.
    versions: servedVersions.only([]),
    invoke: noted,
    limits,
    inboundBudget: new InboundBudget({ limits }),
    logger,
  });
  const handler = handlerOf(binding, logger, (answer) => void answer.catch((error: unknown) => broken.push(error)));
  const server = protocol === "HTTP/2" ? http2.createServer(handler) : http.createServer(handler);
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => void server.close(() => resolve()));
  });
  return { port: (server.address() as AddressInfo).port, protocol, lines, calls, broken, binding };
}

export interface Sent {
  readonly verb?: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Uint8Array | undefined;
}

export interface Received {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/** A response whose body has not ended. */
export interface Open {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: AsyncIterable<Buffer> & { pause(): void; resume(): void };
  /** Closes the connection abruptly. */
  readonly leave: () => void;
}

/** A request in progress. */
export interface Started {
  readonly response: Promise<Open>;
  /** Closes the connection abruptly. */
  readonly leave: () => void;
}

/** Sends a request with the path unchanged. URL parsers would normalize it. */
export function start(served: Served, sent: Sent): Started {
  const started = served.protocol === "HTTP/2" ? startHttp2(served, sent) : startHttp1(served, sent);
  started.response.catch(() => {});
  return started;
}

function startHttp1({ port }: Served, { verb = "GET", path, headers = {}, body }: Sent): Started {
  const request = http.request({ port, host: "127.0.0.1", method: verb, path, headers, agent: false });
  const leave = (): void => void request.destroy();
  cleanups.push(leave);
  const response = new Promise<Open>((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (incoming) => {
      incoming.on("error", () => {});
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers as Record<string, string>,
        body: incoming,
        leave,
      });
    });
  });
  request.end(body);
  return { response, leave };
}

function startHttp2({ port }: Served, { verb = "GET", path, headers = {}, body }: Sent): Started {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  const leave = (): void => session.destroy();
  cleanups.push(leave);
  const response = new Promise<Open>((resolve, reject) => {
    session.on("error", reject);
    const stream = session.request({ ":method": verb, ":path": path, ...headers }, { endStream: false });
    stream.on("error", reject);
    stream.on("response", ({ ":status": status = 0, ...rest }) =>
      resolve({ status, headers: rest as Record<string, string>, body: stream, leave }),
    );
    stream.end(body);
  });
  return { response, leave };
}

/** Sends a request and waits for the beginning of the answer. */
export function open(served: Served, sent: Sent): Promise<Open> {
  return start(served, sent).response;
}

/** Sends a request and waits for the whole answer. */
export async function send(served: Served, sent: Sent): Promise<Received> {
  const { status, headers, body } = await open(served, sent);
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return { status, headers, text: Buffer.concat(chunks).toString() };
}

/** A promise with its `resolve` function. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** A stream of messages that the test pushes. `closed` resolves when its reader leaves. */
export function feed(): {
  messages: AsyncIterable<Message>;
  push: (...items: (Message | Error | "end")[]) => void;
  closed: Promise<void>;
  asked: () => number;
} {
  const [items, waiting]: [(Message | Error | "end")[], (() => void)[]] = [[], []];
  const closed = deferred();
  let asked = 0;
  const next = async (): Promise<IteratorResult<Message>> => {
    asked++;
    while (items.length === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    const item = items.shift();
    if (item instanceof Error) throw item;
    return item === "end" || item === undefined ? { done: true, value: undefined } : { done: false, value: item };
  };
  const close = async (): Promise<IteratorResult<Message>> => {
    closed.resolve();
    return { done: true, value: undefined };
  };
  return {
    messages: { [Symbol.asyncIterator]: () => ({ next, return: close }) },
    push: (...more) => {
      items.push(...more);
      for (const wake of waiting.splice(0)) wake();
    },
    closed: closed.promise,
    asked: () => asked,
  };
}

/** Resolves when the condition holds. Rejects after 15 seconds. */
export async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 15_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error("waited in vain");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
