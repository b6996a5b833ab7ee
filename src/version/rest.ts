import { create, type DescField, type DescService, type Message } from "@bufbuild/protobuf";
import type { A2AError, Reason } from "../core/error.js";
import { restError } from "../wire/error-details.js";
import { accessTo, type FieldAccess } from "../wire/field-rules.js";
import type { JsonForm } from "../wire/json-form.js";
import type { Leaf } from "../wire/json-leaf.js";
import { collectingReader } from "../wire/json-reader.js";
import { jsonWriter } from "../wire/json-writer.js";
import { jsonPieces } from "../wire/large/large.js";
import { decodeSegment } from "../wire/path-template.js";
import { queryReader, textLeafOf } from "../wire/query.js";
import { type Route, routesOf } from "../wire/routes.js";
import { Violations } from "../wire/violations.js";

/** A route with its request reader and response writer. */
export interface Endpoint extends Route {
  readonly isStream: boolean;
  /**
   * Builds the request. Exactly one of body and query is read, then the values of the path are added.
   *
   * @throws A2AError with reason INVALID_PARAMS that names all violations
   */
  readonly read: (source: RequestFields) => Message;
  /** Writes an answer, or one event of a stream, as JSON on one line. */
  readonly write: (answer: Message) => string;
  /** The JSON form of responses, if not ProtoJSON: shared values are serialized once per form. */
  readonly form?: JsonForm;
  /** Like `write`, for a large answer, in pieces. */
  readonly pieces: (answer: Message) => Iterable<Uint8Array | string>;
  /** Status of a unary response. Default 200. With 204 the response has no body. */
  readonly status?: number;
}

/** The dialect of a version over HTTP+JSON. */
export interface RestDialect {
  readonly endpoints: readonly Endpoint[];
  /** Media type of its JSON. Clients that prefer `application/json` receive that type. */
  readonly mediaType: string;
  /** Writes the body of an error. */
  readonly error: (error: A2AError) => string;
  /** HTTP statuses of errors that differ from the table (`core/error.ts`). */
  readonly statuses?: Readonly<Partial<Record<Reason, number>>>;
  /** The error for a body that is not JSON, if it differs from that of other invalid requests. */
  readonly malformed?: Reason;
}

/** Returns the dialect of a service, derived from its `google.api.http` rules (specification 11). */
export function restOf(service: DescService): RestDialect {
  return {
    endpoints: routesOf(service).map((route) => endpointOf(route)),
    mediaType: "application/a2a+json",
    error: restError,
  };
}

/** The parts of an HTTP request that carry fields. */
interface RequestFields {
  /** Percent-encoded values of the path's variables, in their order. */
  readonly values: readonly string[];
  readonly query: string;
  /** The JSON body; undefined for a request without one. */
  readonly body: unknown;
}

/**
 * Returns a route with the codecs of its method, which are compiled once.
 *
 * @param form an alternative to ProtoJSON for bodies
 */
export function endpointOf(route: Route, form?: JsonForm): Endpoint {
  const { input, output, methodKind } = route.method;
  const readBody = collectingReader(input, form);
  const readQuery = queryReader(input);
  const pathFields = route.fields.map(pathField);
  const isStream = methodKind === "server_streaming";
  return {
    ...route,
    isStream,
    ...(form !== undefined && { form }),
    write: jsonWriter(output, form),
    pieces: (answer) => jsonPieces(output, answer, form),
    read: ({ values, query, body }) => {
      const at = new Violations();
      const message = (body === undefined ? undefined : readBody(body, at)) ?? create(input);
      if (!route.hasBody) readQuery(query, message, at);
      for (const [i, put] of pathFields.entries()) put(message, values[i] ?? "", at);
      at.throwIfAny();
      return message;
    },
  };
}

type PutPathValue = (message: Message, raw: string, at: Violations) => void;

/**
 * Sets a field from the path. The same field in body or query must agree, because one of the two values would be
 * ignored.
 */
function pathField(field: DescField): PutPathValue {
  const { get, set }: FieldAccess = accessTo(field);
  // Variables are scalars, which all have a text form.
  const leaf = textLeafOf(field) as Leaf;
  return (message, raw, at) => {
    const text = decodeSegment(raw);
    const value = text === undefined ? undefined : leaf.read(text);
    const other = get(message);
    if (text === undefined) at.add("must be percent-encoded UTF-8 in the path", field.jsonName);
    else if (value === undefined) at.add(leaf.expectation, field.jsonName);
    else if (other !== undefined && other !== value) at.add("differs from its value in the path", field.jsonName);
    else set(message, value);
  };
}
