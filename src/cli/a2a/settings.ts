import type { JsonObject } from "@bufbuild/protobuf";
import type { Binding } from "../../client/discovery/interfaces.js";
import { olderVersions } from "../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../version/current.js";
import { parseVersion } from "../../wire/service-params.js";
import { flagOf } from "../flag-of.js";
import { binding, boolean, duration, interval, jsonObject, oneOf, parameter, secret, shownDuration } from "./kinds.js";

const outputForms = ["text", "json", "jsonl"] as const;

/** Form of the output. `jsonl` is JSON with one object in each line. */
export type OutputForm = (typeof outputForms)[number];

export interface Values {
  readonly agentCard: string | undefined;
  readonly endpoint: string | undefined;
  readonly transport: readonly Binding[];
  readonly tenant: string | undefined;
  readonly a2aVersion: string | undefined;
  readonly output: OutputForm;
  readonly stream: boolean;
  readonly async: boolean;
  readonly wait: boolean | undefined;
  /** In milliseconds. */
  readonly pollInterval: number;
  /** In milliseconds; 0 for none. */
  readonly timeout: number;
  readonly taskId: string | undefined;
  readonly contextId: string | undefined;
  readonly metadata: JsonObject | undefined;
  readonly svcParam: readonly (readonly [name: string, value: string])[];
  readonly bearer: string | undefined;
  readonly apiKey: string | undefined;
  readonly auth: string | undefined;
  /** Paths of PEM files. */
  readonly cert: string | undefined;
  readonly certKey: string | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly config: string | undefined;
  readonly verbose: boolean;
  readonly debug: boolean;
}

export type SettingName = keyof Values;

/** One global option of the commands that call agents. */
export interface Setting<T> {
  /** Its flag, such as `--agent-card`, which is made of its name. */
  readonly flag: string;
  readonly short?: string;
  /** Flags with the same meaning. They have no variable. */
  readonly aliases?: readonly string[];
  /** Placeholder of the value in the help; undefined for a boolean. */
  readonly placeholder?: string;
  /** Separator of the values in a variable, if the flag may be repeated. */
  readonly separator?: string;
  /** Reads the values in their order: one, unless the flag may be repeated. @throws Error with the end of a sentence */
  readonly read: (texts: readonly string[]) => T;
  readonly otherwise: T;
  /** The default, as the help shows it. */
  readonly shown?: string;
  /** Shows a value as users write it. */
  readonly show?: (value: T) => string;
  readonly help: string;
  /** Values that completion offers. */
  readonly values?: readonly string[];
  /** True if the value must not be shown. */
  readonly isSecret?: boolean;
  /** True if neither a variable nor a file sets it. */
  readonly isFlagOnly?: boolean;
}

const last =
  <T>(read: (text: string) => T) =>
  (texts: readonly string[]): T =>
    read(texts.at(-1) ?? "");

const text = last((value) => {
  if (value === "") throw new Error("is empty");
  return value;
});

const optionalText = { read: text, otherwise: undefined };
const switched = { read: last(boolean), otherwise: false };
const credential = { read: last(secret), otherwise: undefined, isSecret: true };
const credentialNote = "visible in the process list and shell history, unlike the variable";

const versions: readonly string[] = [PROTOCOL_VERSION, ...olderVersions.map(({ name }) => name)];

const version = last((value) => {
  const named = value.trim().replace(/^v/i, "");
  const parsed = parseVersion(/^\d$/.test(named) ? `${named}.0` : named) ?? named;
  if (!versions.includes(parsed))
    throw new Error(`is not a version of A2A that is spoken here: ${versions.join(", ")}`);
  return parsed;
});

