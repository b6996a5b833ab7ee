import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  type ConnectRouter,
  createConnectRouter,
  createContextValues,
  type HandlerContext,
  type MethodImpl,
} from "@connectrpc/connect";
import {
  type Compression,
  createMethodUrl,
  type UniversalHandler,
  type UniversalServerRequest,
} from "@connectrpc/connect/protocol";
import { Call } from "../../core/call.js";
import { A2AError, toA2AError } from "../../core/error.js";
import { lazy } from "../../core/lazy.js";
import type { Limits } from "../../core/limits.js";
import type { Logger } from "../../core/log.js";
import { defined } from "../../core/members.js";
import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import { weightOf } from "../../wire/marks.js";
import { hasJsonMessages } from "../../wire/media-type.js";
import { MAX_TIMEOUT_MS, parseVersion, VERSION_PARAMETER } from "../../wire/service-params.js";
import { streamAnswer, unaryAnswer } from "../answer.js";
import {
  type BindingOptions,
  type HttpBinding,
  type OlderServiceOptions,
  olderOptions,
  optionsIn,
  type ServiceBindingOptions,
} from "../binding.js";
import { type FailureContext, failureOf } from "../failure.js";
import { checkGrpcAnswer } from "../grpc-answer-size.js";
import { switchedOff } from "../switched-off.js";
import { copyHeaders, startOf } from "./call.js";
import { binaryRegistration, jsonOptions, jsonRegistration, type Registration } from "./definition.js";
import { connectErrorOf } from "./error.js";
import { checkedCompression, checkedRequest } from "./incoming.js";
import { putAside, withLarge } from "./large.js";
import { type Later, type Register, registerOlder } from "./older.js";
import { isGrpc, protocolOf } from "./protocol.js";
import { refuse } from "./rejection.js";
import { answerUnlessAborted, untilAborted } from "./stream.js";
import { OrdinaryUnary } from "./unary.js";
import { answer } from "./universal.js";

/** The handlers of a method's calls. */
interface ConnectMatch {
  readonly handler: UniversalHandler;
  /** Answers ordinary unary calls. Absent for streaming methods. */
  readonly unary: OrdinaryUnary | undefined;
  /** Loads the service of the method. Undefined once it is loaded. */
  readonly load?: (() => Promise<unknown> | undefined) | undefined;
  /** Matches of other versions with the same path, by version. */
  readonly others?: ReadonlyMap<string, ConnectMatch> | undefined;
}

export interface ConnectBinding extends HttpBinding<ConnectMatch> {
  /**
   * Registers the service in a ConnectRouter, for an adapter of your own. Pass `contextValues` to the adapter too, so
   * that calls know their peer. Interceptors of the router receive a `google.protobuf.Value` for a call in JSON.
   */
  readonly routes: (router: ConnectRouter) => void;
  /**
   * Answers a gRPC call to an unknown method or service, or to a service whose version is disabled. Undefined for every
   * other request.
   */
  readonly unserved: (request: HttpRequest) => HttpResponse | undefined;
}

/** Options of a Connect binding in addition to those of all bindings. */
interface ConnectOptions {
  /** Compressions accepted in requests and used in answers. Default: none. */
  readonly compressions?: readonly Compression[];
  /** Registers further services that are served here, but not mounted elsewhere. */
  readonly more?: ((router: ConnectRouter) => void) | undefined;
}

/**
 * Creates the binding of the Connect, gRPC-Web and gRPC protocols at `/{service}/{method}`, over HTTP/1.1 and HTTP/2
 * (specification 5.8, 12). Methods that the contract marks as read-only are also served by Connect's GET. Methods with
 * a stream of requests are left out, because `invoke` does not support them.
 */
