import type { JsonObject } from "@bufbuild/protobuf";
import type { BindingName } from "../../support/driver.js";
import { differences, like, Matcher, type Pattern, present } from "../../support/match.js";
import type { RawCase, RawStep } from "./raw-case.js";

/** A request whose message is given as JSON text, valid or not. */
interface Body {
  readonly name: string;
  readonly ids: readonly string[];
  /** The request of SendMessage. */
  readonly body: string | JsonObject;
  /** The invalid fields. Omitted for a valid request. */
  readonly fields?: readonly string[];
  /** The result of a valid request. */
  readonly result?: Pattern;
}

const base = { messageId: "m", role: "ROLE_USER", parts: [{ text: "turn" }] };

/** The data that the agent received, in its artifact. */
const told = (data: Pattern): Pattern => ({ task: { artifacts: [{ parts: [{ data }] }] } });

const right: readonly Body[] = [
  {
    name: "names of the proto are read as well",
    ids: ["SRV-JSON-02"],
    body: {
      message: {
        message_id: "m",
        context_id: "{run}",
        role: "ROLE_USER",
        parts: [{ text: "turn", media_type: "text/plain" }],
      },
      configuration: { accepted_output_modes: ["text/plain"] },
    },
    result: told({ messageId: "m", contextId: "{run}", outputModes: ["text/plain"] }),
  },
  {
    name: "numbers of an enum are read as well",
    ids: ["SRV-JSON-04"],
    body: { message: { ...base, role: 1 } },
    result: { task: { history: [{ role: "ROLE_USER" }] } },
  },
  {
    name: "members that are not known are ignored, at every depth",
    ids: ["SRV-GEN-13", "SRV-JSON-10"],
    body: {
      kind: "message",
      message: { ...base, kind: "message", parts: [{ kind: "text", text: "turn", other: {} }] },
      configuration: { blocking: true },
      extra: [1],
    },
    result: told({ messageId: "m" }),
  },
  {
    name: "null stands for what is absent",
    ids: ["SRV-JSON-07"],
    body: {
      tenant: null,
      message: { ...base, contextId: null, metadata: null, extensions: null },
      configuration: null,
    },
    result: told({ messageId: "m" }),
  },
  {
    name: "null is a value of data",
    ids: ["SRV-JSON-07"],
    body: { message: { ...base, parts: [{ text: "turn" }, { data: null }] } },
    result: told({ data: [null] }),
  },
  {
    name: "whole numbers are read in every way they are written",
    ids: ["SRV-JSON-05"],
    body: '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"turn"}]},"configuration":{"historyLength":"1"}}',
    result: { task: { history: [present] } },
  },
  {
    name: "a whole number may have an exponent or a fraction of zero",
    ids: ["SRV-JSON-05"],
    body: '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"turn"}]},"configuration":{"historyLength":1.0e0}}',
    result: { task: { history: [present] } },
  },
  ...["++//AA==", "++//AA", "--__AA==", "--__AA"].map(
    (raw): Body => ({
      name: `bytes are read from ${raw}`,
      ids: ["SRV-JSON-06"],
      body: { message: { ...base, parts: [{ text: "turn" }, { raw }] } },
      result: { task: { history: [{ parts: [present, { raw: "++//AA==" }] }] } },
    }),
  ),
  {
    name: "metadata is any JSON object",
    ids: ["SRV-JSON-09", "SRV-JSON-13"],
    body: '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"turn"}]},"metadata":{"a":[1,-0.5,1e21,"x",null,true,{}],"":{"deep":[[]]},"__proto__":{"x":1}}}',
    result: told({ metadata: { a: [1, -0.5, 1e21, "x", null, true, {}], "": { deep: [[]] } } }),
  },
];

