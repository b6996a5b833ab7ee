import { Ajv, type ValidateFunction } from "ajv";

/**
 * The types of the first Python library of 0.1, as far as they decide whether it can read an answer. It drops members
 * that it does not know, treats null as absent, and fails on everything else.
 */

type Schema = Record<string, unknown>;

const text = { type: "string" };
const flag = { type: "boolean" };
const any = {};
const texts = { type: "array", items: text };
const object = (required: Schema, optional: Schema = {}): Schema => ({
  type: "object",
  properties: {
    ...required,
    ...Object.fromEntries(Object.entries(optional).map(([name, type]) => [name, orNull(type)])),
  },
  required: Object.keys(required),
});
const orNull = (type: unknown): Schema => ({ anyOf: [type, { type: "null" }] });
const list = (items: Schema): Schema => ({ type: "array", items });

const content = { type: "string", minLength: 1 };
const file = {
  ...object({}, { name: text, mimeType: text, bytes: text, uri: text }),
  oneOf: [
    { properties: { bytes: content }, required: ["bytes"] },
    { properties: { uri: content }, required: ["uri"] },
  ],
};
const about = { name: text, metadata: { type: "object" } };
const part = {
  oneOf: [
    object({ type: { const: "text" }, text }, about),
    object({ type: { const: "file" }, file }, about),
    object({ type: { const: "data" }, data: { type: "object" } }, about),
  ],
};
const message = object({ role: { enum: ["user", "agent"] }, parts: list(part) }, { metadata: { type: "object" } });
const states = ["submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"];
const status = object(
  { state: { enum: states } },
  { message, timestamp: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\dT" } },
);
const artifact = object(
  { parts: list(part) },
  {
    name: text,
    description: text,
    metadata: { type: "object" },
    index: { type: "integer" },
    append: flag,
    lastChunk: flag,
  },
);
const task = object(
  { id: text, status },
  { sessionId: text, artifacts: list(artifact), history: list(message), metadata: { type: "object" } },
);
const update = {
  anyOf: [
    object({ id: text, status }, { final: flag, metadata: any }),
    object({ id: text, artifact }, { metadata: any }),
  ],
};
const config = object(
  { url: text },
  { token: text, authentication: object({ schemes: texts }, { credentials: text }) },
);
const skill = object(
  { id: text, name: text },
  { description: text, tags: texts, examples: texts, inputModes: texts, outputModes: texts },
);
const card = object(
  {
    ...{ name: text, url: text, version: text, skills: list(skill) },
    capabilities: object({}, { streaming: flag, pushNotifications: flag, stateTransitionHistory: flag }),
  },
  {
    description: text,
    provider: object({ organization: text }, { url: text }),
    documentationUrl: text,
    authentication: object({ schemes: texts }, { credentials: text }),
    defaultInputModes: texts,
    defaultOutputModes: texts,
  },
);

const ajv = new Ajv({ allErrors: true, strict: false });
const types = {
  card: ajv.compile(card),
  task: ajv.compile(task),
  update: ajv.compile(update),
  config: ajv.compile(object({ id: text, pushNotificationConfig: config })),
};

/** Throws an error with the reason if the first Python library could not read a value. */
export function readAs<T>(type: keyof typeof types, value: T): T {
  const validate: ValidateFunction = types[type];
  if (!validate(value)) throw new Error(`no ${type}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
  return value;
}
