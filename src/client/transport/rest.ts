import { create, type DescField, type DescMethod, type Message } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import type { Transport } from "@connectrpc/connect";
import { defined } from "../../core/members.js";
import { v1Calls } from "../../version/method-table.js";
import { accessTo } from "../../wire/field-rules.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { expandPath } from "../../wire/path-template.js";
import { queryWriter } from "../../wire/query.js";
import type { Route } from "../../wire/routes.js";
import { type AnswerHead, errorOfAnswer, errorOfBody, errorOfHead, isSuccess } from "../errors/answer-errors.js";
import type { HttpClient, TransportSettings } from "../platform.js";
import { readerOfAnswers } from "./answer-reader.js";
import { appendPath } from "./append-path.js";
import { type JsonMethod, type JsonMethods, jsonTransport } from "./json.js";

/** The media type of the protocol (specification 11.1, 14.1.1). */
const A2A_JSON = "application/a2a+json";

/**
 * HTTP+JSON (specification 11) as a Connect transport, for `createClient(A2AService, …)`. Its paths come from the
 * version's table; the one with the tenant is used if the request has one.
 */
export function restTransport(settings: TransportSettings, http: HttpClient): Transport {
  const methods: JsonMethods = ({ name, parent }) =>
    parent.typeName === v1Calls.service.typeName
      ? jsonMethod(v1Calls.rest.filter(({ method }) => method.name === name))
      : undefined;
  return jsonTransport(settings, http, methods, A2A_JSON);
}

/**
 * Returns the method by the first verb of the table; a second one, if any, is for servers that do not know the first.
 */
function jsonMethod(endpoints: readonly Route[]): JsonMethod | undefined {
  const [first] = endpoints;
  if (first === undefined) return undefined;
  const { verb, hasBody, method } = first;
  const same = endpoints.filter((endpoint) => endpoint.verb === verb && endpoint.hasBody === hasBody);
  const otherwise = jsonMethod(endpoints.filter((endpoint) => !same.includes(endpoint)));
  // The path with the tenant comes first.
  const ways = same.map(wayOf).sort((a, b) => b.fields.length - a.fields.length);
  const writeBody = jsonWriter(method.input);
  const writeQuery = queryWriter(method.input);
  return {
    verb,
    hasBody,
    write: (request, url) => {
      const way = ways.find((each) => each.fits(request)) ?? defined(ways.at(-1));
      const query = hasBody ? "" : writeQuery(request, way.fields);
      const path = query === "" ? way.path(request) : `${way.path(request)}?${query}`;
      return { url: appendPath(url, path), id: 0, body: hasBody ? writeBody(request) : undefined };
    },
    read: answerReader(method),
    ...(otherwise === undefined ? {} : { otherwise }),
  };
}

function answerReader({ output }: DescMethod): JsonMethod["read"] {
  const readAnswer = readerOfAnswers(output);
  const isEmpty = output.typeName === EmptySchema.typeName;
  return (text, _, head: AnswerHead): Message => {
    if (!isSuccess(head.status)) throw errorOfAnswer(text, head);
    if (isEmpty && (text === "" || text === "null")) return create(output);
    const json = parsedJson(text);
    if (!isJsonObject(json)) throw errorOfHead(head, text);
    // Messages of the contract have no member of this name. It ends an open stream, whatever its status.
    if (json.error !== undefined && json.error !== null) throw errorOfBody(json, head) ?? errorOfHead(head, text);
    return readAnswer(json);
  };
}

/** One of the paths to a method. */
interface Way {
  readonly fields: readonly DescField[];
  /** True if a request has a value for each of its variables. */
  fits(request: Message): boolean;
  path(request: Message): string;
}

/** First segments with a fixed meaning: a tenant with such a name is sent in the query or the body. */
const literals: ReadonlySet<string> = new Set(
  v1Calls.rest.flatMap(({ template: { segments, customVerb } }) => {
    const [first] = segments;
    if (first === undefined || !("literal" in first)) return [];
    return customVerb === "" ? [first.literal] : [first.literal, `${first.literal}:${customVerb}`];
  }),
);

function wayOf({ template, fields }: Route): Way {
  const names = fields.map(({ name }) => name);
  const gets = fields.map((field) => accessTo(field).get);
  const [first] = template.segments;
  const beginsWithVariable = first !== undefined && "variable" in first;
  return {
    fields,
    fits: (request) => {
      for (const [i, get] of gets.entries()) {
        const value = get(request);
        if (value === undefined) return false;
        // Many servers and proxies treat an encoded slash as a separator.
        if (i === 0 && beginsWithVariable && (literals.has(`${value}`) || `${value}`.includes("/"))) return false;
      }
      return !beginsWithVariable || gets.length > 0;
    },
    path: (request) => {
      const values: Record<string, string> = {};
      for (const [i, get] of gets.entries()) values[names[i] as string] = `${get(request) ?? ""}`;
      return expandPath(template, values);
    },
  };
}