/** All settings without their flags, in the order of the help. */
const rows: { readonly [N in SettingName]: Omit<Setting<Values[N]>, "flag"> } = {
  agentCard: {
    short: "-a",
    placeholder: "<ref>",
    ...optionalText,
    help: "the agent: a name of the address book, a host, the URL of its card, or a file",
  },
  endpoint: {
    short: "-e",
    placeholder: "<url>",
    ...optionalText,
    help: "URL of an interface, called without reading a card; needs one --transport",
  },
  transport: {
    placeholder: "<binding>",
    separator: ",",
    read: (texts) => texts.map(binding),
    values: ["jsonrpc", "rest", "grpc", "connect"],
    otherwise: [],
    shown: "order of the card",
    help: "preferred transport: jsonrpc, rest, grpc or connect; several in order of preference",
  },
  tenant: {
    placeholder: "<id>",
    ...optionalText,
    shown: "that of the interface",
    help: "only interfaces of this tenant; with --endpoint the tenant to name",
  },
  a2aVersion: {
    placeholder: "<version>",
    read: version,
    values: versions,
    otherwise: undefined,
    shown: "newest of the card from 1.0",
    help: `version of the protocol: ${versions.join(", ")}`,
  },
  output: {
    short: "-o",
    placeholder: "<form>",
    read: last(oneOf(...outputForms)),
    values: outputForms,
    otherwise: "text",
    help: "text, json (one document) or jsonl (an object in each line)",
  },
  stream: {
    ...switched,
    isFlagOnly: true,
    help: "print events as they come; with json, one in each line",
  },
  async: {
    aliases: ["--return-immediately", "--no-wait"],
    ...switched,
    help: "do not wait: print the ids of the task at once",
  },
  wait: {
    aliases: ["--watch"],
    ...switched,
    otherwise: undefined,
    shown: "on for send, off for task get",
    help: "wait until the task is finished or needs an answer",
  },
  pollInterval: {
    aliases: ["--polling-interval"],
    placeholder: "<duration>",
    read: last(interval),
    otherwise: 2_000,
    show: shownDuration,
    help: "delay between polls and between attempts to reconnect",
  },
  timeout: {
    placeholder: "<duration>",
    read: last(duration),
    otherwise: 300_000,
    show: shownDuration,
    help: "limit of a wait, or of the silence of a stream; 0 for none",
  },
  taskId: {
    placeholder: "<id>",
    ...optionalText,
    help: "send: continue this task",
  },
  contextId: {
    placeholder: "<id>",
    ...optionalText,
    help: "send: begin a task in this context; task list: only its tasks",
  },
  metadata: {
    placeholder: "<json>",
    separator: "",
    read: (texts) => Object.assign({}, ...texts.map(jsonObject)),
    otherwise: undefined,
    help: "metadata of the request, as a JSON object; several are merged",
  },
  svcParam: {
    placeholder: "<name:value>",
    separator: "\n",
    read: (texts) => texts.map(parameter),
    otherwise: [],
    isSecret: true,
    help: "service parameter: an HTTP header or gRPC metadata; may be repeated",
  },
  bearer: {
    placeholder: "<token>",
    ...credential,
    help: `bearer token; ${credentialNote}`,
  },
  apiKey: {
    placeholder: "<key>",
    ...credential,
    help: `API key, sent where the card says; ${credentialNote}`,
  },
  auth: {
    placeholder: "<scheme credentials>",
    ...credential,
    help: `value of the Authorization header; ${credentialNote}`,
  },
  cert: {
    placeholder: "<file>",
    ...optionalText,
    help: "certificate of the client in PEM, for agents that require mutual TLS",
  },
  certKey: {
    placeholder: "<file>",
    ...optionalText,
    help: "private key of --cert in PEM",
  },
  ca: {
    placeholder: "<file>",
    ...optionalText,
    shown: "those of Node.js",
    help: "certificate authorities to trust, in PEM",
  },
  insecure: { ...switched, help: "do not verify certificates (dangerous)" },
  config: {
    placeholder: "<file>",
    ...optionalText,
    shown: "the nearest .env",
    isFlagOnly: true,
    help: "file of settings to read instead of the nearest .env",
  },
  verbose: {
    short: "-v",
    ...switched,
    help: "text: also show history, metadata and the message that is sent",
  },
  debug: {
    ...switched,
    help: "print requests and answers on stderr, without credentials",
  },
};

/** All settings, in the order of the help. */
export const settings: { readonly [N in SettingName]: Setting<Values[N]> } = Object.fromEntries(
  Object.entries(rows).map(([name, row]) => [name, { flag: flagOf(name), ...row }]),
) as never;

export const settingRows: readonly (readonly [SettingName, Setting<unknown>])[] = Object.entries(settings) as [
  SettingName,
  Setting<unknown>,
][];

/** Returns the variable of a setting, also its name in files; undefined if only the flag sets it. */
export function variableOf({ flag, isFlagOnly }: Setting<unknown>): string | undefined {
  return isFlagOnly === true ? undefined : `A2ACLI_${flag.slice(2).toUpperCase().replaceAll("-", "_")}`;
}

/** Returns a value as text; empty for none. */
export function shownValue({ show }: Setting<unknown>, value: unknown): string {
  if (value === undefined) return "";
  if (show !== undefined) return show(value);
  if (Array.isArray(value)) return value.join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Variables with the same prefix that are not settings: they belong to single commands. */
export const otherVariables: readonly string[] = [
  "A2ACLI_CLIENT_ID",
  "A2ACLI_CLIENT_SECRET",
  "A2ACLI_AUTH_CREDENTIALS",
];
