import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { A2AError, type Reason, restated } from "../../core/error.js";
import { loaded } from "../../version/client-versions.js";
import type { OlderCalls, OlderExchange, OlderMethod } from "../../version/older-calls.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { parsedJson } from "../../wire/parsed-json.js";
import type { Binding } from "../discovery/interfaces.js";
import { type AnswerHead, errorOfBody, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import { errorOf } from "../errors/error-facts.js";
import { clientError } from "../errors/errors.js";
import type { Platform, TransportSettings } from "../platform.js";
import { appendPath } from "./append-path.js";
import { withErrors } from "./connect-errors.js";
import { withTaskFirst } from "./follow-up.js";
import { type JsonMethod, jsonTransport, type Written } from "./json.js";
import { noResult, rpcMiddle, rpcResult } from "./jsonrpc.js";

/**
 * Creates the transport of an interface of an older version: its calls, answers and errors are those of the service.
 * Operations missing in the version are rejected without a call.
 */
export async function olderTransport(
  platform: Platform,
  binding: Binding,
  settings: TransportSettings,
): Promise<Transport> {
  const { older } = settings;
  const { calls }: { calls: OlderCalls } = older === undefined ? { calls: {} } : await loaded(older.load(binding));
  const name = older?.name ?? "";
  const known = <M>(of: ((method: DescMethod) => M | undefined) | undefined) => {
    return (method: DescMethod): M => of?.(method) ?? refuseMethod(method, name);
  };
  const made = (): Transport => {
    if (binding === "GRPC" && platform.grpc !== undefined)
      return platform.grpc({ ...settings, methods: known(calls.grpc) });
    const of = known(binding === "HTTP+JSON" ? calls.rest : calls.jsonRpc);
    return jsonTransport(settings, platform.http, (method) => jsonMethodOf(method, of(method), { calls, nextId }));
  };
  let count = 0;
  const nextId = (): number => ++count;
  if (calls.hasTasklessStreams === true) return withTaskFirst(made());
  return calls.texts === undefined ? made() : withTexts(made(), calls.texts);
}

/** Maps errors by their texts. */
function withTexts(transport: Transport, texts: readonly (readonly [RegExp, Reason])[]): Transport {
  return withErrors(transport, (thrown) => {
    const error = clientError(thrown);
    const reason = texts.find(([text]) => text.test(error.message))?.[1] ?? error.reason;
    return reason === error.reason ? error : restated(error, { reason });
  });
}

function refuseMethod(method: DescMethod, version: string): never {
  const message = `A2A ${version}, which the agent speaks, has no ${method.name}.`;
  throw new A2AError("UNSUPPORTED_OPERATION", message, { metadata: { method: method.name, version } });
}

/** State shared by the methods of one transport. */
interface Speaking {
  readonly calls: OlderCalls;
  readonly nextId: () => number;
}

function jsonMethodOf(desc: DescMethod, method: OlderMethod, speaking: Speaking): JsonMethod {
  const { name, verb, otherwise, absent } = method;
  const { calls, nextId } = speaking;
  const isRpc = name !== "";
  const middle = rpcMiddle(name);
  const isEmpty = desc.output.typeName === EmptySchema.typeName;
  return {
    verb,
    hasBody: verb === "POST",
    write: (request, url) => {
      const exchange = method.begin(request);
      const { json } = exchange;
      if (!isRpc) return { url: placed(url, exchange), id: 0, body: json, exchange };
      const id = nextId();
      const body =
        json === undefined
          ? `{"jsonrpc":"2.0","id":${id}${middle.slice(0, middle.lastIndexOf(","))}}`
          : `{"jsonrpc":"2.0","id":${id}${middle}${json}}`;
      return { url, id, body, exchange };
    },
    read: (text, written, head) => {
      if (head.status === 404 && absent !== undefined) throw absence(absent, head);
      if (isEmpty && text === "" && isSuccess(head.status)) return create(desc.output);
      const result = isRpc ? rpcResult(text, written.id, head, calls.reasons) : answerBody(text, head, calls);
      if (isEmpty) return create(desc.output);
      if (result === undefined) throw noResult();
      return readBy(written, result);
    },
    ...(otherwise === undefined ? {} : { otherwise: jsonMethodOf(desc, otherwise, speaking) }),
  };
}

function absence(reason: Reason, { headers }: AnswerHead): A2AError {
  return errorOf({}, "HTTP 404: the resource does not exist.", reason, headers);
}

function readBy({ exchange }: Written, result: unknown): Message {
  return (exchange as OlderExchange).read(result);
}

/**
 * Returns the URL of a request: the path follows the interface's path, or replaces its last segment, before its query.
 */
function placed(url: string, { place = "", beside }: OlderExchange): string {
  if (beside === undefined) return appendPath(url, place);
  const mark = url.indexOf("?");
  const { origin, pathname } = new URL(mark < 0 ? url : url.slice(0, mark));
  return `${origin}${pathname.slice(0, pathname.lastIndexOf("/") + 1)}${beside}${mark < 0 ? "" : url.slice(mark)}`;
}

function answerBody(text: string, head: AnswerHead, calls: OlderCalls): unknown {
  const json = parsedJson(text);
  if (!isSuccess(head.status)) throw errorOfOlder(json, head, calls) ?? errorOfHead(head, text);
  if (!isJsonObject(json) && !Array.isArray(json)) {
    if (json === null) return json;
    throw errorOfHead(head, text);
  }
  // Messages have neither a member `error` nor a text `message`.
  const failed =
    isJsonObject(json) && ((json.error !== undefined && json.error !== null) || typeof json.message === "string");
  if (failed) throw errorOfOlder(json, head, calls) ?? errorOfHead(head, text);
  return json;
}

/** Reads an error. Older versions do not define error bodies: some have a code, others only a text. */
function errorOfOlder(json: unknown, head: AnswerHead, { statuses }: OlderCalls): A2AError | undefined {
  const whole = errorOfBody(json, head);
  if (whole !== undefined || !isJsonObject(json) || typeof json.message !== "string") return whole;
  const reason = statuses?.get(head.status);
  return reason === undefined ? undefined : errorOf({}, json.message, reason, head.headers);
}
