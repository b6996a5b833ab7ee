import { fromBinary } from "@bufbuild/protobuf";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { Binding } from "../../client/discovery/interfaces.js";
import { fromBase64 } from "../../core/bytes.js";
import { A2A_DOMAIN } from "../../core/error.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { EMPTY_VERSION, VERSION_PARAMETER } from "../../wire/service-params.js";
import {
  type Check,
  excerpt,
  type Finding,
  ofBegunTask,
  type Probe,
  request,
  unknownId,
  unknownTask,
} from "../check.js";
import { type Change, type WireExchange, withoutHeaders } from "../wire.js";

type Json = Readonly<Record<string, unknown>>;

/** Returns the change that replaces a JSON-RPC request. @param changed members of the request object */
const rpc =
  (changed: Json): Change =>
  (ask) => ({
    ...ask,
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "GetTask", params: { id: "x" }, ...changed }),
  });

const jsonIn = ({ body }: WireExchange): Json => {
  const json = parsedJson(body);
  return isJsonObject(json) ? json : {};
};

/** Returns the fault of a JSON-RPC answer that should have an error. */
function wrongCode(exchange: WireExchange, wanted: number): Finding {
  const { error } = jsonIn(exchange);
  if (!isJsonObject(error)) return { fault: `expected an error ${wanted}, got ${shownAnswer(exchange)}` };
  return error.code === wanted ? undefined : { fault: `expected the code ${wanted}, got ${String(error.code)}` };
}

const shownAnswer = ({ status, mediaType, body }: WireExchange): string =>
  `HTTP ${status}, ${mediaType === "" ? "no media type" : mediaType}, ${excerpt(JSON.stringify(body))}`;

async function wrongMediaType(probe: Probe, wanted: RegExp): Promise<Finding> {
  const { mediaType } = await unknownTask(probe);
  return wanted.test(mediaType) ? undefined : { fault: `it is ${mediaType || "missing"}` };
}

/**
 * Returns the fault of an error's details, which name the error (specification 9.5, 11.6).
 *
 * @param member the member of the error that has them
 */
async function wrongDetails(probe: Probe, member: "data" | "details"): Promise<Finding> {
  const { error } = jsonIn(await unknownTask(probe));
  if (!isJsonObject(error)) return { fault: "error is missing" };
  const details = error[member];
  if (!Array.isArray(details)) return { fault: "details are missing" };
  const untyped = details.find((each) => !isJsonObject(each) || typeof each["@type"] !== "string");
  if (untyped !== undefined) return { fault: "a detail has no @type" };
  const info = (details as readonly Json[]).find((each) => String(each["@type"]).endsWith(ErrorInfoSchema.typeName));
  if (info === undefined) return { fault: "google.rpc.ErrorInfo is missing" };
  return wrongInfo(info);
}

function wrongInfo({ reason, domain }: { reason?: unknown; domain?: unknown }): Finding {
  if (reason !== "TASK_NOT_FOUND") {
    return { fault: `the reason is ${JSON.stringify(reason)}, expected "TASK_NOT_FOUND"` };
  }
  return domain === A2A_DOMAIN ? undefined : { fault: `the domain is ${JSON.stringify(domain)}` };
}

