import { create, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { type NamedMethod, v1Calls } from "../../version/calls.js";
import { answerReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import {
  type AnswerHead,
  badAnswer,
  errorOfAnswer,
  errorOfBody,
  errorOfHead,
  errorOfRpc,
  isSuccess,
  parsed,
} from "../answer-errors.js";
import type { HttpClient, TransportSettings } from "../platform.js";
import { type JsonMethod, jsonTransport, type Written } from "./json.js";

/**
 * JSON-RPC 2.0 (specification 9) as a transport of Connect, for `createClient(A2AService, …)`. Its methods are those that the version's
 * table has.
 */
export function jsonRpcTransport(settings: TransportSettings, http: HttpClient): Transport {
  let count = 0;
  const nextId = (): number => ++count;
  return jsonTransport(settings, http, ({ name, parent }) => {
    const isOurs = parent.typeName === v1Calls.service.typeName;
    const row = isOurs ? v1Calls.jsonRpc.find(({ desc }) => desc.name === name) : undefined;
    return row === undefined ? undefined : methodOf(row, nextId);
  });
}

function methodOf({ name, desc }: NamedMethod, nextId: () => number): JsonMethod {
  const writeParams = jsonWriter(desc.input);
  const readResult = answerReader(desc.output);
  const isEmpty = desc.output.typeName === EmptySchema.typeName;
  const middle = `,"method":${JSON.stringify(name)},"params":`;
  const read = (text: string, { id }: Written, head: AnswerHead): Message => {
    const json = parsed(text);
    // What servers answer that have nothing to say, with 204 or without (specification 3.1.10 leaves it to them).
    if (isEmpty && text === "" && isSuccess(head.status)) return create(desc.output);
    const result = resultOf(json, text, id, head);
    if (isEmpty && (result === null || result === undefined)) return create(desc.output);
    if (result === undefined) throw badAnswer("The answer has neither a result nor an error.");
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

/** The result of a response object (JSON-RPC 2.0, section 5); undefined where it has neither a result nor an error. The status of HTTP does not count where there is one. */
function resultOf(json: unknown, text: string, id: number, head: AnswerHead): unknown {
  if (!isJsonObject(json)) throw errorOfHead(head, text);
  const { error, result } = json;
  if (error !== undefined && error !== null)
    throw errorOfRpc(error, head) ?? errorOfBody(json, head) ?? errorOfHead(head, text);
  if (result === undefined && !(isSuccess(head.status) && json.jsonrpc !== undefined)) throw errorOfAnswer(text, head);
  if (json.id !== id && json.id !== `${id}`) {
    throw badAnswer(`The answer is to the request ${String(JSON.stringify(json.id)).slice(0, 100)}, not to ${id}.`);
  }
  return result;
}
