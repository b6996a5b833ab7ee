import { readFileSync } from "node:fs";
import { defined } from "../core/defined.js";
import { messageIn } from "../core/members.js";
import type { PushEventKind, PushOptions, PushSigningOptions, TargetTls } from "../push/options.js";
import { readKeyFile } from "./card-key-files.js";
import type { CommandOptions } from "./command-options.js";
import { UsageError } from "./usage-error.js";

type Given = Partial<CommandOptions>;
type Warn = (sentence: string) => void;

/**
 * Push options of the module, with those of the command line taking precedence.
 *
 * @param push value of the module, of `--push` or of its variable.
 * @throws UsageError for unreadable files, and for push flags on a server that sends none.
 */
export function pushOf(
  push: boolean | PushOptions | undefined,
  given: Given,
  warn: Warn,
): boolean | PushOptions | undefined {
  const flags = Object.keys(given).filter((name) => /^push[A-Z]/.test(name) && given[name as keyof Given] !== false);
  if (push === undefined || push === false) {
    if (flags.length > 0) throw new UsageError(`${flagOf(defined(flags[0]))} needs --push`);
    return push;
  }
  if (flags.length === 0 && given.pushAllowHttp === undefined) return push;
  const module = push === true ? {} : push;
  const { pushAllowHttp: allowHttp, pushAllow: allow, pushDeny: deny } = given;
  return {
    ...module,
    ...(allowHttp !== undefined && { allowHttp }),
    ...(given.pushPorts !== undefined && { ports: given.pushPorts.map(portOf) }),
    ...(allow !== undefined && { allow }),
    ...(deny !== undefined && { deny }),
    // The server rejects unknown events and lists the known ones.
    ...(given.pushEvents !== undefined && { events: given.pushEvents as readonly PushEventKind[] }),
    ...(given.pushEncryptionKey !== undefined && {
      encryptionKeys: secretsOf("pushEncryptionKey", given.pushEncryptionKey, warn),
    }),
    ...signingOf(module, given, warn),
    ...tlsOf(module, given, warn),
  };
}

function signingOf(module: PushOptions, given: Given, warn: Warn): { signing?: PushSigningOptions } {
  const { pushSigningKey: keys, pushWebhookSecret: secrets } = given;
  if (keys === undefined && secrets === undefined) return {};
  return {
    signing: {
      ...module.signing,
      ...(keys !== undefined && { keys: keys.map((path) => ({ key: readKeyFile(path, warn) })) }),
      ...(secrets !== undefined && { webhookSecrets: secretsOf("pushWebhookSecret", secrets, warn) }),
    },
  };
}

function tlsOf(module: PushOptions, given: Given, warn: Warn): { tls?: TargetTls } {
  const { pushTlsCa: ca, pushTlsCert: cert, pushTlsKey: key } = given;
  if (ca === undefined && cert === undefined && key === undefined) return {};
  return {
    tls: {
      ...module.tls,
      ...(ca !== undefined && { ca: readFileText(ca) }),
      ...(cert !== undefined && { cert: readFileText(cert) }),
      ...(key !== undefined && { key: readKeyFile(key, warn) }),
    },
  };
}

/** Reads secrets from files or, as `env:NAME`, from environment variables: other users can see a command line. */
function secretsOf(option: string, places: readonly string[], warn: Warn): string[] {
  return places.map((place) => {
    const variable = /^env:(.+)$/.exec(place)?.[1];
    if (variable === undefined) return readKeyFile(place, warn).trim();
    const secret = process.env[variable]?.trim();
    if (secret !== undefined && secret !== "") return secret;
    throw new UsageError(`the variable ${variable}, which ${flagOf(option)} names, is not set`);
  });
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new UsageError(`--push-ports: ${JSON.stringify(text)} is not a port`);
}

function readFileText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(`cannot read ${file}: ${messageIn(cause)}`, { cause });
  }
}

const flagOf = (option: string): string => `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