/** Checks of JSON-RPC (specification 9). */
const rpcChecks: readonly Check[] = [
  {
    name: "media-type",
    section: "9.1",
    requirement: "answers have the media type application/json",
    mend: "set Content-Type: application/json",
    run: (probe) => wrongMediaType(probe, /^application\/json$/),
  },
  {
    name: "error-data",
    isAdvice: true,
    section: "9.5",
    requirement: "errors have a google.rpc.ErrorInfo in their data",
    mend: "add { @type, reason, domain } to error.data, by which callers tell errors apart",
    run: (probe) => wrongDetails(probe, "data"),
  },
  {
    name: "request-id",
    section: "9.3",
    requirement: "an answer has the id of its request, of the same type, and jsonrpc: 2.0",
    mend: "copy the id of the request into the answer unchanged, a string as a string",
    run: async (probe) => {
      const { id, jsonrpc } = jsonIn(await unknownTask(probe, rpc({ id: "seven" })));
      if (jsonrpc !== "2.0") return { fault: `jsonrpc is ${JSON.stringify(jsonrpc)}` };
      return id === "seven" ? undefined : { fault: `the id "seven" comes back as ${JSON.stringify(id)}` };
    },
  },
  {
    name: "parse-error",
    section: "9.5",
    requirement: "a body that is not JSON fails with -32700",
    mend: "answer unreadable JSON as JSON-RPC does, not with an error of the web framework",
    run: async (probe) => wrongCode(await unknownTask(probe, (ask) => ({ ...ask, body: "{" })), -32700),
  },
  {
    name: "no-request",
    section: "9.5",
    requirement: "JSON that is not a request object fails with -32600",
    mend: "check jsonrpc and method before the params",
    run: async (probe) => wrongCode(await unknownTask(probe, (ask) => ({ ...ask, body: '{"foo":1}' })), -32600),
  },
  {
    name: "unknown-method",
    section: "9.5",
    requirement: "an unknown method fails with -32601",
    mend: "answer methods that do not exist with MethodNotFoundError",
    run: async (probe) => wrongCode(await unknownTask(probe, rpc({ method: "NoSuchMethod" })), -32601),
  },
  {
    name: "wrong-params",
    section: "9.5",
    requirement: "params of a wrong type fail with -32602",
    mend: "check the params against the proto, and answer with InvalidParamsError",
    run: async (probe) => wrongCode(await unknownTask(probe, rpc({ params: { id: { wrong: true } } })), -32602),
  },
  {
    name: "unknown-member",
    isAdvice: true,
    section: "5.7",
    requirement: "members that are not known are ignored",
    mend: "ignore unknown members, which clients of later versions send",
    run: async (probe) => wrongCode(await unknownTask(probe, rpc({ params: { id: unknownId(), later: 1 } })), -32001),
  },
];

/** Checks of HTTP+JSON (specification 11). */
const restChecks: readonly Check[] = [
  {
    name: "media-type",
    section: "11.1",
    requirement: "answers are JSON",
    mend: "set Content-Type: application/a2a+json",
    run: (probe) => wrongMediaType(probe, /^application\/(?:a2a\+)?json$/),
  },
  {
    name: "error-status",
    section: "5.4",
    requirement: "TaskNotFoundError has the HTTP status 404, which error.code repeats",
    mend: "map errors to the HTTP status of the table, in the answer and in error.code",
    run: async (probe) => {
      const exchange = await unknownTask(probe);
      if (exchange.status !== 404) return { fault: `the status is ${exchange.status}` };
      const { error } = jsonIn(exchange);
      if (!isJsonObject(error)) return { fault: `error is missing in ${shownAnswer(exchange)}` };
      return error.code === 404 ? undefined : { fault: `error.code is ${JSON.stringify(error.code)}` };
    },
  },
  {
    name: "error-details",
    section: "11.6",
    requirement: "errors have a google.rpc.ErrorInfo in their details",
    mend: "add { @type, reason, domain } to error.details: several errors share one status",
    run: (probe) => wrongDetails(probe, "details"),
  },
  {
    name: "parse-error",
    section: "5.4",
    requirement: "a body that is not JSON fails with the HTTP status 400",
    mend: "answer unreadable JSON with 400",
    run: async (probe) => {
      const { client, wire, signal } = probe;
      const call = () => client.sendMessage(request(probe), { signal });
      const { status } = await wire.exchange(call, (ask) => ({ ...ask, body: "{" }));
      return status === 400 ? undefined : { fault: `the status is ${status}` };
    },
  },
  {
    name: "unknown-path",
    section: "11.3",
    requirement: "a path that does not exist is refused",
    mend: "answer 404 for paths that are not operations",
    run: async (probe) => {
      const { status } = await unknownTask(probe, (ask) => ({
        ...ask,
        url: ask.url.replace(/\/tasks\/[^/?]*/, "/no-such-operation"),
      }));
      return status < 300 ? { fault: `the status is ${status}` } : undefined;
    },
  },
];

