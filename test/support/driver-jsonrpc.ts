import { randomUUID } from "node:crypto";
import type { DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Address, CallOptions, Wire } from "./driver.js";
import { type Answer, HttpClient } from "./http.js";
import { normalOfJson } from "./proto-json.js";
import { readSse } from "./sse.js";
import { detailOfJson, WireFailure } from "./wire-error.js";

/** JSON-RPC as a client without any library writes it. */
export function jsonRpcWire({ url, ...address }: Address): Wire {
  const client = new HttpClient(address);
  const post = async (method: DescMethod, params: JsonObject, options: CallOptions): Promise<[Answer, string]> => {
    const id = randomUUID();
    const query = options.query === undefined ? "" : `?${new URLSearchParams(options.query)}`;
    const answer = await client.exchange({
      method: "POST",
      url: `${url}/${query}`,
      headers: {
        "Content-Type": "application/json",
        Accept: method.methodKind === "unary" ? "application/json" : "text/event-stream",
        ...options.headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id, method: method.name, params }),
      signal: options.signal,
    });
    return [answer, id];
  };
  return {
    name: "jsonrpc",
    close: () => client.close(),
    async unary(method, request, options) {
      const [answer, id] = await post(method, request, options);
      const result = resultOf(JSON.parse(await answer.text()), id, answer);
      return { message: normalOfJson(method.output, result), headers: answer.headers };
    },
    async stream(method, request, options) {
      const [answer, id] = await post(method, request, options);
      if (!answer.headers["content-type"]?.startsWith("text/event-stream")) {
        resultOf(JSON.parse(await answer.text()), id, answer);
        throw new Error(`The stream is answered with ${answer.headers["content-type"]} and no error.`);
      }
      return { headers: answer.headers, messages: messagesOf(method, answer, id) };
    },
  };
}

async function* messagesOf(method: DescMethod, answer: Answer, id: string): AsyncGenerator<JsonObject> {
  for await (const { data } of readSse(answer.body)) {
    yield normalOfJson(method.output, resultOf(JSON.parse(data), id, answer));
  }
}

/** The result of a response object (JSON-RPC 2.0, section 5), whose form is checked on the way. */
function resultOf(response: JsonObject, id: string, { headers }: Answer): JsonValue {
  if (response.jsonrpc !== "2.0") throw new Error(`The answer is not JSON-RPC 2.0: ${JSON.stringify(response)}`);
  const { error, result } = response as { error?: ErrorObject; result?: JsonValue };
  // The id of a request that could not be read is not known.
  const unread = error?.code === -32700 || error?.code === -32600;
  if (response.id !== id && !(unread && response.id === null)) {
    throw new Error(`The answer has the id ${JSON.stringify(response.id)}, not ${id}.`);
  }
  if ((error === undefined) === (result === undefined)) throw new Error("The answer needs a result or an error.");
  if (error === undefined) return result as JsonValue;
  const details = (error.data ?? []).map(detailOfJson);
  throw new WireFailure({ native: error.code, status: undefined, message: error.message, details }, headers);
}

interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly JsonValue[];
}
