// Carries hints between servers over NATS.

import { type Logger, silentLogger } from "../../core/log.js";
import * as check from "../../core/options.js";
import { SignalHub } from "../hub.js";
import type { Signals } from "../signals.js";
import { NatsCarrier } from "./carrier.js";
import { natsTransport } from "./transport.js";

/** Options of `natsSignals`. */
export interface NatsSignalsOptions {
  /**
   * Servers and login: `nats://user:password@host:4222,host2:4222`, `tls://` to encrypt. A user without a password is a
   * token. `?prefix=name` at the end has the meaning of `prefix`, which takes precedence.
   */
  readonly url: string;
  /**
   * Beginning of the subjects: words of letters, digits, `_` and `-`, separated by dots. Servers on different databases
   * that share a NATS server need different ones. Default `parley`.
   */
  readonly prefix?: string;
  /** Further options of `connect` of `@nats-io/transport-node`, such as `authenticator` or `tls`. */
  readonly connection?: Readonly<Record<string, unknown>>;
  readonly logger?: Logger;
}

/**
 * Returns signals over core NATS, for the option `signals`. Needs the package `@nats-io/transport-node`. They connect
 * when a server uses them and reconnect while it runs. Without NATS, the server finds changes by other servers by
 * polling.
 *
 * @throws Error for wrong options, or without the package
 */
export async function natsSignals(options: string | NatsSignalsOptions): Promise<Signals> {
  const given = typeof options === "string" ? { url: options } : options;
  const faults = check.optionFaults(given, checks, "", ["url"]);
  const address = natsAddress(String(given?.url));
  if (faults.length > 0 || address === undefined) throw new Error(`natsSignals cannot be used: ${faults.join("; ")}.`);
  const { prefix = address.prefix ?? "parley", connection = {}, logger = silentLogger } = given;
  const { servers, isEncrypted, login } = address;
  const own = { servers, ...login, ...(isEncrypted && { tls: {} }) };
  const transport = await natsTransport();
  return new SignalHub(new NatsCarrier({ transport, connection: { ...own, ...connection }, prefix, logger }));
}

/** True if a text is an address of NATS. */
export function isNatsAddress(url: string): boolean {
  return natsAddress(url) !== undefined;
}

const checks: check.OptionChecks<NatsSignalsOptions> = {
  url: check.aText("an address such as nats://user:password@host:4222?prefix=name", isNatsAddress),
  prefix: check.aText("words of letters, digits, _ and -, separated by dots", isPrefix),
  connection: check.expects(
    "an object",
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    check.typeName,
  ),
  logger: check.aLogger(),
};

/** Place of a NATS server, and the login. */
interface NatsAddress {
  readonly servers: readonly string[];
  readonly isEncrypted: boolean;
  readonly login: { readonly user: string; readonly pass: string } | { readonly token: string } | Record<string, never>;
  readonly prefix: string | undefined;
}

/** Beginning of all subjects: words of letters, digits, `_` and `-`, separated by dots. */
const PREFIX = /^[\w-]+(?:\.[\w-]+)*$/;

/**
 * Reads `nats://user:password@host:4222,host2:4222?prefix=name`; `tls://` encrypts, and a user without a password is a
 * token. Undefined for anything else.
 */
function natsAddress(url: string): NatsAddress | undefined {
  const parts = /^(nats|tls):\/\/(?:([^@/?]*)@)?([^@/?]+)\/?(?:\?prefix=([^&]*))?$/.exec(url);
  if (parts === null) return undefined;
  const [, scheme, login = "", hosts = "", prefix] = parts;
  if (prefix !== undefined && !isPrefix(prefix)) return undefined;
  const servers = hosts.split(",").filter((host) => host !== "");
  if (servers.length === 0) return undefined;
  try {
    return { servers, isEncrypted: scheme === "tls", login: loginOf(login), prefix };
  } catch {
    // A stray % in the login.
    return undefined;
  }
}

function isPrefix(text: string): boolean {
  return PREFIX.test(text);
}

function loginOf(text: string): NatsAddress["login"] {
  if (text === "") return {};
  const [user = "", ...rest] = text.split(":");
  if (rest.length === 0) return { token: decodeURIComponent(user) };
  return { user: decodeURIComponent(user), pass: decodeURIComponent(rest.join(":")) };
}
