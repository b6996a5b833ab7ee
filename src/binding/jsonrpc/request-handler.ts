import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import type { A2AError } from "../../core/error.js";
import { logFacts } from "../../core/log.js";
import { type EventFormat, eventsResponse, singleEvent } from "../../http/event-stream.js";
import { framed, PiecesBody } from "../../http/pieces.js";
import { callOf, type HttpRequest, serviceParameter } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import { onOneLine } from "../../wire/json-text.js";
import {
  parseRequest,
  type RequestId,
  type RpcFault,
  type RpcRequest,
  resultPrefix,
} from "../../wire/jsonrpc-envelope.js";
import { weightOf } from "../../wire/marks.js";
import { JSON_TYPE } from "../../wire/media-type.js";
import { cachedText } from "../../wire/serialization-cache.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { streamAnswer, unaryAnswer } from "../answer.js";
import type { BindingOptions } from "../binding.js";
import { type FailureContext, failureOf } from "../failure.js";
import { checkTenant } from "../tenant-routes.js";
import type { ErrorShape, Methods, RpcMethod } from "./methods.js";
import { BINDING, errorOutcome, errorResponse, invalidRequest, type RpcResponse } from "./outcome.js";

/** A member of a batch that has not run. */
export interface BatchMember {
  readonly id: RequestId;
  /** True if the member changes nothing, so that it may be delayed or skipped. */
  readonly isRead: boolean;
  /** Returns the answer, or undefined for a notification. */
  readonly run: () => Promise<RpcResponse | undefined>;
}

/** A request object with its method, or the answer if no method runs. */
type Resolved =
  | { readonly request: RpcRequest; readonly method: RpcMethod }
  | { readonly answer: RpcResponse | undefined };

/** Answers the request objects of one HTTP request. */
export class RequestHandler {
  readonly #request: HttpRequest;
  readonly #methods: Methods;
  readonly #options: BindingOptions;

  constructor(request: HttpRequest, methods: Methods, options: BindingOptions) {
    this.#request = request;
    this.#methods = methods;
    this.#options = options;
  }

  /** The format of errors that belong to no method. */
  get errorShape(): ErrorShape {
    return this.#methods.dialect(this.#request).error;
  }

  /** Answers a request object outside a batch. Undefined for a notification. */
  alone(json: unknown): Promise<HttpResponse | undefined> {
    const resolved = this.#resolve(json, this.#methods.answersAll(this.#request));
    if (!("method" in resolved)) return Promise.resolve(resolved.answer);
    const { request, method } = resolved;
    if (!method.isStream) return this.#run(request, method);
    if (request.id === undefined)
      return Promise.resolve(invalidRequest(method.error, null, "a stream needs an id to answer to"));
    return this.#stream(request.id, request, method);
  }

  /** Returns the members of a batch. Undefined if one of them is a call of a version without batches. */
  members(batch: readonly unknown[]): readonly BatchMember[] | undefined {
    const all = batch.map((json) => this.#resolve(json));
    const fit = all.every((each) => !("method" in each) || each.method.dialect.hasNoBatches !== true);
    return fit ? all.map((each) => this.#member(each)) : undefined;
  }

  /** Returns a member of a batch. A batch has one answer, so none of its members can stream. */
  #member(resolved: Resolved): BatchMember {
    if (!("method" in resolved)) return { id: null, isRead: false, run: async () => resolved.answer };
    const { request, method } = resolved;
    const id = request.id ?? null;
    // A notification always runs, because skipping it would leave no error that tells the client.
    const isRead = method.isRead && request.id !== undefined;
    if (!method.isStream) return { id, isRead, run: () => this.#run(request, method) };
    const refused =
      request.id === undefined ? undefined : invalidRequest(method.error, id, "a stream cannot be part of a batch");
    return { id, isRead: false, run: async () => refused };
  }

  /**
   * Returns the requested method, or the answer if no method runs.
   *
   * @param answersAll true to answer an unknown method even without an id
   */
  #resolve(json: unknown, answersAll = false): Resolved {
    const request = parseRequest(json);
    const name = "fault" in request ? request.unversioned?.method : request.method;
    const method = name === undefined ? undefined : this.#methods.find(name, this.#request);
    return this.#resolved(request, method, answersAll);
  }

  #resolved(parsed: RpcRequest | RpcFault, method: RpcMethod | undefined, answersAll: boolean): Resolved {
    const isLenient = method?.dialect.isLenient === true;
    const request = isLenient && "fault" in parsed ? (parsed.unversioned ?? parsed) : parsed;
    if ("fault" in request) return { answer: invalidRequest(this.errorShape, request.id, request.fault) };
    if (method !== undefined) return { request: isLenient ? { ...request, id: request.id ?? null } : request, method };
    const unknown = this.#methods.unknown(request.method, this.#request);
    if (unknown.metadata.supportedVersions !== undefined) this.#mismatched(request.method, unknown);
    const { id = answersAll ? null : undefined } = request;
    if (id === undefined) return { answer: undefined };
    // A client that speaks none of the supported versions gets the error in the native form, which lists them.
    const shape = unknown.reason === "VERSION_NOT_SUPPORTED" ? this.#methods.native.error : this.errorShape;
    return { answer: errorOutcome(shape, id, unknown) };
  }