const wrong: readonly Body[] = [
  {
    name: "an unknown name of an enum",
    ids: ["SRV-JSON-04"],
    body: { message: { ...base, role: "user" } },
    fields: ["message.role"],
  },
  {
    name: "both members of a one-of",
    ids: ["SRV-JSON-08", "SRV-SEND-21"],
    body: { message: { ...base, parts: [{ text: "a", url: "https://b.example" }] } },
    fields: ["message.parts[0].url"],
  },
  {
    name: "a fraction for a whole number",
    ids: ["SRV-JSON-05"],
    body: { message: base, configuration: { historyLength: 1.5 } },
    fields: ["configuration.historyLength"],
  },
  {
    name: "a number that is too large",
    ids: ["SRV-JSON-05"],
    body: { message: base, configuration: { historyLength: 2147483648 } },
    fields: ["configuration.historyLength"],
  },
  {
    name: "bytes that are no base64",
    ids: ["SRV-JSON-06"],
    body: { message: { ...base, parts: [{ raw: "not base64!" }] } },
    fields: ["message.parts[0].raw"],
  },
  { name: "a text for an object", ids: ["SRV-SEC-06"], body: { message: "hello" }, fields: ["message"] },
  {
    name: "an object for a list",
    ids: ["SRV-SEC-06"],
    body: { message: { ...base, parts: { text: "a" } } },
    fields: ["message.parts"],
  },
  {
    name: "a number for a text",
    ids: ["SRV-SEC-06"],
    body: { message: { ...base, messageId: 5 } },
    fields: ["message.messageId"],
  },
  {
    name: "a text for a truth",
    ids: ["SRV-SEC-06"],
    body: { message: base, configuration: { returnImmediately: "true" } },
    fields: ["configuration.returnImmediately"],
  },
  {
    name: "a list for metadata",
    ids: ["SRV-JSON-13"],
    body: { message: { ...base, metadata: [1] } },
    fields: ["message.metadata"],
  },
  {
    name: "nothing in a list",
    ids: ["SRV-JSON-07"],
    body: { message: { ...base, parts: [null] } },
    fields: ["message.parts[0]"],
  },
  {
    name: "half of a character",
    ids: ["SRV-JSON-14"],
    body: '{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a\\ud800"}]}}',
    fields: ["message.parts[0].text"],
  },
  {
    name: "everything that cannot be read, at once",
    ids: ["SRV-ERR-10"],
    body: {
      message: { messageId: 5, role: "user", parts: [{ text: 1 }, { raw: "!" }] },
      configuration: { historyLength: "x" },
    },
    fields: [
      "message.messageId",
      "message.role",
      "message.parts[0].text",
      "message.parts[1].raw",
      "configuration.historyLength",
    ],
  },
  {
    name: "a message of version 0.3",
    ids: ["SRV-COMP-01"],
    body: { message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] } },
    fields: ["message.role"],
  },
];

/** BadRequest with these fields, in any order. */
function badRequest(fields: readonly string[]): Matcher {
  return new Matcher((value, path, saved) => {
    const violations = differences(value, { fieldViolations: present }, saved, path);
    if (violations.length > 0) return violations;
    const found = (value as { fieldViolations: { field: string }[] }).fieldViolations.map(({ field }) => field).sort();
    return JSON.stringify(found) === JSON.stringify([...fields].sort())
      ? []
      : [`${path} names the fields ${found.join(", ")}`];
  });
}

/** Requests and answers of each binding that carries JSON. */
const carriers = {
  jsonrpc: (body: string, { result, fields }: Body): RawStep => ({
    send: "POST /",
    headers: { "Content-Type": "application/json" },
    body: `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${body}}`,
    status: 200,
    json:
      fields === undefined
        ? { result: result ?? present }
        : { error: { code: -32602, data: [present, badRequest(fields)] } },
  }),
  rest: (body: string, { result, fields }: Body): RawStep => ({
    send: "POST /message:send",
    headers: { "Content-Type": "application/a2a+json" },
    body,
    status: fields === undefined ? 200 : 400,
    json:
      fields === undefined
        ? (result ?? present)
        : { error: { status: "INVALID_ARGUMENT", details: [present, badRequest(fields)] } },
  }),
  connect: (body: string, { result, fields }: Body): RawStep => ({
    send: "POST /lf.a2a.v1.A2AService/SendMessage",
    headers: { "Content-Type": "application/json" },
    body,
    status: fields === undefined ? 200 : 400,
    json:
      fields === undefined
        ? (result ?? present)
        : {
            code: "invalid_argument",
            message: all(fields),
            details: [{ type: "google.rpc.ErrorInfo" }, { type: "google.rpc.BadRequest", value: present }],
          },
  }),
} satisfies Partial<Record<BindingName, (body: string, one: Body) => RawStep>>;

/** Matches a text that names all fields. Connect's details are bytes, so its message is checked. */
function all(fields: readonly string[]): Pattern {
  return like(new RegExp(fields.map((field) => `(?=[\\s\\S]*${field.replace(/[.[\]]/g, "\\$&")})`).join("")));
}

function casesOf(carry: (body: string, one: Body) => RawStep): RawCase[] {
  return [...right, ...wrong].map((one) => ({
    name: one.fields === undefined ? one.name : `${one.name} is refused`,
    ids: one.ids,
    steps: [carry(typeof one.body === "string" ? one.body : JSON.stringify(one.body), one)],
  }));
}

/** Valid and invalid requests as JSON, over every binding that carries JSON. */
export const jsonBodyCases: Readonly<Record<string, readonly RawCase[]>> = Object.fromEntries(
  Object.entries(carriers).map(([binding, carry]) => [binding, casesOf(carry)]),
);