/** Checks of gRPC (specification 10). */
const grpcChecks: readonly Check[] = [
  {
    name: "error-status",
    section: "5.4",
    requirement: "TaskNotFoundError has the status NOT_FOUND",
    mend: "map errors to the status of the table",
    run: async (probe) => {
      const status = (await unknownTask(probe)).trailer("grpc-status");
      return status === "5" ? undefined : { fault: `grpc-status is ${status ?? "missing"}, expected 5` };
    },
  },
  {
    name: "error-details",
    section: "10.6",
    requirement: "errors have a google.rpc.ErrorInfo in their details",
    mend: "send grpc-status-details-bin with reason and domain: several errors share one status",
    run: async (probe) => {
      const packed = (await unknownTask(probe)).trailer("grpc-status-details-bin");
      if (packed === undefined) return { fault: "details are missing" };
      const { details } = fromBinary(StatusSchema, fromBase64(packed));
      const info = details.find(({ typeUrl }) => typeUrl.endsWith(ErrorInfoSchema.typeName));
      if (info === undefined) return { fault: "google.rpc.ErrorInfo is missing" };
      return wrongInfo(fromBinary(ErrorInfoSchema, info.value));
    },
  },
  {
    name: "unknown-method",
    section: "5.4",
    requirement: "an unknown method fails with UNIMPLEMENTED",
    mend: "let the gRPC library answer methods that do not exist",
    run: async (probe) => {
      const exchange = await unknownTask(probe, (ask) => ({
        ...ask,
        url: ask.url.replace("/GetTask", "/NoSuchMethod"),
      }));
      const status = exchange.trailer("grpc-status");
      return status === "12" ? undefined : { fault: `grpc-status is ${status ?? "missing"}, expected 12` };
    },
  },
];

const of = (bindings: readonly Binding[], checks: readonly Check[]): readonly Check[] =>
  checks.map((each) => ({ ...each, bindings, isNew: true }));

/** Checks of the form of answers in JSON. */
const jsonChecks: readonly Check[] = [
  {
    name: "no-version",
    isAdvice: true,
    section: "3.6.2",
    requirement: `a call without A2A-Version is one of version ${EMPTY_VERSION}`,
    mend: `treat a missing A2A-Version as ${EMPTY_VERSION}, and refuse it with VersionNotSupportedError if that is not served`,
    run: async (probe) => {
      // Calls of both versions have names of their own at an interface that speaks them.
      if (probe.card.supportedInterfaces.some((each) => each.protocolVersion === EMPTY_VERSION))
        return { skipped: `the agent speaks A2A ${EMPTY_VERSION} as well` };
      const { body } = await unknownTask(probe, (ask) => withoutHeaders(ask, VERSION_PARAMETER));
      return body.includes("TASK_NOT_FOUND") ? { fault: "it is answered as one of 1.0" } : undefined;
    },
  },
  {
    name: "names",
    section: "5.5",
    requirement: "members have names in camelCase, states their names in the proto, and times are in UTC",
    mend: "write answers as ProtoJSON does: contextId, TASK_STATE_COMPLETED, 2026-01-31T12:00:00.000Z",
    run: ofBegunTask(async (task, { client, wire, signal }) => {
      const exchange = await wire.exchange(() => client.getTask({ id: task.id }, { signal }));
      return wrongForm(parsedJson(exchange.body));
    }),
  },
];

/** Returns the first member of a task that does not follow ProtoJSON. Skips metadata and data parts. */
function wrongForm(json: unknown, path = ""): Finding {
  if (Array.isArray(json))
    return firstWrong(
      json.map((each, at) => [String(at), each] as const),
      path,
    );
  if (!isJsonObject(json)) return undefined;
  const own = Object.entries(json).filter(([name]) => name !== "metadata" && name !== "data");
  const snake = own.find(([name]) => /^[a-z]+_[a-z_]+$/.test(name));
  if (snake !== undefined) return { fault: `${path}/${snake[0]} is not in camelCase` };
  const { state, timestamp, role } = json;
  if (typeof state === "string" && !state.startsWith("TASK_STATE_"))
    return { fault: `${path}/state is ${excerpt(state)}` };
  if (typeof role === "string" && !role.startsWith("ROLE_")) return { fault: `${path}/role is ${excerpt(role)}` };
  if (typeof timestamp === "string" && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/.test(timestamp))
    return { fault: `${path}/timestamp is ${excerpt(timestamp)}` };
  return firstWrong(own, path);
}

function firstWrong(members: readonly (readonly [string, unknown])[], path: string): Finding {
  for (const [name, value] of members) {
    const wrong = wrongForm(value, `${path}/${name}`);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

export const wireChecks: readonly Check[] = [
  ...of(["JSONRPC"], rpcChecks),
  ...of(["HTTP+JSON"], restChecks),
  ...of(["GRPC"], grpcChecks),
  ...of(["JSONRPC", "HTTP+JSON"], jsonChecks),
];