  #mismatched(asked: string, { message: why }: A2AError): void {
    const version = serviceParameter(this.#request, VERSION_PARAMETER);
    this.#options.mismatched?.(this.#request, { binding: BINDING, asked, version, why });
  }

  /** Runs a unary method. A notification gets no answer and is not awaited. */
  #run(request: RpcRequest, method: RpcMethod): Promise<RpcResponse | undefined> {
    if (request.id !== undefined) return this.#unary(request.id, request, method);
    void this.#notify(request, method);
    return Promise.resolve(undefined);
  }

  async #unary(id: RequestId, { params }: RpcRequest, method: RpcMethod): Promise<RpcResponse> {
    const call = callOf(this.#request, BINDING, method.version);
    call.jsonRpcId = id;
    let hasCalled = false;
    try {
      const request = this.#read(method, params);
      hasCalled = true;
      const answer = unaryAnswer(await method.invoke({ method: method.desc, request, call }));
      if (weightOf(answer) !== undefined) return this.#large(id, method, answer, call);
      const body = `${resultPrefix(id)}${method.write(answer)}}`;
      return { status: 200, type: JSON_TYPE, body, headers: call.answerHeaders };
    } catch (thrown) {
      const error = this.#failure(thrown, method, call);
      const response = errorOutcome(method.error, id, error, call);
      return hasCalled ? response : errorResponse(response, error, method.desc.name);
    }
  }

  async #notify({ params }: RpcRequest, method: RpcMethod): Promise<void> {
    const call = callOf(this.#request, BINDING, method.version);
    try {
      await method.invoke({ method: method.desc, request: this.#read(method, params), call });
      call.written?.();
    } catch (thrown) {
      const { reason, row, message } = this.#failure(thrown, method, call);
      // Errors of the server are already in the log.
      if (row.http >= 500) return;
      const facts = { binding: BINDING, method: method.desc.name, reason, ...logFacts(call) };
      this.#options.logger.warn(facts, `A notification failed: ${message}`);
    }
  }

  async #stream(id: RequestId, { params }: RpcRequest, method: RpcMethod): Promise<HttpResponse> {
    const call = callOf(this.#request, BINDING, method.version);
    call.jsonRpcId = id;
    let hasCalled = false;
    try {
      const request = this.#read(method, params);
      hasCalled = true;
      const messages = streamAnswer(await method.invoke({ method: method.desc, request, call }));
      const format = new ResultFormat(id, method, this.#place(method, call));
      return await eventsResponse(this.#request, { call, messages, format });
    } catch (thrown) {
      const error = this.#failure(thrown, method, call);
      const failure = errorOutcome(method.error, id, error, call);
      const response = hasCalled ? failure : errorResponse(failure, error, method.desc.name);
      const asEvent = method.errsAsEvent === true || this.#options.streamErrorsAsEvents === true;
      return asEvent && response.status === 200 ? singleEvent(response) : response;
    }
  }

  #read(method: RpcMethod, params: unknown): Message {
    const request = method.read(params);
    const { tenant } = this.#request.target;
    if (tenant !== undefined) checkTenant(request, tenant);
    return request;
  }

  #failure(thrown: unknown, method: RpcMethod, call: Call): A2AError {
    return failureOf(thrown, this.#place(method, call));
  }

  #place({ desc }: RpcMethod, call: Call): FailureContext {
    return { client: this.#request, logger: this.#options.logger, binding: BINDING, method: desc.name, call };
  }

  /** Returns a result that is written piece by piece. */
  #large(id: RequestId, method: RpcMethod, answer: Message, call: Call): RpcResponse {
    const body = new PiecesBody({
      pieces: framed(resultPrefix(id), method.pieces(answer), "}"),
      bytes: weightOf(answer)?.bytes ?? 0,
      written: call.written,
      failed: (thrown) => void this.#failure(thrown, method, call),
    });
    return { status: 200, type: JSON_TYPE, headers: call.answerHeaders, body };
  }
}

/** Writes response objects as the events of a stream. */
class ResultFormat implements EventFormat {
  readonly #id: RequestId;
  readonly #prefix: string;
  readonly #method: RpcMethod;
  readonly #place: FailureContext;

  constructor(id: RequestId, method: RpcMethod, place: FailureContext) {
    this.#id = id;
    this.#prefix = onOneLine(resultPrefix(id));
    this.#method = method;
    this.#place = place;
  }

  data(message: Message): string {
    return `${this.#prefix}${cachedText(message, this.#method.write, this.#method.form)}}`;
  }

  pieces(message: Message): Iterable<Uint8Array | string> {
    return framed(this.#prefix, this.#method.pieces(message), "}");
  }

  failure(thrown: unknown): string {
    return this.#method.error(this.#id, failureOf(thrown, this.#place));
  }
}
