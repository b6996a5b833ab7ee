import type { JsonObject } from "@bufbuild/protobuf";
import type { Binding } from "../../client/discovery/interfaces.js";
import { olderVersions } from "../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../version/protocol-version.js";
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

type Row<T> = Omit<Setting<T>, "flag">;
type More<T> = Partial<Pick<Row<T>, "short" | "aliases" | "shown" | "isFlagOnly">>;

const optional = (placeholder: string, help: string, more?: More<string | undefined>): Row<string | undefined> => ({
  placeholder,
  read: text,
  otherwise: undefined,
  help,
  ...more,
});

const credential = (placeholder: string, help: string): Row<string | undefined> => ({
  placeholder,
  read: last(secret),
  otherwise: undefined,
  help: `${help}; visible in the process list and shell history, unlike the variable`,
  isSecret: true,
});

const switched = (help: string, more?: More<boolean>): Row<boolean> => ({
  read: last(boolean),
  otherwise: false,
  help,
  ...more,
});

const versions: readonly string[] = [PROTOCOL_VERSION, ...olderVersions.map(({ name }) => name)];

const version = last((value) => {
  const named = value.trim().replace(/^v/i, "");
  const parsed = parseVersion(/^\d$/.test(named) ? `${named}.0` : named) ?? named;
  if (!versions.includes(parsed)) throw new Error(`is not a supported version of A2A (${versions.join(", ")})`);
  return parsed;
});

/** All settings without their flags, in the order of the help. */
const rows: { readonly [N in SettingName]: Row<Values[N]> } = {
  agentCard: optional("<ref>", "the agent: a name of the address book, a host, the URL of its card, or a file", {
    short: "-a",
  }),
  endpoint: optional("<url>", "URL of an interface, called without reading a card; needs one --transport", {
    short: "-e",
  }),
  transport: {
    placeholder: "<binding>",
    separator: ",",
    read: (texts) => texts.map(binding),
    values: ["jsonrpc", "rest", "grpc", "connect"],
    otherwise: [],
    shown: "order of the card",
    help: "preferred transport: jsonrpc, rest, grpc or connect; several in order of preference",
  },
  tenant: optional("<id>", "only interfaces of this tenant; with --endpoint the tenant to name", {
    shown: "that of the interface",
  }),
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
  stream: switched("print events as they come; with json, one in each line", { isFlagOnly: true }),
  async: switched("do not wait: print the ids of the task at once", { aliases: ["--return-immediately", "--no-wait"] }),
  wait: {
    aliases: ["--watch"],
    read: last(boolean),
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
  taskId: optional("<id>", "send: continue this task"),
  contextId: optional("<id>", "send: begin a task in this context; task list: only its tasks"),
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
  bearer: credential("<token>", "bearer token"),
  apiKey: credential("<key>", "API key, sent where the card says"),
  auth: credential("<scheme credentials>", "value of the Authorization header"),
  cert: optional("<file>", "certificate of the client in PEM, for agents that require mutual TLS"),
  certKey: optional("<file>", "private key of --cert in PEM"),
  ca: optional("<file>", "certificate authorities to trust, in PEM", { shown: "those of Node.js" }),
  insecure: switched("do not verify certificates (dangerous)"),
  config: optional("<file>", "file of settings to read instead of the nearest .env", {
    shown: "the nearest .env",
    isFlagOnly: true,
  }),
  verbose: switched("text: also show history, metadata and the message that is sent", { short: "-v" }),
  debug: switched("print requests and answers on stderr, without credentials"),
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
