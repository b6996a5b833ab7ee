import { create, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import type { A2AError, Reason } from "../../core/error.js";
import { type NamedMethod, v1Calls } from "../../version/method-table.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { parsedJson } from "../../wire/parsed-json.js";
import {
  type AnswerHead,
  badAnswer,
  errorOfAnswer,
  errorOfBody,
  errorOfHead,
  errorOfRpc,
  isSuccess,
} from "../errors/answer-errors.js";
import type { HttpClient, TransportSettings } from "../platform.js";
import { readerOfAnswers } from "./answer-reader.js";
import { type JsonMethod, jsonTransport, type Written } from "./json.js";

/**
 * JSON-RPC 2.0 (specification 9) as a Connect transport, for `createClient(A2AService, …)`. Its methods come from the
 * version's table.
 */
export function jsonRpcTransport(settings: TransportSettings, http: HttpClient): Transport {
  let count = 0;
  const nextId = (): number => ++count;
  return jsonTransport(settings, http, ({ name, parent }) => {
    const isOurs = parent.typeName === v1Calls.service.typeName;
    const row = isOurs ? v1Calls.jsonRpc.find(({ desc }) => desc.name === name) : undefined;
    return row === undefined ? undefined : jsonMethod(row, nextId);
  });
}

function jsonMethod({ name, desc }: NamedMethod, nextId: () => number): JsonMethod {
  const writeParams = jsonWriter(desc.input);
  const readResult = readerOfAnswers(desc.output);
  const isEmpty = desc.output.typeName === EmptySchema.typeName;
  const middle = rpcMiddle(name);
  const read = (text: string, { id }: Written, head: AnswerHead): Message => {
    // An empty answer, with 204 or without (specification 3.1.10 allows both).
    if (isEmpty && text === "" && isSuccess(head.status)) return create(desc.output);
    const result = rpcResult(text, id, head);
    if (isEmpty && (result === null || result === undefined)) return create(desc.output);
    if (result === undefined) throw noResult();
    return readResult(result);
  };
  return {
    verb: "POST",
    hasBody: true,
    write: (request, url) => {
      const id = nextId();
      return { url, id, body: `{"jsonrpc":"2.0","id":${id}${middle}${writeParams(request)}}` };
    },
    read,
  };
}

/** Returns the text between a request's id and its params. */
export function rpcMiddle(name: string): string {
  return `,"method":${JSON.stringify(name)},"params":`;
}

/**
 * Returns the result of a response object (JSON-RPC 2.0, section 5), or undefined if it has neither a result nor an
 * error. The HTTP status is then ignored.
 *
 * @param id of the request
 * @param reasons codes with another meaning in the version of the call
 * @throws A2AError for an error, and for anything that is not a response object
 */
export function rpcResult(text: string, id: number, head: AnswerHead, reasons?: ReadonlyMap<unknown, Reason>): unknown {
  const json = parsedJson(text);
  if (!isJsonObject(json)) throw errorOfHead(head, text);
  const { error, result } = json;
  if (error !== undefined && error !== null)
    throw errorOfRpc(error, head, reasons) ?? errorOfBody(json, head) ?? errorOfHead(head, text);
  if (result === undefined && !(isSuccess(head.status) && json.jsonrpc !== undefined)) throw errorOfAnswer(text, head);
  if (json.id !== id && json.id !== `${id}`) {
    throw badAnswer(`The answer is to the request ${String(JSON.stringify(json.id)).slice(0, 100)}, not to ${id}.`);
  }
  return result;
}

/** Returns the error for an empty response where a result is required. */
export function noResult(): A2AError {
  return badAnswer("The answer has neither a result nor an error.");
}