export function createConnectBinding(
  options: BindingOptions,
  { compressions = [], more }: ConnectOptions = {},
): ConnectBinding {
  const { native, others } = options.versions;
  const own = optionsIn(native.name, native.connect, options);
  const older = others.flatMap(({ name, connect }) =>
    connect === undefined ? [] : olderOptions(name, connect, options),
  );
  const hasSameName = ({ service }: OlderServiceOptions): boolean => own.service.typeName === service.typeName;
  const registerAll: Register = (router, each) => {
    for (const method of each.service.methods) {
      if (method.methodKind === "unary" || method.methodKind === "server_streaming") {
        register(router, method, each, compressions);
      }
    }
  };
  const routes = (router: ConnectRouter): ReadonlyMap<string, Later> => {
    registerAll(router, own);
    const register = (each: OlderServiceOptions) =>
      registerOlder(router, each, { compressions, register: registerAll });
    return new Map(older.filter((each) => !hasSameName(each)).flatMap((each) => [...register(each)]));
  };
  // Methods are registered with the first call, because registering them at the start would slow it down.
  const matches = lazy(() => {
    const router = createConnectRouter();
    const later = routes(router);
    more?.(router);
    const matches = matchesOf(router, { served: [own], later, compressions });
    for (const sameNamed of older.filter(hasSameName)) {
      addSameNamed(matches, router, sameNamed, { compressions, register: registerAll });
    }
    return matches;
  });
  const hasPackage = [own, ...older].every(({ service }) => service.typeName.includes("."));
  return {
    match: (_verb, path) => (hasPackage && !path.includes(".") ? undefined : matches().get(path)),
    handle: (request, match) => {
      const chosen = match.others === undefined ? match : matchFor(request, match, match.others);
      const loading = chosen.load?.();
      return loading === undefined
        ? handled(request, chosen, options)
        : handledAfter(loading, request, chosen, options);
    },
    routes: (router) => void routes(router),
    unserved: (request) => {
      const { path } = request.target;
      const off = switchedOff({ binding: protocolOf(request), path, from: request }, options);
      if (off !== undefined) return refuse(request, off);
      return isGrpc(request) ? refuse(request, unserved()) : undefined;
    },
    refuse,
  };
}

function handled(
  request: HttpRequest,
  { handler, unary }: ConnectMatch,
  options: BindingOptions,
): Promise<HttpResponse> {
  return unary?.takes(request) ? unary.answer(request) : answer(handler, request, options);
}

/** Answers a call after its service has loaded. */
async function handledAfter(
  loading: Promise<unknown>,
  request: HttpRequest,
  match: ConnectMatch,
  options: BindingOptions,
): Promise<HttpResponse> {
  try {
    await loading;
  } catch (thrown) {
    const method = match.handler.method.name;
    return refuse(
      request,
      failureOf(thrown, { client: request, logger: options.logger, binding: "connect", method }),
      method,
    );
  }
  return handled(request, match, options);
}

/** Adds the handlers of another version under the same paths. */
function addSameNamed(
  matches: Map<string, ConnectMatch>,
  router: ConnectRouter,
  options: OlderServiceOptions,
  { compressions, register }: { readonly compressions: readonly Compression[]; readonly register: Register },
): void {
  const before = router.handlers.length;
  const later = registerOlder(router, options, { compressions, register });
  const handlers = router.handlers.splice(before);
  for (const [path, older] of matchesOf({ handlers }, { served: [], later, compressions })) {
    const match = defined(matches.get(path));
    matches.set(path, { ...match, others: new Map([...(match.others ?? []), [options.version, older]]) });
  }
}

/** Returns the match of the version that a request names. */
function matchFor(request: HttpRequest, match: ConnectMatch, others: ReadonlyMap<string, ConnectMatch>): ConnectMatch {
  const asked = parseVersion(serviceParameter(request, VERSION_PARAMETER) ?? "");
  return (asked === undefined ? undefined : others.get(asked)) ?? match;
}

interface Served {
  readonly served: readonly ServiceBindingOptions[];
  readonly later: ReadonlyMap<string, Later>;
  readonly compressions: readonly Compression[];
}

function matchesOf(
  { handlers }: Pick<ConnectRouter, "handlers">,
  { served, later, compressions }: Served,
): Map<string, ConnectMatch> {
  const ordinary = new Map(
    served.flatMap((each) =>
      each.service.methods
        .filter(({ methodKind }) => methodKind === "unary")
        .map((method) => [createMethodUrl("/", method), new OrdinaryUnary(method, each, compressions)] as const),
    ),
  );
  return new Map(
    handlers.map((handler) => {
      const { requestPath } = handler;
      const method = later.get(requestPath);
      if (method === undefined) return [requestPath, { handler, unary: ordinary.get(requestPath) }];
      return [
        requestPath,
        {
          handler,
          load: method.load,
          get unary() {
            return method.unary();
          },
        },
      ];
    }),
  );
}

const unserved = lazy(() => new A2AError("METHOD_NOT_FOUND", "No such method is served here."));

/**
 * Registers a method twice, for binary and for JSON, and combines both into one handler that chooses by the request.
 */
