import { readFileSync } from "node:fs";
import { attempt, defined } from "../core/members.js";
import { given } from "../core/options.js";
import type { PushEventKind, PushOptions, PushSigningOptions, TargetTls } from "../push/options.js";
import { readKeyFile } from "./card-key-files.js";
import { UsageError, usageErrorOf } from "./command-error.js";
import type { CommandOptions } from "./command-options.js";
import { flagOf } from "./flag-of.js";

type Options = Partial<CommandOptions>;
type Warn = (sentence: string) => void;

/**
 * Push options of the module, with those of the command line taking precedence.
 *
 * @param push value of the module, of `--push` or of its variable.
 * @throws UsageError for unreadable files, and for push flags on a server that sends none.
 */
export function pushOf(
  push: boolean | PushOptions | undefined,
  options: Options,
  warn: Warn,
): boolean | PushOptions | undefined {
  const flags = Object.keys(options).filter(
    (name) => /^push[A-Z]/.test(name) && options[name as keyof Options] !== false,
  );
  if (push === undefined || push === false) {
    if (flags.length > 0) throw new UsageError(`${flagOf(defined(flags[0]))} needs --push`);
    return push;
  }
  if (flags.length === 0 && options.pushAllowHttp === undefined) return push;
  const module = push === true ? {} : push;
  const { pushEncryptionKey: keys } = options;
  return {
    ...module,
    ...given({
      allowHttp: options.pushAllowHttp,
      ports: options.pushPorts?.map(portOf),
      allow: options.pushAllow,
      deny: options.pushDeny,
      // The server rejects unknown events and lists the known ones.
      events: options.pushEvents as readonly PushEventKind[] | undefined,
      encryptionKeys: keys && secretsOf("pushEncryptionKey", keys, warn),
      signing: signingOf(module, options, warn),
      tls: tlsOf(module, options, warn),
    }),
  };
}

function signingOf(module: PushOptions, options: Options, warn: Warn): PushSigningOptions | undefined {
  const { pushSigningKey: keys, pushWebhookSecret: secrets } = options;
  if (keys === undefined && secrets === undefined) return undefined;
  return {
    ...module.signing,
    ...given({
      keys: keys?.map((path) => ({ key: readKeyFile(path, warn) })),
      webhookSecrets: secrets && secretsOf("pushWebhookSecret", secrets, warn),
    }),
  };
}

function tlsOf(module: PushOptions, options: Options, warn: Warn): TargetTls | undefined {
  const { pushTlsCa: ca, pushTlsCert: cert, pushTlsKey: key } = options;
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  return {
    ...module.tls,
    ...(ca !== undefined && { ca: read(ca) }),
    ...(cert !== undefined && { cert: read(cert) }),
    ...(key !== undefined && { key: readKeyFile(key, warn) }),
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

const read = (file: string): string => attempt(() => readFileSync(file, "utf8"), usageErrorOf(`cannot read ${file}: `));
