import { type DescMethod, getOption, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import type { Address, CallOptions, Wire } from "./driver.js";
import { type Answer, HttpClient } from "./http.js";
import { normalOfJson } from "./proto-json.js";
import { readSse } from "./sse.js";
import { detailOfJson, WireFailure } from "./wire-error.js";

/** HTTP+JSON as a client writes it that knows the contract's HTTP rules and nothing else. */
export function restWire({ url, ...address }: Address): Wire {
  const client = new HttpClient(address);
  const send = (method: DescMethod, request: JsonObject, options: CallOptions): Promise<Answer> => {
    const { verb, path, query, body } = transcode(method, request);
    const parameters = new URLSearchParams([...query, ...Object.entries(options.query ?? {})]).toString();
    return client.exchange({
      method: verb,
      url: `${url}${path}${parameters === "" ? "" : `?${parameters}`}`,
      headers: {
        Accept: method.methodKind === "unary" ? "application/a2a+json" : "text/event-stream",
        ...(body === undefined ? {} : { "Content-Type": "application/a2a+json" }),
        ...options.headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal,
    });
  };
  return {
    name: "rest",
    close: () => client.close(),
    async unary(method, request, options) {
      const answer = await send(method, request, options);
      const json = JSON.parse(await answer.text());
      if (answer.status !== 200) throw failureOf(json, answer);
      return { message: normalOfJson(method.output, json), headers: answer.headers };
    },
    async stream(method, request, options) {
      const answer = await send(method, request, options);
      if (answer.status !== 200) throw failureOf(JSON.parse(await answer.text()), answer);
      if (!answer.headers["content-type"]?.startsWith("text/event-stream")) {
        throw new Error(`The stream is answered with ${answer.headers["content-type"]}.`);
      }
      return { headers: answer.headers, messages: messagesOf(method, answer) };
    },
  };
}

async function* messagesOf(method: DescMethod, answer: Answer): AsyncGenerator<JsonObject> {
  for await (const { data } of readSse(answer.body)) {
    const json = JSON.parse(data);
    if ("error" in json) throw failureOf(json, answer);
    yield normalOfJson(method.output, json);
  }
}

/** The error of a body (`google.rpc.Status` below `error`), whose form is checked on the way. */
function failureOf(json: JsonObject, { status, headers }: Answer): WireFailure {
  const { error } = json as { error?: ErrorObject };
  if (error === undefined) throw new Error(`Status ${status} without an error object: ${JSON.stringify(json)}`);
  // In the middle of a stream the status of the response was sent long ago.
  if (status !== 200 && error.code !== status) throw new Error(`Status ${status} has the code ${error.code} in it.`);
  const details = (error.details ?? []).map(detailOfJson);
  return new WireFailure({ native: error.code, status: error.status, message: error.message, details }, headers);
}

interface ErrorObject {
  readonly code: number;
  readonly status: string;
  readonly message: string;
  readonly details?: readonly JsonValue[];
}

/** A request as HTTP carries it. */
export interface Transcoded {
  readonly verb: string;
  readonly path: string;
  readonly query: readonly [string, string][];
  readonly body: JsonObject | undefined;
}

/**
 * A request by the `google.api.http` rules of its method: of the bindings whose path can be filled, the one that
 * takes most of the request, so that a tenant goes into the path.
 */
export function transcode(method: DescMethod, request: JsonObject): Transcoded {
  const rule = getOption(method, http);
  const fitting = [...rule.additionalBindings, rule].find((binding) =>
    variablesOf(pathOf(binding)).every(({ member }) => typeof request[member] === "string" && request[member] !== ""),
  );
  if (fitting === undefined) throw new Error(`No path of ${method.name} can be filled by ${JSON.stringify(request)}.`);
  let path = pathOf(fitting);
  const rest = { ...request };
  for (const { text, member } of variablesOf(path)) {
    path = path.replace(text, () => encodeURIComponent(String(request[member])));
    delete rest[member];
  }
  const verb = (fitting.pattern.case ?? "").toUpperCase();
  if (fitting.body === "*") return { verb, path, query: [], body: rest };
  return { verb, path, query: Object.entries(rest).flatMap(parametersOf), body: undefined };
}

function pathOf(rule: HttpRule): string {
  if (typeof rule.pattern.value !== "string") throw new Error("A custom verb has no place here.");
  return rule.pattern.value;
}

/** The variables of a path template, such as `{task_id=*}`, with the JSON names of their fields. */
function variablesOf(path: string): { readonly text: string; readonly member: string }[] {
  return [...path.matchAll(/\{(\w+)(?:=\*)?\}/g)].map(([text, name = ""]) => ({
    text,
    member: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  }));
}

function parametersOf([name, value]: [string, JsonValue]): [string, string][] {
  if (Array.isArray(value)) return value.map((one) => [name, String(one)]);
  if (typeof value === "object") throw new Error(`A query has no place for the object ${name}.`);
  return [[name, String(value)]];
}