function register(
  router: ConnectRouter,
  method: DescMethod,
  options: ServiceBindingOptions,
  compressions: readonly Compression[],
): void {
  const before = router.handlers.length;
  const {
    inboundBudget,
    limits: { maxRequestBytes: max },
  } = options;
  const [ofBinary, ofJson] = [binaryRegistration(method), jsonRegistration(method)];
  for (const registration of [ofBinary, ofJson]) {
    const acceptCompression = compressions.map((each) => checkedCompression(each, registration.check));
    const limits = { readMaxBytes: max, maxTimeoutMs: MAX_TIMEOUT_MS, jsonOptions, acceptCompression };
    router.rpc(registration.method, implementation(method, registration, options), limits);
  }
  const [binary, json] = router.handlers.splice(before);
  if (binary === undefined || json === undefined) return;
  const choose = (asked: UniversalServerRequest) => {
    const values = asked.contextValues ?? createContextValues();
    const request = { ...asked, contextValues: values };
    const answered = isJson(request)
      ? json(checkedRequest(request, { max, inboundBudget, check: ofJson.check }))
      : binary(checkedRequest(request, { max, inboundBudget, check: ofBinary.check }));
    return answered.then((response) => withLarge(request, values, response));
  };
  // A handler is a function with properties. The two handlers differ only in their codec.
  router.handlers.push(Object.assign(choose, { ...binary }));
}

/** Returns true if the messages of a request are JSON, in any of the protocols. */
function isJson(request: UniversalServerRequest): boolean {
  if (request.method === "GET") return new URL(request.url).searchParams.get("encoding") === "json";
  return hasJsonMessages(request.header.get("content-type"));
}

function implementation(
  method: DescMethod,
  registration: Registration,
  options: ServiceBindingOptions,
): MethodImpl<DescMethod> {
  const implement = method.methodKind === "unary" ? unaryHandler : serverStreaming;
  // The type of a descriptor known only at run time does not tell the kind of its implementation.
  return implement(method, registration, options) as MethodImpl<DescMethod>;
}

type Unary = (request: Message, context: HandlerContext) => Promise<Message>;
type ServerStreaming = (request: Message, context: HandlerContext) => AsyncIterable<Message>;

function unaryHandler(method: DescMethod, registration: Registration, options: ServiceBindingOptions): Unary {
  const { invoke, limits, logger, version } = options;
  const { read, write } = registration;
  return async (request, context) => {
    const call = begin(context, version);
    try {
      // A call whose deadline has passed is not started.
      context.signal.throwIfAborted();
      const answer = await answerUnlessAborted(context.signal, invoke({ method, request: read(request), call }), call);
      const message = unaryAnswer(answer);
      if (weightOf(message) === undefined) return write(message);
      return await large(message, registration, { call, context, limits });
    } catch (thrown) {
      throw connectErrorOf(failureOf(thrown, failureContext(method, call, context.signal, logger)), options.codes);
    } finally {
      copyHeaders(call, context);
    }
  };
}

function serverStreaming(
  method: DescMethod,
  registration: Registration,
  options: ServiceBindingOptions,
): ServerStreaming {
  const { read, write } = registration;
  return async function* (request, context) {
    const call = begin(context, options.version);
    let hasStarted = false;
    try {
      context.signal.throwIfAborted();
      const answer = await answerUnlessAborted(
        context.signal,
        options.invoke({ method, request: read(request), call }),
        call,
      );
      yield* untilAborted(context.signal, streamAnswer(answer), (message) => {
        if (!hasStarted) copyHeaders(call, context);
        hasStarted = true;
        if (weightOf(message) === undefined) return write(message);
        return large(message, registration, { call, context, limits: options.limits });
      });
    } catch (thrown) {
      throw connectErrorOf(
        failureOf(thrown, failureContext(method, call, context.signal, options.logger)),
        options.codes,
      );
    } finally {
      if (!hasStarted) copyHeaders(call, context);
    }
  };
}

interface AnswerTo {
  readonly call: Call;
  readonly context: HandlerContext;
  readonly limits: Limits;
}

/** Sets a large message aside and returns its placeholder. */
async function large(
  message: Message,
  registration: Registration,
  { call, context, limits }: AnswerTo,
): Promise<Message> {
  const { written } = call;
  try {
    const measured = await registration.pieces(message);
    if (call.binding !== "connect") checkGrpcAnswer(measured.length, call, limits);
    context.signal.throwIfAborted();
    putAside(context.values, { ...measured, written });
    return registration.placeholder;
  } catch (error) {
    written?.();
    throw error;
  }
}

function begin(context: HandlerContext, version: string): Call {
  // Caches may store the answer to a GET, but a task can change at any time.
  if (context.requestMethod === "GET") context.responseHeader.set("cache-control", "no-store");
  return new Call(startOf(context, version));
}

function failureContext({ name }: DescMethod, call: Call, signal: AbortSignal, logger: Logger): FailureContext {
  return { client: abortCause(signal), logger, binding: call.binding, method: name, call };
}

/** Returns the cause of an aborted call: its deadline, or its client's departure. */
function abortCause({ aborted, reason }: AbortSignal): FailureContext["client"] {
  const error = toA2AError(reason);
  return error.reason === "INTERNAL" ? { canceled: aborted } : { canceled: aborted, reason: error };
}
