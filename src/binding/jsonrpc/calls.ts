import type { Message } from "@bufbuild/protobuf";
import type { Call } from "../../core/call.js";
import type { A2AError } from "../../core/error.js";
import { JSON_TYPE } from "../../http/media-type.js";
import { framed, PiecesBody } from "../../http/pieces.js";
import { callOf, type HttpRequest, serviceParameter } from "../../http/request.js";
import type { HttpResponse } from "../../http/response.js";
import { eventsResponse } from "../../http/sse.js";
import { onOneLine } from "../../wire/json-text.js";
import {
  errorEnvelope,
  parseRequest,
  type RequestId,
  type RpcRequest,
  resultPrefix,
} from "../../wire/jsonrpc-envelope.js";
import { jsonPieces } from "../../wire/large/large.js";
import { cachedText } from "../../wire/serialization-cache.js";
import { isSupportedVersion, unsupportedVersion, VERSION_PARAMETER } from "../../wire/service-params.js";
import { weightOf } from "../../wire/weight.js";
import { messageOf, messagesOf } from "../answer.js";
import type { BindingOptions } from "../binding.js";
import { type FailureContext, failureOf } from "../failure.js";
import { methodNotFound } from "./earlier-methods.js";
import type { RpcMethod } from "./methods.js";
import { failed, invalidRequest, type RpcResponse } from "./outcome.js";

const BINDING = "jsonrpc";

/** These method names exist since 1.0, so they tell the version without doubt (specification 3.6.2). */
const IMPLIED_VERSION = "1.0";

/** A member of a batch, before it is run. */
export interface Member {
  readonly id: RequestId;
  /** Whether it changes nothing, so that it can wait for others, or be left. */
  readonly isRead: boolean;
  /** Its answer, undefined when there is none. */
  readonly run: () => Promise<RpcResponse | undefined>;
}

/** Answers the request objects of one HTTP request. */
export class Calls {
  readonly #request: HttpRequest;
  readonly #methods: ReadonlyMap<string, RpcMethod>;
  readonly #options: BindingOptions;

  constructor(request: HttpRequest, methods: ReadonlyMap<string, RpcMethod>, options: BindingOptions) {
    this.#request = request;
    this.#methods = methods;
    this.#options = options;
  }

  /** The answer to a request object that came alone; undefined when there is none. */
  alone(json: unknown): Promise<HttpResponse | undefined> {
    const asked = this.#resolve(json);
    if (!("method" in asked)) return Promise.resolve(asked.answer);
    const { request, method } = asked;
    if (!method.isStream) return this.#run(request, method);
    if (request.id === undefined) return Promise.resolve(invalidRequest(null, "a stream needs an id to answer to"));
    return this.#stream(request.id, request, method);
  }

  /** A member of a batch. A batch has one answer, so that none of its members can stream. */
  member(json: unknown): Member {
    const asked = this.#resolve(json);
    if (!("method" in asked)) return { id: null, isRead: false, run: async () => asked.answer };
    const { request, method } = asked;
    const id = request.id ?? null;
    // Nobody waits for a notification, and none is left out.
    const isRead = method.isRead && request.id !== undefined;
    if (!method.isStream) return { id, isRead, run: () => this.#run(request, method) };
    const refused = request.id === undefined ? undefined : invalidRequest(id, "a stream cannot be part of a batch");
    return { id, isRead: false, run: async () => refused };
  }

  /** The method that is asked for, or the answer where there is none to run. */
  #resolve(json: unknown): { request: RpcRequest; method: RpcMethod } | { answer: RpcResponse | undefined } {
    const request = parseRequest(json);
    if ("fault" in request) return { answer: invalidRequest(request.id, request.fault) };
    const method = this.#methods.get(request.method);
    if (method !== undefined) return { request, method };
    return { answer: request.id === undefined ? undefined : failed(request.id, this.#unknownMethod(request.method)) };
  }

  /** A method that only another version has is better explained by the version. */
  #unknownMethod(asked: string): A2AError {
    const version = serviceParameter(this.#request, VERSION_PARAMETER);
    if (version !== undefined && !isSupportedVersion(version)) return unsupportedVersion(version);
    return methodNotFound(asked);
  }

  /** Runs a unary method. Nobody waits for a notification: it has no answer. */
  #run(request: RpcRequest, method: RpcMethod): Promise<RpcResponse | undefined> {
    if (request.id !== undefined) return this.#unary(request.id, request, method);
    void this.#notify(request, method);
    return Promise.resolve(undefined);
  }

  async #unary(id: RequestId, { params }: RpcRequest, method: RpcMethod): Promise<RpcResponse> {
    const call = callOf(this.#request, BINDING, IMPLIED_VERSION);
    try {
      const answer = messageOf(await this.#options.invoke({ method: method.desc, request: method.read(params), call }));
      if (weightOf(answer) !== undefined) return this.#large(id, method, answer, call);
      const body = `${resultPrefix(id)}${method.write(answer)}}`;
      return { status: 200, type: JSON_TYPE, body, headers: call.responseHeaders };
    } catch (thrown) {
      return failed(id, this.#failure(thrown, method, call), call);
    }
  }

  async #notify({ params }: RpcRequest, method: RpcMethod): Promise<void> {
    const call = callOf(this.#request, BINDING, IMPLIED_VERSION);
    try {
      await this.#options.invoke({ method: method.desc, request: method.read(params), call });
      call.written?.();
    } catch (thrown) {
      const { reason, row, rawMessage } = this.#failure(thrown, method, call);
      // Those of the server itself are in the log already.
      if (row.http >= 500) return;
      const facts = { binding: BINDING, method: method.desc.name, requestId: call.requestId, reason };
      this.#options.logger.warn(facts, `A notification failed: ${rawMessage}`);
    }
  }

  async #stream(id: RequestId, { params }: RpcRequest, method: RpcMethod): Promise<HttpResponse> {
    const { invoke, limits } = this.#options;
    const call = callOf(this.#request, BINDING, IMPLIED_VERSION);
    const prefix = onOneLine(resultPrefix(id));
    try {
      const answer = await invoke({ method: method.desc, request: method.read(params), call });
      return await eventsResponse(this.#request, {
        call,
        messages: messagesOf(answer),
        limits,
        format: {
          data: (message) => `${prefix}${cachedText(message, method.write)}}`,
          pieces: (message) => framed(prefix, jsonPieces(method.desc.output, message), "}"),
          failure: (thrown) => errorEnvelope(id, this.#failure(thrown, method, call)),
        },
      });
    } catch (thrown) {
      return failed(id, this.#failure(thrown, method, call), call);
    }
  }

  #failure(thrown: unknown, method: RpcMethod, call: Call): A2AError {
    const place: FailureContext = {
      client: this.#request,
      logger: this.#options.logger,
      binding: BINDING,
      method: method.desc.name,
      call,
    };
    return failureOf(thrown, place);
  }

  /** A result that is written piece by piece. */
  #large(id: RequestId, method: RpcMethod, answer: Message, call: Call): RpcResponse {
    const body = new PiecesBody({
      pieces: framed(resultPrefix(id), jsonPieces(method.desc.output, answer), "}"),
      bytes: weightOf(answer)?.bytes ?? 0,
      stalledMs: this.#options.limits.stalledReaderMs,
      written: call.written,
      failed: (thrown) => void this.#failure(thrown, method, call),
    });
    return { status: 200, type: JSON_TYPE, headers: call.responseHeaders, body };
  }
}
